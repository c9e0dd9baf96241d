"""The writer of streams by Arrow, which Spark has from 4.1 on.

Not here: the one of 4.0 (writers.py). Law: importing it fails where Spark has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from .options import SinkOptions
from .writers import sent_of_stream, told

if TYPE_CHECKING:
    import pyarrow as pa


class StreamWriter(DataSourceStreamArrowWriter):
    """Of `df.writeStream`."""

    def __init__(self, options: SinkOptions, columns: tuple[str, ...]) -> None:
        self._options, self._columns = options, columns

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Send the rows of a task."""
        return sent_of_stream(iterator, self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Tell what was sent."""
        told(messages, f"batch {batchId}: sent")

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Tell what was sent: it stays sent."""
        told(messages, f"batch {batchId}: failed, and sent all the same")
