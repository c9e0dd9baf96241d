"""count_reads: what the tasks of the source have read, tried again and left out, for the driver.

Not here: a line for each batch (_progress.py). Law: Spark takes no metrics from a source in Python,
so these are accumulators: a task that failed adds nothing, and the one that took its place does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshmsg import UsageError

from ._register import registered, source_of_spark
from ._tasks import context_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("rows", "bytes", "retries", "skipped")


class SourceCounts:
    """What all tasks of a session's sources have done since `count_reads`. Thread-safe: yes."""

    def __init__(self, accumulators: dict[str, Any]) -> None:
        self._accumulators = accumulators

    @property
    def rows(self) -> int:
        """Rows that tasks handed to Spark."""
        return int(self._accumulators["rows"].value)

    @property
    def bytes(self) -> int:
        """Bytes of their columns in memory, as Arrow has them."""
        return int(self._accumulators["bytes"].value)

    @property
    def retries(self) -> int:
        """Attempts before those that succeeded."""
        return int(self._accumulators["retries"].value)

    @property
    def skipped(self) -> int:
        """Numbers that were left out as trimmed or harmed (`failOnDataLoss=false`)."""
        return int(self._accumulators["skipped"].value)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name):,}" for name in NAMES)
        return f"<meshmsg.spark.SourceCounts {said}>"


def count_reads(session: SparkSession) -> SourceCounts:
    """Count what sources of a session read from now on; it registers `format("meshmsg")` anew.

    A task that Spark runs again though it had succeeded, as after the loss of a shuffle, counts
    again. What failed for good is not counted. Not for Spark Connect, which has no accumulators.

    Thread-safe: as the session.

    Args:
        session: Whose sources are counted.

    Returns:
        The counts, which go on as tasks end. Again: others, and these stand still for queries that
        begin later.

    Raises:
        ImportError: pyspark is not there.
        UsageError: The session is one of Spark Connect, or of a Spark (4.0) that lets nobody
            register anew what it has found by itself.
    """
    source: Any = source_of_spark()
    context = context_of(session, "count_reads()")
    accumulators = {name: context.accumulator(0) for name in NAMES}

    class CountedSource(source):  # type: ignore[misc]
        """`format("meshmsg")`, counted; it is sent to other processes with what it counts by."""

        def reader(self, schema: Any) -> Any:
            """Return the reader of `spark.read`."""
            return counted(super().reader(schema))

        def streamReader(self, schema: Any) -> Any:
            """Return the reader of `readStream`."""
            return counted(super().streamReader(schema))

    def counted(reader: Any) -> Any:
        reader.counts = accumulators
        return reader

    if not registered(session, CountedSource):
        raise UsageError(
            "count_reads() needs Spark 4.1 or later: before, nobody may register anew a source "
            "that Spark has found by itself. Use observe() on the DataFrame"
        )
    return SourceCounts(accumulators)
