"""The sockets for asyncio: the same names, options and meanings as in meshmsg, awaitable.

Law: what a role cannot do is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from meshmsg._core import lib, sends_natively, to_ms
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
from meshmsg.aio._batch import AsyncBatchReceiver
from meshmsg.aio._io import AsyncFrameSender, AsyncReceiver, AsyncSender
from meshmsg.aio._loop import PEERS
from meshmsg.aio._waiting import FAST_CALLS_MAX, AsyncDraining

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Push(AsyncSender):
    """Hands each message to one of its Pull peers, in turn, to those that have room."""

    _role: ClassVar[int] = lib.MM_PUSH


class Pull(AsyncBatchReceiver):
    """Receives from its Push peers, in turn."""

    _role: ClassVar[int] = lib.MM_PULL


class Pair(AsyncSender, AsyncBatchReceiver):
    """Talks to exactly one other Pair."""

    _role: ClassVar[int] = lib.MM_PAIR


class _Publisher(PublishForm, AsyncSender):
    """What Pub and XPub share."""

    @sends_natively
    async def send(
        self, data: Data, *, topic: str | bytes = "", timeout: float | None = None
    ) -> None:
        """Publish one message to every peer that subscribed to a prefix of its topic.

        Cancel-safe: a cancelled call has either sent all of it or nothing. Thread-safe: yes, but a
        loop waits on its own thread.

        Args:
            data: The body. It is copied.
            topic: Sent as a frame of its own; without one, the body itself is matched.
            timeout: Seconds to wait (overflow="block"); None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As `meshmsg.Pub.send`.
        """
        await self._publish_on(data, timeout, topic)

    async def _publish_on(self, data: Data, timeout: float | None, topic: str | bytes) -> None:
        """Publish what is not published natively, as `_send_on`."""
        if topic:
            to_ms(timeout)  # refuses what is no time
            self._fast = FAST_CALLS_MAX  # others have their turn once the frames are copied
            await self._send_frames_to(0, [encode_topic(topic), data], timeout)
        else:
            await self._send_on(data, timeout)

    async def wait_for_subscribers(
        self, topic: str | bytes = "", count: int = 1, *, timeout: float | None = None
    ) -> None:
        """Wait until a message of this topic would reach so many peers.

        Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

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
        await self._until(
            lambda: int(lib.mm_wait_subscribers(self._handle, raw, len(raw), count, 0, 0)),
            PEERS,
            timeout,
            f"not {count} subscribers to {topic!r}",
        )


class Pub(_Publisher):
    """Publishes to its Sub peers, each according to what it subscribed to."""

    _role: ClassVar[int] = lib.MM_PUB


class XPub(_Publisher, AsyncReceiver[Message]):
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


class Sub(TopicForm, AsyncBatchReceiver):
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


class XSub(TopicForm, AsyncSender, AsyncBatchReceiver):
    """A Sub that sends its subscriptions as messages b"\\x01topic" and b"\\x00topic"; for
    forwarders."""

    _role: ClassVar[int] = lib.MM_XSUB


class Dealer(AsyncSender, AsyncBatchReceiver):
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


class Router(IdentityForm, AsyncFrameSender, AsyncReceiver[Message]):
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

    async def send(self, data: Data, *, to: bytes, timeout: float | None = None) -> None:
        """Send one message to the peer of that identity.

        Cancel-safe: sent whole or not at all. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            data: The body. It is copied.
            to: The peer's identity, as in `message.peer`.
            timeout: Seconds to wait when its queue is full (overflow="block").

        Raises:
            PeerError: No connected peer has that identity.
            WouldBlockError, TimedOutError, TooLargeError, ClosedError: As for any send.
        """
        await self.send_frames([to, data], timeout=timeout)

    async def send_frames(self, frames: Sequence[Data], *, timeout: float | None = None) -> None:
        """Send one message of several frames; the first is the identity of the peer it goes to.

        Cancel-safe: sent whole or not at all. Thread-safe: yes, but a loop waits on its own thread.

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
            await self._send_frames_to(0, frames, timeout)
        except MeshError as error:
            raise self._unknown(error, bytes(frames[0])) from None

    async def recv_frames(self, *, timeout: float | None = None) -> list[bytes]:
        """Receive one message as its frames; the first is the identity of who sent it.

        Cancel-safe: a cancelled call has not taken a message. Thread-safe: yes, but a loop waits on
        its own thread.

        Args:
            timeout: Seconds to wait; None waits for ever, 0 never waits.

        Returns:
            The identity, then all frames.

        Raises:
            TimedOutError, WouldBlockError, ClosedError: As `recv`.
        """
        message = await self.recv(timeout=timeout)
        assert isinstance(message.peer, bytes)
        return [message.peer, *message.frames]


class Rep(RequestForm, AsyncDraining, AsyncReceiver[Request]):
    """Answers requests: what it receives is a Request, whose `reply` answers it.

    `reply` never waits, so it is an ordinary function here too.
    """


class Respondent(RequestForm, AsyncDraining, AsyncReceiver[Request]):
    """Answers surveys: what it receives is a Request, whose `reply` answers it, once.

    `reply` never waits, so it is an ordinary function here too.
    """

    _role: ClassVar[int] = lib.MM_RESPONDENT


class Bus(AsyncSender, AsyncReceiver[Message]):
    """Sends each message to all Bus peers it is connected to, and receives from all of them.

    Messages go to direct peers and no further, and never come back to who sent them. By default a
    peer whose queue is full misses a message (counted, and told in `events`).
    """

    _role: ClassVar[int] = lib.MM_BUS
