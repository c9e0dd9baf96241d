"""The sockets, one class a role, for threads that may block. The same names are in meshmsg.aio.

Law: what a role cannot do is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from meshmsg._blocking import Draining
from meshmsg._core import lib, sends_natively
from meshmsg._data import Data, encode_topic, encode_topics
from meshmsg._engine import Engine
from meshmsg._errors import MeshError
from meshmsg._forms import (
    IdentityForm,
    PublishForm,
    RequestForm,
    TopicForm,
    check_route,
    router_flags,
)
from meshmsg._message import Message, Request
from meshmsg._options import SocketOptions, build_options, check_count
from meshmsg._recv import Receiver
from meshmsg._recv_batch import BatchReceiver
from meshmsg._send import FrameSender, Sender

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Push(Sender):
    """Hands each message to one of its Pull peers, in turn, to those that have room."""

    _role: ClassVar[int] = lib.MM_PUSH


class Pull(BatchReceiver):
    """Receives from its Push peers, in turn."""

    _role: ClassVar[int] = lib.MM_PULL


class Pair(Sender, BatchReceiver):
    """Talks to exactly one other Pair."""

    _role: ClassVar[int] = lib.MM_PAIR


class _Publisher(PublishForm, Sender):
    """What Pub and XPub share."""

    @sends_natively
    def send(self, data: Data, *, topic: str | bytes = "", timeout: float | None = None) -> None:
        """Publish one message to every peer that subscribed to a prefix of its topic.

        By default a peer whose queue is full misses it (counted, and told in `events`).

        Thread-safe: yes.

        Args:
            data: The body. It is copied.
            topic: Sent as a frame of its own; without one, the body itself is matched.
            timeout: Seconds to wait (overflow="block"); None waits for ever, 0 never waits.

        Raises:
            TimedOutError: A subscriber had no room in time (overflow="block"); nobody got it.
            WouldBlockError: The same, now (overflow="error" or timeout=0).
            TooLargeError: Over message_size_max.
            ClosedError: The socket was closed.
        """
        if topic:
            self._send_frames_to(0, [encode_topic(topic), data], timeout)
        else:
            self._send_body(data, timeout)

    def wait_for_subscribers(
        self, topic: str | bytes = "", count: int = 1, *, timeout: float | None = None
    ) -> None:
        """Wait until a message of this topic would reach so many peers.

        Thread-safe: yes.

        Args:
            topic: The topic a message will have.
            count: How many peers.
            timeout: Seconds to wait; None waits for ever, 0 only looks.

        Raises:
            TimedOutError: There were not so many in time.
            WouldBlockError: There are not so many now (timeout=0).
            ClosedError: The socket was closed.
        """
        raw = encode_topic(topic)
        check_count("count", count)
        self._blocking(
            lambda ms, slice_ms: lib.mm_wait_subscribers(
                self._handle, raw, len(raw), count, ms, slice_ms
            ),
            timeout,
            f"not {count} subscribers to {topic!r}",
        )


class Pub(_Publisher):
    """Publishes to its Sub peers, each according to what it subscribed to."""

    _role: ClassVar[int] = lib.MM_PUB


class XPub(_Publisher, Receiver[Message]):
    """A Pub that also receives its peers' subscriptions, as b"\\x01topic" and b"\\x00topic".

    Args:
        verbose: Give every subscription, not only the first and the last of a topic.
    """

    _role: ClassVar[int] = lib.MM_XPUB

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        engine: Engine | None = None,
        verbose: bool = False,
        **options: Unpack[SocketOptions],
    ) -> None:
        flags = lib.MM_OPT_XPUB_VERBOSE if verbose else 0
        self._open(build_options(self._role, options, flags=flags), engine, bind, connect)


class Sub(TopicForm, BatchReceiver):
    """Receives what its Pub peers publish under the topics it subscribed to.

    Args:
        topics: Prefixes to subscribe to at once; "" is everything.
    """

    _role: ClassVar[int] = lib.MM_SUB

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        topics: str | bytes | Iterable[str | bytes] = (),
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        wanted = encode_topics(topics)
        self._open(build_options(self._role, options), engine, None, None)
        try:
            for topic in wanted:
                self.subscribe(topic)
            self._attach(bind, connect)
        except BaseException:
            self.close()
            raise


class XSub(TopicForm, Sender, BatchReceiver):
    """A Sub that sends its subscriptions as messages b"\\x01topic" and b"\\x00topic"; for
    forwarders."""

    _role: ClassVar[int] = lib.MM_XSUB


class Dealer(Sender, BatchReceiver):
    """Sends to its peers in turn, receives from them in turn; for Router, Rep and Dealer peers.

    Args:
        identity: The name Router peers know it by; b"" lets them choose.
    """

    _role: ClassVar[int] = lib.MM_DEALER

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        self._open(build_options(self._role, options, identity=identity), engine, bind, connect)


class Router(IdentityForm, FrameSender, Receiver[Message]):
    """Knows its peers by identity: each message says from whom it came, or to whom it goes.

    Args:
        identity: The name other Routers know it by.
        handover: A newcomer with the identity of a connected peer takes its place, instead of being
            refused.
        on_unroutable: What a message to an unknown peer does: "error" raises PeerError, "drop"
        counts it.
    """

    _role: ClassVar[int] = lib.MM_ROUTER

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
        opts = build_options(self._role, options, identity=identity, flags=flags)
        self._open(opts, engine, bind, connect)

    def send(self, data: Data, *, to: bytes, timeout: float | None = None) -> None:
        """Send one message to the peer of that identity.

        Thread-safe: yes.

        Args:
            data: The body. It is copied.
            to: The peer's identity, as in `message.peer`.
            timeout: Seconds to wait when its queue is full (overflow="block").

        Raises:
            PeerError: No connected peer has that identity.
            WouldBlockError: Its queue is full.
            TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        self.send_frames([to, data], timeout=timeout)

    def send_frames(self, frames: Sequence[Data], *, timeout: float | None = None) -> None:
        """Send one message of several frames; the first is the identity of the peer it goes to.

        Thread-safe: yes.

        Args:
            frames: The identity, then at least one frame.
            timeout: Seconds to wait when its queue is full (overflow="block").

        Raises:
            PeerError: No connected peer has that identity.
            UsageError: There is no frame behind the identity.
            WouldBlockError, TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        check_route(frames)
        try:
            self._send_frames_to(0, frames, timeout)
        except MeshError as error:
            raise self._unknown(error, bytes(frames[0])) from None

    def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
        """Receive one message as its frames; the first is the identity of who sent it.

        Thread-safe: yes.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            The identity, then all frames.

        Raises:
            TimedOutError, WouldBlockError, ClosedError: As `recv`.
        """
        message = self.recv(timeout=timeout)
        assert isinstance(message.peer, bytes)
        return [message.peer, *message.frames]


class Rep(RequestForm, Draining, Receiver[Request]):
    """Answers requests: what it receives is a Request, whose `reply` answers it.

    Any number of requests may be open at once, and answered in any order, from any thread.
    """


class Respondent(RequestForm, Draining, Receiver[Request]):
    """Answers surveys: what it receives is a Request, whose `reply` answers it, once.

    It need not answer. `reply` returns False once whoever asked is gone; an answer after the
    survey's deadline is sent, and counted as late over there.
    """

    _role: ClassVar[int] = lib.MM_RESPONDENT


class Bus(Sender, Receiver[Message]):
    """Sends each message to all Bus peers it is connected to, and receives from all of them.

    Messages go to direct peers and no further, and never come back to who sent them. By default a
    peer whose queue is full misses a message (counted, and told in `events`); with nobody connected
    it is counted and dropped.
    """

    _role: ClassVar[int] = lib.MM_BUS
