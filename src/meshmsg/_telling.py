"""Telling of events as they happen: to logging, to `on_event=` and to `watch()`.

One thread an engine sleeps until a socket of it has events. Not here: what the log says
(_eventlog), and its handlers (_records). Law: the core never calls Python: it rings a descriptor,
and who waits there reads; the thread is there while the engine has sockets, does nothing while
nothing happens, and keeps no socket alive.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from meshmsg._core import ffi, lib, raise_for
from meshmsg._errors import MeshError, ResourceError, UsageError
from meshmsg._eventlog import EventLog
from meshmsg._info import Event, event_of
from meshmsg._records import give, record_of, records, tell_of_error

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from logging import LogRecord

OnEvent = Callable[[Event], object]


class Watcher(Protocol):
    """Somebody that watches a socket, and looks at its events itself."""

    def ring(self) -> None:
        """Be told, by any thread, that there is something new."""


EVENTS_FIRST = 4
EVENTS_AT_ONCE = 64
SOCKETS_AT_ONCE = 64
PAUSE_S = 0.02
"""Seconds after telling before the next look: a storm of events is then told by the dozen."""
JOIN_S = 1.0
"""Seconds the end of an engine waits for a function of a user's that is being called."""


def read_events(handle: int, seq: int) -> tuple[int, list[Event], int]:
    """Read a socket's events from a number on: a code, those, and the number of the next."""
    found: list[Event] = []
    cap = EVENTS_FIRST  # mostly there are few, or none
    next_seq = ffi.new("uint64_t *")
    while True:
        out = ffi.new("mm_event[]", cap)
        count = lib.mm_socket_events(handle, seq, out, cap, next_seq)
        if count < 0:
            return count, found, seq
        found += [event_of(out[i]) for i in range(count)]
        seq = int(next_seq[0])
        if count < cap:
            return 0, found, seq
        cap = EVENTS_AT_ONCE


class Outlet:
    """Where the events of one socket go; it knows the socket by its handle only."""

    def __init__(self, name: str, on_event: OnEvent | None, loop: AbstractEventLoop | None) -> None:
        self.handle = 0
        self.told = False
        """Whether a thread tells of what happens as it happens."""
        self.left = False
        """Whether the socket was closed, so that no thread is to begin telling of it."""
        self._name = name
        self._on_event = on_event
        self._loop = loop
        self._due = False
        """Whether the loop was asked to call the function, and has not begun to."""
        self._log = EventLog(name)
        self._log_seq = self._call_seq = 1
        self._lock = threading.RLock()
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
        self._last: list[Event] | None = None
        """All that is remembered of the socket, once it is closed."""
        self._last_words = ""

    def after_fork(self) -> None:
        """In the child: the lock may be held by a thread that is not here."""
        self._lock = threading.RLock()
        self._on_event = None
        self._watchers = weakref.WeakSet()

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
        self.ring()

    def ring(self) -> None:
        """Tell those that watch that there is something new."""
        with self._lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher.ring()

    def finish(self) -> None:
        """The socket is about to be closed: keep what it remembers, and was not told yet."""
        first = 1 if self.is_heard() else self._log_seq
        code, found, _ = read_events(self.handle, first)
        self._last = found if code == 0 else self._last

    def has_news(self) -> bool:
        """Whether anything is still to be told of a socket that was closed."""
        last = self._last
        unlogged = bool(last) and last[-1].seq >= self._log_seq  # type: ignore[index]
        return unlogged or self.is_heard() or bool(self._last_words)

    def end(self, last_words: str) -> None:
        """The socket was closed: log this as well; where a thread tells, that does it."""
        self._last_words = last_words
        if not self.told:
            self._log_since(give)

    def tell_last(self) -> None:
        """After the socket was closed: what had not been told; by the thread that tells."""
        self._log_since(records.put)
        self.log_last_words()
        self._tell_function()
        self.ring()

    def log_last_words(self) -> None:
        """Log what the end of the socket came to, if anything."""
        words, self._last_words = self._last_words, ""
        if words:
            (records.put if self.told else give)(record_of(logging.INFO, words))

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
            self._watchers.add(watcher)

    def is_heard(self) -> bool:
        """Whether anybody but the log wants to know."""
        return self._on_event is not None or len(self._watchers) > 0

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


