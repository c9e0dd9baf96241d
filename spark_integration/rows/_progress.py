"""What `map_rows(progress=)` is told: how many rows have their results, and how many there are.

Not here: the bar itself (fanout/_bar.py). Law: whoever iterates tells it, so it counts what was
given, and what raises there ends no job.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..fanout._bar import Shown, teller_of

PROGRESS_S = 0.2
"""Seconds between two calls of `progress`."""
LOG = logging.getLogger("meshmsg")


@dataclass(frozen=True)
class RowStats:
    """The counts of a `map_rows`.

    Attributes:
        done: Rows whose result was given.
        failed: Rows that were given up (`ItemError`).
        total: How many rows there are, if `total=` said it.
    """

    done: int
    failed: int
    total: int | None


class RowBar(Shown):
    """Shows rows that are done."""

    def __init__(self) -> None:
        super().__init__("rows")

    def __call__(self, counts: RowStats) -> None:
        """Show these counts: what failed is settled, too, and is said."""
        self.show(counts.done + counts.failed, counts.total, failed=counts.failed)


class Progress:
    """Counts rows, and tells of them at most five times a second.

    Raises:
        TypeError: `progress` is no function.
        ResourceError: It is True, and tqdm is not there.
    """

    def __init__(
        self,
        progress: object,
        total: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell: Callable[[Any], object] | None = teller_of(progress, RowBar)
        self._bar = self._tell if isinstance(self._tell, Shown) else None
        self._total, self._clock = total, clock
        self._done = self._failed = 0
        self._told_at: float | None = None

    def count(self, *, failed: bool) -> None:
        """Count a row."""
        self._failed += failed
        self._done += not failed

    def tell(self, *, last: bool = False) -> None:
        """Tell the counts, unless they were told just now and are not the last."""
        now = self._clock()
        soon = self._told_at is not None and now - self._told_at < PROGRESS_S
        if self._tell is None or (soon and not last):
            return
        self._told_at = now
        try:
            self._tell(RowStats(self._done, self._failed, self._total))
        except Exception:
            self._tell = None
            LOG.exception("progress= of map_rows raised, and is called no more")

    def close(self) -> None:
        """Tell the last counts, and leave the bar as it is then."""
        self.tell(last=True)
        self._tell = None
        if self._bar is not None:
            self._bar.close()
