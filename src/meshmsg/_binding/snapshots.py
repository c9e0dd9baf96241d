"""What a socket tells about itself: frozen snapshots of its counters, peers and events.

Law: every field has the meaning its C namesake has in meshmsg.h; Reason and EventKind are checked
against the C enums by a test.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from meshmsg._binding.core import ffi
from meshmsg._binding.record import Record


def plain(snapshot: Any) -> dict[str, Any]:
    """Return the fields of a snapshot, in their order."""
    return {name: getattr(snapshot, name) for name in snapshot.__dataclass_fields__}


def _explain(kind: type[IntEnum]) -> None:
    """Give each member of an enum its line of the class's docstring."""
    lines = re.findall(r"^        (\w+): (.*(?:\n {12}.*)*)", kind.__doc__ or "", re.MULTILINE)
    for name, words in lines:
        kind[name].__doc__ = " ".join(words.split())


class EventKind(IntEnum):
    """What happened.

    Attributes:
        LISTENING: An endpoint was bound.
        PEER_UP: A peer is connected, and its handshake is done; `detail` is its role on the wire.
        PEER_DOWN: A peer is gone; `reason` and `detail` say why.
        CONNECT_FAILED: An attempt to connect reached nobody; it is made again (`retry_in`).
        HANDSHAKE_FAILED: A connection ended before it was a peer's: refused by either side, or no
            peer.
        DROPPED: Messages were dropped for one cause, `count` of them since the last event of it;
            `detail` is the cause, and the options that matter to it.
        LATE_REPLY: A reply or answer came that nobody waits for any more; it was dropped.
        ACCEPT_PAUSED: No descriptor or memory for another connection: nobody is let in for 0.1 s.
        ACCEPT_RESUMED: There is room again, and whoever waits is let in.
        PEER_STALLED: A peer's system answers, but the peer itself reads and says nothing.
        PEER_RESUMED: A peer that was stalled reads again, or said something.
        PEER_SILENT: An attempt to connect, or its handshake, has got no further for 1 s; it goes
            on.
        PEER_UNREAD: `stop_receiving` waits no longer for a peer that has not said that it is done:
            it cannot, or not by the deadline; what is on its way from it may be lost.
        CERT_EXPIRES: A certificate of ours ends within 14 days, has ended or is not valid yet;
            `detail` has its file and the date.
        PEER_UNACKED: A Push with `delivery="at_least_once"` has a peer that cannot acknowledge:
            what it is sent is lost with it, and that may be most of all, as no prefetch limits it.
            `require="acks"` refuses it.
        PEER_PLAIN: A message with key, headers or times went to a peer without them, as it takes
            none; told once a connection.
        DEAD_LETTER: A message will not be delivered, and goes where `dead_letter` of Push, or of
            Pub, says; told when none waited before. `detail` says why, its number, and of a Pub the
            group.
        ACK_TIMEOUT: A peer had messages for longer than `ack_timeout` of Push, or of Pub, without
            acknowledging them; `count` of them go to others.
        SPOOL_STOPPED: A Push with a `spool` reads on no further: the next messages there are
            harmed, or the disk failed; `detail` says which. What was put stays there. Of a Pub:
            those that are live get nothing more, or a group does.
        PEER_LIVE: A Sub with `replay=` has a publisher without a spool: only what that sends from
            now on comes. `require="replay"` refuses it. Or a Sub with `group=` has one that keeps
            no groups (`require="group"`).
        REPLAY_LOST: `count` numbers that a Sub with `replay=` asked for are not in the publisher's
            spool any more, whatever their topics were, or are more than the Sub takes
            (`message_size_max`, `frames_max`); `detail` says why. It goes on with the first that is
            there.
            A `count` of 0: its "seq:N" is behind the end of that spool, which may have been made
            anew; `detail` has the number of the next message, and all from there on come. Also 0: a
            copy of a spool is published as well, or in its place, so that what it has may be
            missing.
        NOT_RETAINED: `count` messages of a Pub with `retain="last"` were sent and are not retained,
            since the last event of this; `detail` says why, and the option that matters.
        SPOOL_REMOVED: The spool of a Push removed `count` messages that were not acknowledged and
            that the Push has in memory, since the last event of this. They are still sent while it
            is there, and lost if its process ends. This counts none as dropped; what is lost later
            is (DROPPED).
        UNSENDABLE: `count` messages of a Push wait, since the last event of this, that none of its
            peers can take. They have several frames, and all peers speak SP; or they are more than
            any peer says it takes (`PeerInfo.takes_bytes`, `takes_frames`). `detail` says so, of
            sizes that of the last one.
        SPOOL_FULL: Calls wait for room in the spool of a Push or Pub (`overflow="block"`); told
            once a minute. `detail` says how many, and which limit it is. The log has more, as of
            any spool.
    """

    LISTENING = 1
    PEER_UP = 2
    PEER_DOWN = 3
    CONNECT_FAILED = 4
    HANDSHAKE_FAILED = 5
    DROPPED = 6
    LATE_REPLY = 7
    ACCEPT_PAUSED = 8
    ACCEPT_RESUMED = 9
    PEER_STALLED = 10
    PEER_RESUMED = 11
    PEER_SILENT = 12
    PEER_UNREAD = 13
    CERT_EXPIRES = 14
    PEER_UNACKED = 15
    PEER_PLAIN = 16
    DEAD_LETTER = 17
    ACK_TIMEOUT = 18
    SPOOL_STOPPED = 19
    PEER_LIVE = 20
    REPLAY_LOST = 21
    NOT_RETAINED = 22
    SPOOL_REMOVED = 23
    UNSENDABLE = 24
    SPOOL_FULL = 25


