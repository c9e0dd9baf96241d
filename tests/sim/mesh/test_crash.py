"""Who is gone is noticed by all, in time; MESHMSG_SIM_SEEDS says under how many seeds."""

from __future__ import annotations

import pytest

from meshmsg._mesh.told import EventKind, State
from meshmsg.mesh._driver import LEAVE_S

from . import scenes
from .sizes import large, seeds
from .targets import CRASH, KILL_ALL, KILL_CONNECTED


@pytest.mark.parametrize(("size", "few"), [(3, 20), (10, 20), (100, 8), (1000, 1)])
def test_all_know_that_a_machine_vanished_in_time(size: int, few: int) -> None:
    """With one message of a hundred lost; and nobody else is held unreachable."""
    for seed in seeds(few):
        assert scenes.crash(size, seed) <= CRASH[size], f"seed {seed}"


@pytest.mark.parametrize(("size", "few"), [(10, 20), (100, 13), large(1000, 1)])
def test_a_process_that_was_killed_is_noticed_at_once(size: int, few: int) -> None:
    """By those that have a connection, and soon by all."""
    for seed in seeds(few):
        connected, everyone = scenes.kill(size, seed)
        assert connected <= KILL_CONNECTED, f"seed {seed}"
        assert everyone <= KILL_ALL, f"seed {seed}"


@pytest.mark.parametrize("size", [50, large(1000)])
def test_many_that_vanish_together_are_all_noticed(size: int) -> None:
    """A rack: a tenth of a mesh; and only they are."""
    for seed in seeds(1, cost=max(1, size // 50)):
        world = scenes.formed(size, seed)
        gone = world.hosts[: size // 10]
        for host in gone:
            world.crash(host)
        since = world.now
        took = world.run_until(lambda world=world: scenes.complete(world), 30.0)
        assert took <= 2 * CRASH[100], f"seed {seed}"
        assert scenes.false_alarms(world, since) == 0, f"seed {seed}"


def test_who_leaves_is_left_with_all_within_a_second_and_never_unreachable() -> None:
    """By its own word."""
    for seed in seeds(3):
        world = scenes.formed(60, seed)
        host = world.hosts[7]
        host.core.leave(world.clock(host))
        world.acted(host)
        assert scenes.until_told(world, EventKind.LEFT, host, 10.0) <= 1.0, f"seed {seed}"
        world.crash(host)
        world.run(world.now + 20)
        assert scenes.states(world, host) == {State.LEFT}
        assert scenes.events(world, EventKind.UNREACHABLE) == []


def test_a_node_that_restarts_elsewhere_takes_the_place_of_the_one_that_was() -> None:
    """Its name is the same: the old one is forgotten as soon as it is unreachable."""
    world = scenes.formed(20, 3)
    old = world.hosts[4]
    world.crash(old)
    new = world.host(old.name, seeds=(world.hosts[0].address,))
    assert world.run_until(lambda: scenes.complete(world), 20.0) < 20
    world.run(world.now + 1)
    assert scenes.states(world, old) == {State.FORGOTTEN}
    assert scenes.states(world, new) == {State.ALIVE}


def test_a_restart_of_all_one_after_the_other_leaves_a_whole_mesh() -> None:
    """Each leaves, and comes back by the seeds with a new address."""
    world = scenes.formed(20, 5)
    before = list(world.hosts)
    for host in before:
        host.core.leave(world.clock(host))
        world.acted(host)
        world.run(world.now + 0.6)
        world.crash(host)
        up = tuple(other.address for other in world.hosts if other.up)[-3:]
        world.host(host.name, seeds=up)
        world.run(world.now + 1.0)
    assert world.run_until(lambda: scenes.complete(world), 20.0) < 20
    names = {host.name for host in before}
    for host in world.hosts:
        if host.up:
            there = [m for m in host.core.members() if m.state == State.ALIVE]
            assert {member.record.name for member in there} == names


@pytest.mark.parametrize(("size", "few"), [(10, 10), (22, 10), (100, 2)])
def test_all_but_two_leave_together_and_are_left_with_those(size: int, few: int) -> None:
    """A deployment is taken down: each tells others that go as well, and they pass it on."""
    for seed in seeds(few):
        world = scenes.formed(size, seed)
        stay, go = world.hosts[:2], world.hosts[2:]
        for host in go:
            host.core.leave(world.clock(host))
            world.acted(host)
        by = world.now + LEAVE_S
        while any(host.up for host in go):
            world.run(world.now + 0.01)
            for host in go:
                if host.up and (host.core.due() == float("inf") or world.now >= by):
                    world.crash(host)
        world.run(world.now + 20)
        for host in go:
            assert scenes.states(world, host) == {State.LEFT}, f"seed {seed}"
        for host in stay:
            assert scenes.states(world, host) <= {State.ALIVE}, f"seed {seed}"


@pytest.mark.parametrize("ends", ["leaves", "crashes"])
def test_who_was_cut_off_agrees_soon_about_two_lives_that_are_both_over(ends: str) -> None:
    """One ended and started again, and that one ended, too. All have the same directory then: else
    who was cut off would sync again and again until it has forgotten the first one."""
    for seed in seeds(4):
        world = scenes.formed(8, seed)
        cut, old = world.hosts[0], world.hosts[3]
        cut.group = 1
        world.crash(old)
        world.run(world.now + 15.0)
        new = world.host(old.name, seeds=(world.hosts[1].address,))
        world.run(world.now + 5.0)
        if ends == "leaves":
            new.core.leave(world.clock(new))
            world.acted(new)
            world.run(world.now + 0.6)
        world.crash(new)
        world.run(world.now + 15.0)
        cut.group = 0
        world.run(world.now + 30.0)
        digests = {host.core.here.table.digest for host in world.hosts if host.up}
        assert len(digests) == 1, f"seed {seed}"
        assert scenes.states(world, old) == {State.FORGOTTEN}, f"seed {seed}"
