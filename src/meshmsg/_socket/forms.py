"""How each role's messages look in Python: what sync and asyncio classes of a role share.

Not here: waiting. Law: one place says which frame is what.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.data import Data, buffer_of, encode_topic, encode_url, pack_frames
from meshmsg._binding.errors import MeshError, TooLargeError, UsageError
from meshmsg._binding.message import FullMessage, Message, Request
from meshmsg._socket.base import SocketBase
from meshmsg._socket.causes import What
from meshmsg._socket.options import check_flag, check_identity, check_peer
from meshmsg._socket.unpack import Forming

ENVELOPE_SIZE = 4
"""Bytes of the id in front of a request or survey."""
ENVELOPE_FRAMES = 2
"""Frames in front of it: the id, and an empty one."""
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
            UsageError: The socket stopped receiving (`stop_receiving`): nothing comes any more.
            ClosedError: The socket was closed.
        """
        raw = encode_topic(topic)
        self._check(
            lib.mm_subscribe(self._handle, *buffer_of(raw)), f"cannot subscribe to {topic!r}"
        )

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
        rc = lib.mm_unsubscribe(self._handle, *buffer_of(raw))
        if rc == lib.MM_EINVAL:
            raise error_for(rc, f"{topic!r} is not subscribed to ({self._about()})")
        self._check(rc, f"cannot unsubscribe from {topic!r}")


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
        rc = lib.mm_subscriber_count(self._handle, *buffer_of(raw), out)
        self._check(rc, "cannot count subscribers")
        return int(out[0])

    def _subscribers_of(self, topic: str | bytes, count: int) -> What:
        """What a wait for so many subscribers says that ends without them."""

        def told() -> str:
            if self._peer_count() < 0:
                return f"waiting for {count} subscribers to {topic!r}"
            return f"{self.subscribers(topic)} of {count} subscribers to {topic!r}"

        return told


class ManualForm(PublishForm):
    """XPub: what its application decides."""

    def _welcome(self, welcome: bytes) -> None:
        if not isinstance(welcome, bytes):
            raise TypeError(f"welcome is {type(welcome).__name__}; it is bytes")
        if welcome:
            rc = lib.mm_welcome(self._handle, *buffer_of(welcome))
            if rc == lib.MM_EMSGSIZE:
                raise self._too_large(len(welcome), 1)
            self._check(rc, "setting the welcome")

    def subscribe(self, topic: str | bytes, *, peer: int) -> bool:
        """Have a peer get what is published under a topic (manual=True).

        What it asked for, received as b"\\x01topic", and what it gets need not be the same. What it
        gets ends with its connection.

        Thread-safe: yes.

        Args:
            topic: A prefix; str is encoded as UTF-8.
            peer: Whom, as in `message.peer` of what it asked for, or in `peers()`.

        Returns:
            False if the peer is gone.

        Raises:
            UsageError: The socket was not opened with manual=True, or peer is no peer's number.
            TypeError: peer is no number.
            TooLargeError: Over topic_size_max.
            ClosedError: The socket was closed.
        """
        return self._grant(topic, peer, True) >= 0

    def unsubscribe(self, topic: str | bytes, *, peer: int) -> bool:
        """Have a peer no longer get what is published under a topic (manual=True).

        Thread-safe: yes.

        Args:
            topic: As it was given to `subscribe`.
            peer: Whom.

        Returns:
            False if the peer is gone, or did not have this topic.

        Raises:
            UsageError: The socket was not opened with manual=True, or peer is no peer's number.
            TypeError: peer is no number.
            TooLargeError: Over topic_size_max.
            ClosedError: The socket was closed.
        """
        return self._grant(topic, peer, False) > 0

    def _grant(self, topic: str | bytes, peer: int, add: bool) -> int:
        raw = encode_topic(topic)
        rc = int(lib.mm_grant(self._handle, check_peer(peer), add, *buffer_of(raw)))
        if rc == lib.MM_ENOTSUP:
            raise UsageError(
                f"this {type(self).__name__} subscribes its peers to what they ask for; to decide "
                "it yourself, open it with manual=True"
            )
        if rc != lib.MM_EHOSTUNREACH:
            self._check(rc, f"cannot change a subscription to {topic!r}")
        return rc


