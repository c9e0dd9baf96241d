"""Addresses of mesh ports and endpoints of services: read, compared, made such as others can use.

Not here: who is asked for addresses (_finding), who is connected to (_link.py). Law: what
a stranger names as an address is looked at here before anything connects to it.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from meshmsg._binding.errors import UsageError
from meshmsg._mesh.told import Member, Record

PLAIN, PROTECTED = "tcp://", "tls+tcp://"
"""How an address of a mesh port begins in records; how what is dialed begins with a secret."""
PORT_MAX = 65_535
IPV4 = 4
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]")
OUTSIDE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))
"""Addresses outside, kept for documentation: no machine has them (RFC 5737, RFC 3849)."""
LOOPBACK = "127.0.0.1"
BROADCAST = IPv4Address("255.255.255.255")
HOST_TAG = 4
"""Octets of the hash that tells apart machines and network namespaces of one name."""
HOSTS_KEPT = 1_024
"""Hosts of which it is remembered what address they are: the same few are asked of all the time."""
HOST_NAME_MAX = 100
"""Octets of the name of the machine that a record has."""


def parts_of(endpoint: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an endpoint of TCP; port 0 where there is none."""
    scheme, _, rest = endpoint.partition("://")
    host, _, port = rest.rpartition(":")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    return scheme, host, number if number <= PORT_MAX else 0


@lru_cache(HOSTS_KEPT)
def ip_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is, if it is no name."""
    try:
        found = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    ip = ip_of(host)
    return _is_localhost(host) or (ip is not None and ip.is_loopback)


def _is_localhost(name: str) -> bool:
    return f".{name.lower().rstrip('.')}".endswith(".localhost")


def _is_number(host: str) -> bool:
    """Whether the system takes it for an IPv4 address, in whatever form: 0x7f000001, 0177.1, 0."""
    try:
        socket.inet_aton(host.rstrip("."))
    except (OSError, ValueError):
        return False
    return True


def is_wildcard(host: str) -> bool:
    """Whether it stands for all addresses of a machine."""
    ip = ip_of(host)
    return host in ("*", "") or (ip is not None and ip.is_unspecified)


THIS_MACHINE = (
    'it is this machine, and this node is not on loopback: bind="tcp://127.0.0.1:0" '
    "(mesh.bind of Spark) takes it, or have that node advertise= what others reach"
)
"""Why loopback is not believed, and what to do."""


def denied(host: str, *, loopback: bool) -> str:
    """Say why an address from outside is not connected to; "" where it may be.

    Args:
        host: An address, or a name, which is not looked up here.
        loopback: Whether addresses of this machine may be.
    """
    ip = ip_of(host)
    if ip is None and _is_number(host):
        return "it is an IP in a form that hides it: write it as 10.0.0.5"
    if ip is None:
        return "" if not _is_localhost(host) or loopback else THIS_MACHINE
    if ip.is_link_local:
        return "it is link-local: where clouds keep credentials (169.254.169.254)"
    if ip.is_unspecified or ip.is_multicast or ip == BROADCAST:
        return "it is nobody's address"
    return THIS_MACHINE if ip.is_loopback and not loopback else ""


def address_of(given: str, what: str) -> str:
    """Return the address of a mesh port as records have it.

    Args:
        given: "host:port", "tcp://host:port" or "tls+tcp://host:port".
        what: It is, for the error.

    Raises:
        UsageError: It is none.
    """
    if not isinstance(given, str):
        raise TypeError(f"{what} is {given!r}; it is a str such as tcp://10.0.0.5:7450")
    bare = given.removeprefix(PROTECTED).removeprefix(PLAIN)
    _, host, port = parts_of(f"{PLAIN}{bare}")
    if "://" in bare:
        why = f"a mesh port is of TCP, not of {bare.partition('://')[0]}"
    elif ":" not in bare or bare.endswith(":"):
        why = "it has no port" if bare else "it is empty"
    elif not host:
        why = "it has no host"
    elif not port:
        why = f"its port is 1 to {PORT_MAX}"
    elif _HOST.fullmatch(host) is None:
        why = "its host is no name and no IP; one of IPv6 is in brackets"
    else:
        return f"{PLAIN}{bare}"
    raise UsageError(f"{what} is {given!r}; it is host:port or tcp://host:port: {why}")


def joined(ip: str, port: int) -> str:
    """Return the address of a mesh port at an IP."""
    bare = ip.strip("[]")
    return f"{PLAIN}[{bare}]:{port}" if ":" in bare else f"{PLAIN}{bare}:{port}"


def sent_from(wildcard: str) -> str:
    """Return the IP that this machine sends from to the outside; loopback if it has no way there.

    Nothing is sent: the system is asked by the route to an address that is nobody's.

    Args:
        wildcard: What a port is bound to: "0.0.0.0" has IPv4 only, "::" and "*" both.
    """
    ip = ip_of(wildcard)
    four_only = ip is not None and ip.version == IPV4
    for family, nobody in OUTSIDE[:1] if four_only else OUTSIDE:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asked:
                asked.connect((nobody, PORT_MAX))
                return str(asked.getsockname()[0])
        except OSError:  # no such family, or no route
            continue
    return LOOPBACK


def here() -> str:
    """Name this machine and network namespace: who says the same can be reached by loopback."""
    marks = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/net"):
        try:
            if path.endswith("net"):
                marks.append(os.readlink(path))
            else:
                with open(path, encoding="ascii") as file:
                    marks.append(file.read().strip())
        except OSError:
            marks.append("")
    tag = hashlib.blake2b("\0".join(marks).encode(), digest_size=HOST_TAG).hexdigest()
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "-" for c in marks[0])
    return f"{name[:HOST_NAME_MAX]}#{tag}"


def name_of_host(host: str) -> str:
    """Return the machine's name of what `here` made."""
    return host.partition("#")[0]


