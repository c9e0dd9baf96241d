"""Sending for asyncio.

Not here: waiting (_socket.py, _loop.py). Law: a cancelled call has sent all of it or nothing;
send_many says how much it sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EAGAIN, ffi, lib, native, sends_natively, to_ms
from meshmsg._binding.data import Data, buffer_of, bytes_of, pack_frames, size_of
from meshmsg._binding.errors import MeshError, TimedOutError, WouldBlockError
from meshmsg._binding.note import NO_ROOM, MessageOptions, note_of, room_within
from meshmsg._delivery.run_options import More, Until, check_run, kept_note, more_of, until
from meshmsg._delivery.run_receipts import ReceiptsForm, tell_receipts
from meshmsg._hints.wrong_role import bodies_only
from meshmsg._roles.arrays import array_error, arrays_in, length_of
from meshmsg._roles.drain_report import DrainReport, drain_of
from meshmsg._roles.unsent import Taken, no_room_after, tell_unsent
from meshmsg._socket.causes import What, about
from meshmsg._socket.signature import verb
from meshmsg.aio._loop import DRAINED, WRITABLE
from meshmsg.aio._socket import Socket
from meshmsg.aio._spooled import put_arrays, put_many, put_one
from meshmsg.aio._turns import is_due, is_turn, others_run, share

if TYPE_CHECKING:
    from typing_extensions import Unpack


async def send_packed(
    self: Socket[Any],
    packed: tuple[bytes, Any, int],
    timeout: float | None,
    options: MessageOptions,
) -> None:
    """Send frames that were packed, and what goes with them."""
    to_ms(timeout)  # refuses what is no time
    note = note_of(self._handle, options)
    if is_due():
        await share()
    await self._send_packed(packed, note, *room_within(self._handle, note, timeout))


async def sent_at_once(
    self: Socket[Any],
    frames: object,
    timeout: float | None,
    least: int = 1,
    topic: str | bytes | None = None,
) -> bool:
    """Send plain frames if there is room now; else nothing was done."""
    to_ms(timeout)  # refuses what is no time
    if is_due():
        await share()
    code: int | None = native.send_frames(self._handle, frames, least, topic)
    return code == 0


async def sending(
    self: Socket[Any],
    attempt: Callable[[], int],
    timeout: float | None,
    size: int,
    count: int,
    what: What = NO_ROOM,
) -> None:
    """Send, waiting for room."""

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


@sends_natively
@verb
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> None:
    """Send one message; see `meshmsg.Push.send`.

    Cancel-safe: a cancelled call has sent nothing. Thread-safe: yes, but a loop waits on its
    own thread.

    Args:
        data: The body: bytes, or anything contiguous with a buffer. It is copied.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, UsageError, ClosedError: As the sync one.
    """
    await send_one(self, data, timeout, options)


async def send_one(
    self: Socket[Any], data: Data, timeout: float | None, options: MessageOptions
) -> None:
    """Send one message of one frame, and what goes with it."""
    if options:
        await send_packed(self, pack_frames([data]), timeout, options)
    else:
        await send_on(self, data, timeout)


async def send_on(self: Socket[Any], data: Data, timeout: float | None) -> None:
    """Send what is not sent natively: what is not bytes, has no room, or is one too many."""
    if self._spooled is not None:
        await put_one(self._spooled, [data], timeout, {}, False)
        return
    to_ms(timeout)  # refuses what is no time
    native.async_turn()
    if is_turn():
        data = bytes_of(data)  # others may change it, or resize it, in their turn
        await others_run()
    if lib.mm_send_now(self._handle, *buffer_of(data)) == 0:
        return
    taken = buffer_of(bytes_of(data))
    await sending(self, lambda: int(lib.mm_send(self._handle, *taken, 0, 0)), timeout, taken[1], 1)


@verb
async def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> None:
    """Send one message of several frames; see `meshmsg.Push.send_frames`.

    Cancel-safe: a cancelled call has sent nothing. Thread-safe: yes, but a loop waits on its
    own thread.

    Args:
        frames: The frames, at least one.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        options: What goes with it, as of `send`.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
        UsageError: There is no frame.
    """
    if options or not await sent_at_once(self, frames, timeout):
        await send_packed(self, pack_frames(frames), timeout, options)


@verb
@bodies_only
async def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> int:
    """Send many messages, crossing into C once per batch; see `meshmsg.Push.send_many`.

    Cancel-safe: a cancelled call has sent some of them; its CancelledError has `.sent` and
    `.unsent`, too (with Python 3.10, who awaits a cancelled task gets another error, with this
    one as its `__context__`). Thread-safe: yes, but a loop waits on its own thread.

    Args:
        messages: The bodies.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        options: What goes with each of them, as of the sync one.

    Returns:
        How many were sent: all of them.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, UsageError, ClosedError: As the sync one.
        BaseException: What the iterable raised. Whatever is raised has `.sent`, how many were
            sent, and `.unsent`, a list of those that were taken and not sent.
    """
    if self._spooled is not None:
        return await put_many(self._spooled, messages, timeout, options, None)
    return await send_all(self, messages, timeout, options, None)


async def send_all(
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
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        taken = Taken(messages)
        while taken.fill():
            more = more_of(self, options, receipts, len(taken.chunk))
            limit = until(deadline, timeout, options, loop.time())
            await _send_chunk(self, taken, more, limit)
        if receipts is not None:
            receipts._sent(taken.counts[1])
        return taken.counts[1]
    except BaseException as error:  # cancelled, too
        tell_unsent(error, messages, taken)
        tell_receipts(error, receipts)
        raise


@verb
@bodies_only
async def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> int:
    """Send each element of an Arrow array as a message; see `meshmsg.Push.send_batch`.

    Cancel-safe: a cancelled call has sent some of them; its CancelledError has `.sent`.
    Thread-safe: yes, but a loop waits on its own thread.

    Args:
        batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
            (of fixed size, too) or string.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        options: What goes with each of them, as of `send_many`.

    Returns:
        How many were sent: all of them.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError, UsageError, TypeError: As
            the sync one.
    """
    if self._spooled is not None:
        return await put_arrays(self._spooled, batch, timeout, options, None)
    return await send_arrays(self, batch, timeout, options, None)


async def send_arrays(
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
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        for schema, values in arrays_in(batch):
            more = more_of(self, options, receipts, length_of(values))
            limit = until(deadline, timeout, options, loop.time())
            total += await _send_array(self, schema, values, total, more, limit)
        if receipts is not None:
            receipts._sent(total)
        return total
    except BaseException as error:  # cancelled, too
        vars(error).setdefault("sent", total)
        tell_receipts(error, receipts)
        raise


async def _send_array(
    self: Socket[Any], schema: Any, values: Any, before: int, more: More, limit: Until
) -> int:
    done = ffi.new("uint64_t *")
    note, receipt = more
    try:
        await others_run()
        with kept_note(note) as kept:
            await sending(
                self,
                lambda: int(
                    lib.mm_send_arrow_run(self._handle, schema, values, kept, receipt, done, 0, 0)
                ),
                _left_until(limit),
                0,
                1,
                f"no room for more{limit.expires}",
            )
    except MeshError as error:
        raise array_error(self, error, schema, values, before, int(done[0])) from None
    except BaseException as error:  # cancelled, most likely
        vars(error).update(sent=before + int(done[0]))
        raise
    return int(done[0])


def _left_until(limit: Until) -> float | None:
    """How many seconds there are, on the clock of the loop that runs."""
    ends = limit.deadline
    return ends if ends is None else max(ends - asyncio.get_running_loop().time(), 0.0)


async def _send_chunk(self: Socket[Any], taken: Taken, more: More, limit: Until) -> None:
    chunk, counts = taken.chunk, taken.counts

    def attempt() -> int:
        return int(native.send_list(self._handle, chunk, counts, 0, 0, *more))

    try:
        await others_run()
        await sending(self, attempt, _left_until(limit), 0, 1)
    except MeshError as error:
        if error.code == lib.MM_EMSGSIZE:
            error = self._too_large(size_of(chunk[counts[0]]), 1)
        elif error.code in (EAGAIN, lib.MM_ETIMEDOUT):
            waits = limit.timeout and lib.mm_send_waits(self._handle) != 0
            code = lib.MM_ETIMEDOUT if waits else EAGAIN
            error = self._error(code, no_room_after(counts[1], limit.expires), limit.timeout)
        raise error from None


@verb
async def drain(self: Socket[Any], *, timeout: float | None = None) -> DrainReport:
    """Wait until the peers have received what was sent; see `meshmsg.Push.drain`.

    Of a Push with `delivery="at_least_once"`: until it is acknowledged.

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
    return drain_of(info, about(self))
