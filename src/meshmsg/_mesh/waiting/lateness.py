"""How late answers are, beyond the way that they have: as where machines have too much to do.

Not here: what follows from silence (opinion.py), how slow this node is itself (here.py). Law: few
members that are late, or say that they are, change nothing: it is the usual answer that counts.
"""

from __future__ import annotations

from collections import deque

from ..limits import Times
from ..table import UNKNOWN, Row

NEWEST = 5
"""Answers, the newest ones: the one in the middle says how late they are. Fewer say nothing."""
CREEP = 1.25
"""How many times longer than before a member's quickest answer counts with each: ways change."""
CREEP_ANY = 1.01
"""The same, of the quickest of all."""


class Lateness:
    """What the newest answers of all members say."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._late: deque[float] = deque(maxlen=NEWEST)
        self._quickest = UNKNOWN
        """Seconds: of members that have not answered yet, what their way takes."""
        self.factor = 0.0
        """How many times longer than `Times` say all is to be waited for; below 1: no longer."""

    def answered(self, row: Row, seconds: float, *, surely: bool) -> None:
        """Take how long an answer took; surely: if it was asked for once only."""
        way = row.quickest if row.quickest < UNKNOWN else self._quickest
        self._late.append(max(0.0, seconds - way) if way < UNKNOWN else seconds)
        if surely:
            row.quickest = min(seconds, row.quickest * CREEP)
            self._quickest = min(seconds, self._quickest * CREEP_ANY)
        if len(self._late) < NEWEST:
            return
        usual = sorted(self._late)[NEWEST // 2]
        times = self._times
        self.factor = min(1.0 + times.health_max, times.patience * usual / times.direct)
