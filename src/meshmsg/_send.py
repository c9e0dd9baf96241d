"""Sending, for threads that may block.

Law: a call that fails has sent nothing (send_many says how much it sent); what is not bytes-like is
refused with a hint, never converted behind the caller's back.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from meshmsg._base import SocketBase
from meshmsg._core import EINTR, ffi, lib, local, on_main_thread, to_ms
from meshmsg._errors import MeshError, TimedOutError
from meshmsg._info import DrainReport, drain_of

Data = bytes | bytearray | memoryview

CHUNK_MESSAGES = 1024
"""Messages of a send_many that cross into C at once."""
CHUNK_BYTES = 1024 * 1024
"""Bytes of a send_many that cross into C at once (one message may be larger)."""


def buffer_of(data: object) -> Any:
    """Return what C can read: bytes as they are, other buffers without a copy."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        raise TypeError("a message is bytes, not str; encode it: send(text.encode())")
    try:
        return ffi.from_buffer("uint8_t[]", data)
    except (TypeError, ValueError, BufferError):
        raise TypeError(
            f"a message is bytes-like and contiguous, not {type(data).__name__}; "
            "turn it into bytes first, for example with json.dumps(value).encode()"
        ) from None


def bytes_of(data: object) -> bytes:
    """Return the data as bytes; raises TypeError with a hint for what is not bytes-like."""
    return data if isinstance(data, bytes) else bytes(ffi.buffer(buffer_of(data)))


def pack_frames(frames: Sequence[Data]) -> tuple[bytes, Any, int]:
    """Return frames as C wants them: end to end, sizes, count."""
    if isinstance(frames, (bytes, str, bytearray, memoryview)):
        raise TypeError("send_frames takes a sequence of frames; for a single one use send")
    parts = [bytes_of(frame) for frame in frames]
    sizes = array("Q", map(len, parts))
    return b"".join(parts), ffi.from_buffer("uint64_t[]", sizes), len(parts)


