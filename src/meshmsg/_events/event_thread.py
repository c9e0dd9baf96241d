"""Telling of events as they happen: to logging, to `on_event=` and to `watch()`.

One thread an engine sleeps until a socket of it has events. Not here: where they go (outlet.py).
Law: the core never calls Python: it rings a descriptor, and who waits there reads; the thread is
there while the engine has sockets, does nothing while nothing happens, and keeps no socket alive.
"""

from __future__ import annotations

import os
import select
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from meshmsg._binding.core import ffi, lib, raise_for
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg._events.ended import Ended, log_ended, log_unlisted, may_come, take_ended
from meshmsg._events.log_records import block_signals, give, records, tell_of_error, until_over
from meshmsg._events.outlet import AGAIN_S, Outlet

SOCKETS_AT_ONCE = 64
PAUSE_S = 0.02
"""Seconds after telling before the next look: a storm of events is then told by the dozen."""
ENDING_MAX = 1024
"""Closed sockets with `on_event=` that are kept as they may drop something; of more, only the log
is told."""
JOIN_S = 1.0
"""Seconds the end of an engine waits for a function of a user's that is being called."""


def polled_copy(fd: int, ready: select.poll, doing: str) -> int:
    """Return a copy of a descriptor of the core, which `ready` waits for: the engine may be closed
    in another thread.

    Raises:
        ResourceError: There is no descriptor for it. doing: what for.
    """
    copy = -1
    try:
        copy = os.dup(fd)
        ready.register(copy, select.POLLIN)
    except BaseException as error:
        if copy >= 0:
            os.close(copy)
        if isinstance(error, OSError):
            raise ResourceError(f"{doing}: {error}") from None
        raise
    return copy


class _Teller:
    """The thread of one engine.

    Law: it opens what it needs itself: a signal's function, which runs on the main thread, may
    raise anywhere there, and leaves nothing half made.
    """

    def __init__(self, engine: int) -> None:
        self.engine = engine
        self.outlets: dict[int, weakref.ref[Outlet]] = {}
        self.leaving: list[Outlet] = []
        self.ending: dict[int, Outlet] = {}
        """Of closed sockets with a function to be told of what is dropped after that."""
        self.left: list[Ended] = []
        """What the end of the engine dropped, once it is known."""
        self.owing: dict[int, weakref.ref[Outlet]] = {}
        """Of sockets whose dead letters wait for room where they go."""
        self.ended = threading.Event()
        self.forgotten: deque[int] = deque()
        """Handles of sockets that were dropped; filled without the lock."""
        self._opened = threading.Lock()
        """Taken until it is known if it could be opened."""
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run, name="meshmsg-events", daemon=True)
        self._bell = threading.Lock()  # taken: nothing is to be told at once
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
        until_over(block_signals)
        begun = False
        try:
            begun = self._begin()
        except Exception as error:  # no memory, say: it is the caller's
            self.error = error
        finally:
            self._opened.release()
        if not begun:
            return
        until_over(self._turn)
        self._tell_end()

    def _turn(self) -> bool:
        """Tell what is new, and wait for more; true: there is nobody left to tell of."""
        try:
            count = self._tell_new()
            over = self._is_over(count)
            if count > 0 and not over:
                self._bell.acquire(timeout=PAUSE_S)
            elif not over and not self.leaving:
                self._ready.poll(AGAIN_S * 1000 if self.owing else None)
        except BaseException:  # no memory, say
            tell_of_error("telling of events failed, and goes on")
            self._bell.acquire(timeout=PAUSE_S)
            return self._fd < 0
        return over

    def _begin(self) -> bool:
        """Take the first socket, unless another thread was faster, or it was closed meanwhile."""
        with _lock:
            outlet = self._first()
            if outlet is None or adopted(outlet, self.engine):
                return False
            fd, doing = ffi.new("int *"), "telling of events"
            raise_for(lib.mm_events_open(self.engine, fd), doing)
            try:
                self._fd = polled_copy(fd[0], self._ready, doing)
                _tellers[self.engine] = self
                adopted(outlet, self.engine)
            except BaseException:
                self._close()
                raise
            return True

    def _close(self) -> None:
        """Have the core ring no more; under the lock: before another thread opens it."""
        _tellers.pop(self.engine, None)
        lib.mm_events_close(self.engine)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def take(self, outlet: Outlet) -> None:
        """Tell of this socket as well; under the lock. It may be dropped without a word."""
        handle = outlet.handle

        def forget(_: object) -> None:  # a finalizer may come anywhere: it takes no lock
            self.forgotten.append(handle)
            lib.mm_events_ring(self.engine)

        self.outlets[handle] = weakref.ref(outlet, forget)
        outlet.told = True

    def tell_now(self) -> None:
        """Have it look now; without a lock that a signal's function could be waiting for."""
        with suppress(RuntimeError):  # it was rung already
            self._bell.release()
        lib.mm_events_ring(self.engine)

    def _tell_new(self) -> int:
        """Tell what is new; how many sockets had something, below 0: the engine was closed."""
        count = int(lib.mm_events_take(self.engine, self._found, SOCKETS_AT_ONCE))
        self._give_again()
        for handle in self._found[0 : max(count, 0)]:
            known = self.outlets.get(handle)
            outlet = known() if known is not None else None
            if outlet is not None:
                _safely(outlet.tell)
                if outlet.owes:
                    self.owing[handle] = weakref.ref(outlet)
        while self.leaving:
            _safely(self.leaving.pop(0).tell_last)
        if count >= 0:
            self._tell_ended()
        return count

    def _give_again(self) -> None:
        """Try what had no room where dead letters go."""
        for handle, known in list(self.owing.items()):
            outlet = known()
            if outlet is not None:
                _safely(outlet.give_dead)
            if outlet is None or not outlet.owes:
                del self.owing[handle]

    def _tell_ended(self) -> None:
        """Tell what closed sockets dropped."""
        found, missing = take_ended(self.engine)
        for ended in found:
            _safely(partial(self.tell_end, ended))
        log_unlisted(missing, records.put)

    def tell_end(self, ended: Ended) -> None:
        """Tell what a closed socket dropped: to its function, if it is known, and to the log."""
        known = self.outlets.get(ended.socket)
        # In this order: who closes it has it there before it is gone from here.
        outlet = (known() if known is not None else None) or self.ending.get(ended.socket)
        if outlet is not None:
            outlet.tell_end(ended.event)
        else:
            records.put(ended.record())

    def _is_over(self, count: int) -> bool:
        """Whether there is nobody left to tell of: nobody joins any more."""
        with _lock:
            while self.forgotten:
                self.outlets.pop(self.forgotten.popleft(), None)
            more = may_come(self.engine) if count >= 0 else count
            if more == 0:
                self.ending.clear()
            over = more < 0 or not (self.outlets or self.leaving or more)
            if over:
                self._close()
            return over

    def _tell_end(self) -> None:
        """The engine is gone, if any are left."""
        left = [outlet for known in self.outlets.values() if (outlet := known()) is not None]
        for outlet in [*left, *self.leaving]:
            _safely(outlet.tell_last)  # who watches finds it closed
        if left or self.ending:
            self.ended.wait()
        self.tell_left()
        self.outlets.clear()

    def tell_left(self) -> None:
        """Tell what the end of the engine dropped; once."""
        while self.left:
            _safely(partial(self.tell_end, self.left.pop(0)))


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


