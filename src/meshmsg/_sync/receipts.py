"""Sending with a receipt, for threads that may block.

Not here: what a receipt is (_roles/receipts.py). Law: as of any send (sending.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from meshmsg._binding.core import ffi, lib, sends_natively
from meshmsg._binding.data import Data, buffer_of, pack_frames, size_of
from meshmsg._binding.note import MessageOptions, note_of
from meshmsg._roles.receipts import ReceiptForm, check_confirms
from meshmsg._socket.signature import verb
from meshmsg._sync.sending import send_one, sending
from meshmsg._sync.socket import Socket

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
            ClosedError: The socket was closed first.
        """
        self._socket._blocking(self._ask, timeout, "no receipt")
        self._result()


def send_awaited(
    self: Socket[Any], data: Data, timeout: float | None, options: MessageOptions
) -> Receipt:
    """Send one message, and give its receipt."""
    check_confirms(self._opts.flags)
    packed = pack_frames([data])
    note = buffer_of(note_of(self._handle, options))
    number = ffi.new("uint64_t *")
    sending(
        self,
        lambda ms, slice_ms: lib.mm_send_awaited(
            self._handle, *packed, *note, ms, slice_ms, number
        ),
        timeout,
        size_of(packed[0]),
        1,
    )
    return Receipt(self, int(number[0]))


@overload
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[MessageOptions],
) -> None: ...
@overload
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[MessageOptions],
) -> Receipt: ...
@sends_natively
@verb
def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[MessageOptions],
) -> Receipt | None:
    """Send one message.

    Blocks while the queues of all peers are full, or there is no peer (overflow="block").

    Thread-safe: yes.

    Args:
        data: The body: bytes, or anything contiguous with a buffer. It is copied.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        confirm: Give a receipt, of a Push with `delivery="at_least_once"`.
        options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

    Returns:
        The `Receipt`, with `confirm=True`; else None.

    Raises:
        TimedOutError: No room in time; nothing was sent.
        WouldBlockError: No room now (timeout=0 or overflow="error"), or no peer
            (no_peer="error"); nothing was sent.
        TooLargeError: Over message_size_max; or key and headers take over 16 KiB.
        UsageError: An option is out of its range, or nobody acknowledges (`delivery`).
        ClosedError: The socket was closed.
    """
    if confirm:
        return send_awaited(self, data, timeout, options)
    send_one(self, data, timeout, options)
    return None