def advertised(endpoints: Iterable[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return the endpoints of a socket as others are told of them.

    Args:
        endpoints: As it is bound. Those of inproc are nobody else's.
        own: Addresses of this node's mesh port, as its peers see them.
    """
    seen = [host for _, host, _ in map(parts_of, own) if not is_wildcard(host)]
    told: list[str] = []
    for endpoint in endpoints:
        scheme, host, port = parts_of(endpoint)
        if scheme == "ipc":
            told.append(endpoint)
        elif scheme.endswith("tcp"):
            hosts = seen if is_wildcard(host) else [host]
            told += [f"{scheme}://{one}:{port}" for one in hosts]
    return tuple(dict.fromkeys(told))


def usable(endpoints: Sequence[str], theirs: str, ours: str) -> list[str]:
    """Return the endpoints of a service that can be connected to from here, as they were said.

    Args:
        endpoints: As its node says.
        theirs, ours: The hosts of the two nodes (`here`).
    """
    return [one for one in endpoints if not unusable(one, theirs, ours)]


def unusable(endpoint: str, theirs: str, ours: str) -> str:
    """Say why an endpoint of a service cannot be connected to from here; "": it can.

    Args:
        endpoint: As its node says.
        theirs, ours: The hosts of the two nodes (`here`).
    """
    scheme, host, port = parts_of(endpoint)
    ipc = scheme == "ipc"
    if _is_local(endpoint) and (theirs != ours or not ours):
        where, wide = ("of ipc", PLAIN) if ipc else ("on loopback", f"{scheme}://")
        return (
            f"it is {where}, for nodes of its own machine and network namespace only; to be "
            f"reached from others, bind {wide}*"
        )
    if not ipc and not scheme.endswith("tcp"):
        return "this version of meshmsg knows no such endpoints"
    if not ipc and not port:
        return f"its port is not 1 to {PORT_MAX}"
    return "" if ipc else denied(host, loopback=True)


def reachable(record: Record, service: str, ours: str) -> str:
    """Return where a node's service can be connected to from here; "" if it cannot.

    Of several the one that other machines reach as well goes first.
    """
    offered = [url for one in record.services if one.name == service for url in one.endpoints]
    return next(iter(usable(sorted(offered, key=_is_local), record.host, ours)), "")


def _is_local(endpoint: str) -> bool:
    scheme, host, _ = parts_of(endpoint)
    return scheme == "ipc" or is_loopback(host)


def tier(record: Record, host: str, zone: str) -> int:
    """Tell how far a node is: 0 the same machine, 1 the same zone, 2 elsewhere."""
    if host and record.host == host:
        return 0
    return 1 if zone and record.zone == zone else 2


def name_of(member: Member) -> str:
    """Return the name of a node and the first octets of its id, for texts."""
    return f"{member.record.name} ({member.record.node_id.hex()[:8]})"
