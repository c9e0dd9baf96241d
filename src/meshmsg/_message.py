"""What a receive gives: bytes that know where they came from.

Law: a Message is its body; nothing else takes part in comparison or hashing.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from meshmsg._core import ESTATE, fast
from meshmsg._data import Data, bytes_of
from meshmsg._errors import UsageError


class Message(bytes):
    """A received message: the body, as bytes, with what else is known of it.

    Attributes:
        topic: Of a Sub: the topic it was published under, "" when it was a single frame.
        peer: Who sent it: for a Router the peer's identity, else its id in `peers()`.
    """

    __slots__ = ()
    topic: str = ""
    peer: int | bytes = 0
    _frames: tuple[bytes, ...] = ()

    @property
    def frames(self) -> tuple[bytes, ...]:
        """All frames of the message, as ZeroMQ peers send them; the last is the body."""
        return self._frames or (bytes(self),)

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(self),)


class FullMessage(Message):
    """One of several frames, or of a peer with a name: what is known of it are attributes."""


PEERS_MAX = 4096
"""Peers whose class of message is remembered; after that many all are forgotten."""


class ClassesOfPeers(dict[int, type[Message]]):
    """The Message of each peer: the id stands in the class, so that making one sets nothing.

    An attribute of its own would cost each message a dictionary: more than the message itself.
    """

    def __missing__(self, peer: int) -> type[Message]:
        if len(self) >= PEERS_MAX:
            self.clear()
        found: type[Message] = fast.message_class(Message, peer)
        self[peer] = found
        return found


classes_of_peers = ClassesOfPeers()
message_class: Callable[[int], type[Message]] = classes_of_peers.__getitem__
"""Returns the Message of a peer; no function of Python, as it is asked for with each message."""

IN_PLACE: bool = fast.check(message_class(0), b"sample")
"""Whether this Python lays out bytes as the core knows; else messages are made by calls."""


class Request(FullMessage):
    """A request a Rep received. `reply` answers it, once."""

    _way: Any = fast.no_way()
    """The way back to who asked (csrc/python/fast_reply.c); that of one no socket gave is used."""

    if not TYPE_CHECKING:  # as of any Message; not set with each, as it is seldom asked for
        peer = property(attrgetter("_way.peer"))

    def reply(self, data: Data) -> bool:
        """Answer this request.

        Never blocks. Thread-safe: yes; of several threads one answers.

        Args:
            data: The answer: bytes, or anything contiguous with a buffer.

        Returns:
            False when whoever asked is gone or takes no more; the answer is then counted as
            dropped.

        Raises:
            UsageError: It was answered already.
            TooLargeError: The answer is over message_size_max; another may be given.
            ClosedError: The socket was closed.
        """
        sent: bool | int | None = self._way.reply(data)
        return True if sent is True else self._reply_on(sent, data)

    def _reply_on(self, sent: bool | int | None, data: Data) -> bool:
        """Reply after a first try: to nobody (False), with no bytes (None), or the code of why."""
        if sent is None:
            return Request.reply(self, bytes_of(data))
        if sent is not False:
            self._refuse(sent, len(data))
        return False

    def _refuse(self, code: int, size: int) -> NoReturn:
        """Raise what kept an answer of that size from being sent."""
        socket, frames, routed = self._way.about()
        if code == ESTATE or socket is None:  # perhaps by another thread, meanwhile
            raise UsageError("this request was answered already; each takes one reply")
        raise socket._reply_error(code, routed + size, frames + 1)
