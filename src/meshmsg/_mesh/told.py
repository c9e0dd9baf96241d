"""What is known of a node of the mesh, and what is told of it: plain values.

Not here: the octets of a record and its signature (octets.py, signing.py), what is done with them
(core.py). Law: values never change; a node that says something new is another value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from .keys.node import user_id
from .limits import WEIGHT

NODE_KEY = b"\x01"
"""`Service.key` of a socket that proves itself by the key of its node."""


class State(IntEnum):
    """Of a node, as one node sees it."""

    ALIVE = 1
    SUSPECT = 2
    """It did not answer, and may still say that it is there."""
    UNREACHABLE = 3
    """It was suspect for long enough. It may come back, and then is alive again."""
    LEFT = 4
    """It said so."""
    FORGOTTEN = 5
    """Unreachable for so long that nothing waits for it any more."""


class EventKind(IntEnum):
    """Of what a user is told."""

    UP = 1
    UNREACHABLE = 2
    FORGOTTEN = 3
    LEFT = 4
    CHANGED = 5
    """Its record did: services, endpoints, metadata, or where it is."""
    CONFLICT = 6
    """Another node has its name."""


@dataclass(frozen=True, slots=True)
class Service:
    """One socket that a node offers under a name.

    Attributes:
        name: What others ask for, up to `SERVICE_NAME_MAX` octets.
        role: Of the socket, such as "pull"; "spool" of a `SpoolServer`.
        wire: "zmtp" or "sp".
        endpoints: Where it listens, the best first, up to `ENDPOINTS_MAX`.
        meta: What the user says of it, up to `META_MAX` octets in all.
        weight: How much of the work it should have, beside others; 0 is none that is new.
        key: By what its socket proves whose it is: `NODE_KEY`: by the key that its node signs with;
            empty: by nothing but the secret, if there is one.
    """

    name: str
    role: str
    wire: str
    endpoints: tuple[str, ...]
    meta: tuple[tuple[str, str], ...] = ()
    weight: int = WEIGHT
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class Record:
    """What a node says of itself, and signs.

    Attributes:
        node_id: 16 octets, random for each start of a process.
        name: What people call it; two nodes may have one name for a while.
        cluster: Nodes of other clusters are not talked to.
        boot_epoch: Milliseconds of the wall clock at its start; of two nodes of one name the later
            start is the newer.
        incarnation: Raised by the node alone, to say that it is alive against a rumour.
        seq: Raised with each change of what it says.
        sign_key: 32 octets, Ed25519, that the signature is checked with.
        addresses: Of its mesh port, the best first, such as "tcp://10.0.0.5:7450".
        host, zone: Where it is, for `nearest`; empty: not said.
        services: What it offers.
        signature: Of all of that, by `sign_key`.
    """

    node_id: bytes
    name: str
    cluster: str
    boot_epoch: int
    incarnation: int
    seq: int
    sign_key: bytes
    addresses: tuple[str, ...]
    host: str = ""
    zone: str = ""
    services: tuple[Service, ...] = ()
    signature: bytes = field(default=b"", repr=False)

    @property
    def user_id(self) -> str:
        """What sockets know it by that are connected through the mesh, with a secret."""
        return user_id(self.name, self.sign_key)


@dataclass(frozen=True, slots=True)
class Member:
    """A node as this one sees it now.

    Attributes:
        record: The last that it said.
        state: What it is taken for.
        since: When that began, in seconds of the core's clock.
        rtt: Seconds of a round trip, smoothed; None: never measured.
        heard: When something of its own came last; None: never.
        told_by: The node that said what `state` says; its own id, or ours, if nobody else did.
    """

    record: Record
    state: State
    since: float
    rtt: float | None
    heard: float | None
    told_by: bytes


@dataclass(frozen=True, slots=True)
class Event:
    """Something that changed.

    Attributes:
        kind: What.
        member: As it is from now on.
        before: Its record until now, if that is another.
    """

    kind: EventKind
    member: Member
    before: Record | None = None


class Send(NamedTuple):
    """What the core has to say."""

    to: str
    """The address of a mesh port."""
    data: bytes
    """One message, at most `MESSAGE_MAX` octets."""
    node: bytes | None
    """Which node that is thought to be; None: whoever is there."""


class Arrival(NamedTuple):
    """What came in, and from whom."""

    source: str
    """The address that it came from, as the system knows it: of a connection, or of a datagram."""
    data: bytes
    reply: int
    """A connection that an answer may go back on (`Answer`); 0: there is none."""


class Answer(NamedTuple):
    """What the core has to say to one that asked, on the connection that it asked on."""

    reply: int
    data: bytes


class Stranger(NamedTuple):
    """A node of another cluster that spoke to this one."""

    name: str
    cluster: str
    source: str
    """The address that its connection comes from."""
    reply: int
    """As of its `Arrival`."""
