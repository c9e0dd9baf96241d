"""Sending and receiving for asyncio.

Not here: waiting (_waiting.py, _loop.py). Law: nothing is taken from the core but by the task that
returns it (or into the socket's own deque), so a cancelled call loses nothing.
"""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EAGAIN, fast, ffi, lib, sends_natively, to_ms
from meshmsg._binding.data import Data, buffer_of, bytes_of, pack_frames, size_of
from meshmsg._binding.errors import ClosedError, MeshError
from meshmsg._socket.inbox import Inbox
from meshmsg._socket.options import check_batch
from meshmsg._socket.unpack import MessageT
from meshmsg._socket.unsent import Taken, no_room_after
from meshmsg._sync.send import array_error, arrays_in
from meshmsg.aio._loop import READABLE, WRITABLE
from meshmsg.aio._waiting import FAST_CALLS_MAX, AsyncDraining, Waiting, frameless, is_turn

if TYPE_CHECKING:
    from typing_extensions import Self

_QUICK_CALLS_MAX = FAST_CALLS_MAX - 1
"""Messages that are ready and are given out without a look at the loop; the next call looks."""
PREFETCH_MESSAGES = 256
"""Messages a receive takes from the core at once."""
PREFETCH_BYTES = 256 * 1024
"""Bytes after which it takes no further one."""


class AsyncFrameSender(AsyncDraining):
    """A socket that sends frames, to anybody or to one peer."""

    async def _send_packed(self, packed: tuple[bytes, Any, int], timeout: float | None) -> None:
        body, _, count = packed
        self._fast += 1
        if self._fast >= FAST_CALLS_MAX:
            await self._share()
        await self._sending(
            lambda: int(lib.mm_send_packed(self._handle, 0, *packed, 0, 0)),
            timeout,
            size_of(body),
            count,
        )

    async def _sending(
        self,
        attempt: Callable[[], int],
        timeout: float | None,
        size: int,
        count: int,
        what: str = "no room for a message",
    ) -> None:
        def once() -> int:
            rc = attempt()
            if rc == EAGAIN and lib.mm_send_waits(self._handle) == 0:
                raise self._error(rc, what, 0)
            return rc

        try:
            await self._until(once, WRITABLE, timeout, what)
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                raise self._too_large(size, count) from None
            raise


class AsyncSender(AsyncFrameSender):
    """A socket that sends."""

    @sends_natively
    async def send(self, data: Data, *, timeout: float | None = None) -> None:
        """Send one message; see `meshmsg.Push.send`.

        Cancel-safe: a cancelled call has sent nothing. Thread-safe: yes, but a loop waits on its
        own thread.

        Args:
            data: The body: bytes, or anything contiguous with a buffer. It is copied.
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
        """
        await self._send_on(data, timeout)

    async def _send_on(self, data: Data, timeout: float | None) -> None:
        """Send what is not sent natively: what is not bytes, has no room, or is one too many."""
        to_ms(timeout)  # refuses what is no time
        self._fast = 0
        if is_turn():
            data = bytes_of(data)  # others may change it, or resize it, in their turn
            await self._turn()
        if lib.mm_send_now(self._handle, *buffer_of(data)) == 0:
            return
        taken = buffer_of(bytes_of(data))
        await self._sending(
            lambda: int(lib.mm_send(self._handle, *taken, 0, 0)), timeout, taken[1], 1
        )

    async def send_frames(self, frames: Sequence[Data], *, timeout: float | None = None) -> None:
        """Send one message of several frames; see `meshmsg.Push.send_frames`.

        Cancel-safe: a cancelled call has sent nothing. Thread-safe: yes, but a loop waits on its
        own thread.

        Args:
            frames: The frames, at least one.
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
            UsageError: There is no frame.
        """
        await self._send_packed(pack_frames(frames), timeout)

    async def send_many(self, messages: Iterable[Data], *, timeout: float | None = None) -> int:
        """Send many messages, crossing into C once per batch; see `meshmsg.Push.send_many`.

        Cancel-safe: a cancelled call has sent some of them; its CancelledError has `.sent` and
        `.unsent`, too (with Python 3.10, who awaits a cancelled task gets another error, with this
        one as its `__context__`). Thread-safe: yes, but a loop waits on its own thread.

        Args:
            messages: The bodies.
            timeout: Seconds for all of it; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
            BaseException: What the iterable raised. Whatever is raised has `.sent`, how many were
                sent, and `.unsent`, a list of those that were taken and not sent.
        """
        to_ms(timeout)
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        taken = Taken(messages)
        try:
            while taken.fill():
                left = deadline if deadline is None else max(deadline - loop.time(), 0.0)
                await self._send_chunk(taken, left, timeout)
            return taken.counts[1]
        except BaseException as error:  # cancelled, too
            taken.tell(error)
            raise

    async def send_batch(self, batch: object, *, timeout: float | None = None) -> int:
        """Send each element of an Arrow array as a message; see `meshmsg.Push.send_batch`.

        Cancel-safe: a cancelled call has sent some of them; its CancelledError has `.sent`.
        Thread-safe: yes, but a loop waits on its own thread.

        Args:
            batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
                (of fixed size, too) or string.
            timeout: Seconds for all of it; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError, UsageError, TypeError: As
                the sync one.
        """
        to_ms(timeout)
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        total = 0
        for schema, values in arrays_in(batch):
            left = deadline if deadline is None else max(deadline - loop.time(), 0.0)
            total += await self._send_array(schema, values, total, left)
        return total

    async def _send_array(self, schema: Any, values: Any, before: int, left: float | None) -> int:
        done = ffi.new("uint64_t *")

        def attempt() -> int:
            return int(lib.mm_send_arrow(self._handle, schema, values, done, 0, 0))

        try:
            await self._turn()
            await self._sending(attempt, left, 0, 1, "no room for more")
        except MeshError as error:
            raise array_error(self, error, schema, values, before, int(done[0])) from None
        except BaseException as error:  # cancelled, most likely
            vars(error).update(sent=before + int(done[0]))
            raise
        return int(done[0])

    async def _send_chunk(self, taken: Taken, left: float | None, timeout: float | None) -> None:
        chunk, counts = taken.chunk, taken.counts

        def attempt() -> int:
            return int(fast.send_list(self._handle, chunk, counts, 0, 0))

        try:
            await self._turn()
            await self._sending(attempt, left, 0, 1)
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                error = self._too_large(size_of(chunk[counts[0]]), 1)
            elif error.code in (EAGAIN, lib.MM_ETIMEDOUT):
                waits = timeout and lib.mm_send_waits(self._handle) != 0
                code = lib.MM_ETIMEDOUT if waits else EAGAIN
                error = self._error(code, no_room_after(counts[1]), timeout)
            raise error from None


