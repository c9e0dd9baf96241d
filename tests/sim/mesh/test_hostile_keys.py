"""A member that makes as many keys as it likes, and what it cannot do to those who are well.

Not here: what it can do with its own key (test_hostile.py). Law: its fakes answer when they are
asked, and whatever a member may say it says, to all others, ten times a second.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from meshmsg._mesh.messages import HEAD, NUMBER, PROBE, REFUSAL, Kind
from meshmsg._mesh.octets import (
    Rumour,
    Signed,
    Statement,
    node_id_of,
    record_octets,
    rumour_octets,
    signed_of,
    statement_octets,
    statement_raw,
)
from meshmsg._mesh.told import Arrival, EventKind, Record, State

from . import scenes
from .sizes import seeds
from .world import Host, Stamp, World

SIZE = 20
SECONDS = 4.0
"""Of an attack: many times what a suspicion may last in a mesh of that size."""
PAUSE = 0.1
LATER = 10**9
"""Milliseconds that a fake says it started after the one whose name it has."""
ROOM = 1_200
"""Octets of rumours in one message of the attack."""


class Fake:
    """A key of the hostile member, and the record of nobody."""

    def __init__(self, world: World, number: int, record: Record) -> None:
        self.stamp = Stamp(world, b"fake-%d" % number)
        epoch = record.boot_epoch
        node = node_id_of(self.stamp.key, epoch)
        made = replace(record, node_id=node, sign_key=self.stamp.key, signature=b"")
        data = record_octets(made)
        self.signed: Signed = signed_of(data + self.stamp.sign(data))
        self.handle = self.signed.handle

    def says(self, tag: bytes, kind: Rumour, of: Signed) -> bytes:
        """Its word, signed by its key: good for all who know its record."""
        incarnation = of.record.incarnation
        data = statement_octets(kind, tag, of.handle, incarnation, self.handle)
        said = Statement(kind, of.handle, incarnation, self.handle, self.stamp.sign(data))
        return rumour_octets(kind, statement_raw(said))


class Attacker:
    """One member of a mesh, with its fakes."""

    def __init__(self, world: World, host: Host, keys: int, *, names: bool = False) -> None:
        """Make the fakes; names: each has that of one who is well, and a later start."""
        self.world, self.host, self.here = world, host, host.core.here
        self.well = [other for other in world.hosts if other is not host]
        self.fakes = []
        for number in range(keys):
            record = replace(self.here.me.record, name=f"fake-{number}")
            if names:
                named = self.well[number % len(self.well)].core.me()
                record = replace(record, name=named.name, boot_epoch=named.boot_epoch + LATER)
            self.fakes.append(Fake(world, number, record))
        self.handles = {fake.handle for fake in self.fakes}
        self._arrived = host.core.arrived
        host.core.arrived = self.arrived  # type: ignore[method-assign]

    def arrived(self, now: float, arrival: Arrival) -> None:
        """Answer for each fake; tell who asks for help that nobody listens there, in all names."""
        kind = arrival.data[1]
        if kind == Kind.INDIRECT:
            number, _ = PROBE.unpack_from(arrival.data, HEAD.size)
            for host in self.world.hosts:
                sender = host.core.here.me.handle
                head = HEAD.pack(1, Kind.NACK, self.here.tag, sender)
                self.here.answer(arrival, head + REFUSAL.pack(number, 1))
            return
        if kind == Kind.PING:
            number, handle = PROBE.unpack_from(arrival.data, HEAD.size)
            if handle in self.handles:
                head = HEAD.pack(1, Kind.ACK, self.here.tag, handle)
                self.here.answer(arrival, head + NUMBER.pack(number))
                return
        self._arrived(now, arrival)

    def say(self, rumours: list[bytes]) -> None:
        """To all others, past the network, in messages of the size that they may have."""
        message, messages = b"", []
        for one in rumours:
            if len(message) + len(one) > ROOM:
                messages.append(message)
                message = b""
            message += one
        for body in [*messages, message]:
            data = HEAD.pack(1, Kind.NEWS, self.here.tag, self.here.me.handle) + body
            for other in self.well:
                arrival = Arrival(self.host.address, data, self.host.index + 1)
                other.core.arrived(self.world.clock(other), arrival)
                self.world.acted(other)

    def introduce(self) -> None:
        """Tell of all fakes."""
        self.say([rumour_octets(Rumour.RECORD, fake.signed.raw) for fake in self.fakes])

    def accuse(self, kind: Rumour, victims: list[Host]) -> None:
        """Have each fake accuse these, of the incarnation that they have now."""
        self.say(
            [
                fake.says(self.here.tag, kind, victim.core.here.me)
                for victim in victims
                for fake in self.fakes
            ]
        )


def wrong(world: World, attacker: Attacker, since: float) -> list[tuple[str, str, EventKind]]:
    """Who that is well told of whom that is well that it is gone."""
    names = {host.core.me().node_id: host.name for host in attacker.well}
    gone = (EventKind.UNREACHABLE, EventKind.FORGOTTEN, EventKind.LEFT)
    return [
        (host.name, names[node], kind)
        for at, host, kind, node in world.seen
        if at >= since and kind in gone and host is not attacker.host and node in names
    ]


def attacked(seed: int, keys: int, *, names: bool = False) -> tuple[World, Attacker]:
    """A mesh in which all know the fakes, and asked some of them."""
    world = scenes.formed(SIZE, seed)
    attacker = Attacker(world, world.hosts[0], keys, names=names)
    attacker.introduce()
    world.run(world.now + 2)
    return world, attacker


SEEDS = seeds(2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keys", [3, 30])
@pytest.mark.parametrize("kind", [Rumour.SUSPECT, Rumour.REFUSED])
def test_keys_that_a_member_makes_end_nobody_who_answers(
    kind: Rumour, keys: int, seed: int
) -> None:
    """All who are well are accused by all fakes, again and again."""
    world, attacker = attacked(seed, keys)
    since, end = world.now, world.now + SECONDS
    victims = attacker.well if keys < SIZE else attacker.well[:3]
    while world.now < end:
        attacker.accuse(kind, victims)
        world.run(world.now + PAUSE)
    assert wrong(world, attacker, since) == []
    world.run(world.now + 10)
    assert wrong(world, attacker, since) == []
    for host in attacker.well:
        assert scenes.states(world, host) == {State.ALIVE}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [Rumour.SUSPECT, Rumour.REFUSED])
def test_a_name_goes_on_being_its_holders_while_that_one_answers(kind: Rumour, seed: int) -> None:
    """Each fake has the name of one who is well, and says that it began later."""
    world, attacker = attacked(seed, SIZE - 1, names=True)
    since, end = world.now - 2, world.now + SECONDS
    number = 0
    while world.now < end:
        attacker.accuse(kind, [attacker.well[number % len(attacker.well)]])
        attacker.introduce()
        number += 1
        world.run(world.now + PAUSE)
    assert wrong(world, attacker, since) == []


def test_a_fake_of_a_suspect_s_name_ends_it_no_sooner() -> None:
    """It comes while the one of that name is suspect with all: that one is asked, and answers."""
    world = scenes.formed(SIZE, 5)
    attacker = Attacker(world, world.hosts[0], SIZE - 1, names=True)
    since = world.now
    for victim, fake in zip(attacker.well, attacker.fakes, strict=True):
        own = attacker.here.state(
            Rumour.SUSPECT, victim.core.here.me.handle, victim.core.me().incarnation
        )
        attacker.say(
            [
                rumour_octets(Rumour.SUSPECT, statement_raw(own)),
                rumour_octets(Rumour.RECORD, fake.signed.raw),
            ]
        )
    world.run(world.now + 10)
    assert wrong(world, attacker, since) == []


def test_the_record_of_a_former_life_takes_nothing_from_the_one_that_is() -> None:
    """All have started again, so that nobody knew it: it is sent to all, again and again."""
    world = scenes.formed(SIZE, 3)
    old = [host.core.here.me.raw for host in world.hosts]
    for host in list(world.hosts):
        world.crash(host)
    world.now += 60
    first = world.host("node-0")
    for number in range(1, SIZE):
        world.host(f"node-{number}", seeds=(first.address,))
    world.run(world.now + 20)
    assert scenes.complete(world)
    lives = [host for host in world.hosts if host.up]
    attacker = Attacker(world, lives[0], 0)
    attacker.well = lives[1:]
    since, end = world.now, world.now + SECONDS
    while world.now < end:
        attacker.say([rumour_octets(Rumour.RECORD, raw) for raw in old])
        world.run(world.now + PAUSE)
    assert wrong(world, attacker, since) == []
    told = {kind for at, _, kind, _ in world.seen if at >= since}
    assert told <= {EventKind.FORGOTTEN}, "nobody was told that a former life is there"
    for host in lives:
        assert scenes.states(world, host) == {State.ALIVE}


def test_who_is_gone_is_noticed_by_all_in_spite_of_fakes_that_were_never_asked() -> None:
    """What is needed for that is what each finds itself; the fakes are silent about it."""
    world, attacker = attacked(7, 3)
    victim = attacker.well[4]
    world.crash(victim)
    since, node = world.now, victim.core.me().node_id
    world.run(since + 30)
    told = scenes.told_by(world, EventKind.UNREACHABLE, node, since)
    assert set(told) >= {host.index for host in attacker.well if host is not victim}
