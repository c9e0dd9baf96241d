"""Receiving for asyncio.

Not here: waiting (_socket.py, _loop.py). Law: nothing is taken from the core but by the task that
returns it (or into the socket's own deque), so a cancelled call loses nothing.
"""

from __future__ import annotations

import asyncio
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from meshmsg._binding.core import EAGAIN, RETURNS_AT_ONCE, native, receives_natively, to_ms
from meshmsg._binding.errors import ClosedError, EndOfStreamError, MeshError
from meshmsg._binding.message import Message
from meshmsg._roles.batches import check_by_hand
from meshmsg._socket.inbox import MessageT
from meshmsg._socket.options import check_batch
from meshmsg._socket.signature import verb
from meshmsg.aio._loop import READABLE
from meshmsg.aio._turns import is_due, share

if TYPE_CHECKING:
    from meshmsg.aio._socket import Socket

SelfT = TypeVar("SelfT")
PREFETCH_MESSAGES = 256
"""Messages a receive takes from the core at once."""
PREFETCH_BYTES = 256 * 1024
"""Bytes after which it takes no further one."""


class _Receives(Protocol):
    async def recv(self, *, timeout: float | None = None) -> Message: ...


def _may_prefetch(self: Socket[MessageT], loop: asyncio.AbstractEventLoop) -> bool:
    """Whether only this loop's tasks receive: a loop cannot wake the tasks of another one."""
    if self._several_loops or self._ready.watched:
        return False
    before = self._receiving_loop() if self._receiving_loop is not None else None
    if before is loop:
        return True
    if before is None or before.is_closed():
        self._receiving_loop = weakref.ref(loop)
        return True
    self._several_loops = True
    return False


def _take(
    self: Socket[MessageT],
    max_messages: int,
    prefetch: int,
    found: list[MessageT],
    loop: asyncio.AbstractEventLoop,
) -> int:
    """Take what is there: what is prefetched first, then from the core; never waits."""
    with self._ready:
        may_prefetch = _may_prefetch(self, loop)
        if self._ready:
            found += self._ready.take(max_messages)
            if found:
                return len(found)
        if prefetch and may_prefetch:
            first = self._ready.recv(self, self._handle, prefetch, PREFETCH_BYTES, 0, 0)
            if type(first) is int:
                return first
            found.append(first)
            return 1
        taken = self._ready.recv_many(self, self._handle, max_messages, PREFETCH_BYTES, 0, 0)
        if type(taken) is int:
            return taken
        found += taken
        return len(found)


async def _receive(
    self: Socket[MessageT], max_messages: int, timeout: float | None, prefetch: int = 0
) -> list[MessageT]:
    """Take what was asked for; what is prefetched behind it stays ready."""
    if is_due():
        await share()
    if timeout is not None:
        to_ms(timeout)  # refuses what is no time
    found: list[MessageT] = []
    loop = asyncio.get_running_loop()
    try:
        rc = _take(self, max_messages, prefetch, found, loop)
        if rc == EAGAIN and timeout != 0:
            rc = await self._again(
                lambda: _take(self, max_messages, prefetch, found, loop),
                READABLE,
                None if timeout is None else loop.time() + timeout,
            )
        if rc < 0:
            raise self._error(rc, "no message", timeout)
        if self._ready:
            self._waker(loop).wake_next(self._handle, READABLE)
    except BaseException:
        keep_for(self, loop, found)
        raise
    return found


async def _next_ready(self: Socket[MessageT]) -> MessageT | None:
    """Go on with what is ready, once others had their turn, if it is time for it."""
    await share()
    message: MessageT | None = self._ready.quick()
    return message


def keep_for(
    self: Socket[MessageT], loop: asyncio.AbstractEventLoop, found: list[MessageT]
) -> None:
    """Make ready what a call that failed had taken; the loop's next in line is told."""
    self._ready.keep(found)
    if self._ready:
        with suppress(MeshError):  # without a waker nobody waits
            self._waker(loop).wake_next(self._handle, READABLE)


@receives_natively
@verb
async def recv(self: Socket[MessageT], *, timeout: float | None = None) -> MessageT:
    """Receive one message, waiting for it if need be.

    Cancel-safe: a cancelled call has not taken a message. Give a `timeout` rather than use
    `asyncio.wait_for`, which before Python 3.12 swallows a cancellation that comes together
    with a message. Thread-safe: yes, but a loop waits on its own thread.

    Args:
        timeout: Seconds to wait; None waits for ever, 0 never waits.

    Returns:
        The message: its body as bytes, with `.frames`, `.peer` and, where there is one,
        `.topic`; of a Rep, a Request.

    Raises:
        TimedOutError: Nothing arrived in time; the socket is unchanged.
        WouldBlockError: Nothing is there (timeout=0).
        EndOfStreamError: There is nothing, and all who send have finished (`Push.finish`).
        ClosedError: The socket was closed, here, while waiting.
    """
    message: MessageT | None = self._ready.quick()
    return message if message is not None else await recv_on(self, timeout)


async def recv_on(self: Socket[MessageT], timeout: float | None) -> MessageT:
    """Receive what is not ready, or once others had their turn."""
    if self._ready and not self._ready.watched:
        message = await _next_ready(self)
        if message is not None:
            return message
    return (await _receive(self, 1, timeout, PREFETCH_MESSAGES))[0]


@verb
async def recv_many(
    self: Socket[MessageT], max_messages: int = 1000, *, timeout: float | None = None
) -> list[MessageT]:
    """Receive what is there, waiting only for the first message.

    A call may leave some for the next: what came in together is handed over together, uncopied.

    Cancel-safe: a cancelled call has not taken a message. Thread-safe: yes, but a loop waits on
    its own thread.

    Args:
        max_messages: How many at most, 1 or more.
        timeout: Seconds to wait for the first; None waits for ever, 0 never waits.

    Returns:
        One message or more, oldest first.

    Raises:
        TimedOutError, WouldBlockError, ClosedError: As `recv`.
        UsageError: max_messages is below 1.
    """
    check_batch(max_messages)
    return await _receive(self, max_messages, timeout)


@verb
async def recv_frames(self: _Receives, *, timeout: float | None = None) -> list[bytes]:
    """Receive one message as its frames; see `meshmsg.Pull.recv_frames`.

    Cancel-safe: a cancelled call has not taken a message. Thread-safe: yes, but a loop waits on
    its own thread.

    Args:
        timeout: Seconds to wait; None waits for ever, 0 never waits.

    Returns:
        All frames; of a Router the first is the peer's identity.

    Raises:
        TimedOutError, WouldBlockError, ClosedError: As `recv`.
    """
    check_by_hand(self, "recv_frames")
    return list((await self.recv(timeout=timeout)).frames)


@verb
def iterate(self: SelfT) -> SelfT:
    """Iterate over messages as they come; ends when the socket is closed, or when everybody who
    sends to it has sent the last one (`Push.finish`).
    """
    socket: Any = self
    if RETURNS_AT_ONCE and type(socket).__anext__ is step:  # of no class that has its own step
        messages: SelfT = native.aiter(socket, socket._ready)
        return messages
    return self


@verb
async def step(self: Socket[MessageT]) -> MessageT:
    """Give the next message, for `async for`."""
    message: MessageT | None = self._ready.quick()
    return message if message is not None else await next_on(self)


async def next_on(self: Socket[MessageT]) -> MessageT:
    """Wait for the next message, for `async for`."""
    try:
        return await recv_on(self, None)
    except (ClosedError, EndOfStreamError):
        raise StopAsyncIteration from None