class AsyncReceiver(Inbox[MessageT], Waiting):
    """A socket that receives."""

    _receiving_loop: weakref.ref[asyncio.AbstractEventLoop] | None = None
    _several_loops = False

    def _may_prefetch(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether only this loop's tasks receive: a loop cannot wake the tasks of another one."""
        if self._several_loops or self._watched:
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
        self,
        max_messages: int,
        prefetch: int,
        found: list[MessageT],
        loop: asyncio.AbstractEventLoop,
    ) -> int:
        """Take what is there: what is prefetched first, then from the core; never waits."""
        with self._inbox_lock:
            may_prefetch = self._may_prefetch(loop)
            if self._ready:
                found += self._take_many(max_messages)
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
        self, max_messages: int, timeout: float | None, prefetch: int = 0
    ) -> list[MessageT]:
        self._fast += 1 + self._ready.rested()
        if self._fast >= FAST_CALLS_MAX:
            await self._share()
        if timeout is not None:
            to_ms(timeout)  # refuses what is no time
        found: list[MessageT] = []
        loop = asyncio.get_running_loop()
        try:
            rc = self._take(max_messages, prefetch, found, loop)
            if rc == EAGAIN and timeout != 0:
                rc = await self._again(
                    lambda: self._take(max_messages, prefetch, found, loop),
                    READABLE,
                    None if timeout is None else loop.time() + timeout,
                )
            if rc < 0:
                raise self._error(rc, "no message", timeout)
            if self._ready:
                self._waker(loop).wake_next(self._handle, READABLE)
        except BaseException:
            self._keep_for(loop, found)
            raise
        return found

    async def _next_ready(self) -> MessageT | None:
        """Go on with what is ready, once others had their turn, if it is time for it."""
        self._ready.rested()
        await self._share()
        message: MessageT | None = self._ready.quick(_QUICK_CALLS_MAX)
        return message

    def _keep_for(self, loop: asyncio.AbstractEventLoop, found: list[MessageT]) -> None:
        """Make ready what a call that failed had taken; the loop's next in line is told."""
        self._keep(found)
        if self._ready:
            with suppress(MeshError):  # without a waker nobody waits
                self._waker(loop).wake_next(self._handle, READABLE)

    async def recv(self, *, timeout: float | None = None) -> MessageT:
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
            ClosedError: The socket was closed, here, while waiting.
        """
        message: MessageT | None = self._ready.quick(_QUICK_CALLS_MAX)
        return message if message is not None else await self._recv_on(timeout)

    async def _recv_on(self, timeout: float | None) -> MessageT:
        """Receive what is not ready, or once others had their turn."""
        if self._ready and not self._watched:
            message = await self._next_ready()
            if message is not None:
                return message
        return (await self._receive(1, timeout, PREFETCH_MESSAGES))[0]

    async def recv_many(
        self, max_messages: int = 1000, *, timeout: float | None = None
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
        return await self._receive(max_messages, timeout)

    async def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
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
        return list((await self.recv(timeout=timeout)).frames)

    def __aiter__(self) -> Self:
        """Iterate over messages as they come; ends when the socket is closed."""
        return self

    async def __anext__(self) -> MessageT:
        message: MessageT | None = self._ready.quick(_QUICK_CALLS_MAX)
        return message if message is not None else await self._next_on()

    async def _next_on(self) -> MessageT:
        try:
            return await self._recv_on(None)
        except ClosedError:
            raise StopAsyncIteration from None


def _recv_soon(self: AsyncReceiver[Any], *, timeout: float | None = None) -> Any:
    return fast.recv_soon(self, self._ready, timeout)


def _next_soon(self: AsyncReceiver[Any]) -> Any:
    return fast.next_soon(self, self._ready)


def _iterator(self: AsyncReceiver[Any]) -> Any:
    as_all = type(self).__anext__ is AsyncReceiver.__anext__
    return fast.course(self, self._ready) if as_all else self


if sys.version_info < (3, 12):  # from then on what such a coroutine returns goes by an exception
    frameless(AsyncReceiver, "recv", _recv_soon)
    frameless(AsyncReceiver, "__anext__", _next_soon)
    frameless(AsyncReceiver, "__aiter__", _iterator)
