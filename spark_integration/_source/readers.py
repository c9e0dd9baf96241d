"""The readers that Spark calls, before Spark 4.2 and for batches.

Not here: what they plan (planning.py), limits of a batch (limited_reader.py). Law: a reader opens
nothing before it plans, so that it can be pickled and sent to executors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from meshmsg import UsageError

from .options import SourceOptions
from .planning import Planner
from .reading import read_range

if TYPE_CHECKING:
    import pyarrow as pa


class RangesReader(DataSourceReader):
    """Of `spark.read`: all that is durable as it is planned, or what options say."""

    counts: Mapping[str, Any] | None = None
    """What tasks add to, by name (_counts.py)."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Return the tasks."""
        return list(Planner(self._options).all())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read what a task is to read, in an executor."""
        return read_range(partition, self._options, self.counts)


class RangesStreamReader(DataSourceStreamReader):
    """Of `readStream`, without what only Spark 4.2 and later asks for."""

    counts: Mapping[str, Any] | None = None
    """What tasks add to, by name (_counts.py)."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._made: Planner | None = None

    @property
    def _planner(self) -> Planner:
        """The one of the query; executors have none."""
        if self._made is None:
            self._made = self._plan()
        return self._made

    def _plan(self) -> Planner:
        return Planner(self._options)

    def initialOffset(self) -> dict[str, Any]:
        """Return where a new query begins."""
        return self._planner.initial()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the tasks of a batch."""
        return list(self._planner.tasks(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read what a task is to read, in an executor."""
        return read_range(partition, self._options, self.counts)

    def commit(self, end: dict[str, Any]) -> None:
        """Have the group trim what is not needed."""
        self._planner.commit(end)

    def stop(self) -> None:
        """Ask no more; Spark does not call it at a normal end."""
        if self._made is not None:
            self._made.close()


class PlainStreamReader(RangesStreamReader):
    """Of Spark 4.0 and 4.1: a batch has all that is there.

    Raises:
        UsageError: A limit of a batch, a mesh, or a name in the checkpoint is asked for.
    """

    def __init__(self, options: SourceOptions) -> None:
        limits = (options.max_rows, options.max_bytes, options.min_rows)
        if any(limit is not None for limit in limits):
            raise UsageError(
                "maxOffsetsPerTrigger, maxBytesPerTrigger and minOffsetsPerTrigger need Spark 4.2 "
                "or later"
            )
        if options.mesh is not None:
            raise UsageError(
                "mesh.* of a stream needs Spark 4.2 or later: before, a spool that is not found "
                "yet would be read again from its beginning"
            )
        if options.group_prefix is not None:
            raise UsageError(
                "groupIdPrefix needs Spark 4.2 or later: before, a batch does not say where it "
                "begins; groupId is for all versions"
            )
        super().__init__(options)

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        """Return where the next batch ends."""
        return self._planner.latest_of_all()


class RefusedStreamReader(DataSourceStreamReader):
    """Of options that are refused: it says so as it is asked for anything, whatever the version."""

    def __init__(self, why: str) -> None:
        self._why = why

    def initialOffset(self) -> dict[str, Any]:
        """Refuse.

        Raises:
            UsageError: Always.
        """
        raise UsageError(self._why)

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]
        """Refuse, as a checkpoint that is there has it asked first.

        Raises:
            UsageError: Always.
        """
        raise UsageError(self._why)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Refuse, as a batch that is planned again has it asked first.

        Raises:
            UsageError: Always.
        """
        raise UsageError(self._why)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Refuse; it is there as Spark wants it.

        Raises:
            UsageError: Always.
        """
        raise UsageError(self._why)
