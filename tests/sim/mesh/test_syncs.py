"""Three thousand that sync with one node at once: what it sends, and what it takes of memory.

Not here: how two directories become one (tests/unit/test_mesh_sync.py). Law: no time passes while
they ask, so that all of it is in flight.
"""

from __future__ import annotations

import tracemalloc

import pytest

from meshmsg._mesh.limits import SYNC_MAX, SYNCS_MAX
from meshmsg._mesh.messages import (
    BUCKET_DIGESTS,
    BUCKETS,
    DIGEST,
    HEAD,
    VERSION_ENTRY,
    Kind,
    bits_of,
)
from meshmsg._mesh.octets import HANDLE, Signed
from meshmsg._mesh.told import Arrival

from .sizes import large
from .targets import STATE_MIB
from .world import Host, World

ASKING = 3_000
AT = HEAD.size
ALL = bits_of(range(BUCKETS))


class Asked:
    """One node that others ask at once, and what they are answered."""

    def __init__(self, members: int) -> None:
        self.world = World(1, watched=False)
        hosts = self.world.formed(members, shared=False, full=1)
        self.node: Host = hosts[0]
        self.others: list[Signed] = [host.core.here.me for host in hosts[1:]]
        self.tag = self.node.core.here.tag
        self.sent = 0
        self.kinds: dict[int, int] = {}

    def hears(self, number: int, kind: Kind, body: bytes) -> None:
        """One that is new says that; all that it is answered is in flight from then on."""
        data = HEAD.pack(1, kind, self.tag, number.to_bytes(HANDLE, "big")) + body
        source = f"tcp://10.1.{number >> 8}.{number & 255}:5"
        self.node.core.arrived(10.0, Arrival(source, data, number + 1))
        for item in self.node.core.take():
            self.sent += len(item.data)
            kind_of = item.data[1]
            self.kinds[kind_of] = self.kinds.get(kind_of, 0) + 1


def mib(octets: float) -> float:
    """As MiB."""
    return octets / 2**20


@pytest.mark.parametrize("members", [1_001, large(19_999)])
def test_three_thousand_that_sync_at_once_are_told_little_and_take_little_memory(
    members: int,
) -> None:
    """As they do who know nobody: sixteen are answered, the others are told who else there is."""
    asked = Asked(members)
    digest = DIGEST.pack(1)
    tracemalloc.start()
    for number in range(ASKING):
        asked.hears(number, Kind.HELLO, digest)
    for number in range(ASKING):
        asked.hears(number, Kind.VERSIONS, ALL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert asked.kinds[Kind.BUSY] == ASKING - SYNCS_MAX
    assert mib(asked.sent) <= STATE_MIB
    assert mib(peak) <= STATE_MIB


@pytest.mark.parametrize("members", [1_001, large(19_999)])
def test_three_thousand_that_ask_for_all_they_can_get_as_little(members: int) -> None:
    """They send what nobody asked them for, or again and again, and want records without a sync."""
    asked = Asked(members)
    differs = BUCKET_DIGESTS.pack(*[1] * BUCKETS)
    wanted = b"".join(one.handle for one in asked.others[: (SYNC_MAX - AT) // HANDLE])
    unknown = b"".join(
        VERSION_ENTRY.pack(number.to_bytes(HANDLE, "big"), 9, 9, 0) for number in range(3_000)
    )
    tracemalloc.start()
    for number in range(ASKING):
        if number < SYNCS_MAX:
            asked.hears(number, Kind.HELLO, DIGEST.pack(1))
        asked.hears(number, Kind.DIGEST, differs)
        asked.hears(number, Kind.VERSIONS, ALL + unknown)
        asked.hears(0, Kind.VERSIONS, ALL + unknown)
        if number % 100 == 0:
            asked.hears(number, Kind.WANT, wanted)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mib(asked.sent) <= STATE_MIB
    assert mib(peak) <= STATE_MIB
    counts = asked.node.core.here.counts
    assert counts["digest nobody asked for"] == ASKING
    assert counts["versions nobody asked for"] == 2 * ASKING - SYNCS_MAX
