"""The socket for asyncio, and what its awaiting calls share: try at once, and only await when it
cannot be done now.

Not here: sending and receiving (_sending.py, _receiving.py). Law: every attempt is made by the task
that returns its result, so a cancelled call has done nothing.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EAGAIN, lib, native, to_ms
from meshmsg._binding.data import buffer_of, pack_frames, size_of
from meshmsg._binding.errors import ClosedError, MeshError, UsageError
from meshmsg._binding.note import NO_ROOM
from meshmsg._events.outlet import check_watch
from meshmsg._hints.wrong_role import has, no_iteration
from meshmsg._socket.causes import What, too_few
from meshmsg._socket.inbox import Inbox, MessageT
from meshmsg._socket.options import check_count
from meshmsg._socket.peers import peer_count
from meshmsg.aio._loop import PEERS, READABLE, WRITABLE, LoopWaker, waker_of
from meshmsg.aio._spooled import put_noted
from meshmsg.aio._watch import Events

if TYPE_CHECKING:
    from typing_extensions import Self


class Socket(Inbox[MessageT]):
    """A socket for asyncio: what its awaiting calls share."""

    _waker_used: LoopWaker | None = None
    _receiving_loop: weakref.ref[asyncio.AbstractEventLoop] | None = None
    """The one loop whose tasks receive."""
    _several_loops = False
    """Whether tasks of several loops do."""

    if not TYPE_CHECKING:  # type checkers say so themselves

        def __enter__(self) -> None:
            raise TypeError(f"an asyncio {type(self).__name__} is closed by `async with`, not with")

        def __exit__(self, *_: object) -> None:
            """Never reached: entering raises."""

        def __aiter__(self) -> None:
            raise no_iteration(type(self))

        def __iter__(self) -> None:
            if not has(type(self), "recv"):
                raise no_iteration(type(self))
            raise TypeError(f"use `async for`: an asyncio {type(self).__name__} is awaited")

    def _waker(self, loop: asyncio.AbstractEventLoop) -> LoopWaker:
        waker = self._waker_used
        if waker is None or not waker.serves(loop):
            try:
                waker = self._waker_used = waker_of(self._engine, loop)
            except ClosedError as error:  # the engine, since the call began
                raise self._error(error.code, "waiting") from None
        return waker

    async def _until(
        self, attempt: Callable[[], int], event: int, timeout: float | None, what: What
    ) -> int:
        """Repeat an attempt until it is something else than "not now"."""
        ms = to_ms(timeout)  # refuses what is no time
        rc = attempt()
        if rc == EAGAIN and ms != 0:
            loop = asyncio.get_running_loop()
            deadline = None if timeout is None else loop.time() + timeout
            rc = await self._again(attempt, event, deadline)
        if rc < 0:
            raise self._error(rc, what, timeout)
        return rc

    async def _send_noted(self, frames: list[bytes], note: bytes, timeout: float | None) -> None:
        """Send frames with what came with them: the octets as they are; a spool gets them first.

        Raises:
            TimedOutError, WouldBlockError: There was no room; nothing was sent, nor put.
        """
        if self._spooled is not None:
            await put_noted(self._spooled, frames, note, timeout)
        else:
            await self._send_packed(pack_frames(frames), note, timeout)

    async def _send_packed(
        self,
        packed: tuple[bytes, Any, int],
        note: bytes,
        timeout: float | None,
        what: str = NO_ROOM,
    ) -> None:
        """Send frames that were packed, and the octets of what goes with them."""
        body, _, count = packed
        octets = buffer_of(note)

        def attempt() -> int:
            rc = int(lib.mm_send_packed(self._handle, 0, *packed, *octets, 0, 0))
            if rc == EAGAIN and lib.mm_send_waits(self._handle) == 0:
                raise self._error(rc, what, 0)
            return rc

        try:
            await self._until(attempt, WRITABLE, timeout, what)
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                raise self._too_large(size_of(body), count) from None
            raise

    async def _again(self, attempt: Callable[[], int], event: int, deadline: float | None) -> int:
        handle = self._handle
        loop = asyncio.get_running_loop()
        waker = self._waker(loop)
        native.async_turn()
        while True:
            future = waker.add(handle, event, loop)
            rc = waker.watch(handle, event)
            if rc == 0 and event == READABLE:
                rc = EAGAIN  # there is nothing, and the loop is told of the next
            elif rc >= 0:  # look for what happened before the watch was set
                try:
                    rc = attempt()
                except BaseException:  # of a signal's function
                    waker.drop(handle, event, future)
                    raise
            if rc != EAGAIN:
                waker.drop(handle, event, future)
                return rc
            woken = await waker.wait(handle, event, future, deadline)
            try:
                rc = attempt()
            except BaseException:  # of a signal's function: the next in line has not been told
                waker.wake_next(handle, event)
                raise
            if rc != EAGAIN:
                if event == READABLE:
                    waker.wake_next(handle, event)  # there may be more for the next in line
                return rc
            if not woken:
                return int(lib.MM_ETIMEDOUT)

    async def wait_for_peers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until peers are connected and ready.

        Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            count: How many, all together.
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError: There were not so many in time.
            WouldBlockError: There are not so many now (timeout=0).
            ClosedError: The socket was closed.
        """
        check_count("count", count)
        await self._until(
            lambda: int(lib.mm_wait_peers(self._handle, count, 0, 0)),
            PEERS,
            timeout,
            too_few(self, count),
        )

    def watch(self) -> Events:
        """Tell what happens to the connections, from the socket's opening on: `async for event in`.

        Each call gives an iterator with a place of its own: what it tells is told by `events()` and
        other iterators as well. It ends when the socket is closed. One that falls more than 256
        events behind misses some: a gap in `seq` shows it.

        Cancel-safe: a cancelled step has taken nothing. Thread-safe: an iterator is for one loop.

        Returns:
            An asynchronous iterator of `meshmsg.Event`.

        Raises:
            UsageError: The socket is of a simulated world; use `events()` there.
            ResourceError: There was no descriptor or thread for it when the socket was opened.
            ClosedError: The socket was closed.
        """
        self._check(peer_count(self._handle), "watching events")
        check_watch(self._outlet, self._slice_ms)
        return Events(self, self._outlet)

    def _loop_of_events(self, option: str) -> asyncio.AbstractEventLoop:
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError(
                f"{option} of an asyncio {type(self).__name__} is called on its loop: "
                "open the socket in a coroutine"
            ) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()