def log_closed(engine: int) -> None:
    """Log what closed sockets dropped; by calls that wait, where no thread tells."""
    log_ended(engine, give)


def leave(outlet: Outlet, engine: int, last_words: str, warning: str = "") -> None:
    """The socket was closed: what had happened before is told yet, and that it is closed."""
    outlet.end(last_words, warning)
    with _lock:
        outlet.left = True
        teller = _tellers.get(engine)
        if teller is None or outlet.handle not in teller.outlets:
            outlet.log_last_words()  # its engine was closed before, or no thread tells
            outlet.give_dead()
            if teller is None:
                log_ended(engine, give)
            return
        # It is rung first, and looks under the lock: a signal's function may raise at each line,
        # and what is not done then is done once the socket is dropped.
        if outlet.has_function() and len(teller.ending) < ENDING_MAX and may_come(engine) > 0:
            teller.ending[outlet.handle] = outlet
        news = outlet.has_news()
        if news or len(teller.outlets) == 1:
            teller.tell_now()
        if news:
            teller.leaving.append(outlet)
        teller.outlets.pop(outlet.handle, None)


def engine_closing(engine: int) -> _Teller | None:
    """Its sockets are about to be closed: what they remember is told yet, by this one."""
    teller = _tellers.get(engine)
    for known in list(teller.outlets.values()) if teller is not None else ():
        outlet = known()
        if outlet is not None:
            outlet.finish()
    return teller


def engine_closed(teller: _Teller | None, left: list[Ended]) -> None:
    """Tell what it dropped, and wait until its thread has ended, but not for a function of a user's
    that does not return."""
    if teller is None:
        for ended in left:
            records.put(ended.record())
        return
    teller.left += left
    teller.ended.set()
    teller.tell_now()
    if teller.thread is not threading.current_thread():
        teller.thread.join(JOIN_S)
        if not teller.thread.is_alive():
            teller.tell_left()  # it had ended before: its sockets had


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
