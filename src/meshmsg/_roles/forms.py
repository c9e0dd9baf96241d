"""The roles, each once: its number, constructor, docstring, and what its messages look like; the
class for threads (_sync/roles.py) and the one for asyncio (aio/_roles.py) are made of its form.

Here are those that send messages to peers or receive them. Not here: publish/subscribe (topics.py),
questions and answers (questions.py), what waits. Law: one place says which frame is what; what a
role cannot do is absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.data import (
    Data,
    buffer_of,
    encode_url,
    pack_frames,
)
from meshmsg._binding.errors import MeshError, UsageError
from meshmsg._binding.message import ROUTED, Message
from meshmsg._delivery.dead_letters import (
    DeadLetters,
    check_attempts,
    dead_letter_flags,
    undertaker,
)
from meshmsg._delivery.leases import (
    Ack,
    Delivery,
    Routing,
    ack_flags,
    check_prefetch,
    delivery_flags,
    leased_form,
    routing_flags,
)
from meshmsg._delivery.pushing import (
    check_ack_timeout,
    check_acked,
    check_delayed,
    check_peers_min,
    check_priorities,
)
from meshmsg._delivery.spooled import AnySpool, Spooled, check_spool
from meshmsg._hints.plural import counted, plural
from meshmsg._roles.letters import dead_letters, untaken
from meshmsg._roles.stopping import finish, stop_receiving
from meshmsg._socket.causes import about
from meshmsg._socket.endpoints import check_connected, noted
from meshmsg._socket.engine import Engine
from meshmsg._socket.inbox import Inbox, fileno
from meshmsg._socket.options import SocketOptions, check_flag, check_identity
from meshmsg._socket.peers import first_peers
from meshmsg._socket.protection import guard

if TYPE_CHECKING:
    from typing_extensions import Unpack

KNOWN_MAX = 10
"""Identities the error of an unknown one lists."""


class PushForm(Inbox[Message]):
    """Hands each message to one of its Pull peers, in turn, to those that have room.

    Args:
        routing: Which peer a message goes to. "round_robin": the next in turn that has room.
            "least_loaded": the one that has the fewest messages, queued or not acknowledged.
            "hash": all messages of one `key=` to one peer, in order, also when others have room;
            a key moves only as peers come and go. Without a key: in turn.
        peers_min: With `routing="hash"`: nothing is handed out before so many peers were there at
            once, so that what waits keeps the order of each key as they come one by one. It goes on
            from then on, however many go. `missing_peers` of `stats()` says for how many it waits.
            None: 1.
        delivery: "at_most_once" (the default): a message is its peer's once it was written, and
            lost with it.
            "at_least_once": it is kept until its peer acknowledged it, and goes to another one if
            that peer is lost first. For peers of meshmsg; `peers()` and an event say which do not
            acknowledge. With `spool` it is that, and nothing else.
        max_attempts: How often a message is handed out before it is a dead letter; None: no limit.
            A receiver that closes in order does not count.
        ack_timeout: Seconds that a peer may have a message without acknowledging it, or saying that
            it works on it (`message.extend()`); then it goes to another one, which counts as an
            attempt. It is found up to an eighth later. None: as long as its connection lives.
        priorities: Levels of priority, 1 to 10: `send(priority=)` is below that. Of what waits in
            this Push the highest goes first, and of 17 messages one of the levels below, if any
            waits there. Each level has the limits of a queue. What a peer has received, up to its
            prefetch, keeps its order. Needs `delivery="at_least_once"` or a `spool`; not with
            `routing="hash"`.
        delayed_messages: Messages that may wait in this Push to go later (`delay=`, `at=`): as many
            as that, and when as many were given back for later (`nack(delay=)`), or 1,000 if that
            is more, it takes nothing new until one of them is due. None: as `send_queue_messages`.
        delayed_bytes: The same in bytes, with 16 MiB in place of 1,000. None: as
            `send_queue_bytes`.
        dead_letter: Where messages go that will not be delivered: handed out `max_attempts` times,
            or expired (`ttl=`). A function of a `DeadLetter`, called by a thread of the engine's
            (for asyncio by the loop); a socket of threads, which is sent each with headers that
            say why; a `Spool`, which keeps each with those headers; "keep": they wait for
            `dead_letters()`, within the limits of a queue. With a `spool` of its own such a message
            is done once somebody has its letter. None:
            they are dropped, counted and told.
        spool: A `Spool` that messages are put into, and go out from; then `delivery` is
            "at_least_once". `send` returns when its message is kept as the `durability` of the
            spool says, whether or not there is a peer, and waits for room in the spool only (its
            `overflow`). What was not acknowledged goes out again when the process has ended and
            another one opens both. Receivers know such a message by the same `seq`, so a
            `DedupeWindow` holds. Close the Push before its spool,
            which it does not close.
    """

    _role: ClassVar[int] = lib.MM_PUSH
    _does = "it sends: send, send_many, send_frames"
    _sends = True
    finish = finish
    dead_letters = dead_letters
    _untaken = untaken

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        routing: Routing = "round_robin",
        peers_min: int | None = None,
        delivery: Delivery | None = None,
        max_attempts: int | None = None,
        ack_timeout: float | None = None,
        priorities: int = 1,
        delayed_messages: int | None = None,
        delayed_bytes: int | None = None,
        dead_letter: DeadLetters | None = None,
        spool: AnySpool | None = None,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        """Open the socket; what is taken and raised is said of its class."""
        if spool is not None:
            check_spool(spool, options, awaited=hasattr(type(self), "__aenter__"))
        self._spool_given = spool
        flags = delivery_flags(delivery, spooled=spool is not None)
        check_acked(flags, max_attempts=max_attempts, ack_timeout=ack_timeout, levels=priorities)
        if check_priorities(priorities) > 1 and routing == "hash":
            raise UsageError('priorities are not for routing="hash": a key keeps its order')
        least = check_peers_min("peers_min", peers_min)
        if least and routing != "hash":
            raise UsageError('peers_min is for routing="hash": elsewhere no key has an order')
        self._keeps_dead = dead_letter == "keep"
        self._open(
            options,
            engine,
            bind,
            connect,
            flags=flags | dead_letter_flags(dead_letter, spool) | routing_flags(routing),
            numbers={
                "max_attempts": check_attempts(max_attempts),
                "ack_timeout_ms": check_ack_timeout(ack_timeout),
                "priorities": priorities,
                "peers_min": least,
                **check_delayed(delayed_messages, delayed_bytes),
            },
            on_dead=undertaker(type(self).__name__, dead_letter, engine, spool),
        )

    def _opened(self) -> None:
        super()._opened()
        if self._spool_given is not None:
            self._spooled = Spooled(self, self._spool_given)

    def close(self) -> None:
        """Close the socket. Never blocks for its peers.

        Whoever waits in another thread gets ClosedError. What was sent and is not written yet has
        `linger` seconds to go out in the background; to know that it arrived, `drain` first. With a
        `spool` nothing is lost by it: what is not acknowledged goes out the next time.

        Thread-safe: yes. Closing twice is harmless.
        """
        super().close()

    def _shut(self) -> None:
        try:
            super()._shut()  # first, so that who waits is told which of both was closed
        finally:
            if self._spooled is not None:
                self._spooled.close()

    def _unsettled(self) -> str:
        if self._spooled is not None or not self._opts.flags & lib.MM_OPT_AT_LEAST_ONCE:
            return ""
        out = ffi.new("mm_stats *")
        if lib.mm_socket_stats(self._handle, out) < 0 or not out.unacked_messages:
            return ""
        count = int(out.unacked_messages)
        return (
            f"{type(self).__name__} closed: {counted(count, 'message')} "
            f"{plural(count, 'is', 'are')} with receivers and not acknowledged; whether they are "
            "done nobody will know (drain)"
        )


class PullForm(Inbox[Message]):
    """Receives from its Push peers, in turn.

    Args:
        identity: The name a Push with `routing="hash"` knows it by. With it a key comes back to
            this Pull after it was away, and several Pushes choose the same one. Of two with one
            name the one that came later has no keys while the other is there.
        prefetch: Messages that a Push with `delivery="at_least_once"` may send beyond those that
            are acknowledged; None is `recv_queue_messages`. With 1, a message that waits for a
            busy receiver waits at its sender, for whoever is free. Of other senders (pyzmq, NNG)
            it bounds nothing.
        ack: When such a message is done. "auto": when the next one is asked for, by whoever asks,
            so for one thread or task. "manual": when `message.ack()` says so; messages are then
            `LeasedMessage`. Other senders wait for neither: what was received of them is done.
    """

    _role: ClassVar[int] = lib.MM_PULL
    _does = "it receives: recv, recv_many, recv_frames, or a `for` loop"
    _quiet_to = "push"
    _receives = True
    fileno = fileno
    stop_receiving = stop_receiving

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        identity: bytes = b"",
        prefetch: int | None = None,
        ack: Ack = "auto",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        """Open the socket; what is taken and raised is said of its class."""
        flags = ack_flags(ack)
        self._by_hand: bool = ack == "manual"
        if flags:
            self._form = leased_form(self)
        count = check_prefetch(prefetch)
        self._open(
            options,
            engine,
            bind,
            connect,
            identity=identity,
            flags=flags,
            numbers={"prefetch": count},
        )


class PairForm(Inbox[Message]):
    """Talks to exactly one other Pair."""

    _role: ClassVar[int] = lib.MM_PAIR
    _does = "it sends and receives: send, recv"
    _sends = True
    _receives = True
    fileno = fileno


class DealerForm(Inbox[Message]):
    """Sends to its peers in turn, receives from them in turn; for Router, Rep and Dealer peers.

    Args:
        identity: The name Router peers know it by; b"" lets them choose.
    """

    _role: ClassVar[int] = lib.MM_DEALER
    _does = "it sends and receives: send, recv"
    _sends = True
    _receives = True
    fileno = fileno

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
            refused; of another user (`security=`) it is refused all the same. Two live ones of one
            name take over from each other for ever: give each its own.
        on_unroutable: What a message to an unknown peer does: "error" raises PeerError, "drop"
            counts it.
    """

    _role: ClassVar[int] = lib.MM_ROUTER
    _does = "it sends to a peer by its identity, and receives: send(data, to=...), recv"
    _quiet_to = "dealer"
    _receives = True
    _form = ROUTED
    fileno = fileno

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
        guard(self, url, binds=False)
        where, name = encode_url(url), buffer_of(named)
        rc = noted(self, url, lambda: lib.mm_connect_as(self._handle, where, *name))
        if rc == lib.MM_ESTATE:
            raise UsageError(
                f"connecting to {url}: another endpoint this Router connects to has the identity "
                f"{named!r}",
                code=rc,
                address=url,
            )
        check_connected(self, url, rc)

    def _unknown(self, error: MeshError, to: bytes) -> MeshError:
        if error.code != lib.MM_EHOSTUNREACH:
            return error
        known = [peer.identity for peer in first_peers(self._handle, KNOWN_MAX)[1]]
        return error_for(
            error.code,
            f"no peer has the identity {to!r} ({about(self)}; known: {known!r})",
            peer=to,
        )


class BusForm(Inbox[Message]):
    """Sends each message to all Bus peers it is connected to, and receives from all of them.

    Messages go to direct peers and no further, and never come back to who sent them. By default a
    peer whose queue is full misses a message (counted, and told in `events`); with nobody connected
    it is counted and dropped.
    """

    _role: ClassVar[int] = lib.MM_BUS
    _does = "it sends and receives: send, recv"
    _sends = True
    _receives = True
    fileno = fileno


ROUTED_LEAST = 2
"""Frames of what a Router sends: an identity, and what goes there."""


def pack_route(frames: Iterable[Data]) -> tuple[bytes, Any, int]:
    """Return frames as C wants them; refuses what a Router cannot send."""
    if not isinstance(frames, (bytes, str, bytearray, memoryview)):  # pack_frames refuses those
        frames = list(frames)
        if len(frames) < ROUTED_LEAST:
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
