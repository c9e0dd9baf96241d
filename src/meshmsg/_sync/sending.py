"""Sending, for threads that may block.

Law: a call that fails has sent nothing; send_many says how much it sent, and gives back what it
took from its iterable and did not send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import (
    EAGAIN,
    EINTR,
    LEAST_S,
    ffi,
    lib,
    native,
    on_main_thread,
    sends_natively,
    to_ms,
)
from meshmsg._binding.data import Data, buffer_of, bytes_of, pack_frames, size_of
from meshmsg._binding.errors import MeshError, TimedOutError, WouldBlockError
from meshmsg._binding.note import NO_ROOM, MessageOptions, note_of, room_within
from meshmsg._delivery.run_options import More, Until, check_run, kept_note, more_of, until
from meshmsg._delivery.run_receipts import ReceiptsForm, tell_receipts
from meshmsg._hints.wrong_role import bodies_only
from meshmsg._roles.arrays import array_error, arrays_in, length_of
from meshmsg._roles.drain_report import DrainReport, drain_of
from meshmsg._roles.stopping import check_finished, told_of_end, unfinished
from meshmsg._roles.unsent import Taken, no_room_after, tell_unsent
from meshmsg._socket.causes import What, about
from meshmsg._socket.options import check_count
from meshmsg._socket.signature import verb
from meshmsg._sync.socket import Socket
from meshmsg._sync.spooled import put_arrays, put_many

if TYPE_CHECKING:
    from typing_extensions import Unpack

_send = native.send


def sent_at_once(
    self: Socket[Any],
    frames: object,
    timeout: float | None,
    least: int = 1,
    topic: str | bytes | None = None,
) -> bool:
    """Send plain frames if there is room now; else nothing was done."""
    if timeout is not None:
        to_ms(timeout)  # refuses what is no time
    code: int | None = native.send_frames(self._handle, frames, least, topic)
    return code == 0


def sending(
    self: Socket[Any],
    call: Callable[[int, int], int],
    timeout: float | None,
    size: int,
    count: int,
    what: What = NO_ROOM,
) -> None:
    """Send, waiting for room."""
    try:
        self._blocking(call, timeout, what)
    except MeshError as error:
        if error.code == lib.MM_EMSGSIZE:
            raise self._too_large(size, count) from None
        raise


def send_packed(
    self: Socket[Any],
    packed: tuple[bytes, Any, int],
    timeout: float | None,
    options: MessageOptions,
) -> None:
    """Send frames that were packed, and what goes with them."""
    note = note_of(self._handle, options)
    self._send_packed(packed, note, *room_within(self._handle, note, timeout))


@sends_natively
@verb
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> None:
    """Send one message.

    Blocks while the queues of all peers are full, or there is no peer (overflow="block").

    Thread-safe: yes.

    Args:
        data: The body: bytes, or anything contiguous with a buffer. It is copied.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

    Raises:
        TimedOutError: No room in time, or while it is of use (`ttl`); nothing was sent.
        WouldBlockError: No room now (timeout=0 or overflow="error"), or no peer
            (no_peer="error"); nothing was sent.
        TooLargeError: Over message_size_max; or key and headers take over 16 KiB.
        UsageError: An option is out of its range.
        ClosedError: The socket was closed.
    """
    send_one(self, data, timeout, options)


def send_one(self: Socket[Any], data: Data, timeout: float | None, options: MessageOptions) -> None:
    """Send one message of one frame, and what goes with it."""
    if options:
        send_packed(self, pack_frames([data]), timeout, options)
    else:
        send_body(self, data, timeout)


def send_body(self: Socket[Any], data: Data, timeout: float | None) -> None:
    """Send one message of one frame."""
    if timeout is not None:
        to_ms(timeout)  # refuses what is no time
    if isinstance(data, bytes):
        rc = _send(self._handle, data)
    else:
        rc = lib.mm_send_now(self._handle, *buffer_of(data))
    if rc:
        _send_slowly(self, rc, data, timeout)


def _send_slowly(self: Socket[Any], rc: int, data: Data, timeout: float | None) -> None:
    """Send what was not taken at once, and why; what it was when it was given is sent."""
    if rc == EAGAIN and timeout != 0:
        taken = buffer_of(bytes_of(data))
        sending(
            self,
            lambda ms, slice_ms: lib.mm_send(self._handle, *taken, ms, slice_ms),
            timeout,
            taken[1],
            1,
        )
        return
    if rc == lib.MM_EMSGSIZE:
        raise self._too_large(buffer_of(data)[1], 1)
    raise self._error(rc, "no room for a message" if rc == EAGAIN else "cannot send", timeout)


@verb
def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> None:
    """Send one message of several frames, as ZeroMQ peers know them.

    Thread-safe: yes; all frames arrive, or none.

    Args:
        frames: The frames, at least one.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        options: What goes with it, as of `send`.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError: As `send`.
        UsageError: There is no frame.
    """
    if options or not sent_at_once(self, frames, timeout):
        send_packed(self, pack_frames(frames), timeout, options)


@verb
@bodies_only
def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> int:
    """Send many messages, crossing into C once per batch.

    Thread-safe: yes; messages of several threads may interleave.

    Args:
        messages: The bodies. A generator is taken from as they are sent, up to 1,024 ahead;
            what it gave before it failed is sent, and so is what stands before something that
            is no message.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        options: What goes with each of them, as of `send`. Times count from when messages are
            handed on: of a list that is when the call begins.

    Returns:
        How many were sent: all of them.

    Raises:
        TimedOutError: Not all in time.
        WouldBlockError, TooLargeError, UsageError, ClosedError: As `send`.
        BaseException: What the iterable or a signal's function raised. Whatever is raised has
            `.sent`, how many were sent, and `.unsent`, a list of those that were taken and not
            sent.
    """
    if self._spooled is not None:
        return put_many(self._spooled, messages, timeout, options, None)
    return send_all(self, messages, timeout, options, None)


def send_all(
    self: Socket[Any],
    messages: Iterable[Data],
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Send many messages; with receipts, if those are given. How many were sent."""
    taken = None
    try:
        to_ms(timeout)
        check_run(self, options, receipts)
        deadline = None if timeout is None else time.monotonic() + timeout
        taken = Taken(messages)
        while taken.fill():
            more = more_of(self, options, receipts, len(taken.chunk))
            limit = until(deadline, timeout, options, time.monotonic())
            _send_chunk(self, taken, more, limit)
        if receipts is not None:
            receipts._sent(taken.counts[1])
        return taken.counts[1]
    except BaseException as error:
        tell_unsent(error, messages, taken)
        tell_receipts(error, receipts)
        raise


