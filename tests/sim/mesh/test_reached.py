"""A node that others hear, and cannot reach where it says that it is, knows that; no other does."""

from __future__ import annotations

import pytest

from meshmsg._mesh.joining.reached import UNASKED
from meshmsg._mesh.told import State

from . import scenes
from .sizes import large, seeds
from .world import Host, World

KNOWN = 60.0
"""Seconds within which it knows."""
NOWHERE = "tcp://10.99.0.1:9"


def told(world: World, seconds: float) -> set[Host]:
    """Who was ever held to be out of reach by itself, in so many seconds."""
    until, found = world.now + seconds, set[Host]()
    while world.now < until:
        world.run(min(world.now + 0.5, until))
        found.update(
            host
            for host in world.hosts
            if host.up and host.core.unasked(world.clock(host)) is not None
        )
    return found


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "dropped"])
@pytest.mark.parametrize("size", [2, 10, large(100)])
def test_a_node_with_a_wrong_address_knows_that_nobody_reaches_it(size: int, refused: bool) -> None:
    """Whether somebody refuses there, or all is dropped. The others are told of nothing."""
    for seed in seeds(2, cost=max(1, size // 10)):
        world = scenes.formed(size, 40 + seed)
        wrong = world.host("wrong", address=NOWHERE, seeds=(world.hosts[0].address,))
        del world.at[NOWHERE]
        if refused:
            world.crash(world.host("gone", address=NOWHERE), silent=False)
        assert told(world, KNOWN) == {wrong}, f"seed {40 + seed}"
        unasked = wrong.core.unasked(world.clock(wrong))
        assert unasked is not None, f"seed {40 + seed}"
        assert unasked >= UNASKED, f"seed {40 + seed}"


def test_as_it_says_where_it_is_it_is_reached_again() -> None:
    """What it knew is over at once."""
    world = scenes.formed(10, 50)
    wrong = world.hosts[3]
    right = wrong.address
    wrong.core.moved(world.now, (NOWHERE,))
    assert told(world, KNOWN) == {wrong}
    wrong.core.moved(world.now, (right,))
    assert world.run_until(lambda: wrong.core.unasked(world.clock(wrong)) is None, KNOWN) < KNOWN
    assert world.run_until(lambda: scenes.states(world, wrong) == {State.ALIVE}, KNOWN) < KNOWN
    assert told(world, KNOWN) == set()


@pytest.mark.parametrize("size", [30, large(200)])
def test_nobody_who_is_reached_thinks_otherwise(size: int) -> None:
    """While many messages are lost, after a process was frozen, and as a parted mesh heals."""
    for seed in seeds(1, cost=size // 10):
        world = scenes.formed(size, 60 + seed, loss=0.15)
        assert told(world, KNOWN) == set(), f"seed {60 + seed}"
        world.hosts[3].frozen = world.now + KNOWN
        assert told(world, 2 * KNOWN) == set(), f"seed {60 + seed}"
        for host in world.hosts[: size // 3]:
            host.group = 1
        assert told(world, KNOWN) == set(), f"seed {60 + seed}"
        for host in world.hosts:
            host.group = 0
        assert told(world, 2 * KNOWN) == set(), f"seed {60 + seed}"
