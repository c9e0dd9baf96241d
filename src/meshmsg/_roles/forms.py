"""The roles, each once: its number, constructor, docstring, and what its messages look like; the
class for threads (_sync/roles.py) and the one for asyncio (aio/_roles.py) are made of its form.

Not here: what waits. Law: one place says which frame is what; what a role cannot do is absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from meshmsg._binding.core import error_for, lib
from meshmsg._binding.data import (
    Data,
    buffer_of,
    encode_topic,
    encode_topics,
    encode_url,
    pack_frames,
)
from meshmsg._binding.errors import MeshError, TooLargeError, UsageError
from meshmsg._binding.message import FullMessage, Message, Request
from meshmsg._roles import stopping, topics
from meshmsg._socket import inbox
from meshmsg._socket.base import SocketBase
from meshmsg._socket.engine import Engine
from meshmsg._socket.failures import too_large
from meshmsg._socket.inbox import Inbox
from meshmsg._socket.options import SocketOptions, check_flag, check_identity, check_peer

if TYPE_CHECKING:
    from typing_extensions import Unpack

ENVELOPE_SIZE = 4
"""Bytes of the id in front of a request or survey."""
ENVELOPE_FRAMES = 2
"""Frames in front of it: the id, and an empty one."""
KNOWN_MAX = 10
"""Identities the error of an unknown one lists."""


class PushForm(Inbox[Message]):
    """Hands each message to one of its Pull peers, in turn, to those that have room."""

    _role: ClassVar[int] = lib.MM_PUSH
    _sends = True


class PullForm(Inbox[Message]):
    """Receives from its Push peers, in turn."""

    _role: ClassVar[int] = lib.MM_PULL
    _receives = True
    fileno = inbox.fileno
    stop_receiving = stopping.stop_receiving


class PairForm(Inbox[Message]):
    """Talks to exactly one other Pair."""

    _role: ClassVar[int] = lib.MM_PAIR
    _sends = True
    _receives = True
    fileno = inbox.fileno


class PubForm(Inbox[Message]):
    """Publishes to its Sub peers, each according to what it subscribed to."""

    _role: ClassVar[int] = lib.MM_PUB
    _sends = True
    subscribers = topics.subscribers


class XPubForm(Inbox[Message]):
    """A Pub that also receives its peers' subscriptions, as b"\\x01topic" and b"\\x00topic".

    Args:
        verbose: Give each peer's subscriptions, not only the first and the last of a topic. What a
            peer did and undid before it was received is not told.
        manual: As verbose; and what a peer gets is not what it asks for, but what `subscribe` says.
        welcome: Sent to each new subscriber before anything else; b"" sends nothing.
    """

    _role: ClassVar[int] = lib.MM_XPUB
    _sends = True
    _receives = True
    fileno = inbox.fileno
    subscribers = topics.subscribers

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        engine: Engine | None = None,
        verbose: bool = False,
        manual: bool = False,
        welcome: bytes = b"",
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(options, engine, None, None, flags=xpub_flags(verbose, manual))
        try:
            self._welcome(welcome)
            self._attach(bind, connect)
        except BaseException:
            self.close()
            raise

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


class SubForm(Inbox[Message]):
    """Receives what its Pub peers publish under the topics it subscribed to.

    Args:
        topics: Prefixes to subscribe to at once; "" is everything.
        conflate: Keep only the newest message: True, of all; "topic", of each topic. The others
            count as `dropped_conflated`.
    """

    _role: ClassVar[int] = lib.MM_SUB
    _receives = True
    fileno = inbox.fileno
    stop_receiving = stopping.stop_receiving
    _message = topics.message_of_topic
    subscribe = topics.subscribe
    unsubscribe = topics.unsubscribe

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        topics: str | bytes | Iterable[str | bytes] = (),
        conflate: bool | Literal["topic"] = False,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        wanted = encode_topics(topics)
        self._open(options, engine, None, None, flags=conflate_flags(conflate))
        try:
            if conflate:
                self._watch()  # what is prefetched would not be the newest
            for topic in wanted:
                self.subscribe(topic)
            self._attach(bind, connect)
        except BaseException:
            self.close()
            raise


class XSubForm(Inbox[Message]):
    """A Sub that sends its subscriptions as messages b"\\x01topic" and b"\\x00topic"; for
    forwarders."""

    _role: ClassVar[int] = lib.MM_XSUB
    _sends = True
    _receives = True
    fileno = inbox.fileno
    stop_receiving = stopping.stop_receiving
    _message = topics.message_of_topic
    subscribe = topics.subscribe
    unsubscribe = topics.unsubscribe


class DealerForm(Inbox[Message]):
    """Sends to its peers in turn, receives from them in turn; for Router, Rep and Dealer peers.

    Args:
        identity: The name Router peers know it by; b"" lets them choose.
    """

    _role: ClassVar[int] = lib.MM_DEALER
    _sends = True
    _receives = True
    fileno = inbox.fileno

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(options, engine, bind, connect, identity=identity)


class RouterForm(Inbox[Message]):
    """Knows its peers by identity: each message says from whom it came, or to whom it goes.

    Args:
        identity: The name other Routers know it by.
        handover: A newcomer with the identity of a connected peer takes its place, instead of being
            refused.
        on_unroutable: What a message to an unknown peer does: "error" raises PeerError, "drop"
            counts it.
    """

    _role: ClassVar[int] = lib.MM_ROUTER
    _receives = True
    fileno = inbox.fileno

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        handover: bool = False,
        on_unroutable: Literal["error", "drop"] = "error",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        flags = router_flags(handover, on_unroutable)
        self._open(options, engine, bind, connect, identity=identity, flags=flags)

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


def question_too_large(self: SocketBase, size: int, count: int) -> MeshError:
    """Say what is too large: size and count are those of the question alone."""
    error = too_large(self, size + ENVELOPE_SIZE, count + ENVELOPE_FRAMES)
    about = f"a question of {size} bytes in {count} frames is, with its envelope, {error}"
    error.args = (about,)
    return error


class ReqForm(Inbox[Message]):
    """Asks its Rep (or Router) peers, in turn.

    Args:
        identity: The name Router peers know it by. Give none to reach a REP of libzmq: until that
            one has noticed that the last peer of a name is gone, it ignores the next for ever.
    """

    _role: ClassVar[int] = lib.MM_REQ
    _too_large = question_too_large

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(options, engine, bind, connect, identity=identity)

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


class SurveyorForm(Inbox[Message]):
    """Asks all its Respondent peers at once; they answer, or not, until a deadline."""

    _role: ClassVar[int] = lib.MM_SURVEYOR
    _too_large = question_too_large


def reply_error(self: SocketBase, code: int, size: int, frames: int) -> MeshError:
    """Say what kept an answer from being sent; its way back is part of size and frames."""
    if code == lib.MM_EMSGSIZE:
        return self._too_large(size, frames)
    return self._error(code, "cannot reply")


class RepForm(Inbox[Request]):
    """Answers requests: what it receives is a Request, whose `reply` answers it.

    Any number of requests may be open at once, and answered in any order, from any thread.
    """

    _role: ClassVar[int] = lib.MM_REP
    _receives = True
    _made_of = Request
    _reply_error = reply_error
    fileno = inbox.fileno
    stop_receiving = stopping.stop_receiving


class RespondentForm(Inbox[Request]):
    """Answers surveys: what it receives is a Request, whose `reply` answers it, once.

    It need not answer. `reply` returns False once whoever asked is gone; an answer after the
    survey's deadline is sent, and counted as late over there.
    """

    _role: ClassVar[int] = lib.MM_RESPONDENT
    _receives = True
    _made_of = Request
    _reply_error = reply_error
    fileno = inbox.fileno
    stop_receiving = stopping.stop_receiving


class BusForm(Inbox[Message]):
    """Sends each message to all Bus peers it is connected to, and receives from all of them.

    Messages go to direct peers and no further, and never come back to who sent them. By default a
    peer whose queue is full misses a message (counted, and told in `events`); with nobody connected
    it is counted and dropped.
    """

    _role: ClassVar[int] = lib.MM_BUS
    _sends = True
    _receives = True
    fileno = inbox.fileno


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
