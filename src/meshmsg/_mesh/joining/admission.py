"""Who is let into the table of members, and who gives way as it fills up.

Not here: what a record does (../opinion.py). Law: of what one source told, only so much is known
that this node never had an answer of; and who never answered and is gone keeps nobody out.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from ..here import Here
from ..limits import (
    MEMBERS_KEPT_FREE,
    MEMBERS_MAX,
    NEW_BURST,
    NEW_PER_SECOND,
    SOURCES_MAX,
    UNHEARD_FEW,
    UNHEARD_MAX,
)
from ..table import Row
from ..told import State


class Room(NamedTuple):
    """How many members one table has room for."""

    members: int = MEMBERS_MAX
    kept_free: int = MEMBERS_KEPT_FREE
    unheard: int = UNHEARD_MAX
    few: int = UNHEARD_FEW


class Admission:
    """That of one node."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.room = Room()
        self.unheard: dict[str, int] = {}
        """By source: members that it told of and that this node never had an answer of."""
        self._rates: dict[str, tuple[float, float]] = {}

    def admits(self, now: float, source: str, *, itself: bool = False, held: bool = False) -> bool:
        """Whether one more member may be known, and that source may tell of it.

        Args:
            now: The time.
            source: The address of who tells of it.
            itself: Whether that is the member itself.
            held: Whether who tells of it holds it unreachable.
        """
        room, known, host = self.room, self.here.table.known, _host_of(source)
        most = room.unheard
        if known >= room.members - room.kept_free:  # what is left is for who comes itself
            if known >= room.members or not itself or held:
                return False
            most = room.few
        return self.unheard.get(host, 0) < most and self._in_rate(now, host)

    def _in_rate(self, now: float, host: str) -> bool:
        left, at = self._rates.pop(host, (float(NEW_BURST), now))
        left = min(float(NEW_BURST), left + (now - at) * NEW_PER_SECOND)
        while len(self._rates) >= SOURCES_MAX:
            del self._rates[next(iter(self._rates))]
        self._rates[host] = (left - 1 if left >= 1 else left, now)
        return left >= 1

    def entered(self, row: Row, source: str) -> None:
        """Take that a member is known now, which that source told of."""
        host = row.source = sys.intern(_host_of(source))
        self.unheard[host] = self.unheard.get(host, 0) + 1

    def settled(self, row: Row) -> None:
        """Take that a member answered, or is known no more: its source may tell of another."""
        host, row.source = row.source, ""
        if host:
            self.unheard[host] -= 1
            if not self.unheard[host]:
                del self.unheard[host]

    def giving_way(self) -> list[Row]:
        """Return who is to be known no more, as the table is nearly full: those who are gone and
        never answered this node, or are forgotten; who is gone for longest goes first. Once it is
        so, as much room is made as is kept free."""
        table, room = self.here.table, self.room
        over = table.known - (room.members - room.kept_free)
        if over < 0:
            return []
        spare = [
            row
            for row in table.absent.values()
            if row.heard is None or row.state == State.FORGOTTEN
        ]
        spare.sort(key=lambda row: row.since)
        return spare[: over + room.kept_free]


def _host_of(source: str) -> str:
    """Without the port: a host has as many as it likes. Never empty."""
    return source.rpartition(":")[0] or "?"
