"""A source of Spark that receives by pyzmq: what a user would write by hand, and loses on a retry.

Each task has a PULL of its own. By batch: many messages are one of ZeroMQ's, and its octets become
a column without a copy. By message: each is received by itself, and a list becomes a column.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

ROWS = 4096
"""Rows of a record batch, and messages of one of ZeroMQ's."""


class ZmqReader(DataSourceReader):
    """Reads a share of the messages in each task."""

    def __init__(self, options: dict[str, str]) -> None:
        self._endpoints: list[str] = json.loads(options["endpoints"])
        self._count, self._size = int(options["count"]), int(options["size"])
        self._batched = options["batched"] == "true"

    def partitions(self) -> list[InputPartition]:
        """A task for each socket."""
        many = len(self._endpoints)
        return [
            InputPartition((endpoint, self._count // many + (index < self._count % many)))
            for index, endpoint in enumerate(self._endpoints)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Receive so many."""
        import zmq

        endpoint, left = partition.value
        with zmq.Context() as context, context.socket(zmq.PULL) as pull:
            pull.connect(endpoint)
            while left:
                batch = self._blob(pull) if self._batched else self._each(pull, min(ROWS, left))
                left -= batch.num_rows
                yield batch

    def _blob(self, pull: Any) -> Any:
        """One message of ZeroMQ, cut into rows, without a copy."""
        import pyarrow as pa

        frame = pull.recv(copy=False)
        data = pa.py_buffer(frame.buffer)
        rows = len(data) // self._size
        ends = pa.array(range(0, len(data) + 1, self._size), pa.int32()).buffers()[1]
        column = pa.Array.from_buffers(pa.binary(), rows, [None, ends, data])
        return pa.RecordBatch.from_arrays([column], names=["value"])

    def _each(self, pull: Any, count: int) -> Any:
        """Messages by themselves, and a copy into a column."""
        import pyarrow as pa

        column = pa.array([pull.recv() for _ in range(count)], pa.binary())
        return pa.RecordBatch.from_arrays([column], names=["value"])


class ZmqSource(DataSource):
    """`format("bench_pyzmq")`."""

    @classmethod
    def name(cls) -> str:
        """What it is called."""
        return "bench_pyzmq"

    def schema(self) -> str:
        """One column."""
        return "value binary"

    def reader(self, schema: Any) -> DataSourceReader:
        """The reader of a batch."""
        return ZmqReader(dict(self.options))
