"""The services that this node offers: its sockets under names, as the record has them.

Not here: the record (_mesh). Law: a socket is not kept alive for it; one that was closed is
withdrawn.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._binding.snapshots import text
from meshmsg._mesh.limits import ENDPOINTS_MAX, META_MAX, SERVICE_NAME_MAX, WEIGHT_MAX
from meshmsg._mesh.octets import MalformedError, check_name, record_octets, service_octets
from meshmsg._mesh.told import NODE_KEY, Record, Service
from meshmsg._ranges.server_form import ServerForm
from meshmsg._security.policy import Policy
from meshmsg._socket.base import SocketBase
from meshmsg._socket.peers import peer_count
from meshmsg.mesh._addresses import PLAIN, PROTECTED, advertised

SPOOL_ROLE = "spool"
"""What the record of a node calls a `SpoolServer`."""


def offered(given: object) -> tuple[SocketBase, str]:
    """Return the socket of what is announced, and what its role is called.

    Raises:
        TypeError: It is neither a socket nor a SpoolServer.
    """
    if isinstance(given, ServerForm):
        return given._bound, SPOOL_ROLE
    if isinstance(given, SocketBase):
        return given, role_of(given)
    raise TypeError(
        f"socket is {given!r}; it is a socket of meshmsg that is bound, or a SpoolServer"
    )


class _Offer:
    """One socket under a name."""

    def __init__(
        self, socket: SocketBase, role: str, meta: tuple[tuple[str, str], ...], weight: int
    ) -> None:
        self.socket = weakref.ref(socket)
        self.role = role
        self.meta, self.weight = meta, weight


def role_of(socket: SocketBase) -> str:
    """Return the role of a socket, in small letters."""
    name: str = text(lib.mm_role_name(socket._role))
    return name.lower()


def service_name(name: object) -> str:
    """Return the name of a service.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(name, str):
        raise TypeError(f"service is {name!r}; it is a name, as a str")
    try:
        check_name(name, SERVICE_NAME_MAX, "the name of a service")
        wrong = ".." in name
    except MalformedError:
        wrong = True
    if wrong:
        raise UsageError(
            f"service is {name!r}; it is printable, up to {SERVICE_NAME_MAX} octets, and no part "
            "of a path: without '/', '\\' and '..'"
        )
    return name


def check_open(socket: SocketBase, what: str) -> None:
    """Refuse a socket that was closed; what: is done with it.

    Raises:
        ClosedError: It was.
        ForkedError: It was opened before a fork.
    """
    socket._check(peer_count(socket._handle), what)


def _meta_of(meta: object) -> tuple[tuple[str, str], ...]:
    if meta is None:
        return ()
    if not isinstance(meta, Mapping):
        raise TypeError(f"meta is {meta!r}; it is a dict of names and values, each a str")
    pairs = tuple(meta.items())
    size = 0
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"meta has {name!r}: {value!r}; names and values are str")
        try:
            size += len(name.encode()) + len(value.encode())
        except UnicodeEncodeError:
            raise UsageError(f"meta has {name!r}: {value!r}, which UTF-8 cannot say") from None
    if size > META_MAX:
        raise UsageError(f"meta has {size} octets; all names and values have {META_MAX}")
    return pairs


def fitting(record: Record, services: Sequence[Service]) -> Sequence[Service]:
    """Return as many of the services as the record of a node has room for, the first ones."""
    while services:
        try:
            record_octets(replace(record, services=tuple(services)))
            break
        except MalformedError:
            services = services[:-1]
    return services


class Offers:
    """What a node offers, by name."""

    def __init__(self, security: Policy | None = None) -> None:
        """Offer nothing yet.

        Args:
            security: By which a socket proves that it is this node's; None: none can.
        """
        self._security = security
        self._by_name: dict[str, _Offer] = {}

    def put(
        self, name: str, socket: object, meta: Mapping[str, str] | None, weight: int
    ) -> _Offer | None:
        """Offer a socket; return what had the name before.

        Raises:
            UsageError: The socket is not bound, or an argument is beyond its limit.
            TypeError: An argument is of another kind.
            ClosedError: The socket was closed.
        """
        service_name(name)
        bound, role = offered(socket)
        if isinstance(weight, bool) or not isinstance(weight, int) or not 0 <= weight <= WEIGHT_MAX:
            raise UsageError(f"weight is {weight!r}; it is 0 to {WEIGHT_MAX}")
        pairs = _meta_of(meta)
        try:
            service_octets(Service(name, role, "zmtp", (), pairs, weight))
        except MalformedError as error:
            raise UsageError(f"announcing {name!r}: {error}") from None
        check_open(bound, f"announcing {name!r}")
        if not advertised(bound.endpoints, ["tcp://192.0.2.1:1"]):
            raise UsageError(
                f"{socket!r} is bound to no tcp:// or ipc:// endpoint: nobody could connect to it"
            )
        before = self._by_name.get(name)
        self._by_name[name] = _Offer(bound, role, pairs, weight)
        return before

    def restore(self, name: str, before: Any) -> None:
        """Have it again as it was."""
        if before is None:
            self._by_name.pop(name, None)
        else:
            self._by_name[name] = before

    def remove(self, name: str) -> bool:
        """Offer it no more; tell whether it was there."""
        return self._by_name.pop(name, None) is not None

    def services(self, own: tuple[str, ...]) -> list[Service]:
        """Return what is offered now; own: the addresses of this node."""
        found = []
        for name, offer in list(self._by_name.items()):
            socket = offer.socket()
            if socket is None or socket.closed:
                del self._by_name[name]
                continue
            endpoints = advertised(socket.endpoints, own)[:ENDPOINTS_MAX]
            if endpoints:
                key = NODE_KEY if self._proves(socket) else b""
                one = Service(name, offer.role, "zmtp", endpoints, offer.meta, offer.weight, key)
                found.append(one)
        return found

    def open_to_all(self, name: str) -> str:
        """Return what is to be said of a service that this node's secret does not protect, though
        nobody said that it is meant so; "": nothing."""
        offer = self._by_name.get(name)
        socket = offer.socket() if offer is not None else None
        if self._security is None or socket is None or socket._guard.said:
            return ""
        urls = [url for url in socket.endpoints if url.startswith(PLAIN)]
        if not urls:
            return ""
        return (
            f"the service {name!r} is offered at {urls[0]} without the secret of this mesh, and "
            f"sockets that the mesh opens to follow it want {PROTECTED}: bind it there with "
            "security=mesh.security, or say security=meshmsg.NONE if it is meant so"
        )

    def _proves(self, socket: SocketBase) -> bool:
        return self._security is not None and socket._guard.taken is self._security
