"""The stream reader of Spark 4.2 and later: batches with limits, and an end that stands still.

Not here: what it plans (planning.py). Importing this raises ImportError before Spark 4.2.
"""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from .planning import Planner
from .readers import RangesStreamReader
from .workers import tell_of_tcp


class LimitedStreamReader(RangesStreamReader, SupportsTriggerAvailableNow):
    """Of `readStream`: Spark says where a batch begins, and how much it may have."""

    def _plan(self) -> Planner:
        tell_of_tcp(os.environ)
        return super()._plan()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return what the options say; of several limits the others are kept here."""
        options = self._options
        if options.max_rows is not None:
            return ReadMaxRows(options.max_rows)
        if options.max_bytes is not None:
            return ReadMaxBytes(options.max_bytes)
        if options.min_rows is not None:
            return ReadMinRows(options.min_rows)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return where the next batch ends."""
        options, planner = self._options, self._planner
        if isinstance(limit, ReadAllAvailable):
            return planner.latest(start)
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else options.max_rows
        size = limit.max_bytes if isinstance(limit, ReadMaxBytes) else options.max_bytes
        least = limit.min_rows if isinstance(limit, ReadMinRows) else options.min_rows
        return planner.latest(start, rows=rows, size=size, least=least)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return where all that is there ends."""
        return self._planner.report()

    def prepareForTriggerAvailableNow(self) -> None:
        """What is there now is all that this run reads."""
        self._planner.prepare()