class _Teller:
    """The thread of one engine.

    Law: it opens what it needs itself: a signal's function, which runs on the main thread, may
    raise anywhere there, and leaves nothing half made.
    """

    def __init__(self, engine: int) -> None:
        self.engine = engine
        self.outlets: dict[int, weakref.ref[Outlet]] = {}
        self.leaving: list[Outlet] = []
        self.forgotten: deque[int] = deque()
        """Handles of sockets that were dropped; filled without the lock."""
        self._opened = threading.Lock()
        """Taken until it is known if it could be opened."""
        self.error: MeshError | None = None
        self.thread = threading.Thread(target=self._run, name="meshmsg-events", daemon=True)
        self._bell = threading.Lock()  # taken: no hurry
        for lock in (self._opened, self._bell):
            lock.acquire()
        self._fd = -1
        self._ready = select.poll()
        self._found = ffi.new("mm_handle[]", SOCKETS_AT_ONCE)

    def start(self, outlet: Outlet) -> None:
        """Begin with this socket.

        Raises:
            MeshError: There is no descriptor or thread for it.
        """
        self._first = weakref.ref(outlet)
        try:
            self.thread.start()
        except RuntimeError as error:
            raise ResourceError(f"telling of events: {error}") from None
        self._opened.acquire()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        # It is no thread for signals: they go to the program's own.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            begun = self._begin()
        except MeshError as error:
            self.error, begun = error, False
        finally:
            self._opened.release()
        if not begun:
            return
        over = False
        while not over:
            try:
                count = self._tell_new()
                over = self._is_over(count)
                if count > 0:
                    self._bell.acquire(timeout=PAUSE_S)
                elif not over:
                    self._ready.poll()
            except BaseException:  # no memory, say
                tell_of_error("telling of events failed, and goes on")
                self._bell.acquire(timeout=PAUSE_S)
        self._tell_end()

    def _begin(self) -> bool:
        """Take the first socket, unless another thread was faster, or it was closed meanwhile."""
        with _lock:
            outlet = self._first()
            if outlet is None or adopted(outlet, self.engine):
                return False
            fd = ffi.new("int *")
            raise_for(lib.mm_events_open(self.engine, fd), "telling of events")
            try:
                self._fd = os.dup(fd[0])  # a copy: the engine may be closed in another thread
            except OSError as error:
                lib.mm_events_close(self.engine)
                raise ResourceError(f"telling of events: {error}") from None
            self._ready.register(self._fd, select.POLLIN)
            _tellers[self.engine] = self
            adopted(outlet, self.engine)
            return True

    def take(self, outlet: Outlet) -> None:
        """Tell of this socket as well; under the lock. It may be dropped without a word."""
        handle = outlet.handle

        def forget(_: object) -> None:  # a finalizer may come anywhere: it takes no lock
            self.forgotten.append(handle)
            lib.mm_events_ring(self.engine)

        self.outlets[handle] = weakref.ref(outlet, forget)
        outlet.told = True

    def hurry(self) -> None:
        """Have it look now; without a lock that a signal's function could be waiting for."""
        with suppress(RuntimeError):  # it was rung already
            self._bell.release()
        lib.mm_events_ring(self.engine)

    def _tell_new(self) -> int:
        """Tell what is new; how many sockets had something, below 0: the engine was closed."""
        count = int(lib.mm_events_take(self.engine, self._found, SOCKETS_AT_ONCE))
        for handle in self._found[0 : max(count, 0)]:
            known = self.outlets.get(handle)
            outlet = known() if known is not None else None
            if outlet is not None:
                _safely(outlet.tell)
        while self.leaving:
            _safely(self.leaving.pop(0).tell_last)
        return count

    def _is_over(self, count: int) -> bool:
        """Whether there is nobody left to tell of: nobody joins any more."""
        with _lock:
            while self.forgotten:
                self.outlets.pop(self.forgotten.popleft(), None)
            over = count < 0 or not (self.outlets or self.leaving)
            if over:
                _tellers.pop(self.engine, None)
                lib.mm_events_close(self.engine)  # under the lock: before another thread opens it
                os.close(self._fd)
            return over

    def _tell_end(self) -> None:
        """The engine is gone, if any are left."""
        left = [known() for known in self.outlets.values()]
        self.outlets.clear()
        for outlet in [*left, *self.leaving]:
            if outlet is not None:
                _safely(outlet.tell_last)  # who watches finds it closed


def _safely(tell: Callable[[], None]) -> None:
    """Whatever one socket's events lead to, those of others are told."""
    try:
        tell()
    except BaseException:
        tell_of_error("telling of a socket's events failed")


_lock = threading.RLock()
_tellers: dict[int, _Teller] = {}


def adopted(outlet: Outlet, engine: int) -> bool:
    """Have the engine's thread tell of a socket, if it is there; true: nothing is to be done."""
    with _lock:
        teller = _tellers.get(engine)
        if teller is not None and not outlet.left:
            teller.take(outlet)
        return teller is not None or outlet.left


def join(outlet: Outlet, engine: int) -> None:
    """Have a socket's events told from now on.

    Raises:
        MeshError: There is no descriptor or thread for it.
    """
    if not adopted(outlet, engine):
        _Teller(engine).start(outlet)


def leave(outlet: Outlet, engine: int, last_words: str) -> None:
    """The socket was closed: what had happened before is told yet, and that it is closed."""
    outlet.end(last_words)
    with _lock:
        outlet.left = True
        teller = _tellers.get(engine)
        if teller is None or teller.outlets.pop(outlet.handle, None) is None:
            outlet.log_last_words()  # its engine was closed before, or no thread tells
            return
        if outlet.has_news():
            teller.leaving.append(outlet)
        if teller.leaving or not teller.outlets:
            teller.hurry()


def engine_closing(engine: int) -> None:
    """Its sockets are about to be closed: what they remember is told yet."""
    teller = _tellers.get(engine)
    for known in list(teller.outlets.values()) if teller is not None else ():
        outlet = known()
        if outlet is not None:
            outlet.finish()


def engine_closed(engine: int) -> None:
    """Wait until its thread has ended, but not for a function of a user's that does not return."""
    teller = _tellers.get(engine)
    if teller is None:
        return
    teller.hurry()
    if teller.thread is not threading.current_thread():
        teller.thread.join(JOIN_S)


def check_on_event(on_event: object, simulated: bool) -> None:
    """Refuse what cannot be called with an event."""
    if on_event is None:
        return
    if not callable(on_event):
        raise UsageError(f"on_event is {on_event!r}; it is a function of one Event")
    if _is_async(on_event):
        raise UsageError(
            "on_event is a coroutine function; it is a plain one, and what awaits is "
            "`async for event in socket.watch()`"
        )
    if simulated:
        raise UsageError("on_event needs a thread; a simulated world has none: use events()")


def _is_async(function: Any) -> bool:
    from inspect import iscoroutinefunction

    return iscoroutinefunction(function)


def _after_fork_in_child() -> None:
    """The threads are not here; the descriptors are copies."""
    global _lock
    _lock = threading.RLock()
    for teller in _tellers.values():
        with suppress(OSError):
            os.close(teller._fd)
    _tellers.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
