"""Dead letters: messages that a Push, or a group of a Pub, will not deliver, and where they go.

Not here: which those are (csrc/queue/backlog.c), the thread that hands them out
(_events/outlet.py). Law: each is given out once; whatever becomes of it there, is its receiver's.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from inspect import iscoroutinefunction
from typing import Any, Literal, Protocol

from meshmsg._binding.core import Slot, address_of, borrow, error_for, ffi, give_back, lib, native
from meshmsg._binding.data import pack_frames
from meshmsg._binding.errors import SpoolFullError, TimedOutError, UsageError, WouldBlockError
from meshmsg._binding.message import FullMessage, message_class
from meshmsg._binding.note import with_headers
from meshmsg._events.log_records import record_of, records
from meshmsg._hints.plural import counted, plural
from meshmsg._socket.base import SocketBase
from meshmsg._socket.engine import Engine
from meshmsg._spool.puts import Frames
from meshmsg._spool.spool import Spool

DEAD_REASON, DEAD_ATTEMPTS, DEAD_SEQ = "x-dead-reason", "x-dead-attempts", "x-dead-seq"
DEAD_GROUP = "x-dead-group"
"""Headers of a dead letter that was sent on: why, after how many attempts, its `seq`, and of a Pub
which group did not do it."""
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

    def _is_out(self) -> None:
        """Somebody has it: where a spool kept its message, it is done."""
        lease = self._lease
        if lease is not None and lease[3] and self._of is not None:
            lib.mm_dead_done(self._of[0], lease[3], lease[1])

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


def take_dead_letters(handle: int, most: int | None) -> list[DeadLetter]:
    """Take what waits, the oldest first."""
    found: list[DeadLetter] = []
    while most is None or len(found) < most:
        letters = _next_dead(handle, closed_raises=True)
        if not letters:
            break
        for letter in letters:
            letter._is_out()
        found += letters
    return found


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
            f"dead_letter is {place!r}; it is 'keep', a function of a DeadLetter, or a socket that "
            "sends"
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


class Undertaker:
    """Gives dead letters to where they go, one by one, as the core tells of them.

    Law: a letter is in the core, in hand, or given; while its place has no room, those behind it
    stay in the core, within its limits. Who finds another thread giving them leaves it to that.
    """

    def __init__(self, name: str, place: Callable[[DeadLetter], object] | Sends | Spool) -> None:
        self._name = name
        self._place: Any = place
        self._left: deque[DeadLetter] = deque()
        """In hand: taken from the core, and not given."""
        self._closed = False
        self._busy = threading.Lock()
        """Taken while they are given; nobody waits for it."""

    def take_all(self, handle: int) -> None:
        """The socket is about to be closed: what waits there is in hand from now on."""
        try:
            while found := _next_dead(handle):
                self._left += found
        finally:
            self._closed = True

    def owes(self) -> bool:
        """Whether any are in hand."""
        return bool(self._left)

    def give(self, handle: int, *, catches: bool) -> bool:
        """Give out what there is; true: some wait, as their place has no room now.

        Args:
            handle: Of the socket.
            catches: Whatever its function raises is logged; else what ends a program is raised,
                and what was not given is still in hand.
        """
        while self._busy.acquire(blocking=False):
            try:
                waits = self._give_each(handle, catches)
            finally:
                self._busy.release()
            if waits or not self._left:  # another thread may have taken some meanwhile
                return waits
        return False

    def lose(self, why: str) -> None:
        """Tell of those that will not be given, once."""
        count = 0
        with suppress(IndexError):
            while True:
                self._left.popleft()
                count += 1
        if count:
            lost = f"{counted(count, 'dead letter')} of a {self._name}"
            words = f"{lost} {plural(count, 'was', 'were')} lost: {why}"
            records.put(record_of(logging.WARNING, words))

    def _give_each(self, handle: int, catches: bool) -> bool:
        while True:
            if not self._left:
                self._left += _next_dead(handle)
            try:
                letter = self._left.popleft()
            except IndexError:
                return False
            if self._given(letter, catches):
                letter._is_out()
            else:
                self._left.appendleft(letter)
                if not self._closed:
                    return True
                self.lose(f"it was closed, and {self._place!r} has no room for them")

    def _given(self, letter: DeadLetter, catches: bool) -> bool:
        """Give one; false: there is no room for it now."""
        place = self._place
        try:
            if isinstance(place, SocketBase):
                return sent_on(place, letter)
            if isinstance(place, Spool):
                return put_aside(place, letter)
            place(letter)
        except BaseException as error:
            if not catches and isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise  # of a signal, perhaps: it is for the program
            words = f"dead_letter= of a {self._name} raised an error, for {letter[:80]!r}"
            records.put(record_of(logging.ERROR, words, error=sys.exc_info()))
            return not isinstance(place, Spool)  # nobody has it, if that failed
        return True


def _history(letter: DeadLetter) -> dict[str, str]:
    history = {DEAD_REASON: letter.reason, DEAD_ATTEMPTS: str(letter.attempt)}
    if letter.seq is not None:
        history[DEAD_SEQ] = "{}:{}".format(*letter.seq)
    if letter.group is not None:
        history[DEAD_GROUP] = letter.group
    return history


def put_aside(place: Spool, letter: DeadLetter) -> bool:
    """Put a dead letter into a spool, all frames and what went with them; whether it has room."""
    note = with_headers(0, letter._meta or b"", _history(letter))
    frames = pack_frames(list(letter.frames))
    try:
        place._put(Frames(place, frames, note, doing="keeping a dead letter"), 0.1)
    except (SpoolFullError, TimedOutError) as error:
        return bool(vars(error)["sent"])
    return True


def sent_on(place: Any, letter: DeadLetter) -> bool:
    """Send a dead letter to a socket, all frames and what went with them; whether it has room."""
    note = with_headers(place._handle, letter._meta or b"", _history(letter))
    try:
        place._send_noted(list(letter.frames), note, 0)
    except (WouldBlockError, TimedOutError):
        return False
    return True


def undertaker(name: str, place: DeadLetters | None, engine: Engine | None) -> Undertaker | None:
    """Return who gives dead letters to a function or a socket; None: nobody does."""
    if place is None or place == "keep":
        return None
    if engine is not None and engine._slice_ms == 0:
        raise UsageError(
            'dead_letter= needs a thread for that; a simulated world has none: use "keep"'
        )
    return Undertaker(name, place)
