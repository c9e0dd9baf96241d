"""The seam between the core of the mesh and who drives it, with sockets or in a simulation.

Not here: any of the two (core.py; the drivers). Law: the core opens nothing, waits for nothing, and
reads no clock; all that it knows came by these calls, in one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Protocol

from .told import Answer, Arrival, Event, Member, Record, Send, Service, Stranger

Verify = Callable[[bytes, bytes, bytes], bool]
"""(sign_key, what was signed, signature): whether it is good. A simulation gives a cheap one."""


class Signer(Protocol):
    """Who signs what this node says."""

    @property
    def key(self) -> bytes:
        """32 octets that others check with."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Return 64 octets."""
        ...


class Evidence(IntEnum):
    """What a driver saw of a node, other than a message."""

    REFUSED = 1
    """Nobody listens there."""
    LOST = 2
    """A connection to it ended that it had not said it would end, or its heartbeat is missing."""
    HEARD = 3
    """Something came from it, of one of its services: it is alive, if its mesh port may be."""


class MeshCore(Protocol):
    """Membership and the directory of one node."""

    def tick(self, now: float) -> None:
        """Do what is due."""
        ...

    def due(self) -> float:
        """Return when `tick` is wanted next, in seconds of the same clock."""
        ...

    def arrived(self, now: float, arrival: Arrival) -> None:
        """Take a message; what is malformed, or of another cluster, is counted and dropped."""
        ...

    def saw(self, now: float, node: bytes, evidence: Evidence, address: str = "") -> None:
        """Take what the driver saw of a node, at one of its addresses or, "", at all."""
        ...

    def missed(self, now: float, address: str) -> None:
        """Take that the driver could connect to nobody at an address it was to send to."""
        ...

    def suspects(self) -> list[bytes]:
        """Return the ids of those who are suspect: what comes from them now is evidence."""
        ...

    def seeds(self, now: float, addresses: Iterable[str]) -> None:
        """Take addresses where nodes may be: the whole list as it is now. They are hints only."""
        ...

    def offer(self, now: float, services: Sequence[Service]) -> None:
        """Say what this node offers from now on: all of it."""
        ...

    def moved(self, now: float, addresses: Sequence[str]) -> None:
        """Say where this node's mesh port is from now on."""
        ...

    def leave(self, now: float) -> None:
        """Tell others that this node leaves; what is to be sent for it comes out of `take`."""
        ...

    def take(self) -> list[Send | Answer]:
        """Return what is to be sent, once each."""
        ...

    def events(self) -> list[Event]:
        """Return what changed, once each, in order."""
        ...

    def strangers(self) -> list[Stranger]:
        """Return who spoke for another cluster, once each time that one did, in order."""
        ...

    def members(self) -> list[Member]:
        """Return all nodes that are known, this one first."""
        ...

    def unasked(self, now: float) -> float | None:
        """Return for how many seconds others are there, and none of them reached this node; None:
        it is reached, or there are none."""
        ...

    def me(self) -> Record:
        """Return what this node says of itself now."""
        ...
