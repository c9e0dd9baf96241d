"""What a socket tells about itself: frozen snapshots of its counters, peers and events.

Law: every field has the meaning its C namesake has in meshmsg.h; Reason and EventKind are checked
against the C enums by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from meshmsg._core import ffi, lib
from meshmsg._errors import MeshError


class EventKind(IntEnum):
    """What happened."""

    LISTENING = 1
    PEER_UP = 2
    PEER_DOWN = 3
    CONNECT_FAILED = 4
    HANDSHAKE_FAILED = 5
    DROPPED = 6
    LATE_REPLY = 7
    ACCEPT_PAUSED = 8
    ACCEPT_RESUMED = 9


class Reason(IntEnum):
    """Why a connection ended or was never made."""

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


@dataclass(frozen=True)
class Event:
    """Something that happened to a socket's connections.

    Attributes:
        seq: Its number at this socket, from 1; a gap means events were lost before they were read.
        time: Wall clock, seconds since the epoch.
        kind: What happened.
        reason: Why, for ends and failures.
        peer: The peer's id, 0 when there is none.
        count: How many of it, for DROPPED.
        endpoint: Ours, as bound or connected.
        detail: In words.
    """

    seq: int
    time: float
    kind: EventKind
    reason: Reason
    peer: int
    count: int
    endpoint: str
    detail: str


@dataclass(frozen=True)
class PeerInfo:
    """One connected peer, as it was when asked.

    `wire` is "zmtp" or "sp"; `zmtp_minor` is 0 over SP, and what it cannot tell stays 0 or None
    (confirmed_messages, rtt).
    """

    id: int
    role: str
    identity: bytes
    endpoint: str
    address: str
    outgoing: bool
    since: float
    wire: str
    zmtp_minor: int
    queued_out_messages: int
    queued_out_bytes: int
    queued_in_messages: int
    queued_in_bytes: int
    sent_messages: int
    received_messages: int
    dropped_messages: int
    confirmed_messages: int
    subscriptions: int
    rtt: float | None


@dataclass(frozen=True)
class Stats:
    """The counters of a socket since it was opened, and how things stand now.

    Nothing is unaccounted for: at any time, sent + parsed = written + received + queued_out +
    queued_in + dropped + filtered, in messages. Pub, XPub, Surveyor and Bus count a message as sent
    once, and each copy of it as written, queued or dropped; what an XPub receives as news of
    subscriptions was no message of its peer. Filtered is what a Sub was sent by publishers of SP,
    who send everything, and did not subscribe to.
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
    dropped_unfit: int
    filtered_messages: int
    queued_out_messages: int
    queued_out_bytes: int
    queued_in_messages: int
    queued_in_bytes: int
    connects: int
    accepts: int
    handshakes: int
    handshakes_failed: int
    disconnects: int
    events_lost: int
    peers: int
    half_open: int
    listeners: int
    dialers: int
    closed: Mapping[Reason, int]

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
            + self.dropped_unfit
        )


@dataclass(frozen=True)
class DrainReport:
    """What became of the messages that were sent.

    Attributes:
        delivered: Confirmed: the peer has read them off its connection.
        unconfirmed: Written, but the peer has not confirmed them in time.
        unconfirmable: Written to peers that cannot confirm (ZMTP 3.0, SP).
        queued: Not written yet.
        in_doubt: Written to connections that ended before they were confirmed.
        dropped: Dropped by the overflow policy, for want of a peer, with a peer that left, or as
            its wire has no words for them (several frames, over SP).
    """

    delivered: int
    unconfirmed: int
    unconfirmable: int
    queued: int
    in_doubt: int
    dropped: int

    def raise_for_loss(self) -> None:
        """Raise unless everything sent was delivered, or went to peers that cannot confirm.

        Thread-safe: yes.

        Raises:
            MeshError: Something is not known to be delivered; the message says how much, and why.
        """
        parts = {
            "still queued": self.queued,
            "written but not confirmed": self.unconfirmed,
            "in doubt, as their connection ended": self.in_doubt,
            "dropped": self.dropped,
        }
        lost = [f"{count} {what}" for what, count in parts.items() if count]
        if lost:
            raise MeshError(f"not everything was delivered: {', '.join(lost)}")


def text(value: Any) -> str:
    """Decode a C string of the library."""
    return str(ffi.string(value).decode("utf-8", "replace"))


def event_of(raw: Any) -> Event:
    """Make an Event of an mm_event."""
    return Event(
        seq=raw.seq,
        time=raw.time_ns / 1e9,
        kind=EventKind(raw.kind),
        reason=Reason(raw.reason),
        peer=raw.peer,
        count=raw.count,
        endpoint=text(raw.endpoint),
        detail=text(raw.detail),
    )


_WIRES = {1: "zmtp", 2: "sp"}
_PEER_SAME = (
    *("id", "zmtp_minor", "queued_out_messages", "queued_out_bytes", "queued_in_messages"),
    *("queued_in_bytes", "sent_messages", "received_messages", "dropped_messages"),
    *("confirmed_messages", "subscriptions"),
)


def peer_of(raw: Any) -> PeerInfo:
    """Make a PeerInfo of an mm_peer."""
    same = {name: int(getattr(raw, name)) for name in _PEER_SAME}
    return PeerInfo(
        **same,
        role=text(lib.mm_role_name(raw.role)),
        wire=_WIRES[raw.wire],
        identity=bytes(ffi.buffer(raw.identity, raw.identity_size)),
        endpoint=text(raw.endpoint),
        address=text(raw.address),
        outgoing=bool(raw.outgoing),
        since=raw.since_ns / 1e9,
        rtt=None if raw.rtt_ns < 0 else raw.rtt_ns / 1e9,
    )


_STATS_SAME = tuple(name for name in Stats.__dataclass_fields__ if name != "closed")


def stats_of(raw: Any, prefetched: int, prefetched_bytes: int) -> Stats:
    """Make a Stats of an mm_stats; what this side holds prefetched counts as queued, not
    received."""
    same = {name: int(getattr(raw, name)) for name in _STATS_SAME}
    same["received_messages"] -= prefetched
    same["received_bytes"] -= prefetched_bytes
    same["queued_in_messages"] += prefetched
    same["queued_in_bytes"] += prefetched_bytes
    return Stats(**same, closed={r: int(raw.closed[r]) for r in Reason if raw.closed[r]})


def drain_of(raw: Any) -> DrainReport:
    """Make a DrainReport of an mm_drain_info."""
    return DrainReport(
        delivered=raw.confirmed_messages,
        unconfirmed=raw.unconfirmed_messages,
        unconfirmable=raw.unconfirmable_messages,
        queued=raw.queued_messages,
        in_doubt=raw.in_doubt_messages,
        dropped=raw.dropped_messages,
    )
