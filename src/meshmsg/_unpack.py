"""Messages out of batches: what C hands over, cut into frames and made into what a role gives.

Not here: waiting, and what waits in Python (_inbox). Law: a batch is read at once, by the thread it
belongs to; nothing made here points into it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from meshmsg._core import Slot, fast, ffi, lib
from meshmsg._looking import Looking
from meshmsg._message import FullMessage, Message, message_class

MessageT = TypeVar("MessageT", bound=Message)


class Forming(Looking, Generic[MessageT]):
    """Makes messages of batches."""

    _plain: Callable[[int], type[Message]] | None = staticmethod(message_class)
    """The class of a peer's messages of one frame; None: each is more than its bytes."""

    def _unpack_at(self, address: int) -> list[MessageT]:
        """Turn the batch at that address into messages."""
        return self._unpack(ffi.cast("mm_batch *", address))

    def _unpack_one(self, slot: Slot) -> MessageT:
        """Turn a batch of one message into that message."""
        parts = fast.parts(slot.address)
        if parts is None:
            return self._unpack(slot.batch)[0]
        peer, envelope, frames = parts
        if len(frames) == 1:  # every role reads a single frame alike
            return cast("MessageT", message_class(peer)(frames[0]))
        return self._message(frames, peer, envelope)

    def _unpack(self, batch: Any) -> list[MessageT]:
        """Turn what C handed over into messages."""
        if batch.big != ffi.NULL:
            message = self._message(
                _big_frames(batch.big), int(batch.peer[0]), int(batch.envelope[0])
            )
            lib.mm_batch_drop(batch)  # it may be long until the next receive
            return [message]
        messages = batch.message_count
        one = batch.one_peer
        if batch.frame_count == messages:
            return cast("list[MessageT]", _singles(batch, messages, one))
        peers = [one] * messages if one else ffi.unpack(batch.peer, messages)
        envelopes = [0] * messages if one else ffi.unpack(batch.envelope, messages)
        address = int(ffi.cast("uintptr_t", batch))
        return list(map(self._message, fast.frames(address), peers, envelopes))

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> MessageT:
        """Make a message of its frames; roles that read them differently override this."""
        message = FullMessage(frames[-1])
        message.peer = peer
        if len(frames) > 1:
            message._frames = tuple(frames)
        return cast("MessageT", message)


def _singles(batch: Any, count: int, one_peer: int) -> list[Message]:
    """The common case, every message a single frame: no frame lists."""
    if one_peer:
        address = int(ffi.cast("uintptr_t", batch))
        return cast("list[Message]", fast.messages(address, message_class(one_peer)))
    offsets = ffi.unpack(batch.offset, count + 1)
    data = ffi.buffer(batch.data, offsets[-1])
    spans = itertools.pairwise(offsets)
    peers = ffi.unpack(batch.peer, count)
    return [
        message_class(peer)(data[start:end])
        for peer, (start, end) in zip(peers, spans, strict=True)
    ]


def _big_frames(big: Any) -> list[bytes]:
    size = ffi.new("uint64_t *")
    frames: list[bytes] = []
    for i in range(lib.mm_msg_frame_count(big)):
        data = lib.mm_msg_frame(big, i, size)
        frames.append(ffi.buffer(data, size[0])[:] if size[0] else b"")
    return frames
