"""Sending, for threads that may block.

Law: a call that fails has sent nothing; send_many says how much it sent, and gives back what it
took from its iterable and did not send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from meshmsg._base import SocketBase
from meshmsg._blocking import LEAST_S, Draining
from meshmsg._core import (
    EAGAIN,
    EINTR,
    error_for,
    fast,
    ffi,
    lib,
    on_main_thread,
    sends_natively,
    to_ms,
)
from meshmsg._data import Data, buffer_of, bytes_of, pack_frames
from meshmsg._errors import MeshError

_send = fast.send
CHUNK_MESSAGES = 1024
"""Messages of a send_many that cross into C at once."""
CHUNK_BYTES = 1024 * 1024
"""Bytes of a send_many that cross into C at once (one message may be larger)."""
SLOW_S = 0.001
"""Seconds a message may take to come out of a send_many's iterable before it is sent at once."""


def arrays_in(batch: object) -> Iterator[tuple[Any, Any]]:
    """Yield the struct pairs of an Arrow array, or of each chunk of one."""
    from meshmsg._arrow import arrays_of  # ctypes, only for those who need it

    return arrays_of(batch)


def chunks_of(messages: Iterable[Data]) -> Iterator[list[bytes]]:
    """Cut into what crosses at once; of a list or tuple, nothing when anything in it is no
    message."""
    if not isinstance(messages, (list, tuple)):
        yield from _chunks_of_stream(messages)
        return
    whole: list[Any] = list(messages)
    if whole:
        yield whole if fast.all_bytes(whole) else [bytes_of(message) for message in whole]


def _chunks_of_stream(messages: Iterable[Data]) -> Iterator[list[bytes]]:
    """Cut what comes one by one, perhaps slowly: a slow one is not kept until a chunk is full.

    When the iterable fails, what it gave before still goes out first.
    """
    clock = time.monotonic
    chunk: list[bytes] = []
    size = 0
    failed: Exception | None = None
    source = iter(messages)
    more = True
    while more:
        before = clock()
        try:
            for message in source:
                body = message if type(message) is bytes else bytes_of(message)
                chunk.append(body)
                size += len(body)
                now = clock()
                if len(chunk) >= CHUNK_MESSAGES or size >= CHUNK_BYTES or now - before > SLOW_S:
                    break
                before = now
            else:
                more = False
        except Exception as error:
            failed = error
            more = False
        if chunk:
            yield chunk
            chunk, size = [], 0
    if failed is not None:
        raise failed


def array_error(
    form: SocketBase, error: MeshError, schema: Any, values: Any, before: int, done: int
) -> MeshError:
    """Say what was wrong with an element of an array, and how many messages were sent."""
    if error.code == lib.MM_EMSGSIZE:
        error = form._too_large(lib.mm_arrow_size(schema, values, done), 1)
    elif error.code == lib.MM_EINVAL:
        error = error_for(
            lib.MM_EINVAL,
            f"element {before + done} cannot be sent: send_batch takes arrays of binary, of binary "
            "of fixed size or of strings, without nulls",
        )
    vars(error)["sent"] = before + done
    return error


class FrameSender(Draining):
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

    @sends_natively
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
        self._send_body(data, timeout)

    def _send_body(self, data: Data, timeout: float | None) -> None:
        if timeout is not None:
            to_ms(timeout)  # refuses what is no time
        try:
            rc = _send(self._handle, data)
        except TypeError:  # not bytes; perhaps nothing that can be sent
            body = buffer_of(data)
            rc = lib.mm_send_now(self._handle, body, len(body))
        if rc:
            self._send_slowly(rc, buffer_of(data), len(data), timeout)

    def _send_slowly(self, rc: int, body: bytes, size: int, timeout: float | None) -> None:
        if rc == EAGAIN and timeout != 0:
            self._sending(
                lambda ms, slice_ms: lib.mm_send(self._handle, body, size, ms, slice_ms),
                timeout,
                size,
                1,
            )
            return
        if rc == lib.MM_EMSGSIZE:
            raise self._too_large(size, 1)
        raise self._error(rc, "no room for a message" if rc == EAGAIN else "cannot send", timeout)

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
            messages: The bodies. A generator is taken from as they are sent, up to 1,024 ahead;
            what
                it gave before it failed is sent.
            timeout: Seconds for all of it; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError: Not all in time; `.sent` says how many were, `.unsent` holds those that
            were
                taken from the iterable and not sent.
            WouldBlockError, TooLargeError, ClosedError: As `send`, with the same two attributes.
        """
        to_ms(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        total = 0
        for chunk in chunks_of(messages):
            total += self._send_chunk(chunk, total, deadline, timeout)
        return total

    def send_batch(self, batch: object, *, timeout: float | None = None) -> int:
        """Send each element of an Arrow array as a message, without making Python objects of them.

        Thread-safe: yes; messages of several threads may interleave.

        Args:
            batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
                (of fixed size, too) or string: arrays and chunked arrays of pyarrow, series of
                polars, and so on.
            timeout: Seconds for all of it; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError: Not all in time; `.sent` says how many were.
            WouldBlockError, TooLargeError, ClosedError: As `send`, with the same attribute.
            UsageError: The array is of another type, or has a null; `.sent` likewise.
            TypeError: It is no Arrow array.
        """
        to_ms(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        total = 0
        for schema, values in arrays_in(batch):
            total += self._send_array(schema, values, total, deadline, timeout)
        return total

    def _send_array(
        self, schema: Any, values: Any, before: int, deadline: float | None, timeout: float | None
    ) -> int:
        done = ffi.new("uint64_t *")
        left = timeout if not deadline else max(deadline - time.monotonic(), LEAST_S)
        try:
            self._blocking(
                lambda ms, slice_ms: lib.mm_send_arrow(
                    self._handle, schema, values, done, ms, slice_ms
                ),
                left if timeout else timeout,
                "no room for more",
            )
        except MeshError as error:
            raise array_error(self, error, schema, values, before, int(done[0])) from None
        return int(done[0])

    def _send_chunk(
        self, chunk: list[bytes], before: int, deadline: float | None, timeout: float | None
    ) -> int:
        done = 0
        ms = -1
        slice_ms = self._slice_ms
        while done < len(chunk):
            if deadline is not None:
                ms = to_ms(max(deadline - time.monotonic(), LEAST_S)) if timeout else 0
            rc, done = fast.send_list(self._handle, chunk, done, ms, slice_ms)
            if rc == EINTR:
                self._log_events()
                slice_ms = self._slice_ms if on_main_thread() else 0
            elif rc < 0:
                raise self._unsent(rc, before + done, chunk[done:], timeout)
        return done

    def _unsent(self, rc: int, sent: int, unsent: list[bytes], timeout: float | None) -> MeshError:
        if rc == lib.MM_EMSGSIZE:
            error = self._too_large(len(unsent[0]), 1)
        else:
            error = self._error(rc, f"no room for more than {sent} messages", timeout)
        vars(error).update(sent=sent, unsent=unsent)
        return error