@verb
@bodies_only
def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> int:
    """Send each element of an Arrow array as a message, without making Python objects of them.

    Thread-safe: yes; messages of several threads may interleave.

    Args:
        batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
            (of fixed size, too) or string: arrays and chunked arrays of pyarrow, series of
            polars, and so on.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        options: What goes with each of them, as of `send_many`.

    Returns:
        How many were sent: all of them.

    Raises:
        TimedOutError: Not all in time; `.sent` says how many were.
        WouldBlockError, TooLargeError, ClosedError: As `send`, with the same attribute.
        UsageError: The array is of another type, or has a null; `.sent` likewise.
        TypeError: It is no Arrow array.
    """
    if self._spooled is not None:
        return put_arrays(self._spooled, batch, timeout, options, None)
    return send_arrays(self, batch, timeout, options, None)


def send_arrays(
    self: Socket[Any],
    batch: object,
    timeout: float | None,
    options: MessageOptions,
    receipts: ReceiptsForm[Any] | None,
) -> int:
    """Send each element of an Arrow array; with receipts, if those are given. How many."""
    total = 0
    try:
        to_ms(timeout)
        check_run(self, options, receipts)
        deadline = None if timeout is None else time.monotonic() + timeout
        for schema, values in arrays_in(batch):
            more = more_of(self, options, receipts, length_of(values))
            limit = until(deadline, timeout, options, time.monotonic())
            total += _send_array(self, schema, values, total, more, limit)
        if receipts is not None:
            receipts._sent(total)
        return total
    except BaseException as error:
        vars(error).setdefault("sent", total)
        tell_receipts(error, receipts)
        raise


