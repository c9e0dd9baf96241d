"""The sockets for asyncio: the same names, options and meanings as in meshmsg, awaitable.

Law: what a role cannot do is absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from meshmsg._binding.core import ffi, lib, sends_natively, to_ms
from meshmsg._binding.data import (
    Data,
    buffer_of,
    encode_topic,
    encode_topics,
    is_topic,
    pack_frames,
)
from meshmsg._binding.errors import MeshError
from meshmsg._binding.message import Message, Request
from meshmsg._socket.engine import Engine
from meshmsg._socket.forms import (
    IdentityForm,
    ManualForm,
    PublishForm,
    RequestForm,
    TopicForm,
    conflate_flags,
    first_of,
    pack_route,
    router_flags,
    xpub_flags,
)
from meshmsg._socket.options import SocketOptions, check_count
from meshmsg._socket.stopping import Stopping
from meshmsg._socket.subscribed import Subscribed, not_subscribed
from meshmsg.aio._io import AsyncFrameSender, AsyncReceiver, AsyncSender
from meshmsg.aio._loop import PEERS
from meshmsg.aio._recv_batch import AsyncBatchReceiver
from meshmsg.aio._waiting import FAST_CALLS_MAX, AsyncDraining

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Push(AsyncSender):
    """Hands each message to one of its Pull peers, in turn, to those that have room."""

    _role: ClassVar[int] = lib.MM_PUSH


class Pull(Stopping, AsyncBatchReceiver):
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
        if is_topic(topic):
            to_ms(timeout)  # refuses what is no time
            self._fast = FAST_CALLS_MAX  # others have their turn once the frames are copied
            await self._send_packed(pack_frames([data], topic), timeout)
        else:
            await self._send_on(data, timeout)

    async def send_frames(
        self,
        frames: Sequence[Data],
        *,
        topic: str | bytes = "",
        timeout: float | None = None,
    ) -> None:
        """Publish one message of several frames; see `meshmsg.Pub.send_frames`.

        Cancel-safe: a cancelled call has sent nothing. Thread-safe: yes, but a loop waits on its
        own thread.

        Args:
            frames: The frames, at least one.
            topic: Sent as a frame in front of them; without one, the first frame is matched.
            timeout: Seconds to wait (overflow="block"); None waits for ever, 0 never waits.

        Raises:
            TimedOutError, WouldBlockError, TooLargeError, ClosedError: As the sync one.
            UsageError: There is no frame.
        """
        await self._send_packed(pack_frames(frames, topic), timeout)

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
            lambda: int(lib.mm_wait_subscribers(self._handle, *buffer_of(raw), count, 0, 0)),
            PEERS,
            timeout,
            self._subscribers_of(topic, count),
        )


class Pub(_Publisher):
    """Publishes to its Sub peers, each according to what it subscribed to."""

    _role: ClassVar[int] = lib.MM_PUB


class XPub(ManualForm, _Publisher, AsyncReceiver[Message]):
    """A Pub that also receives its peers' subscriptions, as b"\\x01topic" and b"\\x00topic".

    Args:
        verbose: Give each peer's subscriptions, not only the first and the last of a topic. What a
            peer did and undid before it was received is not told.
        manual: As verbose; and what a peer gets is not what it asks for, but what `subscribe` says.
        welcome: Sent to each new subscriber before anything else; b"" sends nothing.
    """

    _role: ClassVar[int] = lib.MM_XPUB

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


class _Subscriber(TopicForm, AsyncBatchReceiver):
    """What Sub and XSub share."""

    async def wait_for_subscribed(
        self, count: int = 1, *, timeout: float | None = None
    ) -> Subscribed:
        """Wait until the publishers know of every subscription made so far.

        What meshmsg publishers send under these topics from then on comes here. They prove that
        they have the topics by answering a PING that was sent behind them. Publishers of SP send
        everything anyway. Others do not prove it: libzmq answers before the socket of its program
        has the topics, so the first messages it publishes then may be missed; one of ZMTP 3.0
        cannot answer, and is waited for until the topics were written to its connection. What is
        returned tells them apart. If a forwarder lies between, it is the forwarder that has the
        topics. While this socket's receive queue is full, no answer is read.

        Cancel-safe: yes. Thread-safe: yes, but a loop waits on its own thread.

        Args:
            count: How many peers there must be at least; all that are connected must have answered.
            timeout: Seconds to wait; None waits for ever, 0 only asks and looks.

        Returns:
            How many peers are certain to have the topics, as an int whose `certain`, `probable`
            and `written` list the peers.

        Raises:
            TimedOutError: Not all of them said so in time, or there were not so many.
            WouldBlockError: It is not known now (timeout=0).
            ClosedError: The socket was closed.
        """
        check_count("count", count)
        info = ffi.new("mm_subscribed_info *")
        await self._until(
            lambda: int(lib.mm_wait_subscribed(self._handle, count, 0, 0, info)),
            PEERS,
            timeout,
            not_subscribed(count, info),
        )
        return Subscribed(int(info.confirmed), self.peers())


class Sub(Stopping, _Subscriber):
    """Receives what its Pub peers publish under the topics it subscribed to.

    Args:
        topics: Prefixes to subscribe to at once; "" is everything.
        conflate: Keep only the newest message: True, of all; "topic", of each topic. The others
            count as `dropped_conflated`.
    """

    _role: ClassVar[int] = lib.MM_SUB

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


class XSub(Stopping, AsyncSender, _Subscriber):
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
        self._open(options, engine, bind, connect, identity=identity)


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
        self._open(options, engine, bind, connect, identity=identity, flags=flags)

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
        packed = pack_route(frames)
        try:
            await self._send_packed(packed, timeout)
        except MeshError as error:
            raise self._unknown(error, first_of(packed)) from None

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


class Rep(RequestForm, Stopping, AsyncDraining, AsyncReceiver[Request]):
    """Answers requests: what it receives is a Request, whose `reply` answers it.

    `reply` never waits, so it is an ordinary function here too.
    """


class Respondent(RequestForm, Stopping, AsyncDraining, AsyncReceiver[Request]):
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
