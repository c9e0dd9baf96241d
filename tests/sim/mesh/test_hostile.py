"""A member that has the cluster's secret and wants harm: what it can do, and what it cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from meshmsg._mesh.messages import HEAD, WARNING, Kind
from meshmsg._mesh.octets import (
    Rumour,
    Statement,
    record_octets,
    rumour_octets,
    statement_octets,
    statement_raw,
)
from meshmsg._mesh.told import Arrival, EventKind, State

from . import scenes
from .sizes import large, seeds
from .world import Host, Stamp, World

pytestmark = pytest.mark.parametrize(
    ("size", "seed"),
    [*((20, 11 + seed) for seed in seeds(2, cost=5)), large(200, 11), large(1000, 11)],
)
VICTIMS = slice(1, 20)
HEALTHY = {State.ALIVE}


class Hostile:
    """One member's word, whatever it likes to say; each message goes to all others."""

    def __init__(self, world: World, host: Host) -> None:
        self.world, self.host = world, host
        self.here = host.core.here

    def say(self, kind: Kind, body: bytes) -> None:
        """To all others, past the network."""
        data = HEAD.pack(1, kind, self.here.tag, self.here.me.handle) + body
        for other in self.world.hosts:
            if other is not self.host:
                arrival = Arrival(self.host.address, data, self.host.index + 1)
                other.core.arrived(self.world.clock(other), arrival)
                self.world.acted(other)

    def accuse(self, victim: bytes, incarnation: int, by: bytes, kind: Rumour) -> bytes:
        """An accusation with the name of `by` and this member's signature."""
        data = statement_octets(kind, self.here.tag, victim, incarnation, by)
        signature = self.here.signer.sign(data)
        said = Statement(kind, victim, incarnation, by, signature)
        return rumour_octets(kind, statement_raw(said))


def repeated(world: World, seconds: float, act: Callable[[], None]) -> None:
    """Do it ten times a second."""
    end = world.now + seconds
    while world.now < end:
        act()
        world.run(world.now + 0.1)


@pytest.fixture
def meeting(size: int, seed: int) -> tuple[World, Hostile]:
    """Those who are well, and one."""
    world = scenes.formed(size, seed)
    return world, Hostile(world, world.hosts[0])


def well(world: World) -> None:
    """Everybody sees everybody."""
    world.run(world.now + 5)
    assert scenes.complete(world)
    assert scenes.events(world, EventKind.UNREACHABLE) == []


@pytest.mark.parametrize("kind", [Rumour.SUSPECT, Rumour.REFUSED])
def test_a_flood_of_accusations_by_one_makes_nobody_unreachable(
    meeting: tuple[World, Hostile], kind: Rumour
) -> None:
    """Its own, and those that it signs with the names of others."""
    world, hostile = meeting

    def act() -> None:
        handles = [host.core.here.me.handle for host in world.hosts[VICTIMS]]
        for victim in world.hosts[VICTIMS]:
            me = victim.core.here.me
            said = [
                hostile.accuse(me.handle, me.record.incarnation, by, kind)
                for by in (hostile.here.me.handle, *handles[:4])
            ]
            hostile.say(Kind.NEWS, b"".join(said))

    repeated(world, 4.0, act)
    well(world)


@pytest.mark.parametrize("incarnation", [2**32 - 1, 5000])
def test_no_incarnation_of_a_rumour_kills_a_member_for_ever(
    meeting: tuple[World, Hostile], incarnation: int
) -> None:
    """One so high that the member could not go above it, or not by what others take from it."""
    world, hostile = meeting
    victim = world.hosts[5].core

    def act() -> None:
        handle = victim.here.me.handle
        said = hostile.accuse(handle, incarnation, hostile.here.me.handle, Rumour.SUSPECT)
        hostile.say(Kind.NEWS, said)
        hostile.say(Kind.WARN, WARNING.pack(handle, incarnation))

    repeated(world, 2.0, act)
    well(world)
    assert victim.me().incarnation < 1000


def test_a_forged_record_of_another_takes_nothing_from_it(meeting: tuple[World, Hostile]) -> None:
    """Its address, to be talked to in its place."""
    world, hostile = meeting
    victim = world.hosts[5].core.me()
    forged = replace(victim, incarnation=9, seq=9, addresses=(hostile.host.address,), signature=b"")
    data = record_octets(forged)
    raw = data + hostile.here.signer.sign(data)
    hostile.say(Kind.NEWS, rumour_octets(Rumour.RECORD, raw))
    well(world)
    for host in world.hosts:
        for member in host.core.members():
            if member.record.node_id == victim.node_id:
                assert member.record.addresses == victim.addresses


def test_an_old_message_that_is_sent_again_does_nothing(meeting: tuple[World, Hostile]) -> None:
    """A record from before a change, and an accusation from before it was refuted."""
    world, hostile = meeting
    victim = world.hosts[5]
    old = rumour_octets(Rumour.RECORD, victim.core.here.me.raw)
    said = [
        rumour_octets(Rumour.SUSPECT, statement_raw(accuser.core.here.state(
            Rumour.SUSPECT, victim.core.here.me.handle, victim.core.me().incarnation)))
        for accuser in world.hosts[1:4]
    ]  # fmt: skip
    victim.core.moved(world.clock(victim), (victim.address, "tcp://10.77.0.1:7450"))
    victim.core.opinions.accused(world.clock(victim), victim.core.me().incarnation)
    world.acted(victim)
    world.run(world.now + 3)
    repeated(world, 3.0, lambda: hostile.say(Kind.NEWS, old + b"".join(said)))
    well(world)
    for host in world.hosts:
        found = {m.record.node_id: m.record for m in host.core.members()}
        assert len(found[victim.core.me().node_id].addresses) == 2


def test_nobody_can_say_that_another_leaves(meeting: tuple[World, Hostile]) -> None:
    """Only its own key can."""
    world, hostile = meeting
    me = world.hosts[5].core.here.me
    said = hostile.accuse(me.handle, me.record.incarnation, me.handle, Rumour.LEFT)
    said += hostile.accuse(me.handle, me.record.incarnation, hostile.here.me.handle, Rumour.LEFT)
    hostile.say(Kind.NEWS, said)
    well(world)
    assert scenes.states(world, world.hosts[5]) == HEALTHY


def test_members_that_do_not_exist_are_forgotten_and_the_real_ones_stay(
    meeting: tuple[World, Hostile],
) -> None:
    """Thirty of them, each with a key of its own, none answering."""
    world, hostile = meeting
    real = {host.core.me().node_id for host in world.hosts}
    for number in range(30):
        stamp = Stamp(world, b"fake-%d" % number)
        record = replace(
            hostile.here.me.record,
            sign_key=stamp.key,
            name=f"fake-{number}",
            addresses=(f"tcp://10.66.0.{number}:1",),
        )
        data = record_octets(record)
        hostile.say(Kind.NEWS, rumour_octets(Rumour.RECORD, data + stamp.sign(data)))
    world.run(world.now + 100)
    gone = {node for _, _, node in scenes.events(world, EventKind.UNREACHABLE)}
    assert not gone & real
    for host in world.hosts:
        there = {m.record.node_id for m in host.core.members() if m.state == State.ALIVE}
        assert there == real
