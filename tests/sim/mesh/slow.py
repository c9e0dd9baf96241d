"""Members that are slow, and what becomes of those who are well: here and with plain SWIM.

Not here: plain SWIM (plain.py), what is promised (targets.py). Law: both run in the same world, of
the same seed, with the same members slow in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

from meshmsg._mesh.limits import Times
from meshmsg._mesh.told import EventKind

from . import scenes
from .plain import PLAIN, make_plain
from .world import World

SHARE = 20
"""One of so many is slow."""
COST = 0.15
"""Seconds that a message takes a slow member: more come to it than it can take."""
SECONDS = 60.0


class Blamed(NamedTuple):
    """Events UNREACHABLE about members that are well."""

    by_well: int
    by_slow: int


def slow(
    size: int, seed: int, *, plain: bool = False, cost: float = COST, seconds: float = SECONDS
) -> Blamed:
    """A mesh in which one of twenty is slow for that long."""
    world = World(seed, times=PLAIN if plain else Times())
    world.formed(size)
    if plain:
        for host in world.hosts:
            make_plain(host.core)
    world.run(1.0)
    for host in world.hosts[::SHARE]:
        host.cost = cost
    well = {host.core.me().node_id for host in world.hosts if not host.cost}
    since = world.now
    world.run(since + seconds)
    alarms = [
        host for _, host, node in scenes.events(world, EventKind.UNREACHABLE, since) if node in well
    ]
    by_slow = sum(host.cost > 0 for host in alarms)
    return Blamed(len(alarms) - by_slow, by_slow)
