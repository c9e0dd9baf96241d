"""A source of Spark that yields record batches that are ready: the ceiling of its interface.

It touches no network and no disk: what it takes is Spark's own, from a worker in Python to the JVM.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

ROWS = 4096
"""Rows of a record batch."""


class ReadyReader(DataSourceReader):
    """Yields the same batch, over and over."""

    def __init__(self, options: dict[str, str]) -> None:
        self._count, self._size = int(options["count"]), int(options["size"])
        self._tasks = int(options["tasks"])

    def partitions(self) -> list[InputPartition]:
        """A share of the rows for each task."""
        return [
            InputPartition(self._count // self._tasks + (index < self._count % self._tasks))
            for index in range(self._tasks)
        ]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield so many rows."""
        import pyarrow as pa

        column = pa.array([os.urandom(self._size)] * ROWS, pa.binary())
        batch = pa.RecordBatch.from_arrays([column], names=["value"])
        for left in range(partition.value, 0, -ROWS):
            yield batch if left >= ROWS else batch.slice(0, left)


class ReadyStreamReader(DataSourceStreamReader):
    """Has a few rows for each trigger: `count` of them."""

    def __init__(self, options: dict[str, str]) -> None:
        self._count, self._size = int(options["count"]), int(options["size"])
        self._triggers = 0

    def initialOffset(self) -> dict[str, Any]:
        """None were there."""
        return {"triggers": 0}

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        """There is always one more."""
        self._triggers += 1
        return {"triggers": self._triggers}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """One task, if there is anything."""
        return [InputPartition(self._count)] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Yield them."""
        import pyarrow as pa

        column = pa.array([os.urandom(self._size)] * partition.value, pa.binary())
        yield pa.RecordBatch.from_arrays([column], names=["value"])


class ReadySource(DataSource):
    """`format("bench_arrow")`."""

    @classmethod
    def name(cls) -> str:
        """What it is called."""
        return "bench_arrow"

    def schema(self) -> str:
        """One column."""
        return "value binary"

    def reader(self, schema: Any) -> DataSourceReader:
        """The reader of a batch."""
        return ReadyReader(dict(self.options))

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        """The reader of a stream."""
        return ReadyStreamReader(dict(self.options))
