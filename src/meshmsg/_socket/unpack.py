"""Messages out of batches: what C hands over, cut into frames and made into what a role gives.

Not here: waiting, and what waits in Python (inbox.py). Law: a batch is read at once, by the thread
it belongs to; nothing made here points into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

from meshmsg._binding.core import Slot, fast
from meshmsg._binding.message import FullMessage, Message, Request, message_class
from meshmsg._socket.inspection import Looking

MessageT = TypeVar("MessageT", bound=Message)


class Forming(Looking, Generic[MessageT]):
    """Makes messages of batches."""

    _made_of: Callable[[int], type[Message]] | type[Request] = staticmethod(message_class)
    """The class of a peer's messages of one frame; or that of requests, which all are."""

    def _unpack_at(self, address: int) -> list[MessageT]:
        """Turn the batch at that address into messages."""
        form = self._message
        return [
            form(frames, peer, envelope)
            if len(frames) > 1  # every role reads a single frame alike
            else cast("MessageT", message_class(peer)(frames[0]))
            for frames, peer, envelope in fast.parts(address)
        ]

    def _unpack_one(self, slot: Slot) -> MessageT:
        """Turn a batch of one message into that message."""
        [message] = self._unpack_at(slot.address)
        slot.drop()
        return message

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> MessageT:
        """Make a message of its frames, two or more; roles that read them differently override
        this."""
        message = FullMessage(frames[-1])
        message.peer = peer
        message._frames = tuple(frames)
        return cast("MessageT", message)