class Reason(IntEnum):
    """Why a connection ended or was never made.

    Attributes:
        NONE: No reason, as of events that are no end.
        LOCAL: Closed here, on purpose.
        EOF: The peer closed between two messages: the usual end. `detail` counts what it leaves.
        EOF_MID_MESSAGE: The peer closed inside a message. `detail` counts what it leaves.
        RESET: The connection was reset, or another error of the system ended it. `detail` says
            what of ours it cut, and, of a peer that is not of meshmsg, what may be why. Then it
            counts what is left.
        REFUSED: Nobody listens there; over ipc also: there is no such file, or no socket in it.
        UNREACHABLE: No route, no such name.
        HANDSHAKE_TIMEOUT: The handshake was not done within `handshake_timeout`.
        HEARTBEAT: Silent for longer than `heartbeat_timeout`, or than the ttl that its own PING
            promised; `detail` says which.
        EVICTED: The oldest of more than `half_open_max` unfinished handshakes; while an address
            has more than 64 of them, its oldest. Where `connections_max` are there: the oldest one
            that is unfinished for a second. Up to 64 connections are accepted at once, so less than
            that evicts honest peers that come together; they come again.
        CONNECTIONS: One connection more than `connections_max`.
        NOT_ZMTP: Its first octets are no greeting of ZMTP; `detail` quotes them.
        OLD_ZMTP: It speaks ZMTP 1.0 or 2.0.
        MECHANISM: It wants another mechanism than this socket has (NULL without `security=`); of
            libzmq, which ends such a connection without a word, it is HANDSHAKE_EOF.
        HANDSHAKE: A frame or command that does not belong into the handshake.
        METADATA: Properties in its READY that are malformed, twice or too large.
        SOCKET_TYPE: Its role is missing, unknown or no partner of ours.
        IDENTITY: Its identity is malformed or taken, or was taken over.
        ERROR_COMMAND: It refused us; `detail` has its words.
        ROLE_REFUSED: This socket takes no more peers (Pair).
        FRAME_FLAGS: Flags of a frame that nobody defined.
        COMMAND: A malformed command, or a message behind STOPPED.
        COMMAND_SIZE: A command over its limit.
        MESSAGE_SIZE: A message over `message_size_max`; `detail` has both sizes.
        FRAME_COUNT: A message of more than `frames_max` frames.
        TOPIC_SIZE: A topic over `topic_size_max`.
        SUBSCRIPTIONS: More topics than `subscriptions_max`, or more than 16 MiB of them.
        MEMORY: No memory here.
        NOT_SP: Its first octets are no hello of SP; `detail` quotes them.
        SP_HEADER: A message of SP that ends inside its header.
        HANDSHAKE_EOF: The peer closed before the handshake was done; `detail` says how far it came.
        USER: Over ipc: the other side is another user, who may not be there (`mm.Local`).
        CRYPTO: Octets that the peer did not protect, or that were changed on the way.
        SEQUENCE: A protected message that was repeated, or one before it that was left out.
        NOT_ALLOWED: It is known who it is, and it may not come in; `detail` says why, and whether
            it may try again.
        ALLOW_TIMEOUT: Nobody said in time whether it may come in; it may try again.
        REVOKED: It was let in, and would not be by the `allow=`, certificates or secrets of now.
        CERTIFICATE: Its certificate is not taken, or it has none; `detail` says which check failed.
        TLS_ALERT: It ended TLS, and said why: `detail` has its words, and what is usually behind
            them.
        TLS_EXPECTED: This endpoint speaks TLS, and the peer does not; `detail` shows what it said.
        PLAINTEXT: The peer speaks TLS, and this endpoint does not.
        FEATURE: It cannot do what `require=` of this socket asks of its peers; `detail` says what,
            and what to do.
        SPOOL: What the subscriber asked for is harmed in the publisher's spool, which does not
            pass over it (`on_corruption`); `detail` says which messages.
        GROUP: It may not be a member of its group at this publisher: the members there have other
            topics, its topics changed, or there are too many groups (64); `detail` says which.
    """

    NONE = 0
    LOCAL = 1
    EOF = 2
    EOF_MID_MESSAGE = 3
    RESET = 4
    REFUSED = 5
    UNREACHABLE = 6
    HANDSHAKE_TIMEOUT = 7
    HEARTBEAT = 8
    EVICTED = 9
    CONNECTIONS = 10
    NOT_ZMTP = 11
    OLD_ZMTP = 12
    MECHANISM = 13
    HANDSHAKE = 14
    METADATA = 15
    SOCKET_TYPE = 16
    IDENTITY = 17
    ERROR_COMMAND = 18
    ROLE_REFUSED = 19
    FRAME_FLAGS = 20
    COMMAND = 21
    COMMAND_SIZE = 22
    MESSAGE_SIZE = 23
    FRAME_COUNT = 24
    TOPIC_SIZE = 25
    SUBSCRIPTIONS = 26
    MEMORY = 27
    NOT_SP = 28
    SP_HEADER = 29
    HANDSHAKE_EOF = 30
    USER = 31
    CRYPTO = 32
    SEQUENCE = 33
    NOT_ALLOWED = 34
    ALLOW_TIMEOUT = 35
    REVOKED = 36
    CERTIFICATE = 37
    TLS_ALERT = 38
    TLS_EXPECTED = 39
    PLAINTEXT = 40
    FEATURE = 41
    SPOOL = 42
    GROUP = 43


