"""Sending, for threads that may block.

Law: a call that fails has sent nothing; send_many says how much it sent, and gives back what it
took from its iterable and did not send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from meshmsg._binding.core import (
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
from meshmsg._binding.data import Data, buffer_of, bytes_of, pack_frames, size_of
from meshmsg._binding.errors import MeshError
from meshmsg._socket.base import SocketBase
from meshmsg._socket.unsent import Taken, no_room_after
from meshmsg._sync.blocking import LEAST_S, Draining

_send = fast.send


def arrays_in(batch: object) -> Iterator[tuple[Any, Any]]:
    """Yield the struct pairs of an Arrow array, or of each chunk of one."""
    from meshmsg._binding.arrow import arrays_of  # ctypes, only for those who need it

    return arrays_of(batch)


def is_table(schema: Any) -> bool:
    """Whether each element is a row: of a table, a data frame, a record batch, or a struct."""
    from meshmsg._binding.arrow import format_of

    return format_of(schema) == b"+s"


def array_error(
    form: SocketBase, error: MeshError, schema: Any, values: Any, before: int, done: int
) -> MeshError:
    """Say what was wrong with an element of an array, and how many messages were sent."""
    if error.code == lib.MM_EMSGSIZE:
        error = form._too_large(lib.mm_arrow_size(schema, values, done), 1)
    elif error.code == lib.MM_EINVAL:
        error = error_for(
            lib.MM_EINVAL,
            f"element {before + done} cannot be sent: "
            + (
                "it is a row of several columns; pass one column, for example table['body'] or "
                "batch.column('body')"
                if is_table(schema)
                else "send_batch takes arrays of binary, of binary of fixed size or of strings, "
                "without nulls"
            ),
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

    def _send_packed(self, packed: tuple[bytes, Any, int], timeout: float | None) -> None:
        body, _, count = packed
        self._sending(
            lambda ms, slice_ms: lib.mm_send_packed(self._handle, 0, *packed, ms, slice_ms),
            timeout,
            size_of(body),
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
            WouldBlockError: No room now (timeout=0 or overflow="error"), or no peer
                (no_peer="error"); nothing was sent.
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        self._send_body(data, timeout)

    def _send_body(self, data: Data, timeout: float | None) -> None:
        if timeout is not None:
            to_ms(timeout)  # refuses what is no time
        if isinstance(data, bytes):
            rc = _send(self._handle, data)
        else:
            rc = lib.mm_send_now(self._handle, *buffer_of(data))
        if rc:
            self._send_slowly(rc, data, timeout)

    def _send_slowly(self, rc: int, data: Data, timeout: float | None) -> None:
        """Send what was not taken at once, and why; what it was when it was given is sent."""
        if rc == EAGAIN and timeout != 0:
            taken = buffer_of(bytes_of(data))
            self._sending(
                lambda ms, slice_ms: lib.mm_send(self._handle, *taken, ms, slice_ms),
                timeout,
                taken[1],
                1,
            )
            return
        if rc == lib.MM_EMSGSIZE:
            raise self._too_large(buffer_of(data)[1], 1)
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
        self._send_packed(pack_frames(frames), timeout)

    def send_many(self, messages: Iterable[Data], *, timeout: float | None = None) -> int:
        """Send many messages, crossing into C once per batch.

        Thread-safe: yes; messages of several threads may interleave.

        Args:
            messages: The bodies. A generator is taken from as they are sent, up to 1,024 ahead;
                what it gave before it failed is sent, and so is what stands before something that
                is no message.
            timeout: Seconds for all of it; None waits for ever, 0 never waits.

        Returns:
            How many were sent: all of them.

        Raises:
            TimedOutError: Not all in time.
            WouldBlockError, TooLargeError, ClosedError: As `send`.
            BaseException: What the iterable or a signal's function raised. Whatever is raised has
                `.sent`, how many were sent, and `.unsent`, a list of those that were taken and not
                sent.
        """
        to_ms(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        taken = Taken(messages)
        try:
            while taken.fill():
                self._send_chunk(taken, deadline, timeout)
            return taken.counts[1]
        except BaseException as error:
            taken.tell(error)
            raise

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
        except BaseException as error:  # of a signal's function
            vars(error).update(sent=before + int(done[0]))
            raise
        return int(done[0])

    def _send_chunk(self, taken: Taken, deadline: float | None, timeout: float | None) -> None:
        chunk, counts = taken.chunk, taken.counts
        ms = -1
        slice_ms = self._slice_ms
        while counts[0] < len(chunk):
            if deadline is not None:
                ms = to_ms(max(deadline - time.monotonic(), LEAST_S)) if timeout else 0
            rc = fast.send_list(self._handle, chunk, counts, ms, slice_ms)
            if rc == EINTR:
                self._log_events()
                slice_ms = self._slice_ms if on_main_thread() else 0
            elif rc == lib.MM_EMSGSIZE:
                raise self._too_large(size_of(chunk[counts[0]]), 1)
            elif rc < 0:
                raise self._error(rc, no_room_after(counts[1]), timeout)
