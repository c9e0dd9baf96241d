"""Streams of Spark that read what is there, in so many batches: meshmsg beside files of parquet.

Not here: streams of few messages (spark_triggers.py). Law: the first batch does not count, as its
workers begin; what a query takes besides its batches does not either.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.need import BenchError
from ..base.task import Task
from .spark_source import TASKS, SparkMesh, SparkPeer, begun, write_parquet

BATCHES = 8
"""Of a stream, with as many rows each."""


class SparkStream(SparkPeer):
    """Rows of batches by their time."""

    def source_rate(self, task: Task) -> float:
        """All but the first."""
        with self.frame(task) as frame, tempfile.TemporaryDirectory() as folder:
            query = (
                frame.writeStream.format("noop")
                .option("checkpointLocation", folder)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            batches = [one for one in query.recentProgress if one.numInputRows]
        rows = sum(one.numInputRows for one in batches)
        if rows != task.count:
            raise BenchError(f"a stream had {rows:,} of {task.count:,} rows")
        own = batches[1:] or batches
        counted: int = sum(one.numInputRows for one in own)
        took_ms: float = sum(one.durationMs["triggerExecution"] for one in own)
        return counted * 1000 / took_ms


class SparkMeshStream(SparkStream):
    """`readStream.format("meshmsg")`."""

    name = "meshmsg-spark-stream"

    def __init__(self, mesh: SparkMesh) -> None:
        self._mesh = mesh

    version = SparkMesh.version

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """The spool of the batch read."""
        yield (
            begun()
            .readStream.format("meshmsg")
            .option("endpoints", self._mesh.shown(task))
            .option("columns", "value")
            .option("minPartitions", TASKS)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", -(-task.count // BATCHES))
            .load()
        )


class SparkParquetStream(SparkStream):
    """Spark's own stream of files: as many of them for a batch as there are tasks."""

    name = "parquet-spark-stream"

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Write them."""
        folder = Path(task.folder) / f"spark-{task.size}-{task.count}.parquets"
        if not folder.exists():
            write_parquet(folder, task, TASKS * BATCHES)
        yield (
            begun()
            .readStream.schema("value binary")
            .option("maxFilesPerTrigger", TASKS)
            .parquet(str(folder))
        )
