"""Sending with receipts, for asyncio.

Not here: what a receipt is (_delivery/receipts.py), those of many (_delivery/run_receipts.py). Law:
as of any send (_sending.py); whatever ends a call for many carries the receipts of what it sent.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from meshmsg._binding.core import ffi, lib, sends_natively, to_ms
from meshmsg._binding.data import Data, pack_frames, size_of
from meshmsg._binding.note import MessageOptions, room_within
from meshmsg._delivery.pushing import PushOptions, is_plain, no_room_later, push_opts
from meshmsg._delivery.receipts import ReceiptForm, check_confirms, confirmed_at_once
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._delivery.spooled import Spooled
from meshmsg._socket.signature import verb
from meshmsg.aio._loop import DRAINED
from meshmsg.aio._sending import (
    send_all,
    send_arrays,
    send_one,
    send_packed,
    sending,
    sent_at_once,
)
from meshmsg.aio._socket import Socket
from meshmsg.aio._spooled import put_arrays, put_many, put_one
from meshmsg.aio._turns import is_due, share

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Receipt(ReceiptForm):
    """What becomes of a message that was sent with `confirm=True`; await it, or its `wait`."""

    _socket: Socket[Any]

    async def wait(self, *, timeout: float | None = None) -> None:
        """Wait until a receiver has acknowledged the message; see `meshmsg.Receipt.wait`.

        Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            UndeliveredError, TimedOutError, WouldBlockError, ClosedError: As the sync one.
            SpoolCorruptError, SpoolFailedError: As the sync one.
        """
        await self._socket._until(lambda: self._ask(0, 0), DRAINED, timeout, "no receipt")
        self._result()

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()


class Receipts(ReceiptsForm[Receipt]):
    """What becomes of messages that were sent by one call with `confirm=True`, in their order.

    A sequence, as `meshmsg.Receipts` is; await it, or its `wait`, or each `Receipt` in it.
    """

    _socket: Socket[Any]
    _kind = Receipt

    async def wait(self, *, timeout: float | None = None) -> None:
        """Wait until receivers have acknowledged all of the messages; see `meshmsg.Receipts.wait`.

        Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            UndeliveredError, TimedOutError, WouldBlockError, ClosedError: As the sync one.
            SpoolCorruptError, SpoolFailedError: As the sync one.
        """
        await self._socket._until(lambda: self._ask(0, 0), DRAINED, timeout, self._waits_for)
        self._result()

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()


async def push(
    self: Socket[Any],
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> Receipt | None:
    """Send one message, and give its receipt if somebody wants it."""
    if confirm:
        check_confirms(self._opts.flags)
    to_ms(timeout)  # refuses what is no time
    if is_due():
        await share()
    if confirm and not options and (at_once := confirmed_at_once(self, frames, timeout)):
        return Receipt(self, at_once)
    packed = pack_frames(frames)
    opts, note = push_opts(self, options, confirm=confirm)
    number = ffi.new("uint64_t *")
    within, what = room_within(self._handle, note, timeout)
    await sending(
        self,
        lambda: int(lib.mm_push(self._handle, *packed, opts, 0, 0, number)),
        0.0 if opts.delay_ms else within,
        size_of(packed[0]),
        packed[2],
        partial(no_room_later, self) if opts.delay_ms else what,
    )
    return Receipt(self, int(number[0])) if confirm else None


async def put(
    self: Socket[Any],
    spooled: Spooled,
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> Receipt | None:
    """Put one message into the spool, and give its receipt if somebody wants it."""
    seq = await put_one(spooled, frames, timeout, options, confirm)
    if not confirm:
        return None
    if seq is None:
        return Receipt(self, 0, outcome="dropped", kept=None)
    return Receipt(self, seq, kept=spooled.durability)


@overload
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[PushOptions],
) -> None: ...
@overload
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[PushOptions],
) -> Receipt: ...
@sends_natively
@verb
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[PushOptions],
) -> Receipt | None:
    """Send one message; see `meshmsg.Push.send`.

    Cancel-safe: a cancelled call has sent nothing; with a `spool` it may be put all the same, and
    goes out. Thread-safe: yes, but a loop waits on its own thread.

    Args:
        data: The body: bytes, or anything contiguous with a buffer. It is copied.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        confirm: Give a receipt, which is awaited by itself.
        options: What goes with it, and when and how soon it is to go (`meshmsg.PushOptions`).

    Returns:
        The `Receipt`, with `confirm=True`; else None.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, UsageError, ClosedError: As the sync one.
        SpoolFullError, SpoolFailedError: As the sync one, with a `spool`.
    """
    if self._spooled is not None:
        return await put(self, self._spooled, [data], timeout, options, confirm)
    if confirm or not is_plain(options):
        return await push(self, [data], timeout, options, confirm)
    await send_one(self, data, timeout, options)
    return None


@overload
async def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[PushOptions],
) -> None: ...
@overload
async def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[PushOptions],
) -> Receipt: ...
@verb
async def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[PushOptions],
) -> Receipt | None:
    """Send one message of several frames; see `meshmsg.Push.send_frames`.

    Cancel-safe: a cancelled call has sent nothing; with a `spool` it may be put all the same, and
    goes out. Thread-safe: yes, but a loop waits on its own thread.

    Args:
        frames: The frames, at least one.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        confirm: Give a receipt, which is awaited by itself.
        options: What goes with it, as of `send`.

    Returns:
        The `Receipt`, with `confirm=True`; else None.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
        SpoolFullError, SpoolFailedError: As the sync one, with a `spool`.
        UsageError: There is no frame, or nobody acknowledges (`delivery`).
    """
    if self._spooled is not None:
        return await put(self, self._spooled, frames, timeout, options, confirm)
    if confirm or not is_plain(options):
        return await push(self, frames, timeout, options, confirm)
    if options or not await sent_at_once(self, frames, timeout):
        await send_packed(self, pack_frames(frames), timeout, options)
    return None


@overload
async def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[MessageOptions],
) -> int: ...
@overload
async def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[MessageOptions],
) -> Receipts: ...
@verb
async def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[MessageOptions],
) -> int | Receipts:
    """Send many messages, crossing into C once per batch; see `meshmsg.Push.send_many`.

    Cancel-safe: a cancelled call has sent some of them; its CancelledError has `.sent`, `.unsent`
    and `.receipts`, too (with Python 3.10, who awaits a cancelled task gets another error, with
    this one as its `__context__`). Thread-safe: yes, but a loop waits on its own thread.

    Args:
        messages: The bodies.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        confirm: Give receipts, which are awaited by themselves.
        options: What goes with each of them, as of the sync one.

    Returns:
        How many were sent: all of them. With `confirm=True` their `Receipts`.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, UsageError, ClosedError: As the sync one.
        SpoolFullError, SpoolFailedError: As the sync one, with a `spool`.
        BaseException: What the iterable raised. Whatever is raised has `.sent`, how many were
            sent, and `.unsent`, a list of those that were taken and not sent; with `confirm=True`
            also `.receipts`, the `Receipts` of those that were sent.
    """
    receipts = Receipts(self) if confirm else None
    if self._spooled is not None:
        sent = await put_many(self._spooled, messages, timeout, options, receipts)
    else:
        sent = await send_all(self, messages, timeout, options, receipts)
    return sent if receipts is None else receipts


@overload
async def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[MessageOptions],
) -> int: ...
@overload
async def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[MessageOptions],
) -> Receipts: ...
@verb
async def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[MessageOptions],
) -> int | Receipts:
    """Send each element of an Arrow array as a message; see `meshmsg.Push.send_batch`.

    Cancel-safe: a cancelled call has sent some of them; its CancelledError has `.sent` and
    `.receipts`. Thread-safe: yes, but a loop waits on its own thread.

    Args:
        batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
            (of fixed size, too) or string.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        confirm: Give receipts, as of `send_many`.
        options: What goes with each of them, as of `send_many`.

    Returns:
        How many were sent: all of them. With `confirm=True` their `Receipts`.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError, UsageError: As the sync one.
        TypeError: It is no Arrow array.
        SpoolFullError, SpoolFailedError: As the sync one. With `confirm=True` whatever is raised
            has `.receipts`.
    """
    receipts = Receipts(self) if confirm else None
    if self._spooled is not None:
        sent = await put_arrays(self._spooled, batch, timeout, options, receipts)
    else:
        sent = await send_arrays(self, batch, timeout, options, receipts)
    return sent if receipts is None else receipts
