"""Keeps a socket connected to the nodes that offer a service, for as long as it is open.

Not here: which of them (_select.py). Law: a rumour closes no connection: UNREACHABLE only stops
dialing who is new; an endpoint is left when its node has left or is forgotten, or when another
choice is connected in its place. A connection that ends is evidence of its node (_evidence.py).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence

from meshmsg._binding.errors import AddressError, MeshError, UsageError
from meshmsg._events.log_records import record_of, records
from meshmsg._mesh.told import Event, Member, Service, State
from meshmsg._socket.base import SocketBase
from meshmsg._socket.peers import all_peers
from meshmsg.mesh._addresses import tier, usable
from meshmsg.mesh._evidence import Losses
from meshmsg.mesh._select import Candidate, Choice, cannot, chosen, fits, why_nobody
from meshmsg.mesh._watch import concerns

ENDPOINTS_MAX = 4_096
"""Endpoints that one socket is connected to by the mesh."""
ERRORS_MAX = 256
"""Endpoints whose refusal is remembered."""
WARNED_MAX = 16
"""Roles that do not fit and are warned of, of one service."""
_GONE = (State.LEFT, State.FORGOTTEN)


class Follower:
    """One socket that follows a service. Called on the thread of the mesh only."""

    def __init__(
        self,
        service: str,
        socket: SocketBase,
        choice: Choice,
        own: Callable[[], Member],
        members: Callable[[], list[Member]],
        *,
        ring: Callable[[], None],
        lost: Callable[[Sequence[bytes]], None],
    ) -> None:
        """Follow; the first `told` connects.

        Args:
            service: The name.
            socket: What is connected; it is not kept alive.
            choice: Which of the nodes.
            own: Tells of this node.
            members: Tells of all nodes.
            ring: Has the thread of the mesh call `told`; called by any thread.
            lost: Told of nodes that a connection of the socket was lost to.
        """
        self._service, self._choice = service, choice
        self._socket = weakref.ref(socket)
        self._role, self._kind = socket._role, type(socket).__name__
        self._own, self._members = own, members
        self._lost = lost
        self._losses = Losses(socket._outlet, ring)
        self._nodes: dict[str, bytes] = {}
        """By endpoint: who is there, of those that are taken to be."""
        self._dialed: set[str] = set()
        self._surplus = True
        """Whether some that are dialed are not chosen, and wait for others to be connected."""
        self.errors: dict[str, str] = {}
        """By endpoint: why the socket cannot be connected there."""
        self._warned: set[str] = set()
        """Roles that do not fit, and that were told of."""

    @property
    def is_open(self) -> bool:
        """Whether its socket is."""
        socket = self._socket()
        return socket is not None and not socket.closed

    def told(self, events: Sequence[Event]) -> bool:
        """Look whom to connect to now; false: the socket was closed."""
        socket = self._socket()
        if socket is None or socket.closed:
            return False
        there = {url: node for url, node in self._nodes.items() if url in self._dialed}
        lost = self._losses.take(socket._outlet, there)
        if lost:
            self._lost(lost)
        if self._surplus or any(concerns(one, self._service) for one in events):
            try:
                self._look(socket)
            except MeshError:
                return not socket.closed
        return True

    def closed(self) -> None:
        """The mesh is over: what is connected stays so."""

    def _candidates(self, own: Member) -> tuple[list[Candidate], set[str]]:
        """Return who may be dialed, and the endpoints that may stay."""
        found, stay = [], set[str]()
        for member in self._members():
            if member.state in _GONE:
                continue
            for service in member.record.services:
                if service.name != self._service or not self._fits(member, service):
                    continue
                url = usable(service.endpoints, member.record.host, own.record.host)
                if not url:
                    continue
                stay.update(service.endpoints)
                if member.state != State.UNREACHABLE:
                    distance = tier(member.record, own.record.host, own.record.zone)
                    node = member.record.node_id
                    found.append(Candidate(url, node, distance, service.weight))
        return found, stay

    def _fits(self, member: Member, service: Service) -> bool:
        """Whether the socket can talk to what a node offers; once of each role it is told if not"""
        if fits(self._role, service.role):
            return True
        words = cannot(self._role, service.role, member)
        if len(self.errors) < ERRORS_MAX:
            self.errors.update(dict.fromkeys(service.endpoints, words))
        if service.role not in self._warned and len(self._warned) < WARNED_MAX:
            self._warned.add(service.role)
            told = f"{self._kind} follows the service {self._service!r}: {words}"
            records.put(record_of(logging.WARNING, told))
        return False

    def why_nobody(self) -> str:
        """Tell why the socket may have no peer of the service; "": no reason is known."""
        return why_nobody(self._role, self._service, self._members())

    def _look(self, socket: SocketBase) -> None:
        own = self._own()
        candidates, stay = self._candidates(own)
        self._dialed &= set(socket._connected)  # what the user disconnected is not ours any more
        for url in [one for one in self._dialed if one not in stay]:
            self._leave(socket, url)
        self._nodes = {one.url: one.node for one in candidates}
        wanted = chosen(self._choice, candidates, self._dialed, own.record.name)
        bound = set(socket.endpoints)
        for url in wanted:
            if url not in self._dialed and url not in bound:
                self._dial(socket, url)
        surplus = self._unwanted(candidates, wanted)
        if surplus and any(one.endpoint in wanted for one in all_peers(socket._handle)[1]):
            for url in surplus:
                self._leave(socket, url)
            surplus = set()
        self._surplus = bool(surplus)

    def _unwanted(self, candidates: Sequence[Candidate], wanted: dict[str, Candidate]) -> set[str]:
        """Return what is dialed and there, and not chosen: who is silent keeps its connection."""
        there = {one.url for one in candidates if one.weight > 0}
        return {url for url in self._dialed if url in there and url not in wanted}

    def _dial(self, socket: SocketBase, url: str) -> None:
        if len(self._dialed) >= ENDPOINTS_MAX or url in socket._connected:
            return
        try:
            socket.connect(url)
        except (AddressError, UsageError) as error:
            if len(self.errors) < ERRORS_MAX:
                self.errors[url] = str(error)
            return
        self.errors.pop(url, None)
        self._dialed.add(url)

    def _leave(self, socket: SocketBase, url: str) -> None:
        self._dialed.discard(url)
        try:
            socket.disconnect(url)
        except AddressError:
            return  # the user did
