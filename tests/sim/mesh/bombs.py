"""A member that tells of members that do not exist, as many as it likes, and what it costs others.

Not here: what it may cost (test_bombs.py). Law: its fakes have keys of their own and never answer;
it tells of them as fast as others take that, all at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from meshmsg._mesh.joining.admission import Room
from meshmsg._mesh.limits import NEW_PER_SECOND
from meshmsg._mesh.messages import HEAD, Kind
from meshmsg._mesh.octets import Rumour, record_octets, rumour_octets
from meshmsg._mesh.table import HERE
from meshmsg._mesh.told import Arrival, EventKind, Record, Service

from . import scenes
from .world import Host, Stamp, World

NEWS = 7
"""Fakes of one message."""
LIMIT = 900.0
"""Seconds simulated that anything is waited for."""


class Bombed(NamedTuple):
    """What became of those who are well."""

    most: int
    """Members that one of them knew, at most."""
    newcomer: float
    """Seconds until one that is new, and all others, know each other."""
    crash: float
    """Seconds until all know that one of them vanished, among all the fakes."""
    drained: float
    """Seconds until nobody takes more than the tenth of the fakes for there."""
    wrong: int
    """Events UNREACHABLE, FORGOTTEN and LEFT about those who are there."""
    sent: float
    """KB a second of each, from the first fake on."""


class Bomb:
    """The fakes of one member."""

    def __init__(self, world: World, host: Host, fakes: int, services: tuple[Service, ...] = ()):
        self.world, self.host = world, host
        self.well = [other for other in world.hosts if other is not host]
        me = replace(host.core.me(), services=services)
        self.raws = [self._fake(number, me) for number in range(fakes)]

    def _fake(self, number: int, me: Record) -> bytes:
        stamp = Stamp(self.world, b"fake-%d" % number)
        address = f"tcp://10.66.{number >> 8}.{number & 255}:1"
        data = record_octets(
            replace(me, sign_key=stamp.key, name=f"fake-{number}", addresses=(address,))
        )
        return data + stamp.sign(data)

    def explode(self, first: int, last: int) -> None:
        """Tell all who are well of these."""
        here = self.host.core.here
        head = HEAD.pack(1, Kind.NEWS, here.tag, here.me.handle)
        rumours = [rumour_octets(Rumour.RECORD, raw) for raw in self.raws[first:last]]
        for at in range(0, len(rumours), NEWS):
            data = head + b"".join(rumours[at : at + NEWS])
            for other in self.well:
                arrival = Arrival(self.host.address, data, self.host.index + 1)
                other.core.arrived(self.world.clock(other), arrival)
                self.world.acted(other)

    def flood(self, node: Host, sources: int) -> None:
        """Tell one node of all of them, from so many hosts, with all the time that it wants."""
        now = self.world.clock(node)
        for number, raw in enumerate(self.raws):
            source = f"tcp://10.77.0.{number % sources}:5"
            node.core.opinions.hear_record(now, raw, source, b"somebody")


def met(hosts: list[Host]) -> bool:
    """Whether all of these take each other for there."""
    for host in hosts:
        rows = host.core.here.table.rows
        for other in hosts:
            row = rows.get(other.core.here.me.handle)
            if other is not host and (row is None or row.state not in HERE):
                return False
    return True


def bombed(size: int, fakes: int, seed: int, room: Room) -> Bombed:
    """A mesh of which one member tells all others of so many."""
    world = scenes.formed(size, seed, settle=5.0)
    for host in world.hosts:
        host.core.opinions.admission.room = room
    bomb = Bomb(world, world.hosts[0], fakes)
    since, sent = world.now, sum(host.sent for host in bomb.well)
    most, step = 0, int(NEW_PER_SECOND)
    for first in range(0, fakes, step):
        bomb.explode(first, first + step)
        most = max(most, *(len(host.core.here.table.rows) for host in bomb.well))
        world.run(world.now + 1.0)
    new = world.host(seeds=(bomb.well[0].address,))
    new.core.opinions.admission.room = room
    newcomer = world.run_until(lambda: met([*bomb.well, new]), LIMIT, 0.1)
    victim = bomb.well[-1]
    world.crash(victim)
    well = [host for host in [*bomb.well, new] if host is not victim]
    crash = _until_gone(world, victim, well)

    def there() -> int:
        return max(host.core.here.table.here for host in well)

    drained = world.run_until(lambda: there() <= size + fakes // 10, LIMIT, 1.0)
    rate = (sum(host.sent for host in bomb.well) - sent) / len(bomb.well) / (world.now - since)
    names = {host.core.me().node_id for host in well}
    gone = (EventKind.UNREACHABLE, EventKind.FORGOTTEN, EventKind.LEFT)
    wrong = sum(
        kind in gone and node in names and host is not bomb.host
        for _, host, kind, node in world.seen
    )
    return Bombed(most, newcomer, crash, drained, wrong, rate / 1000)


def _until_gone(world: World, victim: Host, well: list[Host]) -> float:
    node, since = victim.core.me().node_id, world.now

    def known() -> bool:
        told = scenes.told_by(world, EventKind.UNREACHABLE, node, since)
        return all(host.index in told for host in well)

    return world.run_until(known, LIMIT, 0.1)
