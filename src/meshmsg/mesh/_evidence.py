"""What the ends of a user's connections say of nodes: that one may be gone, and is asked at once.

Not here: asking (_mesh), whom a socket is connected to (_follow.py). Law: it reads a socket's
events from a place of its own, and takes nothing from who watches them; it closes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._events.outlet import Outlet

_LOSSES = (EventKind.PEER_DOWN, EventKind.PEER_STALLED)
"""A connection ended, also by a heartbeat that is missing; or its other side does nothing."""


class Losses:
    """The losses of one socket. It rings from any thread, and is read on that of the mesh."""

    def __init__(self, outlet: Outlet, ring: Callable[[], None]) -> None:
        """Begin with what happens from now on.

        Args:
            outlet: That of the socket; it is not kept.
            ring: Called, by any thread, when there may be something.
        """
        self._ring = ring
        self._rung = False
        self._next = outlet.since(1)[2]
        self.refused: dict[str, str] = {}
        """By endpoint: why the last handshake there failed, if none was done since."""
        outlet.add_watcher(self)

    def ring(self) -> None:
        """There may be something new: by any thread. Who was rung and has not looked is not again.

        Thread-safe: yes.
        """
        if not self._rung:
            self._rung = True
            self._ring()

    def take(
        self, outlet: Outlet, nodes: Mapping[str, bytes], dialed: Container[str]
    ) -> list[bytes]:
        """Return the nodes that a connection was lost to, once each.

        Args:
            outlet: That of the socket.
            nodes: By endpoint: who is there.
            dialed: Endpoints that are connected to.
        """
        if not self._rung:
            return []
        self._rung = False
        _, found, self._next = outlet.since(self._next)
        for one in found:
            if one.kind == EventKind.HANDSHAKE_FAILED and one.endpoint in dialed:
                self.refused[one.endpoint] = one.detail
            elif one.kind == EventKind.PEER_UP:
                self.refused.pop(one.endpoint, None)
        lost = [nodes[one.endpoint] for one in found if _is_loss(one) and one.endpoint in nodes]
        return list(dict.fromkeys(lost))


def _is_loss(event: Event) -> bool:
    return event.kind in _LOSSES and event.reason != Reason.LOCAL
