"""A sender and a receiver of a simulated world between which nothing gets through for a while.

So the sender's queue fills to the message, and what is in it can be counted exactly. Not here:
what is sent, and what must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import meshmsg as mm
from meshmsg.testing import SimWorld

BUFFER_SIZE = 4096
"""Bytes the simulated kernel holds: less than any message of these tests."""
STALL_S = 10.0
"""Virtual seconds, short of a heartbeat's patience."""
PATIENCE_S = 20.0
FRAME_COST = 64
"""Bytes a queue charges for each frame (MMI_FRAME_OVERHEAD)."""
PEER_OF = {
    "Push": "Pull",
    "Dealer": "Dealer",
    "Pair": "Pair",
    "Pub": "Sub",
    "XPub": "Sub",
    "Router": "Dealer",
}
SENDERS = sorted(PEER_OF)


@dataclass
class Stalled:
    """The two sockets, their world, and how this role sends."""

    world: SimWorld
    sender: Any
    receiver: Any
    send: Callable[[bytes], None]

    def try_send(self, body: bytes) -> bool:
        """Send, or say that there was no room."""
        try:
            self.send(body)
        except mm.WouldBlockError:
            return False
        return True

    def settle(self) -> None:
        """Let the engines do what they still have to do."""
        self.world.run(0.5)

    def receive_all(self) -> list[bytes]:
        """End the stall; everything that then arrives, in order."""
        self.world.heal()
        found: list[bytes] = []
        while True:
            try:
                found += map(bytes, self.receiver.recv_many(timeout=PATIENCE_S))
            except mm.TimedOutError:
                return found


@contextmanager
def stalled(role: str, *, seed: int = 1, **options: Any) -> Iterator[Stalled]:
    """Open a sender of a role and its peer, connected, and cut them off each other."""
    extra = {"identity": b"it"} if role == "Router" else {}
    extra |= {"topics": ""} if PEER_OF[role] == "Sub" else {}  # type: ignore[dict-item]
    with SimWorld(seed, buffer_size=BUFFER_SIZE) as world:
        one, two = world.engine(), world.engine()
        sender = getattr(mm, role)(bind="tcp://127.0.0.1:0", engine=one, **options)
        receiver = getattr(mm, PEER_OF[role])(connect=sender.endpoint, engine=two, **extra)
        sender.wait_for_peers(timeout=PATIENCE_S)
        receiver.wait_for_peers(timeout=PATIENCE_S)
        if PEER_OF[role] == "Sub":
            sender.wait_for_subscribers("", timeout=PATIENCE_S)
        world.partition(one, two, STALL_S)

        def send(body: bytes) -> None:
            if role == "Router":
                sender.send(body, to=b"it", timeout=0)
            else:
                sender.send(body, timeout=0)

        yield Stalled(world, sender, receiver, send)
        sender.close()
        receiver.close()
