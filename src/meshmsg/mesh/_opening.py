"""What a node is made of: its arguments are looked at, its port is bound, its core is made.

Not here: what is done with it (_mesh.py). Law: what is wrong with an argument is told before
anything is opened; what was opened is closed if the rest fails.
"""

from __future__ import annotations

import os
import socket as system
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING, Any, NamedTuple

from meshmsg._binding.core import error_for, lib
from meshmsg._binding.errors import InsecureBindError, ResourceError, UsageError
from meshmsg._mesh.keys.node import private_key
from meshmsg._mesh.limits import CLUSTER_MAX, MESSAGE_MAX, NAME_MAX
from meshmsg._mesh.octets import MalformedError
from meshmsg._security.files.places import place_of
from meshmsg._security.policy import Policy
from meshmsg._security.tls import NodeSecret, Secret
from meshmsg._socket.options import check_flag
from meshmsg.mesh._addresses import PLAIN, here, is_loopback, parts_of
from meshmsg.mesh._driver import Driver
from meshmsg.mesh._finding.asking import seeds_of
from meshmsg.mesh._finding.dns import INSTALL
from meshmsg.mesh._finding.seeds import Node, Seed
from meshmsg.mesh._link import Link
from meshmsg.mesh._place import Place

if TYPE_CHECKING:
    from meshmsg.mesh._udp.port import Port  # which needs cryptography

LOOPBACK = "tcp://127.0.0.1:0"
EVERYWHERE = "tcp://*:0"
KEY_SIZE = 32
"""Octets of the key that a node signs with; it is of this process only."""
SALT = 8


def _text(name: str, given: object, most: int, *, empty: bool) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} is {given!r}; it is a str")
    size = len(given.encode("utf-8", "surrogatepass"))  # half a character is not printable
    if size > most or (not given and not empty) or not given.isprintable():
        raise UsageError(f"{name} is {given!r}; it is printable, of up to {most} octets")
    return given


def _check(cluster: str, zone: str, name: str, insecure: bool, transport: str) -> None:
    """Refuse what cannot be."""
    _text("cluster", cluster, CLUSTER_MAX, empty=False)
    _text("zone", zone, NAME_MAX, empty=True)
    _text("name", name, NAME_MAX, empty=True)
    check_flag("insecure", insecure)
    if transport not in ("tcp", "udp"):
        raise UsageError(f'transport is {transport!r}; it is "tcp" or "udp"')


def policy_of(secret: str | os.PathLike[str] | Secret | None) -> Secret | None:
    """Return what protects the connections.

    Raises:
        UsageError, ResourceError, OSError: As of `meshmsg.Secret`.
        TypeError: It is neither a secret nor a path.
    """
    if secret is None or isinstance(secret, Secret):
        return secret
    if not isinstance(secret, (str, os.PathLike)):  # it is not shown, as it may be one
        kind = type(secret).__name__
        raise TypeError(f"secret is {kind}; it is a meshmsg.Secret, or the path of its file")
    try:
        return Secret(place_of(secret, "secret"))
    except FileNotFoundError as error:
        raise FileNotFoundError(
            error.errno,
            f"secret= names a file that is not there: {os.strerror(error.errno or 0)}",
            os.fspath(secret),
        ) from None
    except ValueError:  # a zero, or half a character
        raise UsageError("secret is no path that there can be; it is that of a file") from None


def _of_node(shared: Secret | None, seed: bytes, name: str) -> NodeSecret | None:
    """Return the policy of a node with that key; None: there is no secret."""
    return None if shared is None else NodeSecret(shared, private_key(seed), name)


def _linked(link: Callable[[], Link], bind: str) -> Link:
    """Bind; what a socket would be told to pass is said in the words of a Mesh."""
    try:
        return link()
    except InsecureBindError as error:
        raise error_for(
            error.code,
            f"a Mesh at {bind} would let anybody in who can reach this machine; pass secret= (the "
            "file that `meshmsg keygen NAME --secret` makes), bind to 127.0.0.1, or say "
            "insecure=True if the network is trusted",
            address=bind,
        ) from None