class IdentityForm(Forming[Message], SocketBase):
    """Router: the first frame is the peer's identity."""

    def _message(self, frames: list[bytes], peer: int, envelope: int) -> Message:
        message = FullMessage(frames[-1])
        message.peer = frames[0]
        message._frames = tuple(frames[1:])
        return message

    def connect(self, url: str, *, identity: bytes = b"") -> None:
        """Connect to an endpoint, and again whenever the connection ends.

        Returns at once: connecting goes on in the background (`wait_for_peers`, `events`).

        Thread-safe: yes.

        Args:
            url: tcp://host:port, ipc://path, ipc://@name, inproc://name.
            identity: What to know the peer there by, whatever it calls itself, also when it was
                connected to again; b"" goes by what it says. Messages can be sent to it once it is
                connected.

        Raises:
            AddressError: The endpoint is malformed.
            UsageError: The identity is too long, begins with a zero byte, or is already that of
                another endpoint this Router connects to; or sp+, which has no Router.
            ClosedError: The socket was closed.
        """
        named = check_identity(identity)
        if not named:
            super().connect(url)
            return
        rc = lib.mm_connect_as(self._handle, encode_url(url), *buffer_of(named))
        if rc == lib.MM_ESTATE:
            raise UsageError(
                f"connecting to {url}: another endpoint this Router connects to has the identity "
                f"{named!r}",
                code=rc,
                address=url,
            )
        self._connect(url, rc)

    def _unknown(self, error: MeshError, to: bytes) -> MeshError:
        if error.code != lib.MM_EHOSTUNREACH:
            return error
        known = [peer.identity for peer in self._first_peers(KNOWN_MAX)[0]]
        return error_for(
            error.code,
            f"no peer has the identity {to!r} ({self._about()}; known: {known!r})",
            peer=to,
        )


class QuestionForm(Forming[Message], SocketBase):
    """Req and Surveyor: what is asked goes out behind an id and an empty frame."""

    def _too_large(self, size: int, count: int) -> MeshError:
        """Say what is too large: size and count are those of the question alone."""
        error = super()._too_large(size + ENVELOPE_SIZE, count + ENVELOPE_FRAMES)
        about = f"a question of {size} bytes in {count} frames is, with its envelope, {error}"
        error.args = (about,)
        return error

    def _no_reply(self, code: int, timeout: float | None = None) -> MeshError:
        """Say why there is no reply to a request that was sent."""
        if code != lib.MM_EMSGSIZE:
            return self._error(code, "no reply", timeout)
        limit, frames = int(self._opts.message_size_max), int(self._opts.frames_max)
        return TooLargeError(
            f"no reply: an answer was over the {limit} bytes (message_size_max) or the {frames} "
            f"frames (frames_max) that this {type(self).__name__} takes, and the connection was "
            "ended for it, with this request and any other on it; each may have been done, and is "
            "not asked again. Raise the limit, or ask for less",
            code=code,
            limit=limit,
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


def pack_route(frames: Iterable[Data]) -> tuple[bytes, Any, int]:
    """Return frames as C wants them; refuses what a Router cannot send."""
    if not isinstance(frames, (bytes, str, bytearray, memoryview)):  # pack_frames refuses those
        frames = list(frames)
        if len(frames) < 2:
            raise UsageError("a Router sends an identity and at least one frame behind it")
        if isinstance(frames[0], str):
            raise TypeError("an identity is bytes, not str; encode it: name.encode()")
    return pack_frames(frames)


def first_of(packed: tuple[bytes, Any, int]) -> bytes:
    """Return the first of the frames that were packed."""
    body, sizes, _ = packed
    return body[: sizes[0]]


def router_flags(handover: bool, on_unroutable: str) -> int:
    """Return the option bits of a Router."""
    if on_unroutable not in ("error", "drop"):
        raise UsageError(f"on_unroutable is {on_unroutable!r}; it is 'error' or 'drop'")
    flags = lib.MM_OPT_HANDOVER if check_flag("handover", handover) else 0
    return int(flags | (lib.MM_OPT_DROP_UNROUTABLE if on_unroutable == "drop" else 0))


def xpub_flags(verbose: bool, manual: bool) -> int:
    """Return the option bits of an XPub."""
    flags = lib.MM_OPT_XPUB_VERBOSE if check_flag("verbose", verbose) else 0
    return int(flags | (lib.MM_OPT_XPUB_MANUAL if check_flag("manual", manual) else 0))


CONFLATE: dict[bool | str, int] = {
    False: 0,
    True: lib.MM_OPT_CONFLATE,
    "topic": lib.MM_OPT_CONFLATE_TOPIC,
}


def conflate_flags(conflate: bool | str) -> int:
    """Return the option bits of a Sub."""
    if not isinstance(conflate, (bool, str)) or conflate not in CONFLATE:
        raise UsageError(f"conflate is {conflate!r}; it is False, True or 'topic'")
    return CONFLATE[conflate]
