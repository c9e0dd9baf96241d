"""Where the events of one socket go: to the log, to `on_event=` and to who watches.

Not here: the thread that has it look (event_thread.py), what the log says (event_log.py). Law: each
of them has a place of its own in the socket's events; no lock is held while a function of a user's
is called; a socket is known by its handle only, and not kept alive.
"""

from __future__ import annotations

import logging
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg._binding.snapshots import Event, EventKind, Reason, event_of
from meshmsg._events.event_log import EventLog
from meshmsg._events.log_records import give, record_of, records

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from logging import LogRecord


OnEvent = Callable[[Event], object]

AGAIN_S = 0.2
"""Seconds after which dead letters that had no room are tried again."""
EVENTS_FIRST = 4
EVENTS_AT_ONCE = 64

_uncleared = ffi.new_allocator(should_clear_after_alloc=False)
"""What the core fills: of events that are not there nothing is read."""


def read_events(handle: int, seq: int) -> tuple[int, list[Event], int]:
    """Read a socket's events from a number on: a code, those, and the number of the next."""
    found: list[Event] = []
    cap = EVENTS_FIRST  # mostly there are few, or none
    next_seq = ffi.new("uint64_t *")
    while True:
        out = _uncleared("mm_event[]", cap)
        count = lib.mm_socket_events(handle, seq, out, cap, next_seq)
        if count < 0:
            return count, found, seq
        found += [event_of(out[i]) for i in range(count)]
        seq = int(next_seq[0])
        if count < cap:
            return 0, found, seq
        cap = EVENTS_AT_ONCE


class Watcher(Protocol):
    """Somebody that watches a socket, and looks at its events itself."""

    def ring(self) -> None:
        """Be told, by any thread, that there is something new."""


class Buries(Protocol):
    """Gives dead letters to where they go (_delivery/undertaker.py)."""

    def take_all(self, handle: int) -> None:
        """Take out what waits in a socket that is about to be closed."""

    def owes(self) -> bool:
        """Whether any were taken out, and not given."""
        ...

    def give(self, handle: int, *, catches: bool) -> bool:
        """Give out what there is; true: some wait for room."""
        ...

    def is_due(self) -> bool:
        """Whether what waits at the end has to be given before the socket is closed."""
        ...

    def give_last(self, handle: int) -> None:
        """Give all of it: the socket is being closed."""

    def lose(self, why: str) -> None:
        """Tell of those that will not be given."""


