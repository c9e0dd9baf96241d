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
from contextvars import Context
from typing import Any, TypeVar

from meshmsg._binding.core import ffi, lib, native, raise_for
from meshmsg._binding.errors import UsageError
from meshmsg._socket.engine import Engine

FoundT = TypeVar("FoundT")

READABLE: int = lib.MM_READABLE
WRITABLE: int = lib.MM_WRITABLE
PEERS: int = lib.MM_PEERS
DRAINED: int = lib.MM_DRAINED


class Waiter(asyncio.Future[FoundT]):
    """What one task waits for. Whoever runs on the loop itself may resume that task at once.

    Law: nobody but that task sees it. To await it and to cancel are as with any future.
    """

    _resume: tuple[Callable[[Any], object], Context] | None = None

    def add_done_callback(
        self, fn: Callable[[Any], object], /, *, context: Context | None = None
    ) -> None:
        """Remember how the task goes on."""
        if context is not None and self._resume is None:
            self._resume = fn, context
        super().add_done_callback(fn, context=context)

    def wake(self, found: FoundT) -> None:
        """Give the result, and run the task right here rather than in the loop's next turn.

        Only as the last thing of a callback of the loop: the task may do anything, and an exception
        that ends the loop (KeyboardInterrupt) comes out of here.
        """
        resume = self._resume
        if resume is None or asyncio.current_task() is not None:
            self.set_result(found)
            return
        fn, context = resume
        self.remove_done_callback(fn)
        self.set_result(found)
        context.run(fn, self)


Due = tuple[Waiter[Any], Any]
"""Who is to be woken, and with what."""


def _expire(future: Waiter[bool]) -> None:
    if not future.done():
        future.set_result(False)


def call_when_readable(
    loop: asyncio.AbstractEventLoop, fd: int, function: Callable[[], object]
) -> None:
    """Have a loop call a function each time that a descriptor can be read.

    Raises:
        UsageError: The loop cannot watch descriptors.
    """
    try:
        loop.add_reader(fd, function)
    except NotImplementedError:
        raise UsageError(
            f"{type(loop).__name__} cannot watch descriptors (add_reader); "
            "use a selector event loop or uvloop"
        ) from None


