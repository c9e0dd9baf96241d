"""What nodes of a network say to all of it: datagrams with an address, and what is kept of them.

Not here: the socket (beacon.py). Law: no datagram is answered; what somebody else sends costs a
hash at most, and changes nothing but a count unless the secret signed it.
"""

from __future__ import annotations

import hmac
import struct
from collections import Counter, OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from random import Random

from meshmsg._binding.errors import UsageError
from meshmsg._hints.plural import counted
from meshmsg._mesh.limits import ENDPOINT_MAX
from meshmsg._mesh.octets import cluster_tag
from meshmsg.mesh._addresses import address_of
from meshmsg.mesh._finding.seeds import ADDRESSES_MAX

EVERY_S = 2.0
"""Seconds between two looks at what came, and two datagrams of one node at the least."""
ALWAYS = 3
"""Datagrams that a node sends at first, however many others send."""
ENOUGH = 8
"""Nodes that send each `EVERY_S`, on average, where there are more than that."""
KEPT_S = 30.0
"""Seconds after which an address that was not said again does not count."""
KEPT_OF_SOURCE = 16
"""Addresses that are kept of what one IP said: so that it cannot have all the room."""
OF_SOURCE_MAX = 64
"""Datagrams of one IP that are looked at in one look."""
SKEW_MAX_MS = 300_000
"""Milliseconds between the clocks of two machines; what is older may be somebody's copy."""
MAGIC = b"MMB1"
HEAD = struct.Struct(">4s4s8sQ")
"""Magic, tag of the cluster, number of the sender, milliseconds of its wall clock."""
MAC_SIZE = 16
"""Octets of the keyed hash at the end."""
DATAGRAM_MAX = HEAD.size + ENDPOINT_MAX + MAC_SIZE
"""Octets of a datagram."""
SENDER = 8
"""Octets that tell nodes apart; random."""


def keys_of(secrets: Sequence[bytes]) -> list[bytes]:
    """Return what datagrams are signed with, made of the cluster's secrets; none: of nothing."""
    return [blake2b(b"beacon", key=secret, digest_size=32).digest() for secret in secrets] or [b""]


def signed(data: bytes, key: bytes) -> bytes:
    """Return a datagram with its keyed hash."""
    return data + blake2b(data, key=key, digest_size=MAC_SIZE, person=b"meshbeacon").digest()


class Heard:
    """What one node says, and what it keeps of what others say."""

    def __init__(self, cluster: str, sender: bytes, rng: Random) -> None:
        """Begin with nothing.

        Args:
            cluster: Of others nothing is kept.
            sender: `SENDER` octets of this node alone.
            rng: Decides who is silent where many speak.
        """
        self._tag, self._sender, self._rng = cluster_tag(cluster), sender, rng
        self._kept: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._sent = 0
        self._sent_at = float("-inf")
        self._sources: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        """Datagrams that were refused, and why."""

    def say(self, now: float, wall_ms: int, address: str, key: bytes) -> bytes | None:
        """Return what this node sends; None: not now.

        Args:
            now: Seconds, of a clock that only goes on.
            wall_ms: Milliseconds of the wall clock.
            address: Of this node's mesh port.
            key: Signs it.
        """
        others = self._fresh(now)
        share = 1.0 if self._sent < ALWAYS else ENOUGH / max(ENOUGH, others)
        if now - self._sent_at < EVERY_S / 2 or self._rng.random() >= share:
            return None
        self._sent += 1
        self._sent_at = now
        head = HEAD.pack(MAGIC, self._tag, self._sender, wall_ms)
        return signed(head + address.encode("ascii"), key)

    def look(self) -> None:
        """Begin another look: each source may send as much again."""
        self._sources.clear()

    def take(
        self, now: float, wall_ms: int, data: bytes, source: str, keys: Sequence[bytes]
    ) -> None:
        """Take a datagram; one that is not good is counted, and why.

        Args:
            now, wall_ms: As of `say`.
            data: At most `DATAGRAM_MAX` octets and one more.
            source: The IP that it came from.
            keys: One of them must have signed it.
        """
        self._sources[source] += 1
        if self._sources[source] > OF_SOURCE_MAX:
            self.counts["beyond those of one machine"] += 1
        elif wrong := self._wrong(wall_ms, data, keys):
            self.counts[wrong] += 1
        elif HEAD.unpack_from(data)[2] != self._sender:
            self._keep(now, data[HEAD.size : -MAC_SIZE], source)

    def _wrong(self, wall_ms: int, data: bytes, keys: Sequence[bytes]) -> str:
        if not HEAD.size + MAC_SIZE < len(data) <= DATAGRAM_MAX:
            return "of a wrong size"
        magic, tag, _, said_ms = HEAD.unpack_from(data)
        if magic != MAGIC:
            return "of something else"
        if tag != self._tag:
            return "of another cluster"
        good = [hmac.compare_digest(signed(data[:-MAC_SIZE], key), data) for key in keys]
        if not any(good):
            return "of another secret"
        return "" if abs(wall_ms - said_ms) <= SKEW_MAX_MS else "of another time"

    def _keep(self, now: float, text: bytes, source: str) -> None:
        try:
            address = address_of(text.decode("ascii"), "an address")
        except (UsageError, ValueError):
            self.counts["without an address"] += 1
            return
        self._fresh(now)
        of = Counter(source for _, source in self._kept.values())
        known = self._kept.get(address)
        if known is not None and known[1] != source:  # it is that one's now, if there is room
            room = of[source] < KEPT_OF_SOURCE
        else:
            room = known is not None or self._has_room(of, source)
        if not room:
            self.counts["of more nodes than are kept"] += 1
            return
        self._kept[address] = now, source
        self._kept.move_to_end(address)

    def _has_room(self, of: Counter[str], source: str) -> bool:
        """Whether one more of an IP is kept: in a full one in the place of who has the most."""
        if of[source] >= KEPT_OF_SOURCE:
            return False
        if len(self._kept) < ADDRESSES_MAX:
            return True
        most, count = of.most_common(1)[0]
        if count <= of[source] + 1:
            return False
        oldest = next(address for address, (_, whose) in self._kept.items() if whose == most)
        del self._kept[oldest]
        return True

    def _fresh(self, now: float) -> int:
        """Drop what is old; return how many are left."""
        while self._kept and next(iter(self._kept.values()))[0] <= now - KEPT_S:
            self._kept.popitem(last=False)
        return len(self._kept)

    def addresses(self, now: float) -> list[str]:
        """Return what others said, at most `ADDRESSES_MAX`."""
        self._fresh(now)
        return list(self._kept)

    def words(self) -> str:
        """Say what was refused; "" if nothing was."""
        said = [f"{n} {why}" for why, n in sorted(self.counts.items())]
        return (
            f"refused {counted(self.counts.total(), 'datagram')}: {', '.join(said)}" if said else ""
        )
