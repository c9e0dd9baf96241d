"""When something is due about each suspicion: only those that are due are looked at.

Not here: what is done then (../opinion.py). Law: what is put twice, has another time since, or is
over, is passed over; so what waits is at most twice as much as there are suspects, and `SPARE`.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count

from ..table import Row, Suspicion
from ..told import State

SPARE = 64
"""Entries that no suspicion needs any more, and that may wait beside as many as there are suspects
before all are made anew."""
Entry = tuple[float, int, Row, Suspicion]
"""The deadline, a number so that no rows are compared, and what has it."""


class Deadlines:
    """Those of one node's suspects.

    Who was asked a last time and who was not are apart: how long before its deadline one is asked
    is the same for all, and changes with this node's health.
    """

    def __init__(self, suspects: dict[bytes, Row]) -> None:
        self._suspects = suspects
        self._asked: list[Entry] = []
        self._unasked: list[Entry] = []
        self._number = count()

    def __len__(self) -> int:
        return len(self._asked) + len(self._unasked)

    def put(self, row: Row) -> None:
        """Take that the deadline of a suspect, or whether it was asked, is another."""
        suspicion = row.suspicion
        if suspicion is None:
            return
        if len(self) >= 2 * len(self._suspects) + SPARE:
            self._again()
        heap = self._asked if suspicion.looked else self._unasked
        heappush(heap, (suspicion.deadline, next(self._number), row, suspicion))

    def _again(self) -> None:
        """Keep one entry of each suspect."""
        for heap, looked in ((self._asked, True), (self._unasked, False)):
            newest = {id(e[2]): e for e in sorted(heap, key=_number) if _is_so(e, looked=looked)}
            heap[:] = newest.values()
            heapify(heap)

    def first(self, looking: float) -> float:
        """Return when the first is due; looking: seconds of a last look, which is begun before."""
        while self._asked and not _is_so(self._asked[0], looked=True):
            heappop(self._asked)
        while self._unasked and not _is_so(self._unasked[0], looked=False):
            heappop(self._unasked)
        asked = self._asked[0][0] if self._asked else float("inf")
        return min(asked, self._unasked[0][0] - looking) if self._unasked else asked

    def over(self, now: float) -> list[Row]:
        """Take those that were asked and whose time is over; one that is being asked still is to
        be put again as that ends."""
        return _taken(self._asked, now, looked=True)

    def to_ask(self, now: float, looking: float) -> list[Row]:
        """Take those that it is time to ask a last time."""
        return _taken(self._unasked, now, looking, looked=False)


def _number(entry: Entry) -> int:
    return entry[1]


def _is_so(entry: Entry, *, looked: bool) -> bool:
    """Whether that is still the deadline of a suspicion that goes on."""
    deadline, _, row, suspicion = entry
    return (
        row.proof is suspicion
        and row.state == State.SUSPECT
        and suspicion.looked == looked
        and suspicion.deadline == deadline
    )


def _taken(heap: list[Entry], now: float, before: float = 0.0, *, looked: bool) -> list[Row]:
    """Take whose time begins or is over, each once."""
    rows: dict[int, Row] = {}
    while heap and heap[0][0] - before <= now:
        entry = heappop(heap)
        if _is_so(entry, looked=looked):
            rows[id(entry[2])] = entry[2]
    return list(rows.values())
