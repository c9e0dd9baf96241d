"""Where this node is, as others see it: the address of its mesh port that records have.

Not here: who is asked (_link.py). Law: a node that was told its address keeps that one; of what
others see, most of them count, and loopback only while nobody sees anything else. What they saw of
an address that this machine had, and has no more, counts for nothing.
"""

from __future__ import annotations

import errno
import socket
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence

from meshmsg._binding.errors import UsageError
from meshmsg._mesh.limits import ENDPOINTS_MAX
from meshmsg.mesh._addresses import (
    address_of,
    ip_of,
    is_loopback,
    is_wildcard,
    joined,
    parts_of,
    sent_from,
)

OBSERVERS_MAX = 16
"""Nodes whose word is remembered, the last of each."""
AUTO = "auto"


def is_here(ip: str) -> bool:
    """Whether an IP is one of this machine's now; also if the system cannot be asked."""
    try:
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as asked:
            asked.bind((ip, 0))
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True


def _several(advertise: object) -> list[str]:
    if isinstance(advertise, str):
        return [advertise]
    if isinstance(advertise, (bytes, bytearray)) or not isinstance(advertise, Iterable):
        raise TypeError(
            f'advertise is {advertise!r}; it is "auto", an address such as tcp://10.0.0.5:7450, '
            "or several of them"
        )
    return list(advertise)


class Place:
    """What this node advertises."""

    def __init__(
        self,
        bound: str,
        advertise: str | Sequence[str],
        *,
        outside: Callable[[str], str] = sent_from,
        own: Callable[[str], bool] = is_here,
    ) -> None:
        """Take where it is bound, and what the user says.

        Args:
            bound: The address of the mesh port, as bound.
            advertise: "auto", or the addresses that others reach it by.
            outside: Tells, of a wildcard, the IP that this machine sends from.
            own: Tells whether this machine has an IP.

        Raises:
            UsageError: One is no address, or there are too many.
            TypeError: It is neither "auto" nor an address nor several.
        """
        _, host, self._port = parts_of(bound)
        self.bound = bound
        self.advertised = advertise != AUTO
        """Whether the user says where it is."""
        self._host, self._outside, self._own = host, outside, own
        self._had = ""
        """The IP that others see, if it is this machine's, as far as is known."""
        self.local = is_loopback(host)
        """Whether only this machine reaches it."""
        self._fixed = self.advertised or not is_wildcard(host)
        self._seen: OrderedDict[bytes, str] = OrderedDict()
        if self.advertised:
            several = _several(advertise)
            if not 0 < len(several) <= ENDPOINTS_MAX:
                raise UsageError(f"advertise has {len(several)} addresses; 1 to {ENDPOINTS_MAX}")
            self.addresses = tuple(address_of(one, "advertise") for one in several)
        else:
            self.addresses = (bound,) if self._fixed else ()

    @property
    def endpoint(self) -> str:
        """A seed for others: as they see this node; until anybody does, the IP it sends from."""
        first = next(iter(self.addresses), "")
        return first or joined(self._outside(self._host), self._port)

    def seen_at(self, source: str, by: bytes) -> bool:
        """Take where a node saw a connection of this one come from; tell whether that is news."""
        ip = ip_of(parts_of(source)[1])
        if self._fixed or ip is None or ip.is_unspecified or ip.is_multicast:
            return False
        self._seen[by] = str(ip)
        self._seen.move_to_end(by)
        while len(self._seen) > OBSERVERS_MAX:
            self._seen.popitem(last=False)
        said = list(self._seen.values())
        remote = [one for one in said if not is_loopback(one)] or said
        best, count = Counter(remote).most_common(1)[0]
        found = (joined(best, self._port),)
        news = found != self.addresses
        if news and self.addresses and 2 * count <= len(remote):
            return False
        if news or not self._had:
            self._had = best if self._own(best) else ""
        self.addresses = found
        return news

    def vanished(self) -> bool:
        """Tell, once, that this machine no longer has the IP that others saw: who sees the next one
        is believed. One that it never had is behind NAT, and says nothing."""
        if not self._had or self._own(self._had):
            return False
        self._had = ""
        self._seen.clear()
        return True
