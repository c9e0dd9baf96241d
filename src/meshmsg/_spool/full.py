"""Why a spool takes nothing more, in words: what it has of its limits, and who keeps that there.
Which calls wait for room. And how large a message may be.

Not here: the errors themselves (held.py), what is told while calls wait (told.py). Law: a
refusal is told as it was when it was made, and all else as it is at that moment. Which calls wait
changes by steps that a signal's function, which may wait as well, cannot split. Sizes are those of
docs/spool-format.md.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import MeshError
from meshmsg._hints.plural import counted, plural

_FEED = ffi.typeof("mm_feed *")


class Guarded(Protocol):
    """Who is in a call with it."""

    lock: threading.RLock


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


_NUMBER = 8
"""Octets of a time, and of a number of an origin."""
_ORIGIN = 16 + _NUMBER
_ATTRIBUTES = 1
_SEVEN = 7
"""Bits in an octet of a varint."""
_BESIDE = 4200
"""Bytes that a message takes beside its own, or a few more: the heads of another segment file and
of a batch, and the end of the file."""
_ROOM = "; trimming it, or acknowledging what it has, makes room"
_STAYS = (
    "if it stays so, a limit of this process (open files, the size of one) or a quota refuses "
    "another file"
)
TOLD_AGAIN_S = 60.0
"""Seconds after which the same is told again."""
PUTS = ("appending", "sending")
"""What is being done where messages are put."""


def why_full(spool: Filled, doing: str) -> str:
    """Return why there was no room, the last time that there was none: a moment later there may be
    some, as others acknowledge."""
    has, limit = _as_refused(spool) if doing in PUTS else ([], False)
    if limit:
        return f": it had {', '.join(has)}{not_done(spool)}{_ROOM}"
    free = _free(spool.path)
    disk = "" if free is None else f", which has {counted(free, 'byte')} free"
    if free is not None and free >= 2 * spool._file_bytes:
        disk = f"; by now it has {counted(free, 'byte')} free: try again; {_STAYS}"
    also = f"; it had {', '.join(has)}" if has else ""
    return f" on the disk{disk}{also}" + (not_done(spool) if doing in PUTS else "")


def why_late(spool: Filled, doing: str) -> str:
    """Return what may have kept a call that waits for room."""
    if doing not in PUTS or not spool._blocks:
        return ""
    has, limits = _of_limits(spool)
    if limits:
        return f"; it has {', '.join(has)}{not_done(spool)}"
    free = _free(spool.path)
    if free is None:
        return ""
    if free >= spool._file_bytes:
        roomy = free >= 2 * spool._file_bytes
        if not (roomy and disk_refused(spool)):
            return ""
        return f"; the disk had no room, and by now has {counted(free, 'byte')} free; {_STAYS}"
    file = counted(spool._file_bytes, "byte")
    return f"; the disk has {counted(free, 'byte')} free, and a file takes {file}{not_done(spool)}"


def is_full(spool: Filled) -> bool:
    """Whether the last message that was to be put had no room."""
    try:
        return bool(spool._inspected().full)
    except MeshError:
        return False  # it was closed meanwhile


def what_it_had(spool: Filled) -> str:
    """Return how full it was as it refused the last time."""
    has, limit = _as_refused(spool)
    if limit:
        return ", ".join(has)
    free, file = _free(spool.path), counted(spool._file_bytes, "byte")
    disk = "no room on the disk"
    if free is not None:
        disk += f", which has {counted(free, 'byte')} free by now, and a file takes {file}"
    return ", ".join([disk, *has])


def _as_refused(spool: Filled) -> tuple[list[str], bool]:
    """Return what it had of each limit as it refused the last time, and whether one was why."""
    try:
        out = spool._inspected()
    except MeshError:
        return [], False  # it was closed meanwhile
    why = int(out.full_why)
    if why == lib.MM_SPOOL_FULL_NEVER:
        return [], False
    if why == lib.MM_SPOOL_FULL_MESSAGES:
        return [_of_messages(spool, int(out.full_messages))], True
    has = [_of_messages(spool, int(out.full_messages))] if spool._max_messages else []
    has += [_of_bytes(spool, int(out.full_bytes))] if spool._max_bytes else []
    if why != lib.MM_SPOOL_FULL_BYTES:
        return has, False
    need = f"a message needs some {counted(_BESIDE, 'byte')} more than its own"
    return [*has[:-1], f"{has[-1]}, and {need}, for the head of another file"], True


def disk_refused(spool: Filled) -> bool:
    """Return whether the last time that there was no room was for want of another file."""
    try:
        return int(spool._inspected().full_why) == int(lib.MM_SPOOL_FULL_DISK)
    except MeshError:
        return False  # it was closed meanwhile


def _of_limits(spool: Filled) -> tuple[list[str], list[str]]:
    """Return what it has of each limit, and which of them may be reached."""
    try:
        out = spool._inspected()
    except MeshError:
        return [], []  # it was closed meanwhile
    has, reached = [], []
    if spool._max_messages:
        messages = int(out.last_seq) - int(out.first_seq) + 1
        has.append(_of_messages(spool, messages))
        if messages >= spool._max_messages:
            return has, has
    if spool._max_bytes:
        has.append(_of_bytes(spool, int(out.bytes)))
        if spool._max_bytes - int(out.bytes) <= spool._record_max:
            reached.append(has[-1])
    return has, reached


def _of_messages(spool: Filled, count: int) -> str:
    return f"{count:,} of {counted(spool._max_messages, 'message')} (max_messages)"


def _of_bytes(spool: Filled, size: int) -> str:
    return f"{size:,} of {counted(spool._max_bytes, 'byte')} (max_bytes)"


def _free(path: str) -> int | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def feeds_push(spool: Filled) -> bool:
    """Whether a Push sends what it has: a Pub has none to be acknowledged."""
    return any(ffi.typeof(feed) is _FEED for feed, _, _ in tuple(spool._feeds.values()))


def not_done(spool: Filled) -> str:
    """Return how many messages the Push that it feeds keeps there; of one that is closed, none."""
    left, out = 0, ffi.new("mm_feed_info *")
    with suppress(MeshError), spool._in_use(), spool._inside.lock:  # no feed is closed meanwhile
        for feed, _, _ in spool._feeds.values():
            if ffi.typeof(feed) is _FEED:
                lib.mm_feed_inspect(feed, out)
                left += int(out.left)
    are = plural(left, "is", "are")
    return f"; {counted(left, 'message')} {are} not acknowledged" if left else ""


def varint_size(value: int) -> int:
    """Return how many octets a varint takes."""
    return max(1, -(-value.bit_length() // _SEVEN))


def body_max(
    record_max: int,
    meta_size: int,
    *,
    origin: bool = False,
    due: bool = False,
    priority: bool = False,
    others: Sequence[int] = (),
) -> int:
    """Return how large a message may be, all its frames together, where a record may have that many
    octets; `others`: the sizes of all its frames but the last."""
    beside = _ATTRIBUTES + _ORIGIN * origin + _NUMBER * due + priority
    beside += varint_size(meta_size) + meta_size if meta_size else 0
    if others:
        beside += varint_size(len(others) + 1) + sum(map(varint_size, others))
    size = record_max
    while varint_size(size) + size > record_max:
        size -= 1
    return max(size - beside, 0)


class Seldom:
    """What is told at first, and then once a minute. Thread-safe: yes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._told_at: float | None = None

    def due(self) -> bool:
        """Whether it is to be told now; then it is."""
        now = time.monotonic()
        with self._lock:
            due = self._told_at is None or now - self._told_at >= TOLD_AGAIN_S
            self._told_at = now if due else self._told_at
        return due


class Room:
    """The calls that wait for room."""

    def __init__(self) -> None:
        self._calls: dict[object, None] = {}
        self.behind: set[object] = set()
        """Those of event loops whose turn comes behind another one."""
        self._seldom = Seldom()

    def __len__(self) -> int:
        return len(self._calls) + (len(self.behind) if self._calls else 0)

    def enter(self, call: object) -> bool:
        """A call waits, or still does; true: that is to be told now."""
        self._calls[call] = None
        return self._seldom.due()

    def leave(self, call: object) -> None:
        """A call waits no longer, if it did."""
        self._calls.pop(call, None)
