"""A simulated world with one socket in the middle and its peers around it.

Not here: what is sent, and what must hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, TypeVar

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.stalled import PATIENCE_S

T = TypeVar("T")
UP = "tcp://127.0.0.1:0"


class Room:
    """A world, and sockets in it that are closed at the end."""

    def __init__(self, world: SimWorld, stack: ExitStack) -> None:
        self.world = world
        self._stack = stack
        self.hub = world.engine()
        """The engine of the socket under test."""

    def open(self, role: str, *, engine: mm.Engine | None = None, **options: Any) -> Any:
        """Open a socket in the hub's engine, or in one of its own."""
        socket = getattr(mm, role)(engine=engine or self.world.engine(), **options)
        self._stack.callback(socket.close)
        return socket

    def enter(self, opened: AbstractContextManager[T]) -> T:
        """Something else that is closed at the end."""
        return self._stack.enter_context(opened)

    def around(self, role: str, peer: str, count: int, **options: Any) -> tuple[Any, list[Any]]:
        """A socket in the hub that binds, and peers that see it."""
        centre = self.open(role, engine=self.hub, bind=UP, **options)
        peers = [self.open(peer, connect=centre.endpoint) for _ in range(count)]
        centre.wait_for_peers(count, timeout=PATIENCE_S)
        for one in peers:
            one.wait_for_peers(timeout=PATIENCE_S)
        return centre, peers


@contextmanager
def room(seed: int = 1, **options: Any) -> Iterator[Room]:
    """A world to try a role in."""
    with SimWorld(seed, **options) as world, ExitStack() as stack:
        yield Room(world, stack)


def all_there(socket: Any, quiet_s: float = 1.0) -> list[bytes]:
    """Everything that arrives until it is quiet."""
    found: list[bytes] = []
    while True:
        try:
            found += map(bytes, socket.recv_many(timeout=quiet_s))
        except mm.TimedOutError:
            return found


def pipeline(r: Room, **options: Any) -> tuple[Any, Any]:
    """A Push and a Pull that see each other."""
    push, (pull,) = r.around("Push", "Pull", 1, **options)
    return push, pull
