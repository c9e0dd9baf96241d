"""Topics: the forms of Pub, Sub, XPub and XSub; subscribing, and who is subscribed.

Not here: forms of other roles (forms.py), waiting for subscribers (_sync/publishing.py,
aio/_publishing.py). Law: nothing here waits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Literal

from meshmsg._binding.core import error_for, lib
from meshmsg._binding.data import (
    buffer_of,
    encode_topic,
    encode_topics,
)
from meshmsg._binding.errors import UsageError
from meshmsg._binding.message import NUMBERED, TOPICAL, Message
from meshmsg._delivery.dead_letters import (
    DeadLetters,
    check_attempts,
    dead_letter_flags,
    undertaker,
)
from meshmsg._delivery.grouped import check_member, join_group, places_of
from meshmsg._delivery.leases import Ack, ack_flags, check_prefetch, leased_form
from meshmsg._delivery.pushing import check_ack_timeout, check_peers_min
from meshmsg._delivery.replaying import ask_replay, replay_of
from meshmsg._delivery.retaining import Retain, retain_flags, retain_numbers
from meshmsg._delivery.spooled import AnySpool, Published, check_spool_of_pub, spool_of
from meshmsg._roles.letters import dead_letters, untaken
from meshmsg._roles.stopping import stop_receiving
from meshmsg._socket.base import SocketBase
from meshmsg._socket.engine import Engine
from meshmsg._socket.inbox import Inbox, fileno
from meshmsg._socket.options import SocketOptions, check_flag, check_peer

if TYPE_CHECKING:
    from typing_extensions import Unpack


from meshmsg._binding.core import ffi
from meshmsg._socket.causes import What, about
from meshmsg._socket.peers import peer_count
from meshmsg._socket.signature import verb

CONFLATE: dict[bool | str, int] = {
    False: 0,
    True: lib.MM_OPT_CONFLATE,
    "topic": lib.MM_OPT_CONFLATE_TOPIC,
}


TOPIC_TOLD_MAX = 64
"""Characters, or bytes, of a topic that an error quotes."""


def shown(topic: str | bytes) -> str:
    """Quote a topic; of a long one the beginning, and how long it is.

    A subclass is not asked: it may say other things of itself.
    """
    if isinstance(topic, str):
        size, unit, begins = str.__len__(topic), "characters", str.__str__(topic)[:TOPIC_TOLD_MAX]
        return _quoted(begins, size, unit)
    raw = encode_topic(topic)
    return _quoted(raw[:TOPIC_TOLD_MAX], len(raw), "bytes")


def _quoted(begins: str | bytes, size: int, unit: str) -> str:
    return repr(begins) if size <= TOPIC_TOLD_MAX else f"{begins!r}... ({size} {unit})"


def _check_stays(self: SocketBase, rc: int) -> None:
    member = getattr(self, "_member_of", None)
    if rc == lib.MM_ESTATE and member is not None and not self._stops:
        raise UsageError(
            f"the topics of a member of a group ({member!r}) stay as they are: say them in "
            "topics=, for all members the same"
        )


@verb
def subscribe(self: SocketBase, topic: str | bytes) -> None:
    """Ask for messages whose topic begins with this; "" asks for all.

    Counted: each subscribe needs its own unsubscribe. It is sent again after reconnecting.

    Thread-safe: yes.

    Args:
        topic: A prefix; str is encoded as UTF-8.

    Raises:
        TooLargeError: Over topic_size_max.
        UsageError: The socket stopped receiving (`stop_receiving`): nothing comes any more. Or it
            is a member of a group, whose topics stay.
        ClosedError: The socket was closed.
    """
    raw = encode_topic(topic)
    rc = lib.mm_subscribe(self._handle, *buffer_of(raw))
    _check_stays(self, rc)
    self._check(rc, f"cannot subscribe to {shown(topic)}")


@verb
def unsubscribe(self: SocketBase, topic: str | bytes) -> None:
    """Take back one `subscribe`.

    Thread-safe: yes.

    Args:
        topic: As it was given to `subscribe`.

    Raises:
        UsageError: It is not subscribed to; or the socket is a member of a group.
        ClosedError: The socket was closed.
    """
    raw = encode_topic(topic)
    rc = lib.mm_unsubscribe(self._handle, *buffer_of(raw))
    _check_stays(self, rc)
    if rc == lib.MM_EINVAL:
        raise error_for(rc, f"{shown(topic)} is not subscribed to ({about(self)})")
    self._check(rc, f"cannot unsubscribe from {shown(topic)}")


@verb
def subscribers(self: SocketBase, topic: str | bytes = "") -> int:
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


def waited_topic(topic: object) -> bytes:
    """Return the topic that subscribers are waited for with; of a number the error says more."""
    if isinstance(topic, int):
        raise TypeError(
            f"a topic is str or bytes, not {type(topic).__name__}; how many is said by name: "
            f"wait_for_subscribers(count={topic})"
        )
    return encode_topic(topic)


def subscribers_of(self: SocketBase, topic: str | bytes, count: int) -> What:
    """What a wait for so many subscribers says that ends without them."""

    def told() -> str:
        if peer_count(self._handle) < 0:
            return f"waiting for {count} subscribers to {shown(topic)}"
        return f"{subscribers(self, topic)} of {count} subscribers to {shown(topic)}"

    return told


class PubForm(Inbox[Message]):
    """Publishes to its Sub peers, each according to what it subscribed to.

    Args:
        spool: A `Spool` that messages are put into, and are published from, in the order of their
            numbers there. `send` returns when its message is kept as the `durability` of the spool
            says, whether or not there is a peer, and waits for room in the spool only (its
            `overflow`). A `Sub(replay=...)` gets what was published before, and then what comes.
            `overflow` of this socket is about other subscribers, and waits in no call. Those of a
            `Sub(group=...)` share what is published. A spool has one socket. Close the Pub before
            its spool.
        retain: "last": the last message of each topic is kept, and goes to who subscribes to it,
            before what comes then. One with an empty body clears its topic; one that is over
            (`ttl`) is kept no longer. With `spool` the last ones there are read first, in the
            background. A Sub with `replay=` gets its replay, and none of them besides.
        retain_topics_max: Topics of which one is kept. A message of one topic more is sent and not
            kept: `unretained_messages` counts it, and the event NOT_RETAINED tells. None: 65,536.
        retain_bytes_max: The same in bytes, as `retained_bytes` has them; what is too large leaves
            its topic without one. None: 64 MiB.
        max_attempts: Of its groups: how often a message is handed out before it is a dead letter;
            None: no limit. A member that closes in order does not count.
        members_min: Of each of its groups: nothing is handed out before so many members were in it
            at once, so that what waits keeps the order of each key as they come one by one. It goes
            on from then on, however many go, until `seek_group` or the end of this Pub. A group
            that has fewer waits; `missing_peers` of `stats()` says for how many. None: 1.
        ack_timeout: Of its groups: seconds that a member may have a message without acknowledging
            it, or saying that it works on it (`message.extend()`); then it goes to another one,
            which counts as an attempt. None: as long as its connection lives.
        dead_letter: Of its groups: where messages go that their members will not be given: handed
            out `max_attempts` times, or expired (`ttl=`). As of a Push: a function of a
            `DeadLetter`, a socket of threads, a `Spool`, or "keep" for `dead_letters()`. The group
            goes on behind such a message, which is done once somebody has its letter. None: it is
            dropped, and counted (`groups`).
    """

    _role: ClassVar[int] = lib.MM_PUB
    _does = 'it publishes: send(data, topic="...")'
    _quiet_to = "sub"
    _sends = True
    subscribers = subscribers
    dead_letters = dead_letters
    _untaken = untaken

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        spool: AnySpool | None = None,
        retain: Retain | None = None,
        retain_topics_max: int | None = None,
        retain_bytes_max: int | None = None,
        members_min: int | None = None,
        max_attempts: int | None = None,
        ack_timeout: float | None = None,
        dead_letter: DeadLetters | None = None,
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        """Open the socket; what is taken and raised is said of its class."""
        if spool is not None:
            check_spool_of_pub(spool, options, awaited=hasattr(type(self), "__aenter__"))
        numbers = {
            "max_attempts": check_attempts(max_attempts),
            "ack_timeout_ms": check_ack_timeout(ack_timeout),
            "peers_min": check_peers_min("members_min", members_min),
        }
        if spool is None and (any(numbers.values()) or dead_letter is not None):
            raise UsageError(
                "members_min, max_attempts, ack_timeout and dead_letter are for the groups of a "
                "Pub, which has a spool="
            )
        self._spool_given = spool
        flags = retain_flags(retain)
        numbers |= retain_numbers(flags, retain_topics_max, retain_bytes_max)
        flags |= dead_letter_flags(dead_letter, spool)
        self._keeps_dead = dead_letter == "keep"
        dead = undertaker(type(self).__name__, dead_letter, engine, spool)
        self._open(options, engine, bind, connect, flags=flags, numbers=numbers, on_dead=dead)

    def _opened(self) -> None:
        super()._opened()
        if self._spool_given is not None:
            places = places_of(spool_of(self._spool_given))
            self._spooled = Published(self, self._spool_given, places)

    def _group_lag(self) -> dict[str, int | None]:
        published: Published | None = self._spooled
        return published.lag.now() if published is not None else {}

    def close(self) -> None:
        """Close the socket. Never blocks for its peers.

        Whoever waits in another thread gets ClosedError. What was sent and is not written yet has
        `linger` seconds to go out in the background; to know that it arrived, `drain` first. With a
        `spool`, subscribers that are behind in their replay get what their queues have room for,
        and the rest from the next Pub that has it.

        Thread-safe: yes. Closing twice is harmless.
        """
        super().close()

    def _shut(self) -> None:
        try:
            if self._spooled is not None:
                self._outlet.finish_dead()  # first: who has a letter is told to the spool
                self._spooled.close()
        finally:
            super()._shut()


class XPubForm(Inbox[Message]):
    """A Pub that also receives its peers' subscriptions, as b"\\x01topic" and b"\\x00topic".

    Args:
        verbose: Give each peer's subscriptions, not only the first and the last of a topic. What a
            peer did and undid before it was received is not told.
        manual: As verbose; and what a peer gets is not what it asks for, but what `subscribe` says.
        welcome: Sent to each new subscriber before anything else; b"" sends nothing.
    """

    _role: ClassVar[int] = lib.MM_XPUB
    _does = 'it publishes, and receives subscriptions: send(data, topic="..."), recv'
    _quiet_to = "sub"
    _sends = True
    _receives = True
    fileno = fileno
    subscribers = subscribers

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
            self._check(rc, f"cannot change a subscription to {shown(topic)}")
        return rc


class SubForm(Inbox[Message]):
    """Receives what its Pub peers publish under the topics it subscribed to.

    Args:
        topics: Prefixes to subscribe to at once; "" is everything.
        conflate: Keep only the newest message: True, of all; "topic", of each topic. The others
            count as `dropped_conflated`.
        replay: What is wanted, of publishers with a `spool`, of what they published before:
            "earliest", all that is there; "latest", nothing; "seq:N", from that number on;
            "last:N", the last N of the spool, whatever their topics; "since:5m", of the last 5
            minutes (s, m, h, d). What is published then follows, without a gap; after a reconnect
            it goes on where it was. Messages have a `seq`. Of topics that are subscribed to later
            only what comes then. The event PEER_LIVE says which publisher has no spool,
            `require="replay"` refuses it; REPLAY_LOST says that messages were gone.
        group: The name of a group, up to 58 of A-Z, a-z, 0-9, dot, underscore and hyphen, at
            publishers with a `spool`: each message goes to one member of it, and to another one if
            that is lost before it was done. The publisher keeps the place of the group, also while
            nobody is in it (`Pub.groups`, `Pub.seek_group`). All members have the same `topics`,
            which stay. Messages have a `seq` and an `attempt`. PEER_LIVE says which publisher keeps
            no groups, `require="group"` refuses it.
        prefetch: Of a group: messages that a publisher may send beyond those that are acknowledged;
            None is `recv_queue_messages`.
        ack: Of a group, when a message is done. "auto": when the next one is asked for, by whoever
            asks, so for one thread or task. "manual": when `message.ack()` says so; messages are
            then `LeasedMessage`.
    """

    _role: ClassVar[int] = lib.MM_SUB
    _does = "it receives what it subscribed to: subscribe(topic), recv, or a `for` loop"
    _quiet_to = "pub"
    _receives = True
    fileno = fileno
    stop_receiving = stop_receiving
    _form = TOPICAL
    _member_of: str | None = None
    """The group it is in."""
    subscribe = subscribe
    unsubscribe = unsubscribe

    def __init__(
        self,
        *,
        bind: str | Iterable[str] | None = None,
        connect: str | Iterable[str] | None = None,
        topics: str | bytes | Iterable[str | bytes] = (),
        conflate: bool | Literal["topic"] = False,
        replay: str | None = None,
        group: str | None = None,
        prefetch: int | None = None,
        ack: Ack = "auto",
        engine: Engine | None = None,
        **options: Unpack[SocketOptions],
    ) -> None:
        wanted = encode_topics(topics)
        before = replay_of(replay)
        flags = conflate_flags(conflate) | (lib.MM_OPT_REPLAY if before else 0) | ack_flags(ack)
        member = check_member(
            group,
            topics=len(wanted),
            conflate=conflate,
            replay=replay,
            prefetch=prefetch,
            ack=ack,
        )
        count = check_prefetch(prefetch)
        if before:
            self._form = NUMBERED
        elif member is not None:
            self._form = leased_form(self, "numbered") if ack == "manual" else NUMBERED
        flags |= lib.MM_OPT_GROUP if member is not None else 0
        self._member_of = member
        self._open(options, engine, None, None, flags=flags, numbers={"prefetch": count})
        try:
            if member is not None:
                join_group(self, member)
            if before:
                ask_replay(self, before)
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
    _does = "it subscribes, sends to its publishers and receives: subscribe(topic), send, recv"
    _quiet_to = "pub"
    _sends = True
    _receives = True
    fileno = fileno
    stop_receiving = stop_receiving
    _form = TOPICAL
    subscribe = subscribe
    unsubscribe = unsubscribe


def xpub_flags(verbose: bool, manual: bool) -> int:
    """Return the option bits of an XPub."""
    flags = lib.MM_OPT_XPUB_VERBOSE if check_flag("verbose", verbose) else 0
    return int(flags | (lib.MM_OPT_XPUB_MANUAL if check_flag("manual", manual) else 0))


def conflate_flags(conflate: bool | str) -> int:
    """Return the option bits of a Sub."""
    if not isinstance(conflate, (bool, str)) or conflate not in CONFLATE:
        raise UsageError(f"conflate is {conflate!r}; it is False, True or 'topic'")
    return CONFLATE[conflate]
