"""What happens to a simulated mesh, and what is measured of it.

Not here: what the figures should be (test_*.py, table.py). Law: a scene is a function of its size
and its seed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from meshmsg._mesh.told import EventKind, Service, State

from .world import Host, World

SETTLE = 2.0
"""Seconds that a mesh which was formed runs before something happens to it."""


def formed(size: int, seed: int, *, loss: float = 0.01, settle: float = SETTLE) -> World:
    """A mesh in which everybody knows everybody."""
    world = World(seed, loss=loss)
    world.formed(size)
    world.run(settle)
    return world


def events(world: World, kind: EventKind, since: float = 0.0) -> list[tuple[float, Host, bytes]]:
    """What the nodes told of that kind, since then."""
    return [(at, host, node) for at, host, told, node in world.seen if told == kind and at >= since]


def told_by(world: World, kind: EventKind, node: bytes, since: float) -> dict[int, float]:
    """When each host told that of a node for the first time, after `since`."""
    first: dict[int, float] = {}
    for at, host, told, of in world.seen:
        if told == kind and of == node and at >= since:
            first.setdefault(host.index, at - since)
    return first


def until_told(world: World, kind: EventKind, host: Host, limit: float) -> float:
    """Run until all that are up told that of a host; return how long it took, or infinity."""
    node, since = host.core.me().node_id, world.now
    others = [other.index for other in world.hosts if other.up and other is not host]
    world.run_until(lambda: len(told_by(world, kind, node, since)) >= len(others), limit, 0.1)
    told = told_by(world, kind, node, since)
    return max((told.get(index, float("inf")) for index in others), default=0.0)


def crash(size: int, seed: int, *, limit: float = 60.0) -> float:
    """A machine vanishes: seconds until all know."""
    world = formed(size, seed)
    victim = world.hosts[world.rng.randrange(size)]
    world.crash(victim)
    return until_told(world, EventKind.UNREACHABLE, victim, limit)


def kill(size: int, seed: int, *, limit: float = 60.0) -> tuple[float, float]:
    """A process is killed: seconds until those with a connection to it know, and all.

    Nothing is lost: where a refusal is seen there are connections, and these lose nothing.
    """
    world = formed(size, seed, loss=0.0, settle=5.0)
    victim = world.hosts[world.rng.randrange(size)]
    since, node = world.now, victim.core.me().node_id
    connected = victim.peers - {victim.index}
    world.crash(victim, silent=False)
    everyone = until_told(world, EventKind.UNREACHABLE, victim, limit)
    told = told_by(world, EventKind.UNREACHABLE, node, since)
    return max(told.get(index, float("inf")) for index in connected), everyone


class Join(NamedTuple):
    """How a join of all at once went."""

    took: float
    """Seconds until all knew all; infinity: not in time."""
    rate: float
    """KB a second that a node sent meanwhile."""
    window: float
    """The same, in the `JOIN_S` seconds that it may take."""
    busiest: float
    """The same, in the busiest second."""


JOIN_S = 7
"""Seconds that a join of all at once may take."""


def join(size: int, seed: int, *, limit: float = 60.0) -> Join:
    """All start at once and know one seed."""
    world = World(seed, watched=False)
    first = world.host()
    for _ in range(size - 1):
        world.host(seeds=(first.address,))

    def sent() -> float:
        return sum(host.sent for host in world.hosts) / size / 1000

    each, took, total = [0.0], float("inf"), 0.0
    while len(each) <= JOIN_S or (took > limit and world.now < limit):
        for _ in range(4):
            world.run(world.now + 0.25)
            if took > limit and complete(world):
                took, total = world.now, sent()
        each.append(sent())
    busiest = max(after - before for before, after in pairwise(each))
    return Join(took, total / took, each[JOIN_S] / JOIN_S, busiest)


def complete(world: World) -> bool:
    """Whether all that are up see exactly each other."""
    up = sum(host.up for host in world.hosts)
    return all(host.core.here.table.here == up - 1 for host in world.hosts if host.up)


def join_one(size: int, seed: int, *, limit: float = 30.0) -> float:
    """One joins a mesh: seconds until all know it, and it knows all."""
    world = formed(size, seed)
    seeds = tuple(host.address for host in world.hosts[:3])
    since = world.now
    one = world.host(seeds=seeds)
    world.run_until(lambda: complete(world), limit)
    told = told_by(world, EventKind.UP, one.core.me().node_id, since)
    late = max(told.get(host.index, float("inf")) for host in world.hosts[:-1])
    return max(late, world.seen[-1][0] - since) if complete(world) else float("inf")


def split(size: int, seed: int, *, apart: float, share: float = 0.5) -> World:
    """A mesh that is parted in two, for so long."""
    world = formed(size, seed)
    for host in world.hosts[: max(1, int(size * share))]:
        host.group = 1
    world.run(world.now + apart)
    return world


def heal(world: World, *, limit: float = 60.0) -> float:
    """The parts can reach each other again: seconds until all see all."""
    for host in world.hosts:
        host.group = 0
    return world.run_until(lambda: complete(world), limit, 0.1)


def cut(size: int, small: int, seed: int, *, limit: float = 60.0) -> float:
    """A few are cut off from all others: seconds until these few know that, of each."""
    world = formed(size, seed)
    few = world.hosts[:small]
    for host in few:
        host.group = 1

    def known() -> bool:
        return all(host.core.here.table.here == small - 1 for host in few)

    return world.run_until(known, limit, 0.1)


def false_alarms(world: World, since: float) -> int:
    """Events `unreachable` about hosts that are up, by hosts that are up."""
    up = {host.core.me().node_id for host in world.hosts if host.up}
    return sum(node in up for _, _, node in events(world, EventKind.UNREACHABLE, since))


def quiet(size: int, seed: int, seconds: float, *, loss: float = 0.01) -> tuple[int, float]:
    """Nothing happens: false alarms, and octets a second that a node sends."""
    world = formed(size, seed, loss=loss)
    since, sent = world.now, sum(host.sent for host in world.hosts)
    world.run(since + seconds)
    sent = sum(host.sent for host in world.hosts) - sent
    return false_alarms(world, since), sent / size / seconds


class Lossy(NamedTuple):
    """What became of a mesh that loses many messages."""

    alarms: int
    """Events UNREACHABLE about hosts that are up."""
    back: float
    """Seconds until all see all again, at the same loss; infinity: not in time."""
    final: int
    """Events FORGOTTEN and LEFT: none of these is ever taken back."""


def lossy(size: int, seed: int, *, loss: float, seconds: float, limit: float = 60.0) -> Lossy:
    """Many messages are lost, for so long, and go on to be."""
    world = formed(size, seed, loss=loss)
    since = world.now
    world.run(since + seconds)
    alarms = false_alarms(world, since)
    back = world.run_until(lambda: complete(world), limit, 0.1)
    final = len(events(world, EventKind.FORGOTTEN)) + len(events(world, EventKind.LEFT))
    return Lossy(alarms, back, final)


AWAY_S = 3.0
"""Seconds that nothing reaches a node which moves: news go round in less."""


def moved(size: int, seed: int, *, limit: float = 60.0) -> float:
    """A node is elsewhere, and is told nothing meanwhile: seconds until it knows what was said."""
    world = formed(size, seed, settle=5.0)
    mover, other = world.hosts[1], world.hosts[2]
    told = Service("orders", "pull", "zmtp", ("tcp://10.0.0.5:5555",))
    mover.group = 1
    other.core.offer(world.clock(other), (told,))
    world.acted(other)
    world.run(world.now + AWAY_S)
    mover.group = 0
    world.move(mover, "tcp://10.90.0.1:7450")
    node = other.core.here.me.handle
    rows = mover.core.here.table.rows
    return world.run_until(lambda: told in rows[node].signed.record.services, limit, 0.05)


def states(world: World, of: Host) -> set[State]:
    """What those that are up take a host for."""
    handle = of.core.here.me.handle
    return {
        host.core.here.table.rows[handle].state
        for host in world.hosts
        if host.up and host is not of and handle in host.core.here.table.rows
    }
