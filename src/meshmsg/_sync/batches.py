"""Receiving many messages as one object.

Law: what an iteration prefetched comes first, so order holds; a call that fails has taken nothing.
"""

from __future__ import annotations

from typing import Any

from meshmsg._binding.batch import MessageBatch
from meshmsg._binding.core import EAGAIN, EINTR, address_of, lib, to_ms
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
from meshmsg._sync.socket import Socket


@verb
def recv_batch(
    self: Socket[Message],
    max_messages: int = BATCH_MAX_MESSAGES,
    *,
    max_bytes: int = BATCH_MAX_BYTES,
    max_wait: float = 0.0,
    timeout: float | None = None,
) -> MessageBatch:
    """Receive many messages as one object, without making a Python object of each.

    Waits for the first message, then takes what is there, and waits up to max_wait longer for
    more.

    Thread-safe: yes.

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
    wait_ns = gather_ns(max_wait)
    if timeout is not None:
        to_ms(timeout)  # refuses what is no time
    batch = new_batch()
    with self._ready.hold(self._handle, address_of(batch)):  # ready again if anything is raised
        # Mostly there is something, and nobody ever iterated: beside who does, and to gather,
        # it takes its turn.
        if not (self._prefetched or self._ready or wait_ns):
            count = lib.mm_recv_batch(self._handle, batch, max_messages, max_bytes, 0, 0, 0)
            if count > 0:
                return MessageBatch(batch, 0, count)
            if count != EAGAIN or timeout == 0:
                raise self._error(count, "no message", timeout)
        return _wait_batch(self, batch, max_messages, max_bytes, wait_ns, timeout)


def _wait_batch(
    self: Socket[Message],
    batch: Any,
    max_messages: int,
    max_bytes: int,
    wait_ns: int,
    timeout: float | None,
) -> MessageBatch:
    """Wait for the first message, asleep in the core; the batch is the caller's to keep."""
    found: MessageBatch | None = None
    asleep = gathers = False

    def take(ms: int, slice_ms: int) -> int:
        nonlocal found, gathers
        found = None if gathers else prefetched_batch(self, max_messages, max_bytes)
        if found is not None:
            return len(found)
        rc = lib.mm_recv_batch(self._handle, batch, max_messages, max_bytes, wait_ns, ms, slice_ms)
        gathers = rc == 0
        return EINTR if gathers else int(rc)

    try:
        with self._ready:  # nobody prefetches from now on
            asleep = True
            self._ready.sleeps(1)
        count = self._blocking(take, timeout, "no message")
    finally:
        if asleep:
            self._ready.sleeps(-1)
    return MessageBatch(batch, 0, count) if found is None else found
