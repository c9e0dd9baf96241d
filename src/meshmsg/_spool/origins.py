"""Who puts messages, and the number that it gives each: so what is put again is known.

Not here: what is known of them, and for how long (csrc/spool/producers.h).
"""

from __future__ import annotations

import hashlib
from typing import Any

from meshmsg._binding.core import SLICE_MS, ffi, lib, native
from meshmsg._binding.errors import UsageError
from meshmsg._spool.arguments import whole
from meshmsg._spool.held import Held
from meshmsg._spool.puts import Run

Producer = str | bytes
"""A name, as text, or 16 bytes."""
Origin = tuple[Producer, int]
"""A producer, and the number that it gives a message."""
PRODUCER_SIZE = 16
"""Bytes that stand for a producer."""


class SpoolRepeat(int):
    """The number of a message that its producer had put before; 0: it is not known any more.

    `append` with an `origin` returns it in place of a number, and nothing was put.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<meshmsg.SpoolRepeat {int(self)}>"


def producer_of(value: object) -> bytes:
    """Return the 16 bytes that stand for a producer: of a name BLAKE2b of its UTF-8."""
    if isinstance(value, str):
        if not value:
            raise UsageError("the name of a producer is empty")
        try:
            return hashlib.blake2b(value.encode(), digest_size=PRODUCER_SIZE).digest()
        except UnicodeEncodeError:
            raise UsageError(f"the name of a producer is {value!r}, which is no UTF-8") from None
    if isinstance(value, bytes):
        if len(value) != PRODUCER_SIZE:
            raise UsageError(f"a producer has {len(value):,} bytes; it is text, or {PRODUCER_SIZE}")
        return value
    raise TypeError(f"a producer is text or {PRODUCER_SIZE} bytes, not {type(value).__name__}")


def origin_of(value: object) -> tuple[bytes, int] | None:
    """Return an origin, checked; None stays so."""
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"origin is {value!r}; it is a producer and a number, as a tuple")
    return producer_of(value[0]), whole("the number of an origin", value[1], 0)


class Once(Run):
    """Bodies that have an origin: that of the first, and numbers that go up by one.

    Attributes:
        repeated: How many of them had been put before.
        original: The number of the last of those; 0: it is not known.
    """

    def __init__(
        self,
        spool: Held,
        run: list[bytes],
        meta: bytes,
        origin: tuple[bytes, int],
        *,
        wait: bool = False,
    ) -> None:
        super().__init__(spool, run, meta, wait=wait)
        self._origin = origin
        self.repeated = self.original = self._until = 0

    @property
    def until(self) -> int:
        """The number that is kept when all of them are; 0: of none."""
        return self._until

    def __call__(self, pointer: Any, ms: int) -> int:
        """Put some, for one slice of the time at most."""
        if self.at == len(self._run):
            return super().__call__(pointer, ms)
        address, flags = self._spool._address, self._flags
        return self._told(
            native.spool_append(
                *(address, self._run, self.at, self._meta, flags, ms, SLICE_MS, *self._origin)
            )
        )

    def at_once(self, pointer: Any) -> int:
        """Put those that have room at this moment."""
        address = self._spool._address
        return self._told(
            native.spool_put(*(address, self._run, self.at, self._meta, *self._origin))
        )

    def _told(self, said: tuple[int, ...]) -> int:
        rc, at, first, last, repeated, original, until = said
        self.repeated += repeated
        self.original = original if repeated else self.original
        self._until = max(self._until, until)
        return self._did(rc, at - self.at, first, last)


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
    return Once(spool, run, meta, (producer, number + sent), wait=wait)


def returned(put: Run) -> int | None:
    """Return what `append` says of its only message."""
    if isinstance(put, Once) and put.repeated:
        return SpoolRepeat(put.original)
    return put.first or None


def last_of(pointer: Any, producer: bytes) -> int | None:
    """Return the last number that a producer put; None: it is not known."""
    number = ffi.new("uint64_t *")
    known = lib.mm_spool_last_origin(pointer, ffi.from_buffer("uint8_t[]", producer), number)
    return int(number[0]) if known else None
