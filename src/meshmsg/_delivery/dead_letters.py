"""Dead letters: messages that a Push, or a group of a Pub, will not deliver, and where they go.

Not here: which those are (csrc/queue/backlog.c), who gives them (undertaker.py). Law: each is given
out once; whatever becomes of it there, is its receiver's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from inspect import iscoroutinefunction
from itertools import islice
from typing import Any, Literal, Protocol

from meshmsg._binding.core import Slot, address_of, borrow, error_for, ffi, give_back, lib, native
from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import FullMessage, message_class
from meshmsg._delivery.undertaker import Undertaker
from meshmsg._socket.base import SocketBase
from meshmsg._socket.engine import Engine
from meshmsg._spool.spool import Spool

ATTEMPTS_MAX = 2**31 - 1
"""The highest `max_attempts`."""


class DeadLetter(FullMessage):
    """A message that will not be delivered: the body, with its `key`, `headers` and times.

    Attributes:
        reason: "attempts": it was handed out `max_attempts` times, and each time its receiver was
            lost, gave it back or had it for longer than `ack_timeout`. "expired": its `ttl` was
            over while it waited to be handed out.
        topic: Of a Pub, as its subscribers know it.
    """

    _of: tuple[int, str] | None = None
    """The socket that knows when it is done, and the group that has it, "" of a Push."""

    @property
    def reason(self) -> Literal["attempts", "expired"]:
        """Why it was not delivered."""
        lease = self._lease
        return "expired" if lease is None or lease[1] == lib.MM_DEAD_EXPIRED else "attempts"

    @property
    def attempt(self) -> int:
        """How often it was handed to somebody who did not acknowledge it."""
        return self._lease[4] - 1 if self.seq is not None and self._lease is not None else 0

    @property
    def group(self) -> str | None:
        """Which group of a Pub did not do it; other groups may have. None: it is of a Push."""
        return (self._of and self._of[1]) or None

    _told: bool = False
    """Whether that it is out was told."""

    def _is_out(self) -> None:
        """Somebody has it: where a spool kept its message, it is done. Again: nothing."""
        lease = self._lease
        if lease is not None and lease[3] and self._of is not None and not self._told:
            lib.mm_dead_done(self._of[0], lease[3], lease[1])
            self._told = True

    @property
    def seq(self) -> tuple[int, int] | None:
        """Where it was first, as of any message; None: it was never written."""
        lease = self._lease
        return None if lease is None or lease[2] == 0 else lease[2:4]


_FORM: Any = native.form(message_class, DeadLetter, "lease")
_OF_GROUP: Any = native.form(message_class, DeadLetter, "numbered")


class Sends(Protocol):
    """A socket for threads that sends."""

    def send(self, data: bytes, /, *, timeout: float | None = ..., **options: Any) -> object:
        """Send one message."""


DeadLetters = Literal["keep"] | Callable[[DeadLetter], object] | Sends | Spool
"""Where they go: kept for `dead_letters()`, a function, a socket, or a spool."""


def _next_dead(handle: int, *, closed_raises: bool = False) -> list[DeadLetter]:
    """Take the next one, if there is one."""
    slot: Slot = borrow()
    origin = ffi.new("mm_dead_from *")
    try:
        rc = int(lib.mm_recv_dead(handle, slot.batch, origin))
        if rc == lib.MM_EAGAIN or (rc == lib.MM_ECLOSED and not closed_raises):
            return []
        if rc < 0:
            raise error_for(rc, "taking dead letters")
        group = ffi.string(origin.group).decode()
        form = _OF_GROUP if group else _FORM
        found: list[DeadLetter] = form.unpack(address_of(slot.batch))
        slot.drop()
        for letter in found:
            letter._of = int(origin.socket), group
        return found
    finally:
        give_back(slot)


def take_dead_letters(
    handle: int, most: int | None, held: deque[DeadLetter]
) -> tuple[list[DeadLetter], deque[DeadLetter]]:
    """Take what waits, the oldest first; and what is held behind that.

    `held`: taken, and not given out: a signal's function raised. What is returned is out.
    """
    while most is None or len(held) < most:
        letters = _next_dead(handle, closed_raises=True)
        if not letters:
            break
        held += letters
    count = len(held) if most is None else min(most, len(held))
    found, rest = list(islice(held, count)), deque(islice(held, count, None))
    for letter in found:
        letter._is_out()  # none is given out before all of them are
    return found, rest


def count_dead_letters(handle: int) -> int:
    """Tell how many wait in a socket that is about to be closed: they are dropped."""
    count = 0
    while found := _next_dead(handle):
        count += len(found)
    return count


def check_most(most: int | None) -> None:
    """Refuse what is no number of letters."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise UsageError(f"most is {most!r}; it is a whole number from 1 on, or None")


def dead_letter_flags(dead_letter: object, spool: object = None) -> int:
    """Return the option bits of a socket; refuses what its dead letters cannot go to.

    `spool`: its own, of threads or of asyncio.
    """
    if dead_letter is None:
        return 0
    if isinstance(dead_letter, Spool):
        if dead_letter is getattr(spool, "_spool", spool):
            raise UsageError(
                "dead_letter is its own spool, from which each letter would go out again; give "
                "another one"
            )
        dead_letter.info()  # refuses one that is closed
    elif isinstance(dead_letter, SocketBase):
        _check_socket(dead_letter)
    elif not isinstance(dead_letter, str) or dead_letter != "keep":
        _check_function(dead_letter)
    return int(lib.MM_OPT_KEEP_DEAD)


def _check_socket(place: SocketBase) -> None:
    role = type(place).__name__
    if hasattr(place, "__aenter__"):
        raise UsageError("dead_letter is a socket of asyncio; give one of threads, or a function")
    if not (hasattr(place, "send_frames") and place._sends):
        raise UsageError(
            f"dead_letter is a {role}, which does not send to whoever is there; give a Push, say, "
            "or a function"
        )
    if place.closed:
        raise UsageError(f"dead_letter is a {role} that was closed")


def _check_function(place: object) -> None:
    if isinstance(place, type) or not callable(place):
        raise UsageError(
            f"dead_letter is {place!r}; it is 'keep', a function of a DeadLetter, a socket of "
            "threads that sends, or a meshmsg.Spool"
        )
    if iscoroutinefunction(place) or iscoroutinefunction(getattr(place, "__call__", None)):  # noqa: B004
        raise UsageError(
            "dead_letter is a coroutine function, which nobody would await; it is a plain one"
        )


def check_attempts(most: int | None) -> int:
    """Refuse what is no number of attempts; None is no limit, 0."""
    if most is None:
        return 0
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= ATTEMPTS_MAX:
        raise UsageError(
            f"max_attempts is {most!r}; it is a whole number from 1 to {ATTEMPTS_MAX:,}, or None"
        )
    return most


def undertaker(
    name: str, place: DeadLetters | None, engine: Engine | None, spool: object
) -> Undertaker | None:
    """Return who gives dead letters to a function or a socket; None: nobody does.

    `spool`: where its messages are, if they are in one.
    """
    if place is None or place == "keep":
        return None
    if engine is not None and engine._slice_ms == 0:
        raise UsageError(
            'dead_letter= needs a thread for that; a simulated world has none: use "keep"'
        )
    return Undertaker(name, place, _next_dead, sourced=spool is not None)