_explain(EventKind)
_explain(Reason)


@dataclass(frozen=True, eq=False, repr=False)
class Event(Record):
    """Something that happened to a socket's connections.

    Attributes:
        seq: Its number at this socket, from 1; a gap means events were lost before they were read.
        time: Wall clock, seconds since the epoch.
        kind: What happened.
        reason: Why, for ends and failures.
        peer: The peer's id, 0 when there is none.
        count: How many of it: messages, of DROPPED and ACK_TIMEOUT; of HANDSHAKE_FAILED how often a
            peer was refused since the last event of that (FEATURE, ROLE_REFUSED).
        endpoint: Ours, as bound or connected.
        address: The peer's address, "" when there is none or it is not known yet.
        detail: In words.
        retry_in: Seconds until the next attempt to connect, None when there is none or it is not
            known yet.
        user_id: Whose connection it is, as in `PeerInfo.user_id`; "" where nobody was asked, and of
            what is no connection's.
    """

    seq: int
    time: float
    kind: EventKind
    reason: Reason
    peer: int
    count: int
    endpoint: str
    address: str
    detail: str
    retry_in: float | None
    user_id: str = ""

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return it as what JSON has.

        Thread-safe: yes.

        Returns:
            All fields by name; `kind` and `reason` by their names.
        """
        return {**plain(self), "kind": self.kind.name, "reason": self.reason.name}


@dataclass(frozen=True, eq=False, repr=False)
class Stats(Record):
    """The counters of a socket since it was opened, and how things stand now.

    Nothing is unaccounted for: at any time, sent + parsed = written + received + queued_out +
    queued_in + delayed + dropped + filtered, in messages. Pub, XPub, Surveyor and Bus count a
    message as sent once, and each copy of it as written, queued or dropped; unwanted are those that
    had no copy, as nobody had subscribed to them. News of a subscription that an XPub receives
    counts as parsed in that moment. Filtered is what a Sub was sent by publishers of SP, who send
    everything, and did not subscribe to.

    Attributes:
        sent_messages: Accepted from the application.
        sent_bytes: Bytes of those.
        received_messages: Handed to the application.
        received_bytes: Bytes of those.
        written_messages: Written to connections, to the last octet.
        parsed_messages: Read from connections, to the last octet.
        confirmed_messages: Written, and a peer has confirmed to have read them, or its answers did.
        in_doubt_messages: Written to a connection that ended before they were confirmed: lost, or
            read shortly before. Taken back when a receipt still comes.
        dropped_overflow: Dropped as a queue was full.
        dropped_no_peer: Dropped for want of a peer.
        dropped_peer_gone: Dropped with a peer that left.
        dropped_closed: Dropped when the socket was closed.
        dropped_late: Replies and answers that nobody waited for any more.
        dropped_filtered: Received, but unsubscribed before they were taken (Sub).
        dropped_malformed: Received, and no message for this role.
        dropped_unencodable: Not sent to a peer whose wire, SP, has no words for them, or that says
            it takes less; or over the limits of this socket, of those of a spool.
        dropped_conflated: Dropped as a newer message came, and only that was to be kept.
        dropped_expired: Dropped as their time was over before they were written (`ttl=`).
        dropped_attempts: Dropped as they were handed out `max_attempts` times (Push).
        dead_messages: Not delivered for one of the same two causes, and kept as dead letters; of a
            Pub in its groups.
        acked_messages: Written, and acknowledged (Push with `delivery="at_least_once"`).
        redelivered_messages: Written, and not acknowledged by a peer that was lost, gave them back
            or had them for too long: they are for others. Lower by one when it acknowledges one
            late, and nobody else has it yet.
        stale_acks: Acknowledgements that came too late (`ack_timeout`): the message had been taken
            back, and was somebody else's or given up by then. They count for nothing. Of each peer
            the last 256 messages that were taken back are known.
        unacked_messages: Written and not acknowledged now; of a Pull: received, and not
            acknowledged by it.
        finished_peers: Peers that were told that nothing more comes (`Push.finish`); of a Pull:
            that said so.
        unwanted_messages: Published, and nobody had subscribed to them.
        filtered_messages: Sent to a Sub by a publisher of SP, which sends all, and not subscribed
            to.
        retained_sent: Copies of what is retained, for who subscribed later (Pub with
            `retain="last"`).
        unretained_messages: Published, and not retained, as there was no room; or harmed in the
            spool.
        retained_topics: Topics of which a message is retained now.
        retained_bytes: Bytes of those messages, with 64 for each frame, and of topics once more.
        queued_out_messages: Queued for peers now.
        queued_out_bytes: Bytes of those.
        queued_in_messages: Received and not taken, now.
        queued_in_bytes: Bytes of those.
        delayed_messages: Waiting now to be handed out later (`delay=`, `at=`, `nack(delay=)`), in a
            spool, too.
        delayed_bytes: Bytes of those that are in memory.
        connects: Connections that were made from here.
        accepts: Connections that were accepted.
        handshakes: Handshakes that were done: peers there have been.
        handshakes_failed: Handshakes that were not.
        disconnects: Peers that are gone.
        events_lost: Events that fell out of the 256 remembered ones.
        peers: Peers now.
        missing_peers: Peers, or members of all groups that somebody came to, that are to come
            before anything is handed out (`peers_min` of Push, `members_min` of Pub).
        half_open: Handshakes under way now.
        listeners: Endpoints bound now.
        dialers: Endpoints connected to, or tried, now.
        topics: Topics this Sub or XSub is subscribed to now.
        closed: Connections that ended or were never made, by Reason.
        group_lag: By the name of a group, how many messages up to the last are not done now (Pub
            with a spool); compacted ones that the group has not come past count. None: its cursor
            is harmed. It waits for no disk: of a group that nobody was in since the Pub was opened
            it is what was found then, and what came since.
    """

    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int
    written_messages: int
    parsed_messages: int
    confirmed_messages: int
    in_doubt_messages: int
    dropped_overflow: int
    dropped_no_peer: int
    dropped_peer_gone: int
    dropped_closed: int
    dropped_late: int
    dropped_filtered: int
    dropped_malformed: int
    dropped_unencodable: int
    dropped_conflated: int
    dropped_expired: int
    dropped_attempts: int
    dead_messages: int
    acked_messages: int
    redelivered_messages: int
    stale_acks: int
    unacked_messages: int
    finished_peers: int
    unwanted_messages: int
    filtered_messages: int
    retained_sent: int
    unretained_messages: int
    retained_topics: int
    retained_bytes: int
    queued_out_messages: int
    queued_out_bytes: int
    queued_in_messages: int
    queued_in_bytes: int
    delayed_messages: int
    delayed_bytes: int
    connects: int
    accepts: int
    handshakes: int
    handshakes_failed: int
    disconnects: int
    events_lost: int
    peers: int
    missing_peers: int
    half_open: int
    listeners: int
    dialers: int
    topics: int
    closed: Mapping[Reason, int]
    group_lag: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def dropped(self) -> int:
        """All drops together."""
        return (
            self.dropped_overflow
            + self.dropped_no_peer
            + self.dropped_peer_gone
            + self.dropped_closed
            + self.dropped_late
            + self.dropped_filtered
            + self.dropped_malformed
            + self.dropped_unencodable
            + self.dropped_conflated
            + self.dropped_expired
            + self.dropped_attempts
        )

    def as_dict(self) -> dict[str, int]:
        """Return all counters by name, for metrics.

        Thread-safe: yes.

        Returns:
            Always the same names: the fields, `dropped`, which is the sum of all drops, and in
            place of `closed` a counter for each reason: `closed_local`, `closed_eof`, ...
            In place of `group_lag` it has `groups`, how many there are, and `group_lag_max`.
        """
        counts: dict[str, int] = {**plain(self), "dropped": self.dropped}
        del counts["closed"], counts["group_lag"]
        counts["groups"] = len(self.group_lag)
        counts["group_lag_max"] = max((lag or 0 for lag in self.group_lag.values()), default=0)
        reasons = list(Reason)[1:]
        return counts | {f"closed_{r.name.lower()}": self.closed.get(r, 0) for r in reasons}


def text(value: Any) -> str:
    """Decode a C string of the library."""
    return str(ffi.string(value).decode("utf-8", "replace")) if value[0] != b"\0" else ""


_KINDS = {int(kind): kind for kind in EventKind}
_REASONS = {int(reason): reason for reason in Reason}


def event_of(raw: Any) -> Event:
    """Make an Event of an mm_event."""
    return Event(
        seq=raw.seq,
        time=raw.time_ns / 1e9,
        kind=_KINDS[raw.kind],
        reason=_REASONS[raw.reason],
        peer=raw.peer,
        count=raw.count,
        endpoint=text(raw.endpoint),
        address=text(raw.address),
        detail=text(raw.detail),
        retry_in=None if raw.retry_ns < 0 else raw.retry_ns / 1e9,
        user_id=text(raw.user_id),
    )


_STATS_SAME = tuple(
    name for name in Stats.__dataclass_fields__ if name not in ("closed", "group_lag")
)


def stats_of(
    raw: Any, prefetched: int, prefetched_bytes: int, group_lag: Mapping[str, int | None]
) -> Stats:
    """Make a Stats of an mm_stats; what this side holds prefetched counts as queued, not
    received."""
    same = {name: int(getattr(raw, name)) for name in _STATS_SAME}
    same["received_messages"] -= prefetched
    same["received_bytes"] -= prefetched_bytes
    same["queued_in_messages"] += prefetched
    same["queued_in_bytes"] += prefetched_bytes
    closed = {r: int(raw.closed[r]) for r in Reason if raw.closed[r]}
    return Stats(**same, closed=closed, group_lag=group_lag)
