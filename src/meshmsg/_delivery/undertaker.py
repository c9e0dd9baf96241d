"""Who gives dead letters to where they go: a function, a socket or a spool.

Not here: what a dead letter is (dead_letters.py), who has them given (_events/outlet.py). Law: a
letter is in the core, in hand, given, or refused; what was refused is told, and where a spool has
its message it is not done.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Any

from meshmsg._binding.data import pack_frames
from meshmsg._binding.errors import SpoolFullError, TimedOutError, WouldBlockError
from meshmsg._binding.note import with_headers
from meshmsg._events.log_records import record_of, records
from meshmsg._hints.plural import counted, plural
from meshmsg._socket.base import SocketBase
from meshmsg._spool.full import TOLD_AGAIN_S, Seldom, is_full, what_it_had
from meshmsg._spool.puts import Frames
from meshmsg._spool.spool import Spool

Letter = Any
"""A DeadLetter (dead_letters.py, which imports this)."""
DEAD_REASON, DEAD_ATTEMPTS, DEAD_SEQ = "x-dead-reason", "x-dead-attempts", "x-dead-seq"
DEAD_GROUP = "x-dead-group"
"""Headers of a dead letter that was sent on: why, after how many attempts, its `seq`, and of a Pub
which group did not do it."""
HISTORY = (DEAD_REASON, DEAD_ATTEMPTS, DEAD_SEQ, DEAD_GROUP)
"""All of them: of a letter that becomes one again those of before go."""
CLOSE_WAIT_S = 5.0
"""Seconds that `close` waits for another thread that is giving a letter, to give the rest; and that
it gives those whose messages a spool has."""


class Fate(Enum):
    """What became of a letter that was to be given."""

    GIVEN = 1
    WAITS = 2
    """There is no room for it now."""
    REFUSED = 3
    """Its place will never take it, or not as it is now."""


class Undertaker:
    """Gives dead letters to where they go, one by one, as the core tells of them.

    While its place has no room, those behind a letter stay in the core, within its limits; one that
    is refused holds up nobody. Who finds another thread giving them leaves it to that; but `close`
    has that one stop, and gives the rest.
    """

    def __init__(
        self,
        name: str,
        place: object,
        next_dead: Callable[[int], list[Any]],
        *,
        sourced: bool,
    ) -> None:
        self._name, self._sourced, self._next = name, sourced, next_dead
        self._place: Any = place
        self._due = sourced or isinstance(place, (SocketBase, Spool))
        """Whether what is not given by the end of `close` is told: a function without a spool has
        it from the thread that gives, or the loop."""
        self._left: deque[Letter] = deque()
        """In hand: taken from the core, and not given."""
        self._closed = self._closing = False
        self._ends = math.inf
        """When `close` gives no more of those that come again, by the monotonic clock."""
        self._fetching = threading.RLock()
        self._busy = threading.Lock()
        """Taken while they are given; only `close` waits for it."""
        self._giver: int | None = None
        """The thread that has it."""
        self._at: list[Letter] = []
        """Those whose function was called and has not returned, the outermost first."""
        self._behind = False
        """Whether its function closed the socket, and those behind are given in that call."""
        self._told: dict[type[BaseException], tuple[float, int]] = {}
        """When a refusal was told last, and how many came since."""
        self._full = Seldom()
        """That its spool is full."""

    def take_all(self, handle: int) -> None:
        """The socket is about to be closed: what waits there is in hand from now on."""
        try:
            while self._fetch(handle):
                pass
        finally:
            self._closed = True

    def _fetch(self, handle: int) -> bool:
        """Take some out of the core into hand, in their order, whoever does so beside this."""
        with self._fetching:
            found = self._next(handle)
            self._left += found
        return bool(found)

    def owes(self) -> bool:
        """Whether any are in hand."""
        return bool(self._left)

    def is_due(self) -> bool:
        """Whether what waits at the end has to be given before the socket is closed."""
        return self._due

    def give(self, handle: int, *, catches: bool) -> bool:
        """Give out what there is; true: some wait, as their place has no room now.

        Args:
            handle: Of the socket.
            catches: Whatever its function raises is logged; else what ends a program is raised,
                and what was not given is still in hand.
        """
        while self._busy.acquire(blocking=False):
            waits = self._give_held(handle, catches, closing=False)
            if waits or not self._left:  # another thread may have taken some meanwhile
                return waits
        return False

    def give_last(self, handle: int) -> None:
        """The socket is being closed: give all of it now, also what another thread was at."""
        try:
            if self._giver == threading.get_ident():  # the function is what closes it
                self._give_behind(handle)
            elif self._stop_other():
                self._give_held(handle, False, closing=True)
            elif self._due:
                self.lose("it was closed, and another one is still being given")
        finally:
            self._closing = False  # whoever is giving them goes on, if any are left

    def _stop_other(self) -> bool:
        """Have a thread that gives them stop behind the letter that it is at; false: it is still
        at it after `CLOSE_WAIT_S`."""
        self._closing = True
        self._ends = time.monotonic() + CLOSE_WAIT_S
        return self._busy.acquire(timeout=CLOSE_WAIT_S)

    def _give_behind(self, handle: int) -> None:
        """Give those behind the one whose function closes the socket, before its spool knows no
        more; without a spool that function's caller goes on with them.

        The function of one of those may close all of it, too, by another way (its engine): then
        whoever gives them goes on, and the spool is told of all of them now.
        """
        if not self._sourced or not self._at:
            return
        out = [*self._at, *self._left] if self._behind else list(self._at)
        for letter in out:
            letter._is_out()
        if not self._behind:
            self._behind = True
            self._give_each(handle, False, closing=True)

    def _give_held(self, handle: int, catches: bool, *, closing: bool) -> bool:
        try:
            self._giver = threading.get_ident()
            return self._give_each(handle, catches, closing=closing)
        finally:
            self._giver = None
            self._busy.release()

    def lose(self, why: str) -> None:
        """Tell of those that will not be given, once."""
        count = 0
        with suppress(IndexError):
            while True:
                self._left.popleft()
                count += 1
        if count:
            letters, were = counted(count, "dead letter"), plural(count, "was", "were")
            lost = f"{letters} of a {self._name} {were} {self._lost()}: {why}"
            records.put(record_of(logging.WARNING, lost))

    def _lost(self) -> str:
        return "not given, and come again from the spool" if self._sourced else "lost"

    def _give_each(self, handle: int, catches: bool, *, closing: bool) -> bool:
        ends = closing and self._sourced  # workers that give all back would keep it from its end
        while closing or not self._closing:
            if ends and time.monotonic() > self._ends:
                self.lose(f"it was closed, and they take more than {CLOSE_WAIT_S:g} s")
            elif not self._left and not ends:
                self._fetch(handle)
            try:
                letter = self._left.popleft()
            except IndexError:
                return False
            fate = self._given(letter, catches)
            if fate is Fate.GIVEN:
                letter._is_out()
            elif fate is Fate.WAITS:
                self._left.appendleft(letter)
                self._tell_full()
                if not self._closed:
                    return True
                self.lose(f"it was closed, and {self._place!r} has no room for them")
        return True  # `close` does the rest

    def _given(self, letter: Letter, catches: bool) -> Fate:
        """Give one. What ends a program is raised; then a socket or a spool gets it again."""
        place = self._place
        try:
            if isinstance(place, SocketBase):
                return sent_on(place, letter)
            if isinstance(place, Spool):
                return put_aside(place, letter)
            self._at.append(letter)
            try:
                place(letter)
            finally:
                self._at.pop()
        except BaseException as error:
            apart = isinstance(place, (SocketBase, Spool))
            if not catches and isinstance(error, (KeyboardInterrupt, SystemExit)):
                if apart:
                    self._left.appendleft(letter)
                raise  # of a signal, perhaps: it is for the program
            self._tell(error, letter, seldom=apart)
            return Fate.REFUSED if apart else Fate.GIVEN  # a function has had it
        return Fate.GIVEN

    def _tell_full(self) -> None:
        """Log that the spool where letters go has no room, at first and then once a minute: what is
        spent stays in the spool of its messages, and nobody is handed it."""
        place = self._place
        if not (isinstance(place, Spool) and is_full(place) and self._full.due()):
            return  # a socket's queue, or it was busy at this moment, or it was told
        stay = "stay in the spool" if self._sourced else "are lost once the queue for them is full"
        words = (
            f"dead_letter= of a {self._name}: the spool {place.path} has no room for dead letters: "
            f"it had {what_it_had(place)}; they wait, and {stay}; Spool.trim() of it makes room"
        )
        records.put(record_of(logging.WARNING, words))

    def _tell(self, error: BaseException, letter: Letter, *, seldom: bool) -> None:
        """Log what came of a letter; of many that are refused alike the first, and then fewer."""
        now = time.monotonic()
        last, more = self._told.get(type(error), (-TOLD_AGAIN_S, 0))
        if seldom and now - last < TOLD_AGAIN_S:
            self._told[type(error)] = last, more + 1
            return
        self._told[type(error)] = now, 0
        words = f"dead_letter= of a {self._name} raised an error, for {letter[:80]!r}"
        if seldom:
            end = "is not done, and comes again from the spool" if self._sourced else "is lost"
            words += f", which {end}" + (f" ({more:,} more since the last record)" if more else "")
        records.put(record_of(logging.ERROR, words, error=sys.exc_info()))


def _history(letter: Letter) -> dict[str, str]:
    history = {DEAD_REASON: letter.reason, DEAD_ATTEMPTS: str(letter.attempt)}
    if letter.seq is not None:
        history[DEAD_SEQ] = "{}:{}".format(*letter.seq)
    if letter.group is not None:
        history[DEAD_GROUP] = letter.group
    return history


def put_aside(place: Spool, letter: Letter) -> Fate:
    """Put a dead letter into a spool, all frames and what went with them; never waits for room."""
    note = with_headers(0, letter._meta or b"", _history(letter), HISTORY)
    put = Frames(place, pack_frames(list(letter.frames)), note, doing="keeping a dead letter")
    try:
        place._put(put, 0)
    except (SpoolFullError, TimedOutError, WouldBlockError):
        if not put.at:
            return Fate.WAITS
        place._flush(place._level, None, "keeping a dead letter")  # it is in, and not yet kept
    return Fate.GIVEN if put.last else Fate.WAITS


def sent_on(place: Any, letter: Letter) -> Fate:
    """Send a dead letter to a socket, all frames and what went with them; never waits for room."""
    note = with_headers(place._handle, letter._meta or b"", _history(letter), HISTORY)
    try:
        place._send_noted(list(letter.frames), note, 0)
    except (WouldBlockError, TimedOutError, SpoolFullError):
        return Fate.WAITS
    return Fate.GIVEN
