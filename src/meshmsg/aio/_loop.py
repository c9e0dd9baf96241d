"""How an asyncio loop waits: one waker per loop and engine, one wake-up per batch.

Law: readiness, not completion: a woken task tries again itself, so a cancelled one has taken
nothing; a waiter that was woken and does not need it passes the wake on.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from meshmsg._core import ffi, lib, raise_for
from meshmsg._engine import Engine
from meshmsg._errors import UsageError

READY_AT_ONCE = 64
"""Sockets taken off the ready list by one call into C."""

READABLE: int = lib.MM_READABLE
WRITABLE: int = lib.MM_WRITABLE
PEERS: int = lib.MM_PEERS
DRAINED: int = lib.MM_DRAINED

Waiter = asyncio.Future[bool]
"""Its result says whether it was woken (True) or its time was up (False)."""


def _expire(future: Waiter) -> None:
    if not future.done():
        future.set_result(False)


class LoopWaker:
    """Wakes the tasks of one loop that wait for sockets of one engine."""

    def __init__(self, loop: asyncio.AbstractEventLoop, engine: Engine) -> None:
        handle = ffi.new("mm_handle *")
        fd = ffi.new("int *")
        raise_for(lib.mm_waker_open(engine._handle, handle, fd), "opening a waker for the loop")
        self._loop = weakref.ref(loop)
        self._handle: int = handle[0]
        # A copy: the engine may be closed in another thread while this loop watches the descriptor.
        self._fd = os.dup(fd[0])
        self._out: Any = ffi.new("mm_ready[]", READY_AT_ONCE)
        self._waiters: dict[tuple[int, int], deque[Waiter]] = {}
        self.on_readable: dict[int, Callable[[], None]] = {}
        """Sockets whose readiness one function deals with (Req: it knows whose reply came)."""
        try:
            loop.add_reader(self._fd, self._on_ready)
        except NotImplementedError:
            self.close()
            raise UsageError(
                f"{type(loop).__name__} cannot watch descriptors (add_reader); "
                "use a selector event loop or uvloop"
            ) from None

    def serves(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether this is that loop's waker, and still works."""
        return self._fd >= 0 and self._loop() is loop

    def watch(self, socket: int, events: int) -> int:
        """Ask to be told, once; fires at once if it is already so."""
        return int(lib.mm_watch(socket, self._handle, events))

    def add(self, socket: int, event: int) -> Waiter:
        """Queue a waiter; the caller watches, tries once more, then awaits `wait`."""
        future: Waiter = asyncio.get_running_loop().create_future()
        self._waiters.setdefault((socket, event), deque()).append(future)
        return future

    async def wait(self, socket: int, event: int, future: Waiter, deadline: float | None) -> bool:
        """Wait until woken (True) or too late (False).

        Cancelled or out of time after being woken, the next waiter is woken instead.
        """
        loop = asyncio.get_running_loop()
        timer = None if deadline is None else loop.call_at(deadline, _expire, future)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.result():
                self.wake_next(socket, event)
            raise
        finally:
            if timer is not None:
                timer.cancel()
            self._forget(socket, event, future)

    def drop(self, socket: int, event: int, future: Waiter) -> None:
        """Take back a waiter that turned out not to be needed."""
        woken = future.done() and future.result()
        future.cancel()
        self._forget(socket, event, future)
        if woken:
            self.wake_next(socket, event)

    def _forget(self, socket: int, event: int, future: Waiter) -> None:
        waiters = self._waiters.get((socket, event))
        if waiters is None:
            return
        if future in waiters:
            waiters.remove(future)
        if not waiters:
            del self._waiters[socket, event]

    def wake_next(self, socket: int, event: int) -> None:
        """Wake the waiter that has waited longest, if there is one."""
        waiters = self._waiters.get((socket, event))
        while waiters:
            future = waiters.popleft()
            if not future.done():
                future.set_result(True)
                break
        if waiters is not None and not waiters:
            del self._waiters[socket, event]

    def _wake_all(self, socket: int, event: int) -> None:
        for future in list(self._waiters.pop((socket, event), ())):
            if not future.done():
                future.set_result(True)

    def _on_ready(self) -> None:
        out = self._out
        count = lib.mm_waker_take(self._handle, out, READY_AT_ONCE)
        if count < 0:
            self._engine_is_gone()
            return
        for i in range(count):
            socket, events = out[i].socket, out[i].events
            if events == 0:
                self._socket_is_gone(socket)
                continue
            tell = self.on_readable.get(socket)
            if events & READABLE:
                if tell is not None:
                    tell()
                else:
                    self.wake_next(socket, READABLE)
            for event in (WRITABLE, PEERS, DRAINED):
                if events & event:
                    self._wake_all(socket, event)

    def _socket_is_gone(self, socket: int) -> None:
        """It was closed: whoever waits for it tries again, and is told so."""
        tell = self.on_readable.pop(socket, None)
        if tell is not None:
            tell()
        for event in (READABLE, WRITABLE, PEERS, DRAINED):
            self._wake_all(socket, event)

    def _engine_is_gone(self) -> None:
        self.close()
        for socket in {*self.on_readable, *(socket for socket, _ in self._waiters)}:
            self._socket_is_gone(socket)

    def close(self) -> None:
        """Give the waker back. Closing twice is harmless."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        loop = self._loop()
        if loop is not None and not loop.is_closed():
            loop.remove_reader(fd)
        os.close(fd)
        lib.mm_waker_close(self._handle)

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


_lock = threading.Lock()
_wakers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, LoopWaker]] = (
    weakref.WeakKeyDictionary()
)


def _close_closed() -> None:
    """Loops that were closed and are still referred to: their wakers go when the next one is
    made."""
    for loop in [loop for loop in _wakers if loop.is_closed()]:
        for waker in _wakers.pop(loop).values():
            waker.close()


def waker_of(engine: Engine) -> LoopWaker:
    """Return the running loop's waker for an engine.

    Raises:
        UsageError: The loop cannot watch descriptors.
        RuntimeError: No loop is running.
    """
    loop = asyncio.get_running_loop()
    with _lock:
        by_engine = _wakers.get(loop)
        if by_engine is None:
            _close_closed()
            by_engine = _wakers[loop] = {}
        waker = by_engine.get(engine._handle)
        if waker is None or not waker.serves(loop):
            waker = by_engine[engine._handle] = LoopWaker(loop, engine)
    return waker


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)
