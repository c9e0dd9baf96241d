"""Receiving many messages as one object.

Law: what an iteration prefetched comes first, so order holds; a call that fails has taken nothing.
"""

from __future__ import annotations

from array import array
from typing import Any

from meshmsg._binding.batch import MessageBatch
from meshmsg._binding.core import EAGAIN, EINTR, address_of, error_for, ffi, lib, to_ms
from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import Message
from meshmsg._socket.inbox import Inbox
from meshmsg._socket.options import check_batch
from meshmsg._sync.blocking import Blocking
from meshmsg._sync.recv import Receiver

BATCH_MAX_MESSAGES = 4096
BATCH_MAX_BYTES = 4 * 1024 * 1024
GATHER_MAX_NS = 2**63 - 1
"""Nanoseconds: some 292 years."""
_NS_PER_S = 1_000_000_000


def new_batch() -> Any:
    """Return an empty batch of the core's, freed when nobody holds it any more."""
    out = ffi.new("mm_batch **")
    if lib.mm_batch_new(out) != 0:
        raise MemoryError("no memory for a batch")
    return ffi.gc(out[0], lib.mm_batch_free)


def gather_ns(max_wait: float) -> int:
    """Turn the seconds of max_wait into what C wants."""
    if not 0 <= max_wait < float("inf"):
        raise UsageError(f"max_wait is {max_wait!r}; seconds >= 0 to wait for a fuller batch")
    return int(min(max_wait * _NS_PER_S, GATHER_MAX_NS))


def batch_of(messages: list[Message]) -> MessageBatch:
    """Make a batch of messages that Python already holds."""
    batch = new_batch()
    sizes = ffi.from_buffer("uint64_t[]", array("Q", map(len, messages)))
    ids = [message.peer if isinstance(message.peer, int) else 0 for message in messages]
    peers = ffi.from_buffer("uint64_t[]", array("Q", ids))
    rc = lib.mm_batch_set(batch, b"".join(messages), sizes, peers, len(messages))
    if rc < 0:
        raise error_for(rc, "a batch holds less than 2 GiB; take fewer messages at once")
    return MessageBatch(batch, 0, len(messages), [message.topic for message in messages])


class Batching(Inbox[Message]):
    """What sync and asyncio batches share."""

    def _prefetched_batch(self, max_messages: int, max_bytes: int) -> MessageBatch | None:
        if not self._ready:
            return None
        found: list[Message] = []
        size = 0
        try:
            with self._inbox_lock:
                while self._ready and len(found) < max_messages and (not found or size < max_bytes):
                    message = self._take_ready()
                    if message is None:
                        break
                    found.append(message)
                    size += len(message)
            return batch_of(found) if found else None
        except BaseException:
            self._keep(found)
            raise


class BatchReceiver(Batching, Receiver[Message], Blocking):
    """A socket whose messages can be taken as a batch."""

    def recv_batch(
        self,
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
            UsageError: max_messages is below 1, or max_wait is no time.
        """
        check_batch(max_messages)
        wait_ns = gather_ns(max_wait)
        if timeout is not None:
            to_ms(timeout)  # refuses what is no time
        batch = new_batch()
        try:
            # Mostly there is something, and nobody ever iterated: beside who does, and to gather,
            # it takes its turn.
            if not (self._prefetched or self._ready or wait_ns):
                count = lib.mm_recv_batch(self._handle, batch, max_messages, max_bytes, 0, 0, 0)
                if count > 0:
                    return MessageBatch(batch, 0, count)
                if count != EAGAIN or timeout == 0:
                    raise self._error(count, "no message", timeout)
            return self._wait_batch(batch, max_messages, max_bytes, wait_ns, timeout)
        except BaseException:
            lib.mm_batch_finish(self._handle, batch)  # it may have been gathering
            self._keep(self._unpack_at(address_of(batch)))
            raise

    def _wait_batch(
        self, batch: Any, max_messages: int, max_bytes: int, wait_ns: int, timeout: float | None
    ) -> MessageBatch:
        """Wait for the first message, asleep in the core; the batch is the caller's to keep."""
        found: MessageBatch | None = None
        asleep = gathers = False

        def take(ms: int, slice_ms: int) -> int:
            nonlocal found, gathers
            found = None if gathers else self._prefetched_batch(max_messages, max_bytes)
            if found is not None:
                return len(found)
            rc = lib.mm_recv_batch(
                self._handle, batch, max_messages, max_bytes, wait_ns, ms, slice_ms
            )
            gathers = rc == 0
            return EINTR if gathers else int(rc)

        try:
            with self._inbox_lock:  # nobody prefetches from now on
                asleep = True
                self._ready.sleeps(1)
            count = self._blocking(take, timeout, "no message")
        finally:
            if asleep:
                self._ready.sleeps(-1)
        return MessageBatch(batch, 0, count) if found is None else found