def _bind_of(bind: str | None, security: Policy | None) -> str:
    if bind is None:
        return LOOPBACK if security is None else EVERYWHERE
    if not isinstance(bind, str):
        raise TypeError(f"bind is {bind!r}; it is a str such as tcp://10.0.0.5:7450")
    if security is None and bind.startswith("tls+"):
        raise UsageError(f"bind is {bind!r}, and nothing protects it: pass secret=")
    bare = bind.removeprefix("tls+tcp://").removeprefix("tcp://")
    if "://" in bare:
        raise UsageError(f"bind is {bind!r}; a mesh port is tcp://host:port")
    return f"{PLAIN}{bare}"


class Opened(NamedTuple):
    """A node that is bound and does nothing yet."""

    driver: Driver
    security: Secret | None
    """What protects its connections."""
    link: Link
    port: Port | None
    """For datagrams, if it has them."""
    seeds: Sequence[Seed]
    ring: list[Callable[[], object]]
    """What the link calls as something happened: the first of it."""

    @property
    def trusted(self) -> bool:
        """Whether who reaches the port has the secret, or is on this machine."""
        return self.security is not None or is_loopback(parts_of(self.link.address)[1])

    def begin(self) -> None:
        """Start its threads."""
        self.ring[0] = self.driver.ring
        self.driver.begin(self.link, self.seeds, SystemRandom(), self.port)


def opened(
    *,
    cluster: str,
    name: str,
    seeds: Iterable[Seed | str] | Seed | str | None,
    bind: str | None,
    advertise: str | Sequence[str],
    secret: str | os.PathLike[str] | Secret | None,
    zone: str,
    insecure: bool,
    transport: str,
) -> Opened:
    """Look at the arguments of a Mesh, bind its port, and make what drives it.

    Raises:
        UsageError, AddressError, InsecureBindError, ResourceError, OSError: As of a Mesh.
    """
    _check(cluster, zone, name, insecure, transport)
    given = name or f"{system.gethostname()[:64]}-{os.getpid()}"
    asked = seeds_of(seeds)
    own = os.urandom(KEY_SIZE)
    security = _of_node(policy_of(secret), own, given)
    where = _bind_of(bind, security)
    try:
        from meshmsg._mesh.signing import Ed25519Signer, ed25519_verify
        from meshmsg.mesh._udp.port import ROOM, beside, port_of
    except ImportError:
        raise ResourceError(
            f"a mesh needs cryptography, which is not there: {INSTALL}", code=lib.MM_ENOTSUP
        ) from None
    from meshmsg._mesh.core import Core

    rung = threading.Event()  # until there is a driver
    ring: list[Any] = [rung.set]
    ports = partial(Link, where, security, insecure, os.urandom(SALT), lambda: ring[0]())
    linked = partial(_linked, ports, where)
    link, datagrams = (linked(), None) if transport == "tcp" else beside(linked, where)
    try:
        place = Place(link.address, advertise)
        core = Core(
            name=given,
            cluster=cluster,
            boot_epoch=time.time_ns() // 1_000_000,
            signer=Ed25519Signer(own),
            verify=ed25519_verify,
            rng=SystemRandom(),
            now=time.monotonic(),
            addresses=place.addresses,
            host=here(),
            zone=zone,
            message_max=MESSAGE_MAX if datagrams is None else ROOM,
        )
        path = "" if security is None else security._files.paths[0]
        for seed in asked:
            seed._joins(Node(cluster, path, lambda: place.endpoint))
        driver = Driver(core, place, time.monotonic, security)
        port = port_of(datagrams, cluster, core.me().node_id, path)
    except BaseException as error:
        link.router.close()
        if datagrams is not None:
            datagrams.close()
        if isinstance(error, MalformedError):
            raise UsageError(f"this node cannot be told of: {error}") from None
        raise
    return Opened(driver, security, link, port, asked, ring)
