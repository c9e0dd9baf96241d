"""Receiving many messages as one object: what threads and asyncio share.

Not here: the object (_binding/batch.py), waiting (_sync/batches.py, aio/_batches.py). Law: what an
iteration prefetched comes first, so order holds.
"""

from __future__ import annotations

from array import array
from typing import Any

from meshmsg._binding.batch import MessageBatch
from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import Message
from meshmsg._socket.inbox import Inbox

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
    if rc == lib.MM_EMSGSIZE:
        raise error_for(rc, "a batch holds less than 2 GiB; take fewer messages at once")
    if rc < 0:
        raise MemoryError("no memory for a batch")
    return MessageBatch(batch, 0, len(messages), [message.topic for message in messages])


def check_by_hand(self: Any, call: str) -> None:
    """Refuse what gives no messages that could say that they are done."""
    if self._opts.flags & lib.MM_OPT_ACK_MANUAL:
        raise UsageError(
            f"{call} gives no message to acknowledge, and this {type(self).__name__} has "
            "ack='manual'; take recv, recv_many or an iteration"
        )


def prefetched_batch(
    self: Inbox[Message], max_messages: int, max_bytes: int
) -> MessageBatch | None:
    """Make a batch of what is prefetched; None: nothing is."""
    if not self._ready:
        return None
    found: list[Message] = []
    size = 0
    try:
        with self._ready:
            while self._ready and len(found) < max_messages and (not found or size < max_bytes):
                message = self._ready.pop()
                if message is None:
                    break
                found.append(message)
                size += len(message)
        return batch_of(found) if found else None
    except BaseException:
        self._ready.keep(found)
        raise
