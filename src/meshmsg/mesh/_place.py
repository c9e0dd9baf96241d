"""Where this node is, as others see it: the address of its mesh port that records have.

Not here: who is asked (_link.py). Law: a node that was told its address keeps that one; of what
others see, most of them count, and loopback only while nobody sees anything else.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence

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


class Place:
    """What this node advertises."""

    def __init__(
        self,
        bound: str,
        advertise: str | Sequence[str],
        *,
        outside: Callable[[str], str] = sent_from,
    ) -> None:
        """Take where it is bound, and what the user says.

        Args:
            bound: The address of the mesh port, as bound.
            advertise: "auto", or the addresses that others reach it by.
            outside: Tells, of a wildcard, the IP that this machine sends from.

        Raises:
            UsageError: One is no address, or there are too many.
        """
        _, host, self._port = parts_of(bound)
        self._host, self._outside = host, outside
        self.local = is_loopback(host)
        """Whether only this machine reaches it."""
        self._fixed = advertise != AUTO or not is_wildcard(host)
        self._seen: OrderedDict[bytes, str] = OrderedDict()
        if advertise != AUTO:
            several = [advertise] if isinstance(advertise, str) else list(advertise)
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
        if found == self.addresses or (self.addresses and 2 * count <= len(remote)):
            return False
        self.addresses = found
        return True
