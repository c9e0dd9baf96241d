"""What one call puts into a spool: it is called again and again until all of it is put; and what
is said of its messages beside their bodies.

Not here: who calls it, and what happens in between (held.py, aio/_spool/later.py), what goes with
any message (_binding/note.py). Law: each call goes on where the one before ended; what was put is
counted, whatever ends it. What is said is checked before anything is put.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, cast

from meshmsg._binding.core import SLICE_MS, ffi, lib, native
from meshmsg._binding.data import Data, encode_topic, exact_bytes, size_of
from meshmsg._binding.delay import DELAY_MAX, MS, delay_ms
from meshmsg._binding.errors import UsageError
from meshmsg._binding.note import MessageOptions, encode, octets_of
from meshmsg._hints.plural import counted
from meshmsg._spool.full import body_max
from meshmsg._spool.held import Held, Putting
from meshmsg._spool.told import SpoolRepeat

if TYPE_CHECKING:
    from typing_extensions import Self

PRIORITY_MAX: int = lib.MM_PRIORITIES_MAX - 1
"""The most urgent that a message can be."""
RUN = 4096
"""Messages of an iterable that are taken at once."""
_OWN = ("topic", "expires", "delay", "at", "priority")
_US = 1_000_000
"""Microseconds in a second."""


class SpoolOptions(MessageOptions, total=False):
    """What may go with a message that is put into a spool: `MessageOptions`, and more.

    Whoever reads the spool, by a reader or a cursor, gets each message at once, in the order of the
    numbers: `delay`, `at` and `priority` mean nothing there. Neither is a message left out whose
    time is over (`ttl`, `expires`): its reader sees `message.expires`.

    Attributes:
        topic: What a Pub with this spool publishes it under; "" and None: none. A reader has it as
            `message.topic`, a Push sends it as the first of two frames.
        expires: Until when it is of use, in seconds since 1970: `ttl` as a time. A Push or Pub with
            this spool does not send it after that. Only one of both.
        delay: Seconds, up to 2,000,000, before which a Push with this spool does not send it, nor a
            Pub to a group.
        at: The same as a time, in seconds since 1970; one that is over is now. Only one of both.
        priority: 0 (the default) to 9: a `Push(priorities=)` with this spool sends the highest
            first, of what it has in its queues. One beyond its levels counts as its highest.
    """

    topic: str | bytes | None
    expires: float | None
    delay: float | None
    at: float | None
    priority: int


@dataclass(frozen=True)
class Planned:
    """What is the same for each message of a call, as native calls take it."""

    plan: bytes | tuple[bytes, int, int, int]
    topic: bytes = b""

    def body(self, data: bytes) -> bytes:
        """Return a body as it is put."""
        return self.topic + data if self.topic else data

    def bodies(self, run: list[bytes]) -> list[bytes]:
        """Return bodies as they are put."""
        return [self.topic + data for data in run] if self.topic else run


def planned(options: SpoolOptions) -> Planned:
    """Return what is put beside each message.

    Raises:
        UsageError: Something is out of its range, or the message would expire before it goes.
        TooLargeError: Key and headers are too large.
        TypeError: Something is of a wrong type, or there is no such argument.
    """
    if not any(name in options for name in _OWN):
        return Planned(octets_of(options))
    given: dict[str, Any] = {**options}
    topic, expires, delay, at, priority = (given.pop(name, None) for name in _OWN)
    plain = cast("MessageOptions", given)
    octets = octets_of(plain)  # and what is no argument is told
    if expires is not None:
        if plain.get("ttl") is not None:
            raise UsageError("ttl and expires say the same; give one of them")
        octets = encode(time.time(), **plain, expires=expires)
    due_us = _due_us(delay, at)
    _check_in_time(due_us, plain.get("ttl"), expires)
    first = b"" if topic is None else encode_topic(topic)
    return Planned((octets, due_us, _priority(priority), len(first)), first)


def _due_us(delay: object, at: object) -> int:
    """Return before when it is not sent, in microseconds since 1970; 0: it is at once."""
    if delay is not None and at is not None:
        raise UsageError("delay and at say the same; give one of them")
    now = time.time()
    if at is not None:
        if isinstance(at, bool) or not isinstance(at, (int, float)):
            raise TypeError(f"at is {at!r}; it is a time, in seconds since 1970")
        if not at - now <= DELAY_MAX:
            raise UsageError(f"at is {at!r}, in {at - now:,.0f} s; the limit is {DELAY_MAX:,.0f} s")
        return math.ceil(at * _US) if at > now else 0
    wait_ms = 0 if delay is None else delay_ms(delay)
    return math.ceil((now + wait_ms / MS) * _US) if wait_ms else 0


def _check_in_time(due_us: int, ttl: float | None, expires: float | None) -> None:
    """Refuse what would expire before it goes."""
    until = time.time() + ttl if ttl is not None else expires
    if due_us and until is not None and until * _US <= due_us:
        said = f"ttl is {ttl} s" if ttl is not None else f"expires is {expires}"
        raise UsageError(f"{said}, and the message is to go at {due_us / _US}: it would be over")


def _priority(priority: object) -> int:
    if priority is None:
        return 0
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise TypeError(f"priority is {priority!r}; it is a whole number")
    if not 0 <= priority <= PRIORITY_MAX:
        levels = counted(PRIORITY_MAX + 1, "level")
        raise UsageError(f"priority is {priority}; it is 0 to {PRIORITY_MAX}: there are {levels}")
    return priority


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
    """Bodies of messages, in their order. `plan` is what goes with each, as bytes, or as
    mm_spool_plan has it. `check` raises when it is to end while it waits; `origin` is who puts the
    first, and its number there: those of the others go up by one.

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
        plan: bytes | tuple[bytes, int, int, int],
        *,
        origin: tuple[()] | tuple[bytes, int] = (),
        wait: bool = False,
        check: Callable[[], None] | None = None,
        doing: str = "appending",
    ) -> None:
        self._spool, self._run, self._plan, self._check = spool, run, plan, check
        self._origin = origin
        self._flags |= lib.MM_SPOOL_WAITS if wait else 0
        self.doing = doing
        self.at = self.first = self.last = self.until = self.repeated = self.original = 0
        self._told = [0]
        """The core counts here what is kept."""

    def took(self, number: int) -> Self:
        """Go on behind its only message, which was put already; 0: it was dropped."""
        self.at, self._told = 1, [int(number > 0)]
        self.first = self.last = self.until = number
        return self

    @property
    def unput(self) -> bool:
        """Whether some were not taken yet."""
        return self.at < len(self._run)

    @property
    def put(self) -> int:
        """How many of those that were taken the spool has, now or from before."""
        return self._told[-1]

    def __call__(self, pointer: Any, ms: int) -> int:
        """Put some, for one slice of the time at most."""
        spool, before = self._spool, self.at
        if before == len(self._run):
            waits = self._flags & lib.MM_SPOOL_WAITS  # and goes on with that
            return int(lib.mm_spool_flush(pointer, spool._level, ms, SLICE_MS)) if waits else 0
        if self._check is not None:
            self._check()
        given = (spool._address, self._run, before, self._told, self._plan)
        rc, at, *did = native.spool_append(*given, self._flags, ms, SLICE_MS, *self._origin)
        return self._did(rc, at - before, *did)

    def at_once(self, pointer: Any) -> int:
        """Put those that have room at this moment."""
        before = self.at
        given = (self._spool._address, self._run, before, self._told, self._plan)
        rc, at, *did = native.spool_put(*given, *self._origin)
        return self._did(rc, at - before, *did)

    def _did(self, rc: int, done: int, first: int, last: int, *once: int) -> int:
        """Note what was taken; `once`: of those that have an origin, as mm_spool_did has it."""
        repeated, original, until = once or (0, 0, last)
        self.at += done
        self.first, self.last = self.first or first, last or self.last
        self.repeated += repeated
        self.original = original if repeated else self.original
        self.until = max(self.until, until)
        if rc == lib.MM_EMSGSIZE:
            raise self._spool._too_large(size_of(self._run[self.at]), self._limit())
        return rc

    def _limit(self) -> int:
        """Return how large one of them may be, with its topic."""
        plan = self._plan
        meta, due, priority, topic = (plan, 0, 0, 0) if isinstance(plan, bytes) else plan
        return body_max(
            *(self._spool._record_max, len(meta)),
            origin=bool(self._origin),
            due=bool(due),
            priority=bool(priority),
            others=(topic,) if topic else (),
        )


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
        self._plan = ffi.new("mm_spool_plan *", (self._meta, due_us, len(meta), priority, 0))
        self._did = ffi.new("mm_spool_did *")
        self.doing = doing

    @property
    def at(self) -> int:
        """Whether it was taken."""
        return int(self._did.done)

    @property
    def unput(self) -> bool:
        """Whether it was not taken yet."""
        return not self.at

    @property
    def put(self) -> int:
        """Whether it was put."""
        return int(self.last > 0)

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
            raise self._spool._too_large(len(self._packed[0]), self._limit())
        return int(rc)

    def _limit(self) -> int:
        _, sizes, count = self._packed
        return body_max(
            *(self._spool._record_max, len(self._meta)),
            due=bool(self._plan.due_us),
            priority=bool(self._plan.priority),
            others=[int(size) for size in sizes[0 : count - 1]],
        )


