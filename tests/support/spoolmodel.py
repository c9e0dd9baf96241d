"""A spool in plain Python: what was put, what may be gone, who is done with what.

Not here: the calls that are compared with it (tests/unit/test_spool_machine.py). Law: what a spool
does by itself, in its own time, may be so or not yet; all else is so, to the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import meshmsg as mm


def upto(done: set[int]) -> int:
    """Up to which number all are in the set."""
    floor = 0
    while floor + 1 in done:
        floor += 1
    return floor


@dataclass
class Mark:
    """A cursor: what is done, and what was when it was saved last."""

    done: set[int]
    saved: set[int] = field(default_factory=set)

    def save(self) -> None:
        """What is done now is done after a crash, too."""
        self.saved = set(self.done)


@dataclass(frozen=True)
class Seen:
    """What a cursor says."""

    done: set[int]
    floor: int
    lag: int
    missed: int
    unsaved: int


def seen(cursor: Any, last: int) -> Seen:
    """Ask it; of numbers up to one behind the last."""
    done = {number for number in range(1, last + 2) if cursor.is_done(number)}
    return Seen(done, cursor.floor, cursor.lag, cursor.missed, cursor.unsaved)


@dataclass
class SpoolModel:
    """The messages by their numbers, and what holds them or lets them go.

    Attributes:
        last: The last number that was given. sure: all up to it can be read, and survive a kill.
        first: The first that is there, as it was looked at last.
        may_go: All up to it may be removed, when the spool comes to it.
        compacted: Numbers whose messages compaction took.
        leases: From which number on each holds.
    """

    put: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    last: int = 0
    sure: int = 0
    first: int = 1
    may_go: int = 0
    compacted: set[int] = field(default_factory=set)
    leases: dict[str, int] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)

    def append(self, key: bytes, bodies: Iterable[bytes], *, kept: bool) -> None:
        """Put some, one behind the other."""
        for body in bodies:
            self.last += 1
            self.put[self.last] = key, body
        if kept:
            self.sure = self.last

    def cut(self, last: int) -> None:
        """A life ended: what was not kept may be lost, from the end on."""
        assert self.sure <= last <= self.last
        for number in range(last + 1, self.last + 1):
            del self.put[number]
        self.last = self.sure = last

    def gone(self) -> set[int]:
        """Numbers that nobody gets any more."""
        return self.compacted | set(range(1, self.first))

    def see_first(self, first: int) -> None:
        """Look at the first number: nothing went that had to stay."""
        bound = self.may_go
        while bound + 1 in self.compacted:
            bound += 1
        assert self.first <= first <= max(self.first, bound + 1)
        self.first = first

    def read(
        self, at: int, found: Sequence[object], most: int | None, skipped: set[int] | None = None
    ) -> int:
        """Look at what was read from a number on; which is next.

        most: fewer than that are read only if there are no more; None: fewer are read as well.
        skipped: those that are left out, as they are done.
        """
        left_out = self.compacted | (skipped or set())
        for one in found:
            assert isinstance(one, mm.SpoolMessage)
            assert one.seq >= at, "twice, or out of order"
            assert set(range(at, one.seq)) <= left_out, "a message is left out"
            assert skipped is None or one.seq not in skipped, "what is done is read"
            assert (one.key or b"", bytes(one)) == self.put[one.seq]
            at = one.seq + 1
        if at >= self.first and len(found) < (1 if most is None else most):
            assert set(range(at, self.sure + 1)) <= left_out, "it ends too early"
        return at

    def see_compaction(self, there: set[int], sealed: int, clean: int, *, tombs: bool) -> None:
        """Look at what a compaction took: of each key the last stays, as does all that is held.

        there: the numbers that are read. sealed: all up to it is in sealed files; clean: there no
        two have one key. tombs: tombstones go with what they delete.
        """
        lasts = {key: number for number, (key, _) in self.put.items() if number <= sealed}
        upto_there = max(self.sure, sealed)  # what is sealed was written
        went = set(range(self.first, upto_there + 1)) - there - self.compacted
        for number in went:
            key, body = self.put[number]
            assert key, "what has no key went"
            assert number <= sealed, "what is not sealed went"
            assert number < lasts[key] or (tombs and not body), "the last of its key went"
            assert number < min(self.leases.values(), default=number + 1), "what is held went"
        self.compacted |= went
        keys = [self.put[number][0] for number in there if number <= clean]
        named = [key for key in keys if key]
        assert len(named) == len(set(named)), "two have one key where it was compacted"

    def see_cursor(self, mark: Mark, seen: Seen) -> None:
        """Look at a cursor: what is removed may be done already, or not yet."""
        least, most = mark.done, mark.done | self.gone()
        assert least <= seen.done <= most
        assert upto(least) <= seen.floor <= upto(most)
        unread = [number for number in range(1, self.last + 1) if number not in least]
        assert sum(n not in most and n <= self.sure for n in unread) <= seen.lag <= len(unread)
        assert 0 <= seen.missed <= len(self.gone())
        assert seen.unsaved == 0
