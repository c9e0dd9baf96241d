"""What one call puts into a spool: it is called again and again until all of it is put.

Not here: who calls it, and what happens in between (held.py, aio/_spool/later.py). Law: each call
goes on where the one before ended; what was put is counted, whatever ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from meshmsg._binding.core import SLICE_MS, ffi, lib, native
from meshmsg._binding.data import size_of
from meshmsg._spool.held import Held, Putting
from meshmsg._spool.told import SpoolRepeat


class Put(Putting, Protocol):
    """What can be put by an event loop, too."""

    @property
    def last(self) -> int:
        """The number of the last message that was put; 0: none."""
        ...

    def at_once(self, pointer: Any) -> int:
        """Put what has room at this moment: a code of the core; EAGAIN: there is more."""
        ...


class Run:
    """Bodies of messages, in their order. `check` raises when it is to end while it waits; `origin`
    is who puts the first, and its number there: those of the others go up by one.

    Attributes:
        at: How many were taken.
        first, last: The numbers of the first and the last that was put; 0: of none.
        until: The number that is kept when all of them are; 0: of none.
        repeated: How many had been put before, as their origins say.
        original: The number of the last of those; 0: it is not known.
    """

    _flags = 0
    """Of mm_spool_append."""

    def __init__(
        self,
        spool: Held,
        run: list[bytes],
        meta: bytes,
        *,
        origin: tuple[()] | tuple[bytes, int] = (),
        wait: bool = False,
        check: Callable[[], None] | None = None,
        doing: str = "appending",
    ) -> None:
        self._spool, self._run, self._meta, self._check = spool, run, meta, check
        self._origin = origin
        self._flags |= lib.MM_SPOOL_WAITS if wait else 0
        self.doing = doing
        self.at = self.first = self.last = self.until = self.repeated = self.original = 0

    def __call__(self, pointer: Any, ms: int) -> int:
        """Put some, for one slice of the time at most."""
        spool, before = self._spool, self.at
        if before == len(self._run):
            waits = self._flags & lib.MM_SPOOL_WAITS  # and goes on with that
            return int(lib.mm_spool_flush(pointer, spool._level, ms, SLICE_MS)) if waits else 0
        if self._check is not None:
            self._check()
        given = (spool._address, self._run, before, self._meta, self._flags, ms, SLICE_MS)
        rc, at, *did = native.spool_append(*given, *self._origin)
        return self._did(rc, at - before, *did)

    def at_once(self, pointer: Any) -> int:
        """Put those that have room at this moment."""
        before = self.at
        given = (self._spool._address, self._run, before, self._meta)
        rc, at, *did = native.spool_put(*given, *self._origin)
        return self._did(rc, at - before, *did)

    def _did(self, rc: int, done: int, first: int, last: int, *once: int) -> int:
        """Count what was taken; `once`: of those that have an origin, as mm_spool_did has it."""
        repeated, original, until = once or (0, 0, last)
        self.at += done
        self.first, self.last = self.first or first, last or self.last
        self.repeated += repeated
        self.original = original if repeated else self.original
        self.until = max(self.until, until)
        if rc == lib.MM_EMSGSIZE:
            raise self._spool._too_large(size_of(self._run[self.at]))
        return rc


class Frames:
    """One message of frames, which may be for later, or urgent. `check` as of a Run."""

    def __init__(
        self,
        spool: Held,
        packed: tuple[bytes, Any, int],
        meta: bytes,
        *,
        due_us: int = 0,
        priority: int = 0,
        wait: bool = True,
        check: Callable[[], None] | None = None,
        doing: str = "sending",
    ) -> None:
        self._spool, self._packed, self._wait, self._check = spool, packed, wait, check
        self._meta = ffi.from_buffer("uint8_t[]", meta)
        self._plan = ffi.new("mm_spool_plan *", (self._meta, due_us, len(meta), priority))
        self._did = ffi.new("mm_spool_did *")
        self.doing = doing

    @property
    def at(self) -> int:
        """Whether it was taken."""
        return int(self._did.done)

    @property
    def last(self) -> int:
        """Its number; 0: it was not put."""
        return int(self._did.last)

    def __call__(self, pointer: Any, ms: int) -> int:
        """Put it, for one slice of the time at most."""
        if self.at:  # a wait goes on
            return int(lib.mm_spool_flush(pointer, self._spool._level, ms, SLICE_MS))
        if self._check is not None:
            self._check()
        return self._checked(
            lib.mm_spool_append_frames(
                *(pointer, *self._packed, self._plan, self._wait, ms, SLICE_MS, self._did)
            )
        )

    def at_once(self, pointer: Any) -> int:
        """Put it if there is room at this moment."""
        return self._checked(
            lib.mm_spool_append_frames_nowait(pointer, *self._packed, self._plan, self._did)
        )

    def _checked(self, rc: int) -> int:
        if rc == lib.MM_EMSGSIZE:
            raise self._spool._too_large(len(self._packed[0]))
        return int(rc)


def put_of(
    spool: Held,
    run: list[bytes],
    meta: bytes,
    origin: tuple[bytes, int] | None,
    *,
    sent: int = 0,
    wait: bool = False,
) -> Run:
    """Return what puts them: those behind `sent` others, whose first one has that origin."""
    if origin is None:
        return Run(spool, run, meta, wait=wait)
    producer, number = origin
    return Run(spool, run, meta, origin=(producer, number + sent), wait=wait)


def returned(put: Run) -> int | None:
    """Return what `append` says of its only message."""
    if put.repeated:
        return SpoolRepeat(put.original)
    return put.first or None


def last_of(pointer: Any, producer: bytes) -> int | None:
    """Return the last number that a producer put; None: it is not known."""
    number = ffi.new("uint64_t *")
    known = lib.mm_spool_last_origin(pointer, ffi.from_buffer("uint8_t[]", producer), number)
    return int(number[0]) if known else None