class Blocking(SocketBase):
    """What a socket's blocking calls share."""

    def _blocking(
        self, call: Callable[[int, int], int], timeout: float | None, what: str
    ) -> int:
        """Call until it is done, failed or too late; in between, signal handlers run."""
        deadline = None if timeout is None else time.monotonic() + timeout
        ms = to_ms(timeout)
        slice_ms = self._slice_ms
        while True:
            rc = call(ms, slice_ms)
            if rc != EINTR:
                break
            self._log_events()
            if not on_main_thread():
                slice_ms = 0
            if deadline is not None:
                ms = to_ms(max(deadline - time.monotonic(), 0.000001))
        if rc < 0:
            raise self._error(rc, what, timeout)
        return rc

    def wait_for_peers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until peers are connected and ready.

        Thread-safe: yes.

        Args:
            count: How many, all together.
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError: There were not so many in time.
            ClosedError: The socket was closed.
        """
        self._blocking(
            lambda ms, slice_ms: lib.mm_wait_peers(self._handle, count, ms, slice_ms),
            timeout,
            f"not {count} peers",
        )

    def drain(self, *, timeout: float | None = None) -> DrainReport:
        """Wait until the peers have received what was sent.

        A peer confirms by answering a heartbeat that was sent behind the messages; that works with
        libzmq too. It says that the peer's engine has read them, not that its application has.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Returns:
            What was delivered, what was not, and why; it does not raise when time is up.

        Raises:
            ClosedError: The socket was closed.
        """
        info = ffi.new("mm_drain_info *")
        try:
            self._blocking(
                lambda ms, slice_ms: lib.mm_drain(self._handle, ms, slice_ms, info),
                timeout,
                "not drained",
            )
        except (TimedOutError, BlockingIOError):
            pass
        return drain_of(info)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FrameSender(Blocking):
    """A socket that sends frames, to anybody or to one peer."""

    def _sending(
        self, call: Callable[[int, int], int], timeout: float | None, size: int, count: int
    ) -> None:
        try:
            self._blocking(call, timeout, "no room for a message")
        except MeshError as error:
            if error.code == lib.MM_EMSGSIZE:
                raise self._too_large(size, count) from None
            raise

    def _send_frames_to(self, to: int, frames: Sequence[Data], timeout: float | None) -> None:
        body, sizes, count = pack_frames(frames)
        self._sending(
            lambda ms, slice_ms: lib.mm_send_frames(
                self._handle, to, body, sizes, count, ms, slice_ms
            ),
            timeout,
            len(body),
            count,
        )


class Sender(FrameSender):
    """A socket that sends."""

    def send(self, data: Data, *, timeout: float | None = None) -> None:
        """Send one message.

        Blocks while the queues of all peers are full, or there is no peer (overflow="block").

        Thread-safe: yes.

        Args:
            data: The body: bytes, or anything contiguous with a buffer. It is copied.
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Raises:
            TimedOutError: No room in time; nothing was sent.
            WouldBlockError: No room now (timeout=0 or overflow="error"); nothing was sent.
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        body = data if type(data) is bytes else buffer_of(data)
        size = len(body)
        if timeout is None:
            rc = lib.mm_send(self._handle, body, size, -1, self._slice_ms)
        else:
            rc = EINTR
        if rc:
            self._send_slowly(rc, body, size, timeout)

    def _send_slowly(self, rc: int, body: Any, size: int, timeout: float | None) -> None:
        if rc == EINTR:
            self._sending(
                lambda ms, slice_ms: lib.mm_send(self._handle, body, size, ms, slice_ms),
                timeout,
                size,
                1,
            )
            return
        if rc == lib.MM_EMSGSIZE:
            raise self._too_large(size, 1)
        raise self._error(rc, "cannot send", timeout)

    def send_frames(self, frames: Sequence[Data], *, timeout: float | None = None) -> None:
        """Send one message of several frames, as ZeroMQ peers know them.

        Thread-safe: yes; all frames arrive, or none.

        Args:
            frames: The frames, at least one.
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As `send`.
            UsageError: There is no frame.
        """
        self._send_frames_to(0, frames, timeout)

    def send_many(self, messages: Iterable[Data], *, timeout: float | None = None) -> int:
        """Send many messages, crossing into C once per batch.

        Thread-safe: yes; messages of several threads may interleave.

        Args:
            messages: The bodies; a generator is taken from as they are sent.
            timeout: Seconds for all of it; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError: Not all in time; `.sent` says how many were, `.unsent` holds those that were
                taken from the iterable and not sent.
            WouldBlockError, TooLargeError, ClosedError: As `send`, with the same two attributes.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        total = 0
        chunk: list[bytes] = []
        size = 0
        for message in messages:
            body = message if type(message) is bytes else bytes_of(message)
            chunk.append(body)
            size += len(body)
            if len(chunk) >= CHUNK_MESSAGES or size >= CHUNK_BYTES:
                total += self._send_chunk(chunk, total, deadline, timeout)
                chunk, size = [], 0
        return total + self._send_chunk(chunk, total, deadline, timeout)

    def _send_chunk(
        self, chunk: list[bytes], before: int, deadline: float | None, timeout: float | None
    ) -> int:
        done = 0
        bodies = b"".join(chunk)
        sizes = array("Q", map(len, chunk))
        start = ffi.from_buffer("uint8_t[]", bodies)
        lengths = ffi.from_buffer("uint64_t[]", sizes)
        out = local.size
        offset = 0
        slice_ms = self._slice_ms
        while done < len(chunk):
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            ms = 0 if timeout == 0 else to_ms(left if left is None else max(left, 0.000001))
            rc = lib.mm_send_many(
                self._handle, start + offset, lengths + done, len(chunk) - done, ms, slice_ms, out
            )
            offset += sum(sizes[done : done + out[0]])
            done += out[0]
            if rc == EINTR:
                slice_ms = self._slice_ms if on_main_thread() else 0
            elif rc < 0:
                raise self._unsent(rc, before + done, chunk[done:], timeout)
        return done

    def _unsent(
        self, rc: int, sent: int, unsent: list[bytes], timeout: float | None
    ) -> MeshError:
        if rc == lib.MM_EMSGSIZE:
            error = self._too_large(len(unsent[0]), 1)
        else:
            error = self._error(rc, f"no room for more than {sent} messages", timeout)
        vars(error).update(sent=sent, unsent=unsent)
        return error
