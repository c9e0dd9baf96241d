"""A sink of Spark that gets rows, one after another, and pushes each by pyzmq: what a user would
write by hand. Nobody acknowledges, and a task that is tried again sends its rows again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

LINGER_MS = 60_000
"""How long what was sent has to go out."""


class RowsWriter(DataSourceWriter):
    """Sends the rows of a task."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Send each."""
        import zmq

        with zmq.Context() as context, context.socket(zmq.PUSH) as push:
            push.setsockopt(zmq.LINGER, LINGER_MS)
            push.connect(self._endpoint)
            for row in iterator:
                push.send(row.value)
        return WriterCommitMessage()


class RowsSink(DataSource):
    """`format("bench_rows")`."""

    @classmethod
    def name(cls) -> str:
        """What it is called."""
        return "bench_rows"

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch."""
        return RowsWriter(self.options["endpoint"])
