"""Keeps a socket connected to the nodes that offer a service, for as long as it is open.

Not here: which of them (_select.py). Law: a rumour closes no connection: an endpoint that lives is
left only by its node's own word, that it leaves or offers it no more, or when another choice is
connected in its place: then once nothing is under way there. Who is UNREACHABLE is not dialed anew;
who is FORGOTTEN is left as soon as no connection lives. Of a node one endpoint is dialed, and what
happens to a connection is evidence of it (_following). Where a socket proves by its node's key
whose it is, nobody else is taken at its endpoint.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Collection, Sequence
from functools import partial

from meshmsg._binding.errors import AddressError, MeshError, UsageError
from meshmsg._events.log_records import record_of, records
from meshmsg._mesh.keys.node import public_key
from meshmsg._mesh.told import NODE_KEY, Event, Member, Record, Service, State
from meshmsg._security.tls import NodeSecret, Secret, Tls
from meshmsg._socket.base import SocketBase
from meshmsg._socket.endpoints import connect_node, leave_node, retire
from meshmsg._socket.peers import all_peers
from meshmsg._socket.protection import policy_for
from meshmsg.mesh._addresses import PROTECTED, tier, usable
from meshmsg.mesh._following.evidence import Hearing, Losses
from meshmsg.mesh._following.ways import Ways
from meshmsg.mesh._select import (
    Candidate,
    Choice,
    cannot,
    chosen,
    fits,
    out_of_reach,
    why_nobody,
    without_weight,
)
from meshmsg.mesh._watch import concerns

ENDPOINTS_MAX = 4_096
"""Endpoints that one socket is connected to by the mesh."""
ERRORS_MAX = 256
"""Endpoints whose refusal is remembered."""
WARNED_MAX = 16
"""Roles that do not fit and are warned of, of one service."""
_GONE = (State.LEFT, State.FORGOTTEN)
_ANYBODY = b""
"""In place of the key of a node: whoever has the secret, if there is one."""


def _asks_for_keys(socket: SocketBase) -> bool:
    """Whether it has the policy of a node, and so can ask another one for its key."""
    return isinstance(policy_for(socket, PROTECTED, binds=False), NodeSecret)


def _has_tls(socket: SocketBase) -> bool:
    return isinstance(policy_for(socket, PROTECTED, binds=False), (Tls, Secret))


def _connected(socket: SocketBase, *, subscribed: bool = False) -> set[str]:
    """Return the endpoints that it is connected at, and is not leaving.

    Args:
        socket: That is.
        subscribed: Not those that have not all its topics yet.
    """
    return {
        one.endpoint
        for one in all_peers(socket._handle)[1]
        if one.stopping != "left" and not (subscribed and one.subscribed == "waiting")
    }


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
        suspects: Callable[[], Collection[bytes]],
        heard: Callable[[Sequence[bytes]], None],
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
            suspects: Tells of nodes that are suspect.
            heard: Told of those of them that something came from over the socket.
        """
        self._service, self._choice = service, choice
        self._socket = weakref.ref(socket)
        self._role, self._kind = socket._role, type(socket).__name__
        self._own, self._members = own, members
        self._lost, self._suspects, self._heard = lost, suspects, heard
        self._losses, self._hearing = Losses(socket._outlet, ring), Hearing()
        opts = socket._opts
        self._ways = Ways(opts.reconnect_min_ms / 1000, opts.reconnect_max_ms / 1000)
        self._nodes: dict[str, bytes] = {}
        """By endpoint: who is there, of those that are taken to be."""
        self._dialed: dict[str, bytes] = {}
        """By endpoint: the key that is to be proved there."""
        self._owners: dict[str, bytes] = {}
        """By endpoint that is dialed: the node that offered it last."""
        self._speak: set[bytes] = set()
        """Nodes whose own last word says whether they offer it: not those that are forgotten."""
        self._kept: set[str] = set()
        """Endpoints that are left as soon as no connection lives."""
        self._shared: set[str] = set()
        """Endpoints that several offer, with no key to tell them apart."""
        self._holders: dict[str, Record] = {}
        self._wanted: dict[str, bytes] = {}
        """By endpoint: who is to be there, of the candidates, and the key that it proves."""
        self._surplus = True
        """Whether some that are dialed are to be left, and wait for others, or for their end."""
        self._left = socket._left
        """What the socket had left at the last look: the user may leave what is wanted."""
        self._errors: dict[str, str] = {}
        self._warned: set[str] = set()
        """Roles that do not fit, and that were told of; "" of an endpoint that was refused."""

    @property
    def errors(self) -> dict[str, str]:
        """By endpoint: why the socket cannot be connected there, or is not let in."""
        return {**self._errors, **self._ways.why, **self._losses.refused}

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
        lost = self._losses.take(socket._outlet, there, self._dialed)
        if lost:
            self._lost(lost)
        self._hear(socket)
        ended = not self._kept.isdisjoint(self._losses.ended)
        moved = self._ways.take(self._losses.came)
        due = moved or self._surplus or ended or socket._left is not self._left
        if due or any(concerns(one, self._service) for one in events):
            try:
                self._look(socket)
            except MeshError:
                return not socket.closed
        return True

    def _hear(self, socket: SocketBase) -> None:
        """Tell of suspects that something came from; a key, or nobody else there, says who."""
        doubted = self._suspects()
        nodes = {
            url: node
            for url, node in (self._nodes.items() if doubted else ())
            if node in doubted
            and url not in self._shared
            and url in self._dialed
            and self._dialed[url] == self._wanted.get(url)
        }
        heard = self._hearing.take(all_peers(socket._handle)[1] if nodes else (), nodes)
        if heard:
            self._heard(heard)

    def closed(self) -> None:
        """The mesh is over: what is connected stays so."""

    def _candidates(
        self, own: Member, socket: SocketBase
    ) -> tuple[list[Candidate], set[tuple[str, bytes]]]:
        """Return who may be dialed, and the endpoints that may stay, with their keys, if any."""
        found, stay = dict[str, Candidate](), set[tuple[str, bytes]]()
        keys = _asks_for_keys(socket)
        self._holders, self._wanted = {}, {}
        self._speak, self._shared = set(), set()
        for member in self._members():
            if member.state != State.FORGOTTEN:
                self._speak.add(member.record.node_id)
            if member.state in _GONE:
                continue
            for service in member.record.services:
                if service.name != self._service or not self._fits(member, service):
                    continue
                urls = usable(service.endpoints, member.record.host, own.record.host)
                if not urls:
                    continue
                proves = keys and service.key == NODE_KEY
                key = member.record.sign_key if proves else _ANYBODY
                live = partial(self._live, socket, key)
                url = self._ways.of(member.record.node_id, urls, live)
                stay.update((endpoint, key) for endpoint in service.endpoints)
                if key == _ANYBODY and url in found:
                    self._shared.add(url)
                if member.state != State.UNREACHABLE and self._holds(url, key, member.record):
                    distance = tier(member.record, own.record.host, own.record.zone)
                    node = member.record.node_id
                    found[url] = Candidate(url, node, distance, service.weight)
                    self._holders[url], self._wanted[url] = member.record, key
        self._ways.only(self._speak)
        return list(found.values()), stay

    def _holds(self, url: str, key: bytes, record: Record) -> bool:
        """Whether that one is to be there, of several who say so: who is dialed, or later."""
        before = self._holders.get(url)
        if before is None or self._dialed.get(url) == key:
            return True
        return self._dialed.get(url) != self._wanted[url] and record.boot_epoch > before.boot_epoch

    def _fits(self, member: Member, service: Service) -> bool:
        """Whether the socket can talk to what a node offers; once of each role it is told if not"""
        if fits(self._role, service.role):
            return True
        words = cannot(self._role, service.role, member)
        if len(self._errors) < ERRORS_MAX:
            self._errors.update(dict.fromkeys(service.endpoints, words))
        self._warn(service.role, f": {words}")
        return False

    def _warn(self, what: str, words: str) -> None:
        """Have the log told of a role that does not fit, or of "", a refusal: once of each."""
        if what not in self._warned and len(self._warned) < WARNED_MAX:
            self._warned.add(what)
            told = f"{self._kind} follows the service {self._service!r}{words}"
            records.put(record_of(logging.WARNING, told))

    def why_nobody(self) -> str:
        """Tell why the socket may have no peer of the service; "": no reason is known."""
        members = self._members()
        return (
            why_nobody(self._role, self._service, members)
            or out_of_reach(self._role, self._service, members, self._own().record.host)
            or self._refused(members)
            or without_weight(self._role, self._service, members)
        )

    def _refused(self, members: Sequence[Member]) -> str:
        """Tell why one that fits cannot be connected to; "": all can."""
        offered = [s for one in members for s in one.record.services if s.name == self._service]
        urls = [url for s in offered if fits(self._role, s.role) for url in s.endpoints]
        errors = self.errors
        return next((f"{self._service!r} at {u}: {errors[u]}" for u in urls if u in errors), "")

    def _look(self, socket: SocketBase) -> None:
        self._left = socket._left  # before: what is left meanwhile has it look again
        own = self._own()
        candidates, stay = self._candidates(own, socket)
        there = set(socket._connected)  # what the user disconnected is not ours any more
        self._dialed = {url: key for url, key in self._dialed.items() if url in there}
        self._owners = {url: node for url, node in self._owners.items() if url in self._dialed}
        self._kept = self._let_go(socket, stay)
        waits = self._hand_over(socket)
        self._leave_others(socket, candidates)
        self._nodes = {one.url: one.node for one in candidates}
        self._owners.update((url, self._nodes[url]) for url in self._dialed if url in self._nodes)
        wanted = chosen(self._choice, candidates, self._dialed.keys(), own.record.name)
        bound = set(socket.endpoints)
        for url in wanted:
            if url not in self._dialed and url not in bound:
                self._dial(socket, url)
        surplus = self._unwanted(candidates, wanted)
        if surplus and not _connected(socket, subscribed=True).isdisjoint(wanted):
            for url in surplus:
                self._leave(socket, url, retire)
            surplus = set()
        self._surplus = bool(surplus) or waits

    def _let_go(self, socket: SocketBase, stay: set[tuple[str, bytes]]) -> set[str]:
        """Leave endpoints that nobody offers any more; return those that live, and stay so long.

        Those are of nodes that said nothing of the kind: they are only forgotten here.
        """
        over = [url for url, key in self._dialed.items() if (url, key) not in stay]
        kept = {url for url in over if self._owners.get(url) not in self._speak}
        if kept:
            kept &= _connected(socket)
        for url in over:
            if url not in kept:
                self._leave(socket, url)
        return kept

    def _hand_over(self, socket: SocketBase) -> bool:
        """Leave endpoints where another node is now; true: some wait, as they are connected."""
        others = [url for url, key in self._dialed.items() if self._wanted.get(url, key) != key]
        if not others:
            return False
        connected = _connected(socket)
        for url in others:
            if url not in connected:
                self._leave(socket, url)
        return not connected.isdisjoint(others)

    def _live(self, socket: SocketBase, key: bytes, urls: Sequence[str]) -> str:
        """Return which of these is connected, with that key; "": none."""
        dialed = [url for url in urls if self._dialed.get(url) == key]
        live = _connected(socket) if dialed else set()
        return next((url for url in dialed if url in live), "")

    def _leave_others(self, socket: SocketBase, candidates: Sequence[Candidate]) -> None:
        """Leave an endpoint of a node that did not answer there, as another one's turn has come."""
        for one in candidates:
            for url in self._ways.others(one.node) if one.weight > 0 else ():
                if self._owners.get(url) == one.node:
                    self._leave(socket, url)

    def _unwanted(self, candidates: Sequence[Candidate], wanted: dict[str, Candidate]) -> set[str]:
        """Return what is dialed and there, and not chosen: who is silent keeps its connection, and
        so does who takes nobody new, until others are chosen in its place."""
        replaced = 0 < self._choice.count == len(wanted)
        there = {one.url for one in candidates if one.weight > 0 or replaced}
        return {url for url in self._dialed if url in there and url not in wanted}

    def _dial(self, socket: SocketBase, url: str) -> None:
        if len(self._dialed) >= ENDPOINTS_MAX or url in socket._connected:
            return
        key = self._wanted[url]
        try:
            if key:
                connect_node(socket, url, public_key(key), self._holders[url].name)
            else:
                socket.connect(url)
        except (AddressError, UsageError) as error:
            words = str(error)
            if url.startswith(PROTECTED) and not _has_tls(socket):
                words += "; of a mesh it is security=mesh.security"
            if len(self._errors) < ERRORS_MAX:
                self._errors[url] = words
            self._warn("", f": {words}")
            self._ways.refused(url, words)
            return
        self._errors.pop(url, None)
        self._dialed[url], self._owners[url] = key, self._holders[url].node_id

    def _leave(
        self,
        socket: SocketBase,
        url: str,
        leave: Callable[[SocketBase, str], None] = leave_node,
    ) -> None:
        self._dialed.pop(url, None)
        self._owners.pop(url, None)
        self._losses.refused.pop(url, None)
        try:
            leave(socket, url)
        except AddressError:
            return  # the user did
