"""Sending with receipts, for threads that may block.

Not here: what a receipt is (_delivery/receipts.py), those of many (_delivery/run_receipts.py). Law:
as of any send (sending.py); whatever ends a call for many carries the receipts of what it sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from meshmsg._binding.core import ffi, lib, sends_natively
from meshmsg._binding.data import Data, pack_frames, size_of
from meshmsg._binding.note import MessageOptions, room_within
from meshmsg._delivery.pushing import PushOptions, is_plain, no_room_later, push_opts
from meshmsg._delivery.receipts import ReceiptForm, check_confirms, confirmed_at_once
from meshmsg._delivery.run_receipts import ReceiptsForm
from meshmsg._delivery.spooled import Spooled
from meshmsg._socket.signature import verb
from meshmsg._sync.sending import (
    send_all,
    send_arrays,
    send_one,
    send_packed,
    sending,
    sent_at_once,
)
from meshmsg._sync.socket import Socket
from meshmsg._sync.spooled import put_arrays, put_many, put_one

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Receipt(ReceiptForm):
    """What becomes of a message that was sent with `confirm=True`.

    It holds its place in the socket until its outcome is known and read, or nobody refers to it.
    """

    _socket: Socket[Any]

    def wait(self, *, timeout: float | None = None) -> None:
        """Wait until a receiver has acknowledged the message.

        Thread-safe: yes; any number of threads may wait.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            UndeliveredError: It will not be acknowledged; `reason` says why.
            TimedOutError: It is not known in time; it goes on, and may be waited for again.
            WouldBlockError: It is not known now (timeout=0).
            ClosedError: The socket, or its spool, was closed first.
            SpoolCorruptError, SpoolFailedError: The Push does not go on with its spool: a message
                there is harmed; the disk failed.
        """
        if self._outcome is None:
            self._socket._blocking(self._ask, timeout, "no receipt")
        self._result()


class Receipts(ReceiptsForm[Receipt]):
    """What becomes of messages that were sent by one call with `confirm=True`, in their order.

    A sequence: `len`, `receipts[i]` and iteration give a `Receipt`, which is made when it is asked
    for. It takes an octet or two a message, until its outcomes are known and read, or nobody refers
    to it.
    """

    _socket: Socket[Any]
    _kind = Receipt

    def wait(self, *, timeout: float | None = None) -> None:
        """Wait until receivers have acknowledged all of the messages.

        Thread-safe: yes; any number of threads may wait.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            UndeliveredError: Some will not be acknowledged; `undelivered` says which, and why. It
                is raised once what becomes of all is known.
            TimedOutError: It is not known of all in time; it goes on, and may be waited for again.
            WouldBlockError: It is not known of all now (timeout=0).
            ClosedError: The socket, or its spool, was closed first.
            SpoolCorruptError, SpoolFailedError: The Push does not go on with its spool: a message
                there is harmed; the disk failed.
        """
        self._socket._blocking(self._ask, timeout, self._waits_for)
        self._result()


def push(
    self: Socket[Any],
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> Receipt | None:
    """Send one message, and give its receipt if somebody wants it."""
    if confirm:
        check_confirms(self._opts.flags)
    if confirm and not options and (at_once := confirmed_at_once(self, frames, timeout)):
        return Receipt(self, at_once)
    packed = pack_frames(frames)
    opts, note = push_opts(self, options, confirm=confirm)
    within, what = room_within(self._handle, note, timeout)
    number = ffi.new("uint64_t *")
    sending(
        self,
        lambda ms, slice_ms: lib.mm_push(self._handle, *packed, opts, ms, slice_ms, number),
        within,
        size_of(packed[0]),
        packed[2],
        partial(no_room_later, self) if opts.delay_ms else what,
    )
    return Receipt(self, int(number[0])) if confirm else None


def put(
    self: Socket[Any],
    spooled: Spooled,
    frames: Sequence[Data],
    timeout: float | None,
    options: PushOptions,
    confirm: bool,
) -> Receipt | None:
    """Put one message into the spool, and give its receipt if somebody wants it."""
    seq = put_one(spooled, frames, timeout, options, confirm)
    if not confirm:
        return None
    if seq is None:
        return Receipt(self, 0, outcome="dropped", kept=None)
    return Receipt(self, seq, kept=spooled.durability)


@overload
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[PushOptions],
) -> None: ...
@overload
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[PushOptions],
) -> Receipt: ...
@sends_natively
@verb
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[PushOptions],
) -> Receipt | None:
    """Send one message.

    Blocks while the queues of all peers are full, or there is no peer (overflow="block").

    Thread-safe: yes.

    Args:
        data: The body: bytes, or anything contiguous with a buffer. It is copied.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        confirm: Give a receipt, of a Push with `delivery="at_least_once"`.
        options: What goes with it, and when and how soon it is to go: `key`, `headers`, `ttl`,
            `timestamp`, `delay`, `at`, `priority` (`PushOptions`).

    Returns:
        The `Receipt`, with `confirm=True`; else None.

    Raises:
        TimedOutError: No room in time, or while it is of use (`ttl`); nothing was sent. With a
            `spool`: it is not kept in time; `sent` is 1 if it was put all the same, and goes out.
        WouldBlockError: No room now (timeout=0 or overflow="error"), or no peer
            (no_peer="error"); or no room among those that are to go later (`delay`, `at`), whatever
            the timeout is. Nothing was sent.
        TooLargeError: Over message_size_max; or key and headers take over 16 KiB.
        UsageError: An option is out of its range, or nobody acknowledges (`delivery`).
        ClosedError: The socket, or its spool, was closed; with a `spool` and `sent` 1 it was put.
        SpoolFullError: The `spool` has no room (its `overflow`); it was not put.
        SpoolFailedError: The disk of the `spool` failed; whether it is kept nobody knows until the
            spool is opened again.
    """
    if self._spooled is not None:
        return put(self, self._spooled, [data], timeout, options, confirm)
    if confirm or not is_plain(options):
        return push(self, [data], timeout, options, confirm)
    send_one(self, data, timeout, options)
    return None


@overload
def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[PushOptions],
) -> None: ...
@overload
def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[PushOptions],
) -> Receipt: ...
@verb
def send_frames(
    self: Socket[Any],
    frames: Sequence[Data],
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[PushOptions],
) -> Receipt | None:
    """Send one message of several frames, as ZeroMQ peers know them.

    Thread-safe: yes; all frames arrive, or none.

    Args:
        frames: The frames, at least one.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        confirm: Give a receipt, as of `send`.
        options: What goes with it, as of `send`.

    Returns:
        The `Receipt`, with `confirm=True`; else None.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, ClosedError: As `send`.
        SpoolFullError, SpoolFailedError: As `send`, with a `spool`.
        UsageError: There is no frame, or nobody acknowledges (`delivery`).
    """
    if self._spooled is not None:
        return put(self, self._spooled, frames, timeout, options, confirm)
    if confirm or not is_plain(options):
        return push(self, frames, timeout, options, confirm)
    if options or not sent_at_once(self, frames, timeout):
        send_packed(self, pack_frames(frames), timeout, options)
    return None


@overload
def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[MessageOptions],
) -> int: ...
@overload
def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[MessageOptions],
) -> Receipts: ...
@verb
def send_many(
    self: Socket[Any],
    messages: Iterable[Data],
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[MessageOptions],
) -> int | Receipts:
    """Send many messages, crossing into C once per batch.

    Thread-safe: yes; messages of several threads may interleave.

    Args:
        messages: The bodies. A generator is taken from as they are sent, up to 1,024 ahead;
            what it gave before it failed is sent, and so is what stands before something that
            is no message.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        confirm: Give receipts, of a Push with `delivery="at_least_once"`.
        options: What goes with each of them, as of `send`. Times count from when messages are
            handed on: of a list that is when the call begins.

    Returns:
        How many were sent: all of them. With `confirm=True` their `Receipts`.

    Raises:
        TimedOutError: Not all in time. With a `spool` those that were put (`.sent`) go out all the
            same, also if it is all of them: then they were not kept in time.
        WouldBlockError, TooLargeError, UsageError, ClosedError: As `send`.
        SpoolFullError, SpoolFailedError: As `send`, with a `spool`.
        BaseException: What the iterable or a signal's function raised. Whatever is raised has
            `.sent`, how many were sent, and `.unsent`, a list of those that were taken and not
            sent; with `confirm=True` also `.receipts`, the `Receipts` of those that were sent. What
            a full `spool` dropped (`overflow="drop_newest"`) was sent.
    """
    receipts = Receipts(self) if confirm else None
    if self._spooled is not None:
        sent = put_many(self._spooled, messages, timeout, options, receipts)
    else:
        sent = send_all(self, messages, timeout, options, receipts)
    return sent if receipts is None else receipts


@overload
def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[MessageOptions],
) -> int: ...
@overload
def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[MessageOptions],
) -> Receipts: ...
@verb
def send_batch(
    self: Socket[Any],
    batch: object,
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[MessageOptions],
) -> int | Receipts:
    """Send each element of an Arrow array as a message, without making Python objects of them.

    Thread-safe: yes; messages of several threads may interleave.

    Args:
        batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
            (of fixed size, too) or string: arrays and chunked arrays of pyarrow, series of
            polars, and so on.
        timeout: Seconds for all of it; None waits for ever, 0 never waits.
        confirm: Give receipts, as of `send_many`.
        options: What goes with each of them, as of `send_many`.

    Returns:
        How many were sent: all of them. With `confirm=True` their `Receipts`.

    Raises:
        TimedOutError: Not all in time; `.sent` says how many were, and with a `spool` go out.
        WouldBlockError, TooLargeError, ClosedError: As `send`, with the same attribute.
        SpoolFullError, SpoolFailedError: Likewise, with a `spool`.
        UsageError: The array is of another type, or has a null; `.sent` likewise.
        TypeError: It is no Arrow array.
        BaseException: What a signal's function raised. With `confirm=True` whatever is raised has
            `.receipts`, the `Receipts` of those that were sent.
    """
    receipts = Receipts(self) if confirm else None
    if self._spooled is not None:
        sent = put_arrays(self._spooled, batch, timeout, options, receipts)
    else:
        sent = send_arrays(self, batch, timeout, options, receipts)
    return sent if receipts is None else receipts
