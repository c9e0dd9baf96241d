"""Batches for asyncio: many messages as one object, both ways.

Not here: what a batch is (_binding/batch.py). Law: what a cancelled receive had gathered goes to
the socket's deque, for whoever receives next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from meshmsg._binding.batch import MessageBatch
from meshmsg._binding.core import address_of, lib, to_ms
from meshmsg._binding.errors import ClosedError, TimedOutError
from meshmsg._binding.message import Message
from meshmsg._roles.batches import (
    BATCH_MAX_BYTES,
    BATCH_MAX_MESSAGES,
    check_by_hand,
    gather_ns,
    new_batch,
    prefetched_batch,
)
from meshmsg._socket.options import check_batch
from meshmsg._socket.signature import verb
from meshmsg.aio._loop import READABLE
from meshmsg.aio._receiving import keep_for
from meshmsg.aio._turns import is_due, share

if TYPE_CHECKING:
    from meshmsg.aio._socket import Socket


@verb
async def recv_batch(
    self: Socket[Message],
    max_messages: int = BATCH_MAX_MESSAGES,
    *,
    max_bytes: int = BATCH_MAX_BYTES,
    max_wait: float = 0.0,
    timeout: float | None = None,
) -> MessageBatch:
    """Receive many messages as one object; see `meshmsg.Pull.recv_batch`.

    Cancel-safe: what a cancelled call had gathered is there for the next receive. Thread-safe:
    yes, but a loop waits on its own thread.

    Args:
        max_messages: How many at most, 1 or more.
        max_bytes: Bytes after which no further message is taken.
        max_wait: Seconds to gather after the first message, until the batch is full.
        timeout: Seconds to wait for the first; None waits for ever, 0 never waits.

    Returns:
        One message or more, oldest first, in Arrow's layout.

    Raises:
        TimedOutError, WouldBlockError, ClosedError: As `recv`.
        UsageError: max_messages is below 1, max_wait is no time, or this Pull has ack="manual".
    """
    check_batch(max_messages)
    check_by_hand(self, "recv_batch")
    gather_ns(max_wait)
    to_ms(timeout)
    if is_due():
        await share()
    found = prefetched_batch(self, max_messages, max_bytes)
    if found is not None:
        return found
    batch = new_batch()
    loop = asyncio.get_running_loop()

    def take() -> int:
        return int(lib.mm_batch_take(self._handle, batch, max_messages, max_bytes))

    try:
        with self._ready.hold(self._handle, address_of(batch)):  # ready again if anything is raised
            await self._until(take, READABLE, timeout, "no message")
            if max_wait:
                await _gather(self, take, max_wait)
            count = lib.mm_batch_finish(self._handle, batch)
            if count < 0:
                raise self._error(count, "no batch", timeout)
            return MessageBatch(batch, 0, count)
    except BaseException:  # cancelled, most likely
        keep_for(self, loop, [])
        raise


async def _gather(self: Socket[Message], take: Callable[[], int], max_wait: float) -> None:
    """Take on, until the batch is full or the time is up."""
    loop = asyncio.get_running_loop()
    end = loop.time() + max_wait
    try:
        while (left := end - loop.time()) > 0:
            if await self._until(take, READABLE, left, "no more") == 0:
                return
    except (TimedOutError, ClosedError):
        return
