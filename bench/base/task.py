"""What one end of a measurement shall do, as the parent tells it to a process."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any

PATIENCE = 60.0
"""Seconds until a call that hangs is given up."""
STOP = b"."
"""The question that ends a respondent, known by its size (pynng cannot receive an empty one)."""


@dataclass(frozen=True)
class Task:
    """One end's part."""

    kind: str
    """thr, lat, rate, fanout, connections, survey, credits, unacked, slow, append, replay, opening,
    backlog or source."""
    peer: str
    receives: bool
    """Whether this end binds and receives (or answers); the other connects and sends (or asks)."""
    url: str
    size: int = 64
    count: int = 0
    """Messages, or round trips, that are measured; of a rate task, messages of this producer."""
    warm: int = 0
    """Messages before them, not measured."""
    seed: int = 1
    """Of what the messages hold."""
    connections: int = 1
    """Connections a sender has, used in turn; or subscribers, respondents, workers, or connections
    to open."""
    rate: float = 0.0
    """Messages a second, on a schedule, 0 is as fast as it goes; of a worker, what it does."""
    burst: int = 1
    """Messages that are due at the same moment; the rate stays."""
    blocking: bool = True
    """Whether a full queue makes the sender wait, or makes it lose the message."""
    number: int = 0
    """Which producer this is, in what it sends."""
    ends: int = 1
    """How many end marks a rate receiver waits for (one a connection of each producer); or client
    processes, of connections."""

    offset_ns: int = 0
    """How far this machine's clock is ahead of the sender's."""
    prefetch: int = 0
    """Messages that a worker has and is not done with, at most."""
    queue_bytes: int = 0
    """Of who hands out work: what it keeps for one peer, at most; 0 is as it is."""
    insecure: bool = False
    """Whether it may bind outside loopback."""
    folder: str = ""
    """Where it may keep files, until all ends have closed."""
    files: int = 0
    """Sealed segment files that a spool has before, which have next to no message."""

    def body(self) -> bytes:
        """The message, the same for the same seed."""
        return random.Random(self.seed).randbytes(self.size)

    def as_json(self) -> dict[str, Any]:
        """What Task(**that) makes again."""
        return asdict(self)
