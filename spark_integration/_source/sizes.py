"""How large the messages of a spool are, by the mean: read in part, and spread over the last ones.

Not here: when that is asked for (watch.py), what is planned by it (offsets.py). Law: a message that
was read counts with its own size, however large it is; what was not read counts as what was read
beside it. So it does not matter whether the large ones come first or last.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from typing import NamedTuple

import meshmsg as mm

SAMPLE_MESSAGES = 256
"""Messages, the last ones, whose mean size stands for those of a spool."""
RUN_BYTES = 2**20
"""Bytes of them at which a run from the first on ends, and of an answer; one more answer is asked
for ahead. Where they have less, the mean is exact."""
LOOKS_MAX = 32
"""Single messages that are looked at behind that, spread over the rest."""
LOOKS_LEAST = 4
"""So many of them are looked at, if there are, however large they are."""
LOOK_BYTES = 2**23
"""Bytes of all that was read at which no more of them are looked at."""
GOLDEN = 0.618
"""Where a gap is looked into. Halves would meet only every second message of those that take
turns."""


class Stretch(NamedTuple):
    """Numbers of a spool that were read."""

    first: int
    end: int
    """The number behind the last."""
    messages: int
    """Those that are there; compaction may have removed some."""
    octets: int
    """Of them all."""

    @property
    def mean(self) -> float:
        """Bytes of a message there."""
        return self.octets / self.messages


Read = Callable[[int, int], Iterator[Stretch]]
"""Reads from a number to before another, piece by piece."""


def reads(remote: mm.RemoteSpool) -> Read:
    """Return what reads a spool of another process.

    Raises of that: SpoolError, TimedOutError and others, as `RemoteSpool.read`.
    """

    def read(first: int, end: int) -> Iterator[Stretch]:
        for batch in remote.read(first, end, max_bytes=RUN_BYTES):
            if len(batch):
                yield Stretch(first, batch.last_seq + 1, len(batch), batch.nbytes)
                first = batch.last_seq + 1

    return read


def mean_size(read: Read, first: int, end: int) -> float:
    """Return about the mean size of the last messages before a number.

    Args:
        read: Reads them.
        first: The first number that there is.
        end: The number behind the last.

    Returns:
        Bytes of a message; 0: there is none.
    """
    first = max(first, end - SAMPLE_MESSAGES)
    seen: list[Stretch] = []
    octets = 0
    for one in read(first, end):
        seen.append(one)
        octets += one.octets
        if octets >= RUN_BYTES:
            break
    if not seen or octets < RUN_BYTES:
        return _mean(seen, [])  # all that are there
    gaps = [(seen[-1].end, end)] if seen[-1].end < end else []
    looks = 0
    while gaps and looks < LOOKS_MAX and (looks < LOOKS_LEAST or octets < LOOK_BYTES):
        left, right = gaps.pop(max(range(len(gaps)), key=lambda at: gaps[at][1] - gaps[at][0]))
        middle = left + int((right - left) * GOLDEN)
        for one in read(middle, middle + 1):  # no more, so nothing is asked for ahead
            insort(seen, one)
            octets += one.octets
        looks += 1
        gaps += [gap for gap in [(left, middle), (middle + 1, right)] if gap[0] < gap[1]]
    return _mean(seen, gaps)


def _mean(seen: list[Stretch], gaps: list[tuple[int, int]]) -> float:
    """Return the mean by what was read, in order, and by gaps: those are as what is beside them."""
    total = float(sum(one.octets for one in seen))
    count = sum(one.messages for one in seen)
    for left, right in gaps:
        before = [one for one in seen if one.end <= left][-1:]
        behind = [one for one in seen if one.first >= right][:1]
        beside = before + behind
        total += (right - left) * sum(one.mean for one in beside) / len(beside)
        count += right - left
    return total / count if count else 0.0
