"""Sending and receiving for asyncio: try at once, and only await when it cannot be done now.

Law: nothing is taken from the core but by the task that returns it (or into the socket's own deque),
so a cancelled call loses nothing.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from meshmsg._base import SocketBase
from meshmsg._core import EAGAIN, ffi, lib, local, to_ms
from meshmsg._errors import ClosedError, MeshError, TimedOutError, UsageError, WouldBlockError
from meshmsg._info import DrainReport, drain_of
from meshmsg._message import Message
from meshmsg._send import CHUNK_BYTES, CHUNK_MESSAGES, Data, buffer_of, bytes_of, pack_frames
from meshmsg.aio._loop import DRAINED, PEERS, READABLE, WRITABLE, LoopWaker, waker_of

PREFETCH_MESSAGES = 64
"""Messages a receive takes from the core at once."""
PREFETCH_BYTES = 256 * 1024
"""Bytes after which it takes no further one."""
FAST_RECEIVES_MAX = 64
"""Receives without an await, after which other tasks get a turn."""


class Waiting(SocketBase):
    """What a socket's awaiting calls share."""

    async def _until(
        self,
        attempt: Callable[[], int],
        event: int,
        timeout: float | None,
        what: str,
    ) -> int:
        """Repeat an attempt until it is something else than "not now"."""
        rc = attempt()
        if rc == EAGAIN and timeout != 0:
            ms = to_ms(timeout)   # refuses what is no time
            loop = asyncio.get_running_loop()
            deadline = None if ms < 0 or timeout is None else loop.time() + timeout
            rc = await self._again(waker_of(self._engine), attempt, event, deadline)
        if rc < 0:
            raise self._error(rc, what, timeout)
        return rc

    async def _again(
        self, waker: LoopWaker, attempt: Callable[[], int], event: int, deadline: float | None
    ) -> int:
        handle = self._handle
        while True:
            future = waker.add(handle, event)
            rc = waker.watch(handle, event)
            if rc == 0:
                rc = attempt()  # what happened before the watch was set
            if rc != EAGAIN:
                waker.drop(handle, event, future)
                return rc
            woken = await waker.wait(handle, event, future, deadline)
            rc = attempt()
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
            ClosedError: The socket was closed.
        """
        await self._until(
            lambda: int(lib.mm_wait_peers(self._handle, count, 0, 0)),
            PEERS,
            timeout,
            f"not {count} peers",
        )

    async def drain(self, *, timeout: float | None = None) -> DrainReport:
        """Wait until the peers have received what was sent; see `meshmsg.Push.drain`.

        Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            What was delivered, what was not, and why; it does not raise when time is up.

        Raises:
            ClosedError: The socket was closed.
        """
        info = ffi.new("mm_drain_info *")
        try:
            await self._until(
                lambda: int(lib.mm_drain(self._handle, 0, 0, info)),
                DRAINED,
                timeout,
                "not drained",
            )
        except (TimedOutError, WouldBlockError):
            pass
        return drain_of(info)

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class AsyncFrameSender(Waiting):
    """A socket that sends frames, to anybody or to one peer."""

    async def _send_frames_to(
        self, to: int, frames: Sequence[Data], timeout: float | None
    ) -> None:
        body, sizes, count = pack_frames(frames)
        await self._sending(
            lambda: int(lib.mm_send_frames(self._handle, to, body, sizes, count, 0, 0)),
            timeout,
            len(body),
            count,
        )

    async def _sending(
        self, attempt: Callable[[], int], timeout: float | None, size: int, count: int
    ) -> None:
        def once() -> int:
            rc = attempt()
            if rc == EAGAIN and self._opts.overflow == lib.MM_OVERFLOW_ERROR:
                raise self._error(rc, "no room for a message", 0)
            return rc

        try:
            await self._until(once, WRITABLE, timeout, "no room for a message")
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                raise self._too_large(size, count) from None
            raise


class AsyncSender(AsyncFrameSender):
    """A socket that sends."""

    async def send(self, data: Data, *, timeout: float | None = None) -> None:
        """Send one message; see `meshmsg.Push.send`.

        Cancel-safe: a cancelled call has either sent all of it or nothing; cancelled while it waited,
        nothing. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            data: The body: bytes, or anything contiguous with a buffer. It is copied.
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
        """
        body = data if type(data) is bytes else buffer_of(data)
        rc = lib.mm_send(self._handle, body, len(body), 0, 0)
        if rc:
            await self._sending(
                lambda: int(lib.mm_send(self._handle, body, len(body), 0, 0)),
                timeout,
                len(body),
                1,
            )

    async def send_frames(self, frames: Sequence[Data], *, timeout: float | None = None) -> None:
        """Send one message of several frames; see `meshmsg.Push.send_frames`.

        Cancel-safe: all frames are sent, or none. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            frames: The frames, at least one.
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
            UsageError: There is no frame.
        """
        await self._send_frames_to(0, frames, timeout)

    async def send_many(self, messages: Iterable[Data], *, timeout: float | None = None) -> int:
        """Send many messages, crossing into C once per batch; see `meshmsg.Push.send_many`.

        Cancel-safe: a cancelled call has sent some of them. Thread-safe: yes, but a loop waits on its
        own thread.

        Args:
            messages: The bodies.
            timeout: Seconds each batch may wait; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError: `.sent` says how many were sent, `.unsent` holds those that were taken and
                were not.
            WouldBlockError, TooLargeError, ClosedError: As `send`, with the same two attributes.
        """
        total = 0
        chunk: list[bytes] = []
        size = 0
        for message in messages:
            body = bytes_of(message)
            chunk.append(body)
            size += len(body)
            if len(chunk) >= CHUNK_MESSAGES or size >= CHUNK_BYTES:
                total += await self._send_chunk(chunk, total, timeout)
                chunk, size = [], 0
        return total + await self._send_chunk(chunk, total, timeout)

    async def _send_chunk(self, chunk: list[bytes], before: int, timeout: float | None) -> int:
        bodies = b"".join(chunk)
        sizes = array("Q", map(len, chunk))
        start = ffi.from_buffer("uint8_t[]", bodies)
        lengths = ffi.from_buffer("uint64_t[]", sizes)
        done = 0
        offset = 0

        def attempt() -> int:
            nonlocal done, offset
            if done == len(chunk):
                return 0
            out = local.size
            rc = lib.mm_send_many(
                self._handle, start + offset, lengths + done, len(chunk) - done, 0, 0, out
            )
            offset += sum(sizes[done : done + out[0]])
            done += out[0]
            return int(rc)

        try:
            await self._sending(attempt, timeout, 0, 1)
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                error = self._too_large(len(chunk[done]), 1)
            vars(error).update(sent=before + done, unsent=chunk[done:])
            raise error from None
        return done


class AsyncReceiver(Waiting):
    """A socket that receives."""

    _fast = 0

    async def _receive(self, max_messages: int, timeout: float | None) -> list[Message]:
        batch = local.batch
        found: list[Message] = []

        def attempt() -> int:
            message = self._take_ready()
            if message is not None:
                found.append(message)
                return 1
            rc = int(lib.mm_recv(self._handle, batch, max_messages, PREFETCH_BYTES, 0, 0))
            if rc > 0:
                found.extend(self._unpack(batch))
            return rc

        try:
            await self._until(attempt, READABLE, timeout, "no message")
        except BaseException:
            # Taken in the very moment of a cancel or time-out: they stay with the socket, in order.
            self._ready.extendleft(reversed(found))
            raise
        return found

    async def _turn(self) -> None:
        """Let other tasks run now and then, however fast messages come."""
        self._fast += 1
        if self._fast >= FAST_RECEIVES_MAX:
            self._fast = 0
            await asyncio.sleep(0)

    async def recv(self, *, timeout: float | None = None) -> Message:
        """Receive one message, waiting for it if need be.

        Cancel-safe: a cancelled call has not taken a message. Thread-safe: yes, but a loop waits on
        its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            The message: its body as bytes, with `.frames`, `.peer` and, where there is one, `.topic`.

        Raises:
            TimedOutError: Nothing arrived in time; the socket is unchanged.
            WouldBlockError: Nothing is there (timeout=0).
            ClosedError: The socket was closed, here, while waiting.
        """
        if self._ready:
            await self._turn()
            message = self._take_ready()
            if message is not None:
                return message
        found = await self._receive(1 if self._fileno_taken else PREFETCH_MESSAGES, timeout)
        self._ready.extend(found[1:])
        if self._ready:
            waker_of(self._engine).wake_next(self._handle, READABLE)
        return found[0]

    async def recv_many(
        self, max_messages: int = 1000, *, timeout: float | None = None
    ) -> list[Message]:
        """Receive what is there, waiting only for the first message.

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
        if max_messages < 1:
            raise UsageError(f"max_messages is {max_messages}; it is 1 or more")
        await self._turn()
        found: list[Message] = []
        while len(found) < max_messages:
            message = self._take_ready()
            if message is None:
                break
            found.append(message)
        return found or await self._receive(max_messages, timeout)

    async def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
        """Receive one message as its frames; see `meshmsg.Pull.recv_frames`.

        Cancel-safe: a cancelled call has not taken a message. Thread-safe: yes, but a loop waits on
        its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            All frames.

        Raises:
            TimedOutError, WouldBlockError, ClosedError: As `recv`.
        """
        return list((await self.recv(timeout=timeout)).frames)

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Iterate over messages as they come; ends when the socket is closed."""
        while True:
            try:
                message = await self.recv()
            except ClosedError:
                return
            yield message