def put_of(
    spool: Held,
    run: list[bytes],
    plan: bytes | tuple[bytes, int, int, int],
    origin: tuple[bytes, int] | None,
    *,
    behind: int = 0,
    wait: bool = False,
) -> Run:
    """Return what puts them: those behind so many others, whose first one has that origin."""
    if origin is None:
        return Run(spool, run, plan, wait=wait)
    producer, number = origin
    return Run(spool, run, plan, origin=(producer, number + behind), wait=wait)


def taken_of(source: Iterator[Data]) -> tuple[list[bytes], BaseException | None]:
    """Take the next bodies; those before one that is none, or before the source failed, and why."""
    run: list[bytes] = []
    try:
        run.extend(exact_bytes(one) for one in islice(source, RUN))
    except BaseException as error:
        return run, error
    return run, None


def sum_of(before: int, put: Put | None) -> int:
    """Return how many are put, of those before and of a run, if there is one."""
    return before + (put.put if put is not None else 0)


def returned(put: Run) -> int | None:
    """Return what `append` says of its only message."""
    if put.repeated:
        return SpoolRepeat(put.original)
    return put.first or None


def kept(spool: Held, number: int) -> int | None:
    """Do the rest for a message that a native call put; 0: it was dropped."""
    put = Run(spool, [b""], b"", wait=number > 0).took(number)
    spool._put(put, None)
    return returned(put)


def last_of(pointer: Any, producer: bytes) -> int | None:
    """Return the last number that a producer put; None: it is not known."""
    number = ffi.new("uint64_t *")
    known = lib.mm_spool_last_origin(pointer, ffi.from_buffer("uint8_t[]", producer), number)
    return int(number[0]) if known else None
