"""Dead letters: messages that a Push accepted and will not deliver, and where they go.

Not here: which those are (csrc/queue/backlog.c), the thread that hands them out
(_events/outlet.py). Law: each is given out once; whatever becomes of it there, is its receiver's.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, Literal, Protocol

from meshmsg._binding.core import Slot, address_of, borrow, error_for, give_back, lib, native
from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import FullMessage, message_class
from meshmsg._events.log_records import record_of, records
from meshmsg._socket.engine import Engine

DEAD_SEND_S = 1.0
"""Seconds that the socket dead letters go to may take for one."""
DEAD_REASON, DEAD_ATTEMPTS, DEAD_SEQ = "x-dead-reason", "x-dead-attempts", "x-dead-seq"
"""Headers of a dead letter that was sent on: why, after how many attempts, and its `seq`."""


class DeadLetter(FullMessage):
    """A message that will not be delivered: the body, with its `key`, `headers` and times.

    Attributes:
        reason: "attempts": it was handed out `max_attempts` times, and each time its receiver was
            lost or gave it back. "expired": its `ttl` was over first.
    """

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
    def seq(self) -> tuple[int, int] | None:
        """Where it was first, as of any message; None: it was never written."""
        lease = self._lease
        return None if lease is None or lease[2] == 0 else lease[2:4]


_FORM: Any = native.form(message_class, DeadLetter, "lease")


class Sends(Protocol):
    """A socket for threads that sends."""

    def send(self, data: bytes, /, *, timeout: float | None = ..., **options: Any) -> object:
        """Send one message."""


DeadLetters = Literal["keep"] | Callable[[DeadLetter], object] | Sends
"""Where they go: kept for `dead_letters()`, a function, or a socket."""


def take_dead_letters(handle: int, most: int | None) -> list[DeadLetter]:
    """Take what waits, the oldest first."""
    found: list[DeadLetter] = []
    slot: Slot = borrow()
    try:
        while most is None or len(found) < most:
            rc = int(lib.mm_recv_dead(handle, slot.batch))
            if rc == lib.MM_EAGAIN:
                break
            if rc < 0:
                raise error_for(rc, "taking dead letters")
            found += _FORM.unpack(address_of(slot.batch))
            slot.drop()
    finally:
        give_back(slot)
    return found


def dead_letter_flags(dead_letter: object) -> int:
    """Return the option bits of a Push; refuses what dead letters cannot go to."""
    if dead_letter is None:
        return 0
    if dead_letter != "keep" and not callable(dead_letter):
        if not callable(getattr(dead_letter, "send", None)):
            raise UsageError(
                f"dead_letter is {dead_letter!r}; it is 'keep', a function of a DeadLetter, or a "
                "socket that sends"
            )
        if type(dead_letter).__module__.startswith("meshmsg.aio"):
            raise UsageError(
                "dead_letter is a socket of asyncio; give one of threads, or a function"
            )
    return int(lib.MM_OPT_KEEP_DEAD)


def check_attempts(most: int | None) -> int:
    """Refuse what is no number of attempts; None is no limit, 0."""
    if most is None:
        return 0
    top = 2**31
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most < top:
        raise UsageError(f"max_attempts is {most!r}; it is a whole number from 1 on, or None")
    return most


class Undertaker:
    """Gives dead letters to where they go, as the core tells of them."""

    def __init__(self, name: str, place: Callable[[DeadLetter], object] | Sends) -> None:
        self._name = name
        self._place = place

    def __call__(self, handle: int) -> None:
        """Give out what there is; whatever that raises is logged."""
        for letter in take_dead_letters(handle, None):
            try:
                self._give(letter)
            except Exception:
                words = f"dead_letter= of a {self._name} raised an error, and has {letter[:80]!r}"
                records.put(record_of(logging.ERROR, words, error=sys.exc_info()))

    def _give(self, letter: DeadLetter) -> None:
        place = self._place
        if callable(place):
            place(letter)
            return
        headers = {
            **letter.headers,
            DEAD_REASON: letter.reason,
            DEAD_ATTEMPTS: str(letter.attempt),
        }
        if letter.seq is not None:
            headers[DEAD_SEQ] = "{}:{}".format(*letter.seq)
        place.send(
            letter,
            key=letter.key,
            headers=headers,
            timestamp=letter.timestamp,
            timeout=DEAD_SEND_S,
        )


def undertaker(name: str, place: DeadLetters | None, engine: Engine | None) -> Undertaker | None:
    """Return who gives dead letters to a function or a socket; None: nobody does."""
    if place is None or place == "keep":
        return None
    if engine is not None and engine._slice_ms == 0:
        raise UsageError(
            'dead_letter= needs a thread for that; a simulated world has none: use "keep"'
        )
    return Undertaker(name, place)
