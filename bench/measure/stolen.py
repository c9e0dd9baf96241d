"""Rounds that are measured again, because the host of a virtual machine took its processors away.

Law: whether a round counts is decided by what the host did meanwhile, for every peer alike, before
anybody looks at its figures; the time for it, and for waiting until the host is calm again, is
bounded; then rounds count as they are, and say so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ..base.facts import first_line

SHARE_MAX = 0.01
"""Of the machine's processor time: with more of it taken away, a round tells of the host."""
CALM_S = 2.0
"""Seconds in which the host has to leave the processors alone before a round is measured again."""
NAP_S = 0.001
STEAL = 7
"""Which number of /proc/stat's first line it is (proc_stat(5)); those behind are in others."""


class Ticks(NamedTuple):
    """Processor time since the machine began: what was taken away, and all."""

    stolen: int
    all: int


def processor_time(line: str | None = None) -> Ticks:
    """Read it from /proc/stat, or that line of it; zeros where a system does not tell."""
    words = (first_line("/proc/stat") if line is None else line).split()[1:]
    ticks = [int(word) for word in words[: STEAL + 1]]
    return Ticks(ticks[STEAL], sum(ticks)) if len(ticks) > STEAL else Ticks(0, 0)


def doze(seconds: float) -> None:
    """Sleep lightly: a host that takes processors away shows it when somebody wakes up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(NAP_S)


class Patience:
    """Measures disturbed rounds again, as long as it lasts."""

    def __init__(
        self,
        seconds: float = 0,
        read: Callable[[], Ticks] = processor_time,
        now: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = doze,
    ) -> None:
        """seconds: for rounds that are thrown away and for waiting, in all."""
        self._left, self._read, self._now, self._wait = seconds, read, now, wait
        self.again = 0
        """Rounds that were measured again."""
        self.disturbed = 0
        """Those that count though they were disturbed."""

    def measure(
        self, once: Callable[[], dict[str, float]], forget: Callable[[], None]
    ) -> tuple[dict[str, float], bool]:
        """Measure a round until nothing disturbs it; forget is called before each time again.

        Returns:
            Its figures, and whether nothing did.
        """
        while True:
            start, before = self._now(), self._read()
            figures = once()
            took, calm = self._now() - start, self._calm_since(before)
            if calm or took > self._left:
                self.disturbed += not calm
                return figures, calm
            self._left -= took
            self.again += 1
            forget()
            self._wait_for_calm()

    def _calm_since(self, before: Ticks) -> bool:
        """Whether the host has taken no more than is nothing."""
        after = self._read()
        return after.stolen - before.stolen <= SHARE_MAX * (after.all - before.all)

    def _wait_for_calm(self) -> None:
        """It takes them away for minutes, with pauses: to look costs less than a round does."""
        calm = False
        while not calm and self._left >= CALM_S:
            before = self._read()
            self._wait(CALM_S)
            self._left -= CALM_S
            calm = self._calm_since(before)
