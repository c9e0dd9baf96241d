"""Who is connected, as a frozen snapshot: PeerInfo.

Not here: whom a message is from (peer.py), reading it by a socket's handle (_socket/peers.py).
Law: every field has the meaning its C namesake has in meshmsg.h.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.metadata import metadata_of
from meshmsg._binding.record import Record
from meshmsg._binding.snapshots import plain, text


def _printable(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, eq=False, repr=False)
class PeerInfo(Record):
    """One connected peer, as it was when asked.

    Attributes:
        id: Its number, of this process; `message.peer` of most roles.
        role: Its role on the wire: PULL, SUB, ...
        identity: The name a Router knows it by, b"" if it has none.
        endpoint: Ours: as bound, or as connected to.
        address: Its own, as seen from here.
        outgoing: Whether we connected to it.
        since: When its handshake was done: wall clock, seconds since the epoch.
        wire: "zmtp" or "sp".
        zmtp_minor: 1 for ZMTP 3.1, 0 for 3.0 and SP.
        queued_out_messages: Messages queued for it now.
        queued_out_bytes: Bytes queued for it now.
        queued_in_messages: Messages received from it and not taken yet.
        queued_in_bytes: Bytes received from it and not taken yet.
        sent_messages: Messages written to its connection.
        received_messages: Messages read from its connection.
        dropped_messages: Messages to or from it that were dropped as they came or while they were
            queued. What the socket had taken from the queue before (`conflate`, late replies) is in
            its own counters only.
        confirmed_messages: Messages it has confirmed to have read; stays 0 over ZMTP 3.0 and SP.
        subscriptions: Topics it subscribed to.
        acks: Whether messages of this connection are acknowledged (`delivery` of Push).
        takes_meta: Whether key, headers and times go with messages over it (`MessageOptions`).
        unacked_messages: Messages on it that are not acknowledged yet, by it or by us.
        finished: Whether it has said that it sends nothing more; of a Push: was told so
            (`Push.finish`).
        rtt: Seconds a heartbeat took there and back, None if there was none yet.
        stalled: Whether its system answers and it does not (PEER_STALLED).
        stopping: Of a socket that stops receiving: what became of asking this peer, as in
            `StoppedPeer`. "stops": the peer itself stops receiving, and is sent nothing more.
            "left": after `disconnect`, it still gets what was queued for it. None: none of these.
        meshmsg: Whether it says that it is a socket of meshmsg (over SP it cannot).
        subscribed: Of a Sub or XSub: whether the peer has all its topics. "certain": its socket
            has them; an XPub with `manual=True` among them
            still decides itself what it sends. "probable": it answered a PING behind
            them; a peer that is not of meshmsg may do so before its socket has them. "written":
            they were written to it, and it cannot answer (ZMTP 3.0); or it is of SP and sends
            everything, once it has us among its peers. "waiting": none of these yet.
            None: this socket does not subscribe.
        user_id: What it is known by, as `allow=` of `security=` says, or as a node of a mesh; ""
            where nobody was asked.
        mechanism: "CURVE", "TLS", "PLAIN" (which hides nothing), or both with a + between; "NULL"
            where there is none.
        key: Its public key, where it has one, in 40 characters of Z85; else "". Over TLS: the pin
            of its certificate, which a list takes in this form, too.
        metadata: What who let it in says of it (`Allow.metadata`).
        tls_version: "TLSv1.3" or "TLSv1.2"; "" without TLS.
        cipher: How TLS protects it, as OpenSSL names that; "" without TLS.
        certificate: What it showed as its own, over TLS: X.509 in DER; b"" if none.
        uid: Over ipc: the number of the user at the other side, as the system knows it, when it
            connected or began to listen. None over other transports.
        group: Of a Pub: the group that this Sub is a member of. Of a Sub with `group=`: its own, at
            a publisher that keeps groups. "" otherwise.
        takes_bytes: What it says that a message may have at most (its `message_size_max`). None:
            it does not say, as pyzmq and NNG.
        takes_frames: Likewise its `frames_max`.
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
    acks: bool
    takes_meta: bool
    unacked_messages: int
    finished: bool
    rtt: float | None
    stalled: bool
    stopping: Literal["asked", "stopped", "cancelled", "cannot", "late", "stops", "left"] | None
    meshmsg: bool
    subscribed: Literal["waiting", "certain", "probable", "written"] | None
    user_id: str
    mechanism: str
    key: str
    uid: int | None = None
    metadata: Mapping[str, str | bytes] = field(default_factory=dict, hash=False)
    tls_version: str = ""
    cipher: str = ""
    certificate: bytes = b""
    group: str = ""
    takes_bytes: int | None = None
    takes_frames: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as what JSON has.

        Thread-safe: yes.

        Returns:
            All fields by name; octets of `identity` and `metadata` as text, with escapes for what
            is no UTF-8, and `certificate` in base64.
        """
        more = {
            "identity": _printable(self.identity),
            "metadata": {name: _printable(value) for name, value in self.metadata.items()},
            "certificate": b64encode(self.certificate).decode(),
        }
        return {**plain(self), **more}


_WIRES = {1: "zmtp", 2: "sp"}
_PEER_SAME = (
    *("id", "zmtp_minor", "queued_out_messages", "queued_out_bytes", "queued_in_messages"),
    *("queued_in_bytes", "sent_messages", "received_messages", "dropped_messages"),
    *("confirmed_messages", "subscriptions", "unacked_messages"),
)


_STOPS: dict[int, Literal["asked", "stopped", "cancelled", "cannot", "late", "stops", "left"]] = {
    lib.MM_STOP_ASKED: "asked",
    lib.MM_STOP_STOPPED: "stopped",
    lib.MM_STOP_CANCELLING: "asked",
    lib.MM_STOP_CANCELLED: "cancelled",
    lib.MM_STOP_CANNOT: "cannot",
    lib.MM_STOP_LATE: "late",
    lib.MM_STOP_ITSELF: "stops",
    lib.MM_STOP_LEFT: "left",
}
_SUBSCRIBED: dict[int, Literal["waiting", "certain", "probable", "written"]] = {
    lib.MM_SUBSCRIBED_WAITING: "waiting",
    lib.MM_SUBSCRIBED_CERTAIN: "certain",
    lib.MM_SUBSCRIBED_PROBABLE: "probable",
    lib.MM_SUBSCRIBED_WRITTEN: "written",
}


def peer_of(raw: Any, metadata: bytes = b"", certificate: bytes = b"") -> PeerInfo:
    """Make a PeerInfo of an mm_peer, and of what did not fit in there."""
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
        acks=bool(raw.acks),
        takes_meta=bool(raw.takes_meta),
        finished=bool(raw.finished),
        stalled=bool(raw.stalled),
        stopping=_STOPS.get(raw.stop),
        meshmsg=bool(raw.meshmsg),
        subscribed=_SUBSCRIBED.get(raw.subscribed),
        user_id=text(raw.user_id),
        mechanism=text(raw.mechanism),
        key=text(raw.key),
        uid=None if raw.uid < 0 else int(raw.uid),
        metadata=metadata_of(metadata),
        tls_version=text(raw.tls_version),
        cipher=text(raw.cipher),
        certificate=certificate,
        group=text(raw.group),
        takes_bytes=int(raw.takes_bytes) if raw.takes_frames else None,
        takes_frames=int(raw.takes_frames) or None,
    )
