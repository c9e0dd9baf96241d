"""Which messages of a spool somebody is done with, by name.

Not here: the file it is kept in (docs/spool-format.md), who makes one (kept.py). Law: what is not
done is never taken for done; what could not be saved is told, and is delivered again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from meshmsg._binding.core import EAGAIN, SLICE_MS, ffi, lib
from meshmsg._binding.errors import (
    ClosedError,
    SpoolCorruptError,
    SpoolError,
    SpoolFailedError,
    SpoolTrimmedError,
    UsageError,
    WouldBlockError,
)
from meshmsg._hints.unshared import Unshared
from meshmsg._spool.arguments import SEQ_MAX, cursor_name, whole
from meshmsg._spool.held import Held, Inside, first_and_last
from meshmsg._spool.message import SpoolGap, SpoolMessage
from meshmsg._spool.reader import SpoolReader
from meshmsg._spool.starts import Begin, Start, begin_of, begun

if TYPE_CHECKING:
    from typing_extensions import Self

NAMES_FIRST = 4096
"""Octets of names that there is room for at first: each look lists the folder."""
_FoundT = TypeVar("_FoundT")
_EARLIEST, _LATEST = 0, 2**64 - 1
_AS_IT_OPENS = {"earliest": _EARLIEST, "latest": _LATEST}
"""What the core finds out itself."""


def names_of(spool: Held, call: Callable[[Any, Any, int], int]) -> list[str]:
    """Return the names that the core tells of, in their order."""
    size = NAMES_FIRST
    while True:
        out = ffi.new("char[]", size)
        with spool._in_use() as pointer:
            needed = int(call(pointer, out, size))
        spool._raise_for(needed, "listing its cursors")
        if needed <= size:
            return sorted(bytes(ffi.buffer(out, needed)).decode().split())
        size = needed


def trimmed(spool: Held, seq: int) -> SpoolTrimmedError:
    """Return the error that a number was removed."""
    first, _ = first_and_last(spool)
    return SpoolTrimmedError(
        f"{spool.path}: message {seq} was removed; {first} is the first that is there",
        seq=seq,
        first=first,
    )


def settled(spool: Held, begin: Begin, at: Callable[[int], _FoundT]) -> _FoundT:
    """Do something with where one begins, as the core has it."""
    if begin.kind in _AS_IT_OPENS:
        return at(_AS_IT_OPENS[begin.kind])
    return begun(spool, begin, at)


class SpoolCursor(Unshared):
    """Which messages of a spool somebody is done with, kept beside them; made by `Spool.cursor`.

    All messages up to its `floor` are done, and any above it. Its file is written about once a
    second while it changes, by `save`, and by `close`. What was done since the last save is not
    done any more after a crash: it is read again, and never lost.

    Several in one process that have the same name are the same; the last one to close saves. Of an
    open spool, threads may share one. In the child of a fork it is closed.
    """

    _key = 0
    """Of it, among the cursors of its spool; 0: it was not opened."""

    def __init__(self, spool: Held, name: str, start: int | None) -> None:
        self._spool = spool
        self._name = cursor_name("name", name)
        self._inside = Inside()
        self._late: int = lib.MM_OK
        """What closing it said that nobody was told of."""
        out = ffi.new("mm_spool_cursor **")
        begins = (False, 0) if start is None else (True, start)  # whether it may be made, and where
        with spool._in_use() as pointer:
            rc = int(lib.mm_spool_cursor_open(pointer, name.encode(), *begins, out))
            if rc == lib.MM_OK:
                self._key = id(self)
                spool._cursors[self._key] = out[0]
        self._pointer: Any = out[0]
        if rc == lib.MM_ENOENT and start is not None:
            raise trimmed(spool, start)
        if rc == lib.MM_EINVAL and start is not None:
            raise UsageError(
                f"{spool.path}: start is {start:,}; the next message is "
                f"{first_and_last(spool)[1] + 1:,}"
            )
        if rc == lib.MM_ENOENT:
            raise SpoolError(f"{spool.path}: there is no cursor {name!r}", code=rc)
        if rc == lib.MM_EPROTO:
            raise SpoolCorruptError(
                f"{spool.path}: the cursor {name!r} is harmed, or of another spool; after "
                "delete_cursor it can be made anew",
                first=0,
                last=0,
            )
        spool._raise_for(rc, f"opening the cursor {name!r}")

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def floor(self) -> int:
        """All messages up to this number are done; 0: the first is not."""
        return int(self._inspect().floor)

    @property
    def lag(self) -> int:
        """How many messages can be read and are not done."""
        return int(self._inspect().left)

    @property
    def missed(self) -> int:
        """How many were removed before they were done, since it was opened or just before."""
        return int(self._inspect().missed)

    @property
    def unsaved(self) -> int:
        """How many are done out of order and found no room in its file when it was saved last.

        After a crash they are read again. The file has room for some 10,000 ranges.
        """
        return int(self._inspect().unsaved)

    def done(self, seq: int) -> None:
        """Say that one message is done; again: nothing.

        Thread-safe: yes. Waits for nothing.

        Args:
            seq: Its number.

        Raises:
            UsageError: No message of that number can be read yet.
            WouldBlockError: It is more than 134,217,664 above the floor; what is below comes first.
            SpoolFailedError: It could not be saved; close it, and open it again.
            ClosedError: It, or its spool, was closed.
        """
        seq = whole("seq", seq, 1)
        self._done(seq, seq)

    def done_up_to(self, seq: int) -> None:
        """Say that all messages up to that one are done.

        Thread-safe: yes. Waits for nothing.

        Args:
            seq: The last of them; 0: none.

        Raises:
            UsageError, SpoolFailedError, ClosedError: As `done`.
        """
        if whole("seq", seq, 0) > 0:
            self._done(1, seq)

    def done_range(self, first: int, last: int) -> None:
        """Say that all messages from one to another are done.

        Thread-safe: yes. Waits for nothing.

        Args:
            first: The first of them, 1 and more.
            last: The last of them, itself included.

        Raises:
            UsageError, WouldBlockError, SpoolFailedError, ClosedError: As `done`.
        """
        first = whole("first", first, 1)
        self._done(first, whole("last", last, first))

    def is_done(self, seq: int) -> bool:
        """Return whether that message is done.

        Thread-safe: yes. Waits for nothing.

        Args:
            seq: A number, 1 and more.

        Returns:
            True if it is.

        Raises:
            ClosedError: It, or its spool, was closed.
        """
        whole("seq", seq, 1)
        return self._next(seq) != seq

    def seek(self, seq: Start) -> None:
        """Go to a message, back or forth: all below it is done, and nothing else; it is saved.

        Readers that it gave go on where they are. Thread-safe: yes. It waits for the disk.

        Args:
            seq: The number that is next, up to one beyond the last message; or where that is in
                words, as the `start` of `Spool.cursor`.

        Raises:
            SpoolTrimmedError: It was removed; `first` is the first that is there.
            UsageError: It is beyond the next one.
            SpoolFailedError: It could not be saved.
            ClosedError: It, or its spool, was closed.
        """
        begun(self._spool, begin_of("seq", seq), self._go)
        self.save()

    def _go(self, seq: int) -> None:
        with self._in_use() as pointer:
            rc = int(lib.mm_spool_cursor_seek(pointer, seq))
        if rc in (lib.MM_ENOENT, lib.MM_EINVAL):
            check_place(self._spool, seq)
        self._raise_for(rc, "going to a message")

    def save(self, *, timeout: float | None = None) -> None:
        """Write it: what is done now is done after a crash, too.

        The messages are waited for first: nothing is done that is not on the disk.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimedOutError, WouldBlockError: The messages are not on the disk, in time; now.
            SpoolFailedError: It could not be saved: nothing is saved in it until it was closed and
                opened again.
            ClosedError: It, or its spool, was closed.
        """

        def call(_: Any, ms: int) -> int:
            with self._in_use() as pointer:
                rc = int(lib.mm_spool_cursor_save(pointer, ms, SLICE_MS))
            if rc in (lib.MM_EIO, lib.MM_ENOSPC):
                self._raise_for(rc, "saving it")
            return rc

        self._spool._until(call, timeout, f"the cursor {self._name!r}: saving it")

    def reader(self) -> SpoolReader:
        """Return a reader of what is not done, in order, from the floor on.

        It gives each message once, done or not; what is done before it comes to it is left out. A
        batch ends before one that is done. Thread-safe: yes.

        Returns:
            The reader, which is for one thread at a time. It may outlive the cursor's `done`, but
            not its `close`.

        Raises:
            ClosedError: It, or its spool, was closed.
        """
        return _NotDone(self._spool, self)

    def close(self) -> None:
        """Save it and close it. Again: nothing.

        Thread-safe: yes; calls of other threads end first. If a signal's function closes it below a
        call of the same thread, it is closed as that call ends.

        Raises:
            SpoolFailedError: It could not be saved, now or before; what it says is what was saved.
        """
        if os.getpid() != self._spool._pid:
            return  # its spool was given up as the process was forked
        with self._inside.lock:
            self._pointer = None
            if self._inside.mine:
                self._inside.later(self._close_late)
                return
            self._inside.wait()
        rc, self._late = self._late, lib.MM_OK
        self._raise_for(self._spool._close_cursor(self._key) or rc, "closing it")

    def _close_late(self) -> None:
        """Close it; what that says is for who closes it again, and for the log."""
        self._late = self._spool._close_cursor(self._key)
        if self._late:
            logging.getLogger("meshmsg").error(
                "the spool %s: the cursor %r: closing it, as a call of the same thread asked for: "
                "it could not be saved",
                self._spool.path,
                self._name,
            )

    def _done(self, first: int, last: int) -> None:
        with self._in_use() as pointer:
            rc = int(lib.mm_spool_cursor_done(pointer, first, last))
        if rc == lib.MM_EINVAL:
            raise UsageError(
                f"{self._spool.path}: message {last:,} is not done: it cannot be read yet"
            )
        if rc == EAGAIN:
            raise WouldBlockError(
                f"{self._spool.path}: the cursor {self._name!r}: message {last:,} is more than "
                f"{lib.MM_SPOOL_CURSOR_SPAN_MAX:,} above its floor",
                code=rc,
            )
        self._raise_for(rc, "marking messages")

    def _next(self, seq: int) -> int:
        with self._in_use() as pointer:
            return int(lib.mm_spool_cursor_next(pointer, seq))

    def _inspect(self) -> Any:
        out = ffi.new("mm_spool_cursor_info *")
        with self._in_use() as pointer:
            lib.mm_spool_cursor_inspect(pointer, out)
        return out

    def _raise_for(self, rc: int, doing: str) -> None:
        if rc in (lib.MM_EIO, lib.MM_ENOSPC):
            raise SpoolFailedError(
                f"{self._spool.path}: the cursor {self._name!r}: {doing}: the disk failed; what it "
                "says is what was saved before, or this",
                code=rc,
            )
        self._spool._raise_for(rc, f"the cursor {self._name!r}: {doing}")

    @contextmanager
    def _in_use(self) -> Iterator[Any]:
        """Keep it, and its spool, from being closed meanwhile."""
        with self._spool._in_use(), self._inside.entered(self._opened) as pointer:
            yield pointer

    def _opened(self) -> Any:
        """Return its pointer, if it is open."""
        pointer = self._pointer  # once: a signal's function may close it
        if pointer is None:
            raise ClosedError(f"the cursor {self._name!r} was closed", code=lib.MM_ECLOSED)
        return pointer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._key and os.getpid() == self._spool._pid:
            self._spool._close_cursor(self._key)

    def __repr__(self) -> str:
        return f"<meshmsg.SpoolCursor {self._name!r} of {self._spool.path}>"


def cursor_at(spool: Held, name: str, begin: Begin) -> SpoolCursor:
    """Open a cursor; one that is made begins there."""
    if begin.kind not in _AS_IT_OPENS:
        try:
            return SpoolCursor(spool, name, None)  # it goes on where it was: nothing is looked for
        except SpoolError as error:
            if error.code != lib.MM_ENOENT:
                raise
    return settled(spool, begin, lambda start: SpoolCursor(spool, name, start))


class _NotDone(SpoolReader):
    """Reads what a cursor is not done with."""

    def __init__(self, spool: Held, cursor: SpoolCursor) -> None:
        info = cursor._inspect()
        super().__init__(spool, int(info.floor) + 1)
        self._cursor = cursor
        self._missed = int(info.missed)

    def _load(self, got: list[SpoolMessage | SpoolGap], ms: int) -> bool:
        return self._skipped(bool(got)) and super()._load(got, ms)

    def _take(self, got: list[SpoolMessage | SpoolGap], most: int, below: int = SEQ_MAX) -> None:
        while self._ready and len(got) < most:
            if (done := self._next_done()) <= self._seq:
                self._ready = False  # what is next is looked for again
                return
            super()._take(got, most, min(below, done))

    def _run(self, most: int, some: bool) -> tuple[int, int]:
        return (most, self._next_done()) if self._skipped(some) else (0, 0)

    def _next_done(self) -> int:
        """Return the first number from here on that is done."""
        with self._cursor._in_use() as cursor:
            return int(lib.mm_spool_cursor_next_done(cursor, self._seq))

    def _took(self, rows: Any) -> None:
        first = self._seq
        super()._took(rows)
        with self._cursor._in_use() as cursor:
            lib.mm_spool_cursor_compacted(cursor, rows, first, self._seq)

    def _passed(self, first: int, last: int) -> None:
        with self._cursor._in_use() as cursor:
            lib.mm_spool_cursor_compacted(cursor, ffi.NULL, first, last + 1)

    def _skipped(self, some: bool) -> bool:
        """Go on to what is not done; false: what was removed is told of, with the next call."""
        seq = self._cursor._next(self._seq)
        if seq == self._seq:
            return True
        missed = self._cursor.missed
        first, _ = first_and_last(self._spool)
        if missed > self._missed and self._seq < first:
            if some:
                return False
            error = trimmed(self._spool, self._seq)
            self._missed = missed  # behind it, as a signal's function runs behind a call
            raise error
        lib.mm_spool_reader_seek(self._pointer, seq)
        self._seq = seq
        return True


@dataclass(frozen=True)
class SpoolCursorInfo:
    """What a cursor of a spool is, at one moment.

    Attributes:
        name: Its name.
        floor: All messages up to it are done; None: its file is harmed, of another spool, or of a
            later version.
        lag: How many messages can be read and are not done; None, likewise.
    """

    name: str
    floor: int | None
    lag: int | None


@dataclass(frozen=True)
class Looked(SpoolCursorInfo):
    """A cursor; `untold`: messages that were removed, and that nobody was told of yet."""

    untold: int = 0


def looked(spool: Held, name: str) -> Looked | None:
    """Look at one without opening it: who opens it is told of what was removed, and nobody else.

    Returns:
        What it is; None: it was removed meanwhile.
    """
    out = ffi.new("mm_spool_cursor_info *")
    with spool._in_use() as pointer:
        rc = int(lib.mm_spool_cursor_look(pointer, name.encode(), out))
    if rc == lib.MM_ENOENT:
        return None
    if rc in (lib.MM_EPROTO, lib.MM_ENOTSUP):
        return Looked(name, None, None)
    spool._raise_for(rc, f"looking at the cursor {name!r}")
    return Looked(name, int(out.floor), int(out.left), int(out.missed))


def check_place(spool: Held, seq: int) -> None:
    """Check that a cursor may go there.

    Raises:
        SpoolTrimmedError: That message was removed.
        UsageError: It is beyond the next one.
    """
    first, last = first_and_last(spool)
    if seq < first:
        raise trimmed(spool, seq)
    if seq > last + 1:
        raise UsageError(f"seq is {seq:,}; the next message is {last + 1:,}")
