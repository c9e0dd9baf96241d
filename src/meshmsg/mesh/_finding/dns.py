"""Seeds by name: the addresses of a headless service, or its SRV records; by the library dnspython
(the extra `mesh`).

Not here: when they are asked (asking.py), which addresses are not taken (_addresses.py). Law: a
name that is not there now may be there later; nothing here is believed, it is only tried.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from meshmsg._binding.core import lib
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg._hints.plural import counted
from meshmsg.mesh._addresses import PORT_MAX, joined
from meshmsg.mesh._finding.seeds import ADDRESSES_MAX, ASK_FIRST_S, ASK_MAX_S, Found, Seed

if TYPE_CHECKING:
    from dns.name import Name
    from dns.resolver import Answer, Resolver

LIFETIME_S = 5.0
"""Seconds that one question may take, with all its attempts."""
TOGETHER_S = 15.0
"""Seconds that the questions for all hosts of SRV records may take: other seeds wait for them."""
LEAST_S = 0.1
"""Seconds that a question has at least."""
FOUND_MAX = 16 * ADDRESSES_MAX
"""Addresses of SRV records that are looked at: some may be such as nobody is to connect to."""
NAME_MAX = 253
"""Characters of a name."""
HOSTS_MAX = 64
"""Hosts of SRV records that are looked up, the best first."""
INSTALL = "pip install meshmsg[mesh]"


def _resolver(given: Resolver | None) -> Resolver:
    try:
        from dns.resolver import Resolver
    except ImportError:
        raise ResourceError(
            f"seeds by DNS need dnspython, which is not there: {INSTALL}", code=lib.MM_ENOTSUP
        ) from None
    if given is not None and not isinstance(given, Resolver):
        raise TypeError(f"resolver is {given!r}; it is a dns.resolver.Resolver")
    return given if given is not None else Resolver()


def _check_name(name: str) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX or not name.isascii():
        raise UsageError(
            f"name is {name!r}; it is one of DNS, up to {NAME_MAX} characters of ASCII"
        )
    return name


def _again(answers: list[Answer]) -> float:
    """Seconds until what was answered may be another: its TTL, within the bounds."""
    ttl = min((answer.rrset.ttl for answer in answers if answer.rrset), default=0)
    return min(max(float(ttl), ASK_FIRST_S), ASK_MAX_S)


def _addresses(resolver: Resolver, name: str, ends: float = inf) -> list[Answer]:
    """Ask for A and AAAA, until a time at most.

    Raises:
        DNSException: There is neither.
    """
    from dns.exception import DNSException

    found, wrong = [], None
    for kind in ("A", "AAAA"):
        try:
            left = max(min(LIFETIME_S, ends - monotonic()), LEAST_S)
            found.append(resolver.resolve(name, kind, lifetime=left))
        except DNSException as error:
            wrong = wrong or error
    if not found and wrong is not None:
        raise wrong
    return found


class Dns(Seed):
    """The addresses (A and AAAA) of a name, such as a headless service of Kubernetes.

    It is asked again after the TTL, but not within 5 s and at least each 60 s; a name that is not
    there is asked for again, too. Addresses that are link-local are left out, and loopback unless
    this node is itself there. `/etc/hosts` is not looked at.

    Thread-safe: yes.

    Args:
        name: The name.
        port: The mesh port of the nodes there.
        resolver: Who is asked; None: the system's name servers.

    Raises:
        UsageError: The name or the port is none.
        ResourceError: dnspython is not there; it says what to install.
    """

    def __init__(self, name: str, port: int, *, resolver: Resolver | None = None) -> None:
        if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= PORT_MAX:
            raise UsageError(f"port is {port!r}; it is 1 to {PORT_MAX}")
        self._name, self._port = _check_name(name), port
        self._asked = _resolver(resolver)

    def _find(self, own: str) -> Found:
        answers = _addresses(self._asked, self._name)
        ips = [record.address for answer in answers for record in answer]
        return Found([joined(ip, self._port) for ip in ips], _again(answers))

    def __repr__(self) -> str:
        return f"Dns({self._name!r}, {self._port})"


class DnsSrv(Seed):
    """The hosts and ports of SRV records, such as `_meshmsg._tcp.example.com`.

    Asked again as `Dns` is. Hosts that are behind the same limits are looked up, too.

    Thread-safe: yes.

    Args:
        name: Of the records.
        resolver: Who is asked; None: the system's name servers.

    Raises:
        UsageError: The name is none.
        ResourceError: dnspython is not there; it says what to install.
    """

    def __init__(self, name: str, *, resolver: Resolver | None = None) -> None:
        self._name = _check_name(name)
        self._asked = _resolver(resolver)

    def _find(self, own: str) -> Found:
        from dns.exception import DNSException

        ends = monotonic() + TOGETHER_S
        said = self._asked.resolve(self._name, "SRV", lifetime=LIFETIME_S)
        several = sorted(said, key=lambda one: (one.priority, -one.weight))
        answers, found = [said], list[str]()
        hosts: dict[Name, list[str]] = {}
        for record in several:
            host = record.target
            if host not in hosts and len(hosts) < HOSTS_MAX and monotonic() < ends:
                hosts[host] = []
                with suppress(DNSException):
                    told = _addresses(self._asked, host.to_text(), ends)
                    answers += told
                    hosts[host] = [one.address for answer in told for one in answer]
            if record.port:  # 0 is nobody's
                ips = hosts.get(host, ())[:ADDRESSES_MAX]
                found += [joined(ip, record.port) for ip in ips]
            if len(found) >= FOUND_MAX:
                break
        left = len({one.target for one in several}) - len(hosts)
        words = f"{counted(left, 'host')} of its SRV records not looked up: too many, or too slow"
        return Found(found, _again(answers), words if left else "")

    def __repr__(self) -> str:
        return f"DnsSrv({self._name!r})"