class Outlet:
    """Where the events of one socket go; it knows the socket by its handle only."""

    def __init__(
        self,
        name: str,
        on_event: OnEvent | None,
        loop: AbstractEventLoop | None,
        options: object = None,
    ) -> None:
        self.handle = 0
        self.told = False
        """Whether a thread tells of what happens as it happens."""
        self.left = False
        """Whether the socket was closed, so that no thread is to begin telling of it."""
        self.closers: set[int] = set()
        """The threads that are closing the socket."""
        self._name = name
        self._on_event = on_event
        self._loop = loop
        self._due = False
        """Whether the loop was asked to call the function, and has not begun to."""
        self.settle: Callable[[], Callable[[], None] | None] | None = None
        """Refers to what has told which of a spool's messages are lost, as the socket closes."""
        self.on_dead: Buries | None = None
        self.owes: bool = False
        """Whether dead letters wait for room where they go."""
        self._due_again = False
        """Whether the loop will try again, by its clock."""
        self._log = EventLog(name, options)
        self._log_seq = self._call_seq = 1
        self._lock = threading.RLock()
        self._watchers: weakref.WeakSet[Watcher] | None = None
        self._last: list[Event] | None = None
        """All that is remembered of the socket, once it is closed."""
        self._last_words: list[tuple[int, str]] = []

    def after_fork(self) -> None:
        """In the child: the lock may be held by a thread that is not here."""
        self._lock = threading.RLock()
        self._on_event = self.on_dead = self.settle = None
        self._watchers = None

    def expect(
        self,
        kinds: frozenset[EventKind],
        *,
        once: frozenset[EventKind] = frozenset(),
        refusals: frozenset[Reason] = frozenset(),
    ) -> None:
        """Have no warnings of these: who has the socket counts them and sees to them itself; of an
        endpoint none of the first of those of `once`; of handshakes that this side began, none
        that ended by `refusals`."""
        self._log.expected, self._log.once, self._log.refusals = kinds, once, refusals

    def log_new(self) -> None:
        """Log what is new; by calls that wait, where no thread tells."""
        if not self.told:
            self._log_since(give)

    def _log_since(self, take: Callable[[LogRecord | None], None]) -> None:
        """Log what is new, each event once. A handler may use sockets, this one as well: while it
        is called, no lock is held."""
        with self._lock:
            _, found, after = self.since(self._log_seq)
            made = []
            if found and found[0].seq > self._log_seq:
                words = (
                    f"{self._name}: {found[0].seq - self._log_seq} events are missing here: they "
                    "came faster than they were told, and a socket remembers 256"
                )
                made.append(record_of(logging.WARNING, words))
            self._log_seq = after
            for event in found:
                level, words = self._log.judge(event)
                made.append(record_of(level, words, event))
        for record in made:
            take(record)

    def tell(self) -> None:
        """Log what is new, and call who wants to know; by the thread that tells."""
        self._log_since(records.put)
        self._tell_function()
        self.give_dead()
        self.ring()

    def give_dead(self) -> None:
        """Have dead letters given out, here or in the loop."""
        if self.on_dead is None:
            return
        if self._loop is None:
            self.owes = self.on_dead.give(self.handle, catches=True)
            return
        try:
            self._loop.call_soon_threadsafe(self._give_in_loop)
        except RuntimeError:  # nobody is there to take them
            self.on_dead.lose("its event loop was closed")

    def _give_in_loop(self) -> None:
        if self.on_dead is None:
            return
        try:
            waits = self.on_dead.give(self.handle, catches=False)
        except BaseException:  # Ctrl-C ends the loop, which may run again
            self.give_dead()
            raise
        if waits and self._loop is not None and not self._due_again:
            self._due_again = True
            known: weakref.ref[Outlet] = weakref.ref(self)
            self._loop.call_later(AGAIN_S, _give_again, known)

    def give_again(self) -> None:
        """Try again what had no room, by the loop."""
        self._due_again = False
        self._give_in_loop()

    def finish_dead(self) -> None:
        """Take dead letters out of a socket that is about to be closed, and give them."""
        if self.on_dead is None:
            return
        self.on_dead.take_all(self.handle)
        now = self.on_dead.is_due()  # later its spool, or where they go, may be closed
        if self._loop is None or (now and _runs_here(self._loop)):
            self.on_dead.give_last(self.handle)
        else:
            self.give_dead()

    def ring(self) -> None:
        """Tell those that watch that there is something new."""
        with self._lock:
            watchers = list(self._watchers or ())
        for watcher in watchers:
            watcher.ring()

    def finish(self) -> None:
        """The socket is about to be closed: keep what it remembers, and was not told yet."""
        self.finish_dead()
        settle = self.settle() if self.settle is not None else None
        if settle is not None:
            settle()
        lib.mm_socket_events(self.handle, 1, ffi.NULL, 0, ffi.new("uint64_t *"))  # drops are told
        code, found, _ = read_events(self.handle, 1 if self.is_heard() else self._log_seq)
        self._last = found if code == 0 else self._last

    def has_news(self) -> bool:
        """Whether anything is still to be told of a socket that was closed."""
        last = self._last
        unlogged = bool(last) and last[-1].seq >= self._log_seq  # type: ignore[index]
        owes = self.on_dead is not None and self.on_dead.owes()
        with self._lock:
            quiet = self._log.owes()
        return unlogged or self.is_heard() or bool(self._last_words) or owes or quiet

    def end(self, last_words: str, warning: str) -> None:
        """The socket was closed: log this as well; where a thread tells, that does it."""
        words = ((logging.INFO, last_words), (logging.WARNING, warning))
        self._last_words += [each for each in words if each[1]]
        if not self.told:
            self._log_since(give)
            self._log_rest(give)

    def _log_rest(self, take: Callable[[LogRecord | None], None]) -> None:
        """Log what was lost, and was not to be loud so soon again: there is no later."""
        with self._lock:
            rest = self._log.rest()
        for words, event in rest:
            take(record_of(logging.WARNING, words, event))

    def tell_last(self) -> None:
        """After the socket was closed: what had not been told; by the thread that tells."""
        self._log_since(records.put)
        self._log_rest(records.put)
        self.log_last_words()
        self._tell_function()
        self.give_dead()
        self.ring()

    def tell_end(self, event: Event) -> None:
        """Tell what the socket dropped after it was closed; not to who watches: that ended."""
        self._log_since(records.put)
        with self._lock:
            last = self._last or []
            behind = last[-1].seq + 1 if last else 1
            event = replace(event, seq=max(behind, self._log_seq, self._call_seq))
            self._last = [*last, event]
            self._log_seq = event.seq  # no gap: nothing of it is missing
        self._log_since(records.put)
        self._tell_function()

    def log_last_words(self) -> None:
        """Log what the end of the socket came to, if anything."""
        last, self._last_words = self._last_words, []
        for level, words in last:
            (records.put if self.told else give)(record_of(level, words))

    def since(self, seq: int) -> tuple[bool, list[Event], int]:
        """Tell what is new to who has seen the events before a number; whether it was closed."""
        code, found, after = read_events(self.handle, seq)
        if code == 0:
            return False, found, after
        last = [event for event in self._last or () if event.seq >= seq]
        return True, last, last[-1].seq + 1 if last else seq

    def add_watcher(self, watcher: Watcher) -> None:
        """Tell this one as well, for as long as somebody refers to it."""
        with self._lock:
            if self._watchers is None:
                self._watchers = weakref.WeakSet()
            self._watchers.add(watcher)

    def is_heard(self) -> bool:
        """Whether anybody but the log wants to know."""
        return self._on_event is not None or bool(self._watchers)

    def has_function(self) -> bool:
        """Whether there is an `on_event=`."""
        return self._on_event is not None

    def _tell_function(self) -> None:
        """Call it here, or have its loop call it; a loop that stands still is asked once."""
        if self._on_event is None or self._due:
            return
        if self._loop is None:
            self._call_new()
            return
        self._due = True
        with suppress(RuntimeError):  # the loop was closed: nobody is there to be told
            self._loop.call_soon_threadsafe(self._call_in_loop)

    def _call_in_loop(self) -> None:
        self._due = False
        try:
            self._call_new()
        except BaseException:  # Ctrl-C ends the loop, which may run again
            self._tell_function()
            raise

    def _call_new(self) -> None:
        """Call the function with what is new to it."""
        for event in self.since(self._call_seq)[1]:
            self._call_seq = event.seq + 1  # before: whatever it raises, it has had this one
            self._call(event)

    def _call(self, event: Event) -> None:
        on_event = self._on_event
        if on_event is None:
            return
        try:
            on_event(event)
        except BaseException as error:
            if self._loop is not None and isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise  # of a signal, perhaps: it is for the program
            words = f"on_event= of a {self._name} raised an error, for {event}"
            records.put(record_of(logging.ERROR, words, error=sys.exc_info()))


def _runs_here(loop: AbstractEventLoop) -> bool:
    """Whether this thread is running the loop at this moment."""
    import asyncio

    return asyncio._get_running_loop() is loop


def _give_again(known: weakref.ref[Outlet]) -> None:
    outlet = known()
    if outlet is not None:
        outlet.give_again()


def check_watch(outlet: Outlet, slice_ms: int) -> None:
    """Refuse where nobody would tell."""
    if slice_ms == 0:
        raise UsageError("watch() needs a thread; a simulated world has none: use events()")
    if not outlet.told:
        raise ResourceError("watch() needs a thread and a descriptor, and there was none left")
