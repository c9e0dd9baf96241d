"""What a user's connections say of nodes: an end, that one may be gone and is asked at once; what
comes over them, that one who is suspect is there.

Not here: asking (_mesh), whom a socket is connected to (_follow.py). Law: it reads a socket's
events from a place of its own, and takes nothing from who watches them; it closes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from meshmsg._binding.peer_info import PeerInfo
from meshmsg._binding.snapshots import Event, EventKind, Reason
from meshmsg._events.outlet import Outlet

_LOSSES = (EventKind.PEER_DOWN, EventKind.PEER_STALLED)
"""A connection ended, also by a heartbeat that is missing; or its other side does nothing."""
_FAILURES = (EventKind.HANDSHAKE_FAILED, EventKind.CONNECT_FAILED, EventKind.PEER_SILENT)
"""An attempt to have one failed, or gets no further."""


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
        """By endpoint: why nobody was reached there, or the handshake failed; if none was done
        since."""
        self.ended: frozenset[str] = frozenset()
        """Endpoints that a connection ended at, of what was taken last."""
        self.came: Sequence[Event] = ()
        """What was taken last, of all endpoints."""
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
        self.ended, self.came = frozenset(), ()
        if not self._rung:
            return []
        self._rung = False
        _, found, self._next = outlet.since(self._next)
        self.came = found
        for one in found:
            if one.kind in _FAILURES and one.endpoint in dialed:
                self.refused[one.endpoint] = one.detail
            elif one.kind == EventKind.PEER_UP:
                self.refused.pop(one.endpoint, None)
        self.ended = frozenset(o.endpoint for o in found if o.kind == EventKind.PEER_DOWN)
        lost = [nodes[one.endpoint] for one in found if _is_loss(one) and one.endpoint in nodes]
        return list(dict.fromkeys(lost))


def _is_loss(event: Event) -> bool:
    return event.kind in _LOSSES and event.reason != Reason.LOCAL


class Hearing:
    """What the peers of one socket say, of those nodes only that are suspect."""

    def __init__(self) -> None:
        self._marks: dict[str, _Mark | None] = {}
        """By endpoint: how far its peer was, the first time that its node was asked for."""

    def take(self, peers: Sequence[PeerInfo], nodes: Mapping[str, bytes]) -> list[bytes]:
        """Return the nodes that something came from since they were asked for first.

        A connection that is made while its node is suspect says nothing of it: another one may
        be there by then.

        Args:
            peers: Of the socket, now.
            nodes: By endpoint: who is there, of those that are suspect; others are forgotten.
        """
        now = {one.endpoint: _mark(one) for one in peers if one.endpoint in nodes}
        self._marks = {url: self._marks.get(url, now.get(url)) for url in nodes}
        heard = []
        for url, before in self._marks.items():
            after = now.get(url)
            if before is None or after is None or before[0] != after[0]:
                self._marks[url] = None
            elif before != after:
                heard.append(nodes[url])
        return list(dict.fromkeys(heard))


_Mark = tuple[int, int, int, float | None]


def _mark(peer: PeerInfo) -> _Mark:
    """What changes as anything comes: messages, or answers to heartbeats."""
    return peer.id, peer.received_messages, peer.confirmed_messages, peer.rtt
