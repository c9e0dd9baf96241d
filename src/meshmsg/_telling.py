"""Telling of events as they happen: to logging, to `on_event=` and to `watch()`.

One thread an engine sleeps until a socket of it has events. Not here: what the log says
(_eventlog). Law: the core never calls Python: it rings a descriptor, and who waits there reads; the
thread is there while the engine has sockets, does nothing while nothing happens, and keeps no
socket alive.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from meshmsg._core import ffi, lib, raise_for
from meshmsg._errors import ResourceError, UsageError
from meshmsg._eventlog import EventLog, emit, log
from meshmsg._info import Event, event_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

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
        self._name = name
        self._on_event = on_event
        self._loop = loop
        self._log = EventLog(name)
        self._log_seq = self._call_seq = 1
        self._lock = threading.RLock()
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()
        self._last: list[Event] | None = None
        """All that is remembered of the socket, once it is closed."""

    def after_fork(self) -> None:
        """In the child: the lock may be held by a thread that is not here."""
        self._lock = threading.RLock()
        self._on_event = None
        self._watchers = weakref.WeakSet()

    def log_new(self) -> None:
        """Log what is new; whoever comes first does."""
        with self._lock:
            _, found, self._log_seq = read_events(self.handle, self._log_seq)
            judged = [(event, *self._log.judge(event)) for event in found]
        for each in judged:  # without the lock: a handler may use sockets, this one as well
            emit(*each)

    def tell(self) -> None:
        """Log what is new, and call who wants to know."""
        self.log_new()
        if self._on_event is not None:
            _, found, self._call_seq = read_events(self.handle, self._call_seq)
            for event in found:
                self._call(event)
        self.ring()

    def ring(self) -> None:
        """Tell those that watch that there is something new."""
        with self._lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher.ring()

    def finish(self) -> None:
        """The socket is about to be closed: keep what it remembers."""
        self.log_new()
        if self.is_heard():
            code, found, _ = read_events(self.handle, 1)
            self._last = found if code == 0 else self._last

    def tell_last(self) -> None:
        """After the socket was closed: what had not been told."""
        if self._on_event is not None:
            for event in self._last or ():
                if event.seq >= self._call_seq:
                    self._call_seq = event.seq + 1
                    self._call(event)
        self.ring()

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

    def _call(self, event: Event) -> None:
        if self._loop is None:
            self._call_now(event)
            return
        with suppress(RuntimeError):  # the loop was closed: nobody is there to be told
            self._loop.call_soon_threadsafe(self._call_now, event)

    def _call_now(self, event: Event) -> None:
        on_event = self._on_event
        if on_event is None:
            return
        try:
            on_event(event)
        except BaseException:
            log.exception("on_event= of a %s raised an error, for %s", self._name, event)


class _Teller:
    """The thread of one engine."""

    def __init__(self, engine: int) -> None:
        out = ffi.new("int *")
        raise_for(lib.mm_events_open(engine, out), "telling of events")
        try:
            self.fd = os.dup(out[0])  # a copy: the engine may be closed in another thread
        except OSError as error:
            lib.mm_events_close(engine)
            raise ResourceError(f"telling of events: {error}") from None
        self.engine = engine
        self.outlets: dict[int, weakref.ref[Outlet]] = {}
        self.leaving: list[Outlet] = []
        self.forgotten: deque[int] = deque()
        """Handles of sockets that were dropped; filled without the lock."""
        self.hurry = threading.Event()
        self.thread = threading.Thread(target=self._run, name="meshmsg-events", daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.thread.start()  # it is no thread for signals: they go to the program's own
        except RuntimeError as error:
            lib.mm_events_close(engine)
            os.close(self.fd)
            raise ResourceError(f"telling of events: {error}") from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _run(self) -> None:
        ready = select.poll()
        ready.register(self.fd, select.POLLIN)
        out = ffi.new("mm_handle[]", SOCKETS_AT_ONCE)
        while True:
            ready.poll()
            count = lib.mm_events_take(self.engine, out, SOCKETS_AT_ONCE)
            for handle in out[0 : max(count, 0)]:
                self._tell(handle)
            self._tell_leaving()
            with _lock:
                while self.forgotten:
                    self.outlets.pop(self.forgotten.popleft(), None)
                if count < 0 or not (self.outlets or self.leaving):
                    self._end()
                    return
            if count > 0:
                self.hurry.wait(PAUSE_S)
                self.hurry.clear()

    def _tell(self, handle: int) -> None:
        known = self.outlets.get(handle)
        outlet = known() if known is not None else None
        if outlet is None:
            return
        try:
            outlet.tell()
        except Exception:  # of a filter of logging, say
            log.exception("telling of events failed")

    def _tell_leaving(self) -> None:
        while self.leaving:
            self.leaving.pop(0).tell_last()

    def _end(self) -> None:
        """The last thing this thread does, under the lock."""
        if _tellers.get(self.engine) is self:
            del _tellers[self.engine]
        lib.mm_events_close(self.engine)
        os.close(self.fd)
        left = [known() for known in self.outlets.values()]
        self.outlets.clear()
        for outlet in left:
            if outlet is not None:
                outlet.ring()  # who watches finds it closed


_lock = threading.RLock()
_tellers: dict[int, _Teller] = {}


def join(outlet: Outlet, engine: int) -> None:
    """Have a socket's events told from now on.

    Raises:
        MeshError: There is no descriptor or thread for it.
    """
    with _lock:
        teller = _tellers.get(engine)
        if teller is None:
            teller = _tellers[engine] = _Teller(engine)
        teller.outlets[outlet.handle] = weakref.ref(outlet)
        outlet.told = True


def leave(outlet: Outlet, engine: int) -> None:
    """The socket was closed: what had happened before is told yet, and that it is closed."""
    with _lock:
        teller = _tellers.get(engine)
        if teller is None or teller.outlets.pop(outlet.handle, None) is None:
            return
        if outlet.is_heard():
            teller.leaving.append(outlet)
        if teller.leaving or not teller.outlets:
            _hurry(teller)


def forget(engine: int, handle: int) -> None:
    """The socket was dropped. A finalizer may come anywhere: it takes no lock."""
    teller = _tellers.get(engine)
    if teller is not None:
        teller.forgotten.append(handle)
        _hurry(teller)


def _hurry(teller: _Teller) -> None:
    teller.hurry.set()
    lib.mm_events_ring(teller.engine)


def engine_closed(engine: int) -> None:
    """Wait until its thread has ended, but not for a function of a user's that does not return."""
    with _lock:
        teller = _tellers.get(engine)
        if teller is None:
            return
        teller.hurry.set()
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
            os.close(teller.fd)
    _tellers.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