def _send_array(
    self: Socket[Any],
    schema: Any,
    values: Any,
    before: int,
    more: More,
    limit: Until,
) -> int:
    done = ffi.new("uint64_t *")
    deadline, timeout, expires = limit
    left = timeout if not deadline else max(deadline - time.monotonic(), LEAST_S)
    note, receipt = more
    try:
        with kept_note(note) as kept:
            self._blocking(
                lambda ms, slice_ms: lib.mm_send_arrow_run(
                    self._handle, schema, values, kept, receipt, done, ms, slice_ms
                ),
                left if timeout else timeout,
                f"no room for more{expires}",
            )
    except MeshError as error:
        raise array_error(self, error, schema, values, before, int(done[0])) from None
    except BaseException as error:  # of a signal's function
        vars(error).update(sent=before + int(done[0]))
        raise
    return int(done[0])


def _send_chunk(self: Socket[Any], taken: Taken, more: More, limit: Until) -> None:
    chunk, counts = taken.chunk, taken.counts
    deadline, timeout, expires = limit
    ms = -1
    slice_ms = self._slice_ms
    while counts[0] < len(chunk):
        if deadline is not None:
            ms = to_ms(max(deadline - time.monotonic(), LEAST_S)) if timeout else 0
        rc = native.send_list(self._handle, chunk, counts, ms, slice_ms, *more)
        if rc == EINTR:
            self._log_events()
            slice_ms = self._slice_ms if on_main_thread() else 0
        elif rc == lib.MM_EMSGSIZE:
            raise self._too_large(size_of(chunk[counts[0]]), 1)
        elif rc < 0:
            raise self._error(rc, no_room_after(counts[1], expires), timeout)


@verb
def drain(self: Socket[Any], *, timeout: float | None = None) -> DrainReport:
    """Wait until the peers have received what was sent.

    A peer confirms by answering a heartbeat that was sent behind the messages; that works with
    libzmq too. It says that the peer's engine has read them, not that its application has.

    A Push with `delivery="at_least_once"` waits until they are acknowledged: their receivers are
    done with them. A peer that does not acknowledge (`PeerInfo.acks`) confirms as above. It waits
    for what is to go later (`delay=`), too, and not for dead letters.

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
    except (TimedOutError, WouldBlockError):
        pass
    return drain_of(info, about(self))


@verb
def wait_for_finished(self: Socket[Any], count: int = 0, *, timeout: float | None = None) -> int:
    """Wait until all that was sent is done, and the peers were told that there is no more.

    It waits for the peers that are connected, and for as many as `count` says. A Push that has just
    begun does not know who is on the way back to it: receivers that lost it before come seconds
    later, and if it is closed by then they are not told, and wait on. So give a `count`, or keep it
    open.

    Thread-safe: yes.

    Args:
        count: How many peers are to have been told, at least; those that are gone since count, too,
            and those that cannot be told (pyzmq, NNG) do not. 0: those that are here.
        timeout: Seconds to wait; None waits for ever, 0 only looks.

    Returns:
        How many peers were told so far; 0: nobody was here.

    Raises:
        UsageError: `finish` was not called.
        TimedOutError: It is not so in time; it goes on, and may be waited for again.
        WouldBlockError: It is not so now (timeout=0).
        ClosedError: The socket was closed.
    """
    check_count("count", count)
    self._blocking(
        lambda ms, slice_ms: check_finished(
            self, int(lib.mm_wait_finished(self._handle, count, ms, slice_ms))
        ),
        timeout,
        unfinished(self, count),
    )
    return told_of_end(self, count)
