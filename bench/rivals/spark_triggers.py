"""What a stream of Spark takes: from a put to `foreachBatch`, and for each trigger.

Not here: the streams (spark_source.py, spark_kafka.py), who puts (spark_pacing.py). Law: all
sources have the same session, trigger and sink; what comes before a query runs evenly is left out.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..base.task import PATIENCE
from .spark_pacing import STAMP

RATE = 200
"""Messages a second: few."""
ROWS_A_TRIGGER = 20
"""About, at that rate."""
WARM_BATCHES = 5
"""Of a query, which do not count: its workers begin."""
IDLE_TRIGGERS = 50
"""Without a row, of which the median counts."""
LOOK_SECONDS = 0.05
"""Until it is looked again how far a query is."""
ROOT = Path(__file__).resolve().parents[2]
STEPS = {
    "latest_ms": "latestOffset",
    "planning_ms": "queryPlanning",
    "wal_ms": "walCommit",
    "batch_ms": "addBatch",
    "commit_ms": "commitOffsets",
    "trigger_ms": "triggerExecution",
}
"""Figures, and what Spark calls them in `durationMs`."""


class Pace:
    """A program that puts messages at a rate."""

    def __init__(self, process: subprocess.Popen[str], where: str) -> None:
        self._process, self.where = process, where

    def at(self, rate: float) -> None:
        """Go on at that rate."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{rate}\n")
        self._process.stdin.flush()


@contextmanager
def pacing(size: int, *words: str) -> Iterator[Pace]:
    """Start the program; it waits for a rate."""
    command = [sys.executable, "-m", f"{BENCH}.rivals.spark_pacing", str(size), *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        try:
            where = process.stdout.readline().strip()
            if not where:
                raise BenchError("what puts messages for a stream ended without a word")
            yield Pace(process, where)
        finally:
            process.terminate()


def _until(done: Callable[[], bool], query: Any) -> None:
    limit = time.monotonic() + PATIENCE
    while not done():
        if query.exception() is not None or time.monotonic() > limit:
            raise BenchError(f"a stream came to no end: {query.exception() or 'out of time'}")
        time.sleep(LOOK_SECONDS)


def latencies_ms(frame: Any, pace: Pace, count: int) -> list[float]:
    """Milliseconds from a put to the Python function that has the row, of so many rows."""
    batches, found = 0, list[float]()

    def taken(rows: Any, _number: int) -> None:
        nonlocal batches
        values = [row[0] for row in rows.collect()]
        now = time.time_ns()
        batches += bool(values)
        if batches > WARM_BATCHES:
            found.extend((now - STAMP.unpack_from(value)[0]) / 1e6 for value in values)

    query = frame.writeStream.foreachBatch(taken).start()
    try:
        pace.at(RATE)
        _until(lambda: len(found) >= count, query)
    finally:
        pace.at(0)
        query.stop()
    return found[:count]


def costs_ms(frame: Any, pace: Pace | None, triggers: int) -> dict[str, float]:
    """Medians of what Spark says of triggers with few rows; and without any, if rows can end."""
    query = frame.writeStream.format("noop").start()

    def of(some: bool) -> list[Any]:
        return [one for one in query.recentProgress if (one.numInputRows > 0) == some]

    try:
        if pace is not None:
            pace.at(RATE)
        _until(lambda: len(of(True)) >= WARM_BATCHES + triggers, query)
        busy = of(True)[WARM_BATCHES:][:triggers]
        found = {
            figure: statistics.median(one.durationMs.get(step, 0) for one in busy)
            for figure, step in STEPS.items()
        }
        if pace is not None:
            pace.at(0)
            before = len(of(False))
            _until(lambda: len(of(False)) >= before + IDLE_TRIGGERS, query)
            idle = of(False)[before:]
            found["idle_ms"] = statistics.median(o.durationMs["triggerExecution"] for o in idle)
    finally:
        query.stop()
    return found


def figures_of(frame: Any, pace: Pace, count: int) -> dict[str, float]:
    """All of it, of one stream."""
    times = sorted(latencies_ms(frame, pace, count))
    quantiles = statistics.quantiles(times, n=100)
    costs = costs_ms(frame, pace, triggers_of(count))
    return {"p50_ms": quantiles[49], "p99_ms": quantiles[98], **costs}


def triggers_of(count: int) -> int:
    """How many triggers count where so many rows do: some, and about as long."""
    return max(count // ROWS_A_TRIGGER, 1)
