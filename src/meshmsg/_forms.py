"""How each role's messages look in Python: what sync and asyncio classes of a role share.

Not here: waiting. Law: one place says which frame is what.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from meshmsg._base import SocketBase
from meshmsg._core import ffi, lib
from meshmsg._data import Data, encode_topic
from meshmsg._errors import MeshError, PeerError, UsageError
from meshmsg._message import FullMessage, Message, Request
from meshmsg._unpack import Forming

KNOWN_MAX = 10
"""Identities the error of an unknown one lists."""


class TopicForm(Forming[Message], SocketBase):
    """Sub: a message of two frames or more begins with its topic."""

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> Message:
        message = FullMessage(frames[-1])
        message.peer = peer
        message._frames = tuple(frames)
        message.topic = frames[0].decode("utf-8", "surrogateescape")
        return message

    def subscribe(self, topic: str | bytes) -> None:
        """Ask for messages whose topic begins with this; "" asks for all.

        Counted: each subscribe needs its own unsubscribe. It is sent again after reconnecting.

        Thread-safe: yes.

        Args:
            topic: A prefix; str is encoded as UTF-8.

        Raises:
            TooLargeError: Over topic_size_max.
            ClosedError: The socket was closed.
        """
        raw = encode_topic(topic)
        self._check(lib.mm_subscribe(self._handle, raw, len(raw)), f"cannot subscribe to {topic!r}")

    def unsubscribe(self, topic: str | bytes) -> None:
        """Take back one `subscribe`.

        Thread-safe: yes.

        Args:
            topic: As it was given to `subscribe`.

        Raises:
            UsageError: It is not subscribed to.
            ClosedError: The socket was closed.
        """
        raw = encode_topic(topic)
        rc = lib.mm_unsubscribe(self._handle, raw, len(raw))
        self._check(rc, f"{topic!r} is not subscribed to")


class PublishForm(SocketBase):
    """Pub and XPub: who would get a message."""

    def subscribers(self, topic: str | bytes = "") -> int:
        """Tell how many peers a message of this topic would reach now.

        Thread-safe: yes.

        Args:
            topic: The topic of the message (not a prefix to look for).

        Returns:
            The number of peers.

        Raises:
            ClosedError: The socket was closed.
        """
        raw = encode_topic(topic)
        out = ffi.new("uint32_t *")
        rc = lib.mm_subscriber_count(self._handle, raw, len(raw), out)
        self._check(rc, "cannot count subscribers")
        return int(out[0])


class IdentityForm(Forming[Message], SocketBase):
    """Router: the first frame is the peer's identity."""

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> Message:
        message = FullMessage(frames[-1])
        message.peer = frames[0]
        message._frames = tuple(frames[1:])
        return message

    def _unknown(self, error: MeshError, to: bytes) -> MeshError:
        if error.code != lib.MM_EHOSTUNREACH:
            return error
        known = [peer.identity for peer in self._first_peers(KNOWN_MAX)[0]]
        return PeerError(
            f"no peer has the identity {to!r} ({self._about()}; known: {known!r})",
            code=error.code,
            peer=to,
        )


class RequestForm(Forming[Request], SocketBase):
    """Rep: the leading frames are the way back; the rest is the request."""

    _role: ClassVar[int] = lib.MM_REP
    _made_of = Request

    def _reply_error(self, code: int, size: int, frames: int) -> MeshError:
        """Say what kept an answer from being sent; its way back is part of size and frames."""
        if code == lib.MM_EMSGSIZE:
            return self._too_large(size, frames)
        return self._error(code, "cannot reply")


def check_route(frames: Sequence[Data]) -> None:
    """Refuse what a Router cannot send."""
    if len(frames) < 2:
        raise UsageError("a Router sends an identity and at least one frame behind it")
    if isinstance(frames[0], str):
        raise TypeError("an identity is bytes, not str; encode it: name.encode()")


def router_flags(handover: bool, on_unroutable: str) -> int:
    """Return the option bits of a Router."""
    if on_unroutable not in ("error", "drop"):
        raise UsageError(f"on_unroutable is {on_unroutable!r}; it is 'error' or 'drop'")
    flags = lib.MM_OPT_HANDOVER if handover else 0
    return int(flags | (lib.MM_OPT_DROP_UNROUTABLE if on_unroutable == "drop" else 0))
