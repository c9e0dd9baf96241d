"""Sending with a receipt, for asyncio.

Not here: what a receipt is (_roles/receipts.py). Law: as of any send (_sending.py).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal, overload

from meshmsg._binding.core import ffi, lib, sends_natively, to_ms
from meshmsg._binding.data import Data, buffer_of, pack_frames, size_of
from meshmsg._binding.note import MessageOptions, note_of
from meshmsg._roles.receipts import ReceiptForm, check_confirms
from meshmsg._socket.signature import verb
from meshmsg.aio._loop import DRAINED
from meshmsg.aio._sending import send_one, sending
from meshmsg.aio._socket import Socket
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
        """
        await self._socket._until(lambda: self._ask(0, 0), DRAINED, timeout, "no receipt")
        self._result()

    def __await__(self) -> Generator[Any, None, None]:
        return self.wait().__await__()


async def send_awaited(
    self: Socket[Any], data: Data, timeout: float | None, options: MessageOptions
) -> Receipt:
    """Send one message, and give its receipt."""
    check_confirms(self._opts.flags)
    to_ms(timeout)  # refuses what is no time
    packed = pack_frames([data])
    note = buffer_of(note_of(self._handle, options))
    number = ffi.new("uint64_t *")
    if is_due():
        await share()
    await sending(
        self,
        lambda: int(lib.mm_send_awaited(self._handle, *packed, *note, 0, 0, number)),
        timeout,
        size_of(packed[0]),
        1,
    )
    return Receipt(self, int(number[0]))


@overload
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[False] = False,
    **options: Unpack[MessageOptions],
) -> None: ...
@overload
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: Literal[True],
    **options: Unpack[MessageOptions],
) -> Receipt: ...
@sends_natively
@verb
async def send(
    self: Socket[Any],
    data: Data,
    *,
    timeout: float | None = None,
    confirm: bool = False,
    **options: Unpack[MessageOptions],
) -> Receipt | None:
    """Send one message; see `meshmsg.Push.send`.

    Cancel-safe: a cancelled call has sent nothing. Thread-safe: yes, but a loop waits on its
    own thread.

    Args:
        data: The body: bytes, or anything contiguous with a buffer. It is copied.
        timeout: Seconds to wait; None waits for ever, 0 never waits.
        confirm: Give a receipt, which is awaited by itself.
        options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

    Returns:
        The `Receipt`, with `confirm=True`; else None.

    Raises:
        TimedOutError, WouldBlockError, TooLargeError, UsageError, ClosedError: As the sync one.
    """
    if confirm:
        return await send_awaited(self, data, timeout, options)
    await send_one(self, data, timeout, options)
    return None
