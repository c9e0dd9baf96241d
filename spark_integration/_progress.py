"""progress_listener: a line for each batch of a streaming query, with what it is behind.

Not here: what Spark measures. Law: pyspark is imported when a listener is made, and not before; a
listener never raises into Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    from ._counts import SourceCounts

SHORT = 8
"""Digits of the uuid of a spool that a line has."""
SHOWN_MAX = 8
"""Spools that a line names."""


def lag_of(end: object, latest: object) -> dict[str, int]:
    """Return how many messages of each spool are behind an offset, as JSON of Spark's progress.

    Args:
        end: Where a batch ended, `endOffset`.
        latest: Where all that is there ends, `latestOffset`; of Spark before 4.2 there is none.

    Returns:
        By the uuid of the spool; nothing if these are offsets of another source.
    """
    places, ends = _places(end), _places(latest)
    return {uuid: max(seq - places.get(uuid, seq), 0) for uuid, seq in sorted(ends.items())}


def _places(offset: object) -> dict[str, int]:
    try:
        found = json.loads(offset) if isinstance(offset, str) else offset
        return {uuid: int(one["next"]) for uuid, one in found["p"].items()}  # type: ignore[index]
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}


def line_of(progress: Any) -> str:
    """Return the line of one batch.

    Args:
        progress: A `StreamingQueryProgress`.
    """
    name = progress.name or str(progress.id)[:SHORT]
    took = (progress.durationMs or {}).get("triggerExecution", 0) / 1000
    line = f"{name}: batch {progress.batchId}, {progress.numInputRows:,} rows in {took:.2f} s"
    if (rate := progress.processedRowsPerSecond or 0) > 0:
        line += f" ({rate:,.0f} rows/s)"
    lag: dict[str, int] = {}
    for source in progress.sources:
        lag.update(lag_of(source.endOffset, getattr(source, "latestOffset", None)))
    if not lag:
        return line
    behind = sorted((item for item in lag.items() if item[1]), key=lambda item: -item[1])
    if not behind:
        return f"{line}; nothing is behind"
    named = ", ".join(f"{uuid[:SHORT]} {count:,}" for uuid, count in behind[:SHOWN_MAX])
    more = f" and {len(behind) - SHOWN_MAX} more" if len(behind) > SHOWN_MAX else ""
    return f"{line}; behind by {sum(lag.values()):,}: {named}{more}"


def counted(counts: SourceCounts | None) -> str:
    """Return the end of a line: what all tasks did so far."""
    if counts is None:
        return ""
    return (
        f"; in all {counts.rows:,} rows, {counts.bytes:,} bytes, "
        f"{counts.retries:,} attempts again, {counts.skipped:,} messages left out"
    )


def progress_listener(
    write: Callable[[str], object] = print, *, counts: SourceCounts | None = None
) -> StreamingQueryListener:
    """Return a listener that writes a line for each batch of each query.

    A line has the query, the batch, its rows and time, and by how many messages the query is behind
    each spool: `spark.streams.addListener(progress_listener())`. Lags need Spark 4.2 or later.

    Thread-safe: yes; `write` is called by a thread of Spark.

    Args:
        write: Takes a line, without its end. What it raises is not seen.
        counts: Of `count_reads`: each line ends with what all tasks of the session did so far.

    Returns:
        The listener, for `addListener` and `removeListener`.

    Raises:
        ImportError: pyspark is not there.
    """
    from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """Writes lines."""

        def onQueryStarted(self, event: Any) -> None:
            """Write nothing: the first batch says it."""

        def onQueryProgress(self, event: Any) -> None:
            """Write the line of a batch."""
            try:
                write(line_of(event.progress) + counted(counts))
            except Exception:  # of `write`, or a Spark that tells other things: the query goes on
                return

        def onQueryIdle(self, event: Any) -> None:
            """Write nothing."""

        def onQueryTerminated(self, event: Any) -> None:
            """Write nothing: the query itself says why."""

    return Listener()
