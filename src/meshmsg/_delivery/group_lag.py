"""How far the groups of a Pub are behind, for `stats()`, which waits for nothing.

Not here: all of what a group is (grouped.py). Law: the disk is looked at as the Pub is made, and by
calls that wait for it anyway. A group that nobody was in since then has its last known place.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import ClosedError
from meshmsg._spool.cursor import SpoolCursorInfo
from meshmsg._spool.held import first_and_last
from meshmsg._spool.spool import Spool

PREFIX = "group."
"""In front of the name of a group: the name of its cursor."""
_OPEN_FIRST = 64
"""Open cursors that there is room for at first."""


def is_group(cursor: str) -> bool:
    """Whether a cursor is the place of a group: behind the prefix a name needs a letter, at least;
    which letters and how many is the same of both."""
    return len(cursor) > len(PREFIX) and cursor.startswith(PREFIX)


class GroupLag:
    """The lag of each group of a spool, as far as it is known without the disk."""

    def __init__(self, spool: Spool, found: Mapping[str, SpoolCursorInfo]) -> None:
        self._spool = spool
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int | None, int]] = {}
        """By group: its lag (None: its cursor is harmed), and the last number at that time."""
        self.found(found)

    def found(self, found: Mapping[str, SpoolCursorInfo]) -> None:
        """The disk was looked at: these are all groups that there are."""
        _, last = first_and_last(self._spool)
        with self._lock:
            self._known = {name: (one.lag, last) for name, one in found.items()}

    def moved(self, name: str, info: SpoolCursorInfo | None) -> None:
        """A group is elsewhere, is new, or, without a place, is no more."""
        _, last = first_and_last(self._spool)
        with self._lock:
            if info is None:
                self._known.pop(name, None)
            else:
                self._known[name] = info.lag, last

    def now(self) -> dict[str, int | None]:
        """Tell the lag of each, in the order of their names; none once the spool was closed."""
        try:
            left = _of_open(self._spool)
            first, last = first_and_last(self._spool)
        except ClosedError:
            return {}
        with self._lock:
            self._known |= {name: (lag, last) for name, lag in left.items()}
            return {
                name: lag if lag is None else min(lag + last - then, last - first + 1)
                for name, (lag, then) in sorted(self._known.items())
            }


def _of_open(spool: Spool) -> dict[str, int]:
    """Tell the lag of the groups whose cursors are open."""
    room = _OPEN_FIRST
    while True:
        out = ffi.new("mm_spool_cursor_lag[]", room)
        with spool._in_use() as pointer:
            count = int(lib.mm_spool_cursors_left(pointer, out, room))
        if count <= room:
            break
        room = count
    named = ((str(ffi.string(one.name).decode()), int(one.left)) for one in out[0:count])
    return {name[len(PREFIX) :]: left for name, left in named if is_group(name)}
