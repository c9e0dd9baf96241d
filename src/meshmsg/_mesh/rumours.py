"""What is to be passed on, each rumour some times: those first that were passed on least.

Not here: what a rumour means (opinion.py). Law: a newer rumour of one matter takes the place of
the older one, and never more than RUMOURS_MAX wait.
"""

from __future__ import annotations

from .limits import RUMOURS_MAX
from .octets import RUMOUR_HEAD, STATEMENT_SIZE, Rumour, rumour_octets

SMALLEST = RUMOUR_HEAD + STATEMENT_SIZE
"""Octets of the smallest rumour."""
MISFITS = 4
"""Rumours that are looked at and do not fit, before no more are looked at."""
Matter = tuple[bytes, bytes]
"""Whom a rumour is about, and who says it."""


class Rumours:
    """The rumours of one node."""

    def __init__(self) -> None:
        self._levels: list[dict[Matter, bytes]] = [{}]
        """By how often they were passed on."""
        self._level: dict[Matter, int] = {}
        self._about: dict[bytes, set[Matter]] = {}

    def __len__(self) -> int:
        return len(self._level)

    def add(self, kind: Rumour, subject: bytes, by: bytes, body: bytes) -> None:
        """Take a rumour to pass on; if too many wait, the one passed on most often is dropped."""
        matter = (subject, by)
        self._remove(matter)
        if len(self._level) >= RUMOURS_MAX:
            most = max(level for level, waiting in enumerate(self._levels) if waiting)
            self._remove(next(iter(self._levels[most])))
        self._levels[0][matter] = rumour_octets(kind, body)
        self._level[matter] = 0
        self._about.setdefault(subject, set()).add(matter)

    def _remove(self, matter: Matter) -> None:
        level = self._level.pop(matter, None)
        if level is None:
            return
        del self._levels[level][matter]
        about = self._about[matter[0]]
        about.discard(matter)
        if not about:
            del self._about[matter[0]]

    def drop(self, subject: bytes) -> None:
        """Pass on nothing more about a node."""
        for matter in list(self._about.get(subject, ())):
            self._remove(matter)

    def pick(self, room: int, times: int) -> list[bytes]:
        """Return rumours that fit into that many octets; each is given `times` times in all."""
        picked: list[tuple[Matter, int, bytes]] = []
        misfits = 0
        for level, waiting in enumerate(self._levels):
            for matter, data in waiting.items():
                if len(data) <= room:
                    room -= len(data)
                    picked.append((matter, level, data))
                else:
                    misfits += 1
                if misfits >= MISFITS or room < SMALLEST:
                    break
            if misfits >= MISFITS or room < SMALLEST:
                break
        for matter, level, data in picked:
            if level + 1 >= times:
                self._remove(matter)
                continue
            del self._levels[level][matter]
            if level + 1 == len(self._levels):
                self._levels.append({})
            self._levels[level + 1][matter] = data
            self._level[matter] = level + 1
        return [data for _, _, data in picked]