class LoopWaker:
    """Wakes the tasks of one loop that wait for sockets of one engine."""

    def __init__(self, loop: asyncio.AbstractEventLoop, engine: Engine) -> None:
        handle = ffi.new("mm_handle *")
        fds = ffi.new("int[2]")
        raise_for(lib.mm_waker_open(engine._handle, handle, fds), "opening a waker for the loop")
        self._loop = weakref.ref(loop)
        self.handle: int = handle[0]
        self._fd = self._end_fd = -1
        self._open = True
        # Copies: the engine may be closed in another thread while this loop watches the first, and
        # the second tells of it.
        try:
            self._fd = os.dup(fds[0])
            self._end_fd = os.dup(fds[1])
        except OSError:
            self._still()
            self.close()
            raise
        self._still()  # else they may be copies of what has those numbers by now
        self._waiters: dict[tuple[int, int], deque[Waiter[bool]]] = {}
        """Each by whether it was woken (True) or its time was up (False)."""
        self.on_readable: dict[int, Callable[[], Due | None]] = {}
        """Sockets whose readiness one function deals with (Req: it knows whose reply came). It may
        leave one task to be woken to its caller."""
        try:
            call_when_readable(loop, self._fd, self._on_ready)
        except UsageError:
            self.close()
            raise

    def _still(self) -> None:
        """Raise if the engine was closed meanwhile: its descriptors are others' then."""
        found = native.waker_take(self.handle)
        if found.__class__ is int:
            self.close()
            raise_for(found, "opening a waker for the loop")

    def serves(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether this is that loop's waker, and still works."""
        return self._fd >= 0 and self._loop() is loop

    def watch(self, socket: int, events: int) -> int:
        """Ask to be told, once; fires at once if it is already so, and gives what is so."""
        return int(native.watch(socket, self.handle, events))

    def add(self, socket: int, event: int, loop: asyncio.AbstractEventLoop) -> Waiter[bool]:
        """Queue a waiter; the caller watches, tries once more, then awaits `wait`."""
        future: Waiter[bool] = Waiter(loop=loop)
        waiters = self._waiters.get((socket, event))
        if waiters is None:
            self._waiters[socket, event] = deque((future,))
        else:
            waiters.append(future)
        return future

    async def wait(
        self, socket: int, event: int, future: Waiter[bool], deadline: float | None
    ) -> bool:
        """Wait until woken (True) or too late (False).

        Cancelled or out of time after being woken, the next waiter is woken instead.
        """
        timer = None
        if deadline is not None:
            timer = future.get_loop().call_at(deadline, _expire, future)
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

    def drop(self, socket: int, event: int, future: Waiter[bool]) -> None:
        """Take back a waiter that turned out not to be needed."""
        woken = future.done() and future.result()
        future.cancel()
        self._forget(socket, event, future)
        if woken:
            self.wake_next(socket, event)

    def _forget(self, socket: int, event: int, future: Waiter[bool]) -> None:
        waiters = self._waiters.get((socket, event))
        if waiters is None:
            return
        if future in waiters:
            waiters.remove(future)
        if not waiters:
            del self._waiters[socket, event]

    def wake_next(self, socket: int, event: int) -> None:
        """Wake the waiter that has waited longest, if there is one."""
        future = self._next(socket, event)
        if future is not None:
            future.set_result(True)

    def _next(self, socket: int, event: int) -> Waiter[bool] | None:
        waiters = self._waiters.get((socket, event))
        if waiters is None:
            return None
        found = None
        while waiters and found is None:
            future = waiters.popleft()
            found = None if future.done() else future
        if not waiters:
            del self._waiters[socket, event]
        return found

    def _wake_all(self, socket: int, event: int) -> None:
        for future in list(self._waiters.pop((socket, event), ())):
            if not future.done():
                future.set_result(True)

    def _on_ready(self) -> None:
        found = native.waker_take(self.handle)
        if found.__class__ is int:
            self._engine_is_gone()
        elif len(found) == 2 and found[1] == READABLE:
            due = self._on_readable(found[0])
            if due is not None:  # nothing comes after it, so it may run here and now
                due[0].wake(due[1])
        else:
            for socket, events in zip(found[::2], found[1::2], strict=True):
                self._on_events(socket, events)

    def _on_readable(self, socket: int) -> Due | None:
        tell = self.on_readable.get(socket)
        if tell is not None:
            return tell()
        future = self._next(socket, READABLE)
        return None if future is None else (future, True)

    def _on_events(self, socket: int, events: int) -> None:
        if events == 0:
            self._socket_is_gone(socket)
            return
        if events & READABLE:
            due = self._on_readable(socket)
            if due is not None:
                due[0].set_result(due[1])
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
        if not self._open:
            return
        self._open = False
        fd, self._fd = self._fd, -1
        loop = self._loop()
        if fd >= 0 and loop is not None and not loop.is_closed():
            loop.remove_reader(fd)
        for each in (fd, self._end_fd):
            if each >= 0:
                os.close(each)
        lib.mm_waker_close(self.handle)

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.close()


_lock = threading.Lock()
_wakers: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, weakref.WeakValueDictionary[int, LoopWaker]
] = weakref.WeakKeyDictionary()
"""The loop itself refers to its wakers, as it watches their descriptors, until it is closed. So one
that was closed has none, whoever still refers to it: a traceback that was logged, say."""


def _close_closed() -> None:
    """Loops that were closed and are still referred to: their wakers go when the next one is
    made."""
    for loop in [loop for loop in _wakers if loop.is_closed()]:
        for waker in list(_wakers.pop(loop).values()):
            waker.close()


def waker_of(engine: Engine, loop: asyncio.AbstractEventLoop) -> LoopWaker:
    """Return a running loop's waker for an engine.

    Raises:
        UsageError: The loop cannot watch descriptors.
    """
    with _lock:
        by_engine = _wakers.get(loop)
        if by_engine is None:
            _close_closed()
            by_engine = _wakers[loop] = weakref.WeakValueDictionary()
        waker = by_engine.get(engine._handle)
        if waker is None or not waker.serves(loop):
            waker = by_engine[engine._handle] = LoopWaker(loop, engine)
    return waker


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)
