"""Why a spool takes nothing more, in words: what it has of its limits, and who keeps that there.

Not here: the errors themselves (held.py). Law: only what is so at that moment is told.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import MeshError
from meshmsg._hints.plural import counted, plural

_FEED = ffi.typeof("mm_feed *")


class Guarded(Protocol):
    """Who is in a call with it."""

    lock: threading.Condition


class Filled(Protocol):
    """A spool that is open, as far as it is told of here."""

    path: str
    _file_bytes: int
    _max_bytes: int
    _max_messages: int
    _blocks: bool
    _record_max: int
    _feeds: dict[int, Any]

    @property
    def _inside(self) -> Guarded: ...

    def _inspected(self) -> Any: ...
    def _in_use(self) -> AbstractContextManager[Any]: ...


PUTS = ("appending", "sending")
"""What is being done where messages are put."""


def why_full(spool: Filled, doing: str) -> str:
    """Return why there was no room."""
    has, limits = _of_limits(spool) if doing in PUTS else ([], [])
    free = _free(spool.path)
    if limits and free is not None and free >= spool._file_bytes:
        return f": it has {', '.join(has)}" + _not_done(spool)
    disk = "" if free is None else f", which has {counted(free, 'byte')} free"
    also = f"; it has {', '.join(has)}" if has else ""
    return f" on the disk{disk}{also}" + (_not_done(spool) if doing in PUTS else "")


def why_late(spool: Filled, doing: str) -> str:
    """Return what may have kept a call that waits for room."""
    if doing not in PUTS or not spool._blocks:
        return ""
    has, limits = _of_limits(spool)
    if limits:
        return f"; it has {', '.join(has)}{_not_done(spool)}"
    free = _free(spool.path)
    if free is None or free >= spool._file_bytes:
        return ""
    file = counted(spool._file_bytes, "byte")
    return f"; the disk has {counted(free, 'byte')} free, and a file takes {file}{_not_done(spool)}"


def _of_limits(spool: Filled) -> tuple[list[str], list[str]]:
    """Return what it has of each limit, and which of them may be reached."""
    try:
        out = spool._inspected()
    except MeshError:
        return [], []  # it was closed meanwhile
    has, reached = [], []
    if spool._max_messages:
        messages = int(out.last_seq) - int(out.first_seq) + 1
        has.append(f"{messages:,} of {counted(spool._max_messages, 'message')} (max_messages)")
        if messages >= spool._max_messages:
            return has, has
    if spool._max_bytes:
        has.append(f"{int(out.bytes):,} of {counted(spool._max_bytes, 'byte')} (max_bytes)")
        if spool._max_bytes - int(out.bytes) <= spool._record_max:
            reached.append(has[-1])
    return has, reached


def _free(path: str) -> int | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _not_done(spool: Filled) -> str:
    """Return how many messages the Push that it feeds keeps there; of one that is closed, none."""
    left, out = 0, ffi.new("mm_feed_info *")
    with suppress(MeshError), spool._in_use(), spool._inside.lock:  # no feed is closed meanwhile
        for feed, _ in spool._feeds.values():
            if ffi.typeof(feed) is _FEED:  # a Pub has none to be acknowledged
                lib.mm_feed_inspect(feed, out)
                left += int(out.left)
    are = plural(left, "is", "are")
    return f"; {counted(left, 'message')} {are} not acknowledged" if left else ""
