"""Nodes find each other: one, many at once, and the parts of a mesh that was split."""

from __future__ import annotations

import pytest

from meshmsg._mesh.limits import Times
from meshmsg._mesh.told import Service

from . import scenes
from .sizes import AT_SIZE, large, seeds
from .targets import CUT, HEAL, HEAL_ONE, JOIN, JOIN_KB, JOIN_ONE, JOIN_RATE, MOVED
from .world import World

SYNC_ROUND_S = {50: 62.0, 1000: 240.0}
"""Seconds after which each node at rest has begun a sync, in a mesh of at most so many."""


@pytest.mark.parametrize("size", [10, 100, large(1000)])
def test_one_that_joins_is_known_to_all_within_a_second(size: int) -> None:
    """And knows all."""
    for seed in seeds(4):
        assert scenes.join_one(size, seed) <= JOIN_ONE, f"seed {seed}"


@pytest.mark.parametrize("size", [2, 3, 30, 100])
def test_all_that_start_at_once_with_one_seed_know_each_other_in_time(size: int) -> None:
    """The seed has nobody to tell of, at first."""
    for seed in seeds(1, cost=5):
        assert scenes.join(size, 1 + seed).took <= JOIN[100], f"seed {1 + seed}"


@pytest.mark.parametrize("size", [10, 30, 100])
def test_a_join_of_all_at_once_sends_little_more_than_what_all_have_to_know(size: int) -> None:
    """Nobody is told again and again of who is known."""
    for seed in seeds(3, cost=5):
        assert scenes.join(size, seed).window * scenes.JOIN_S <= JOIN_KB[size], f"seed {seed}"


@AT_SIZE
def test_a_thousand_that_start_at_once_know_each_other_in_time_and_do_not_fill_the_network() -> (
    None
):
    """With one seed."""
    for seed in range(4):
        joined = scenes.join(1000, seed)
        assert joined.took <= JOIN[1000], f"seed {seed}"
        assert max(joined.rate, joined.window) <= JOIN_RATE, f"seed {seed}"


@pytest.mark.parametrize(("there", "new"), [(100, 100), (100, 10), (20, 200)])
def test_many_that_join_a_mesh_at_rest_are_known_to_all_in_time(there: int, new: int) -> None:
    """Who is at rest and hears of many looks for the others, too."""
    for seed in seeds(3, cost=5):
        world = scenes.formed(there, seed)
        first = tuple(host.address for host in world.hosts[:3])
        for _ in range(new):
            world.host(seeds=first)
        assert world.run_until(lambda world=world: scenes.complete(world), 40.0) <= JOIN[100], (
            f"seed {seed}"
        )


def test_a_live_seed_among_thirty_silent_ones_is_found_within_one_pause() -> None:
    """Packets to those are dropped: nothing says that nobody is there."""
    for seed in range(100):
        world = World(seed, loss=0.0)
        live = world.host()
        silent = tuple(f"tcp://10.98.0.{number}:7450" for number in range(30))
        world.host(seeds=(*silent, live.address))
        assert world.run_until(lambda world=world: scenes.complete(world), 30.0) <= Times().join


def test_nodes_whose_seed_starts_last_wait_for_it() -> None:
    """Their tries get rarer, and do not end."""
    world = World(3)
    for _ in range(10):
        world.host(seeds=("tcp://10.99.0.1:7450",))
    world.run(60.0)
    assert not scenes.complete(world)
    world.host(address="tcp://10.99.0.1:7450")
    assert world.run_until(lambda: scenes.complete(world), 30.0) < 15


@pytest.mark.parametrize(
    ("size", "share", "apart"),
    [
        *((30, 0.5, 60.0), (50, 0.02, 60.0), (16, 0.5, 600.0)),
        *(large(1000, 0.5, 600.0), large(1000, 0.01, 60.0), large(100, 0.01, 600.0)),
    ],
)
def test_the_parts_of_a_split_become_one_again_in_time(
    size: int, share: float, apart: float
) -> None:
    """Each part sees the other as gone meanwhile; nobody has to do anything."""
    for seed in seeds(1, cost=max(1, size * int(apart) // 6000)):
        world = scenes.split(size, seed, apart=apart, share=share)
        part = sum(host.group == 0 for host in world.hosts)
        assert {h.core.here.table.here for h in world.hosts if not h.group} == {part - 1}
        assert scenes.heal(world) <= HEAL, f"seed {seed}"
        world.run(world.now + next(s for most, s in SYNC_ROUND_S.items() if size <= most))
        assert scenes.complete(world)
        assert len({host.core.here.table.digest for host in world.hosts}) == 1


@pytest.mark.parametrize(("size", "apart"), [(100, 60.0), (30, 90.0), (30, 700.0)])
def test_one_that_was_cut_off_sees_all_soon_however_slow_it_takes_itself_for(
    size: int, apart: float
) -> None:
    """Nobody answered it, so it asks seldom: by that alone it took 19.6 s with this seed.

    Nor do those help whom it has forgotten by then, unless they are told that they are.
    """
    for seed in (16, *seeds(1)):
        world = scenes.split(size, seed, apart=apart, share=0.01)
        assert world.hosts[0].core.here.health == world.hosts[0].core.here.times.health_max
        assert scenes.heal(world) <= HEAL_ONE, f"seed {seed}"


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("apart", [20.0, 700.0])
def test_nodes_that_are_all_alone_find_each_other_again_without_a_seed(
    size: int, apart: float
) -> None:
    """The one that they joined by may be gone for good."""
    for seed in seeds(4):
        world = scenes.formed(size, seed)
        for host in world.hosts:
            host.group = host.index
        world.run(world.now + apart)
        assert not any(host.core.here.table.here for host in world.hosts)
        assert scenes.heal(world) <= HEAL, f"seed {seed}"


def test_a_few_that_are_cut_off_know_soon_that_all_others_are_gone() -> None:
    """They answer each other: so none of them takes the silence of the others for its own fault."""
    for seed in seeds(10, cost=2):
        assert scenes.cut(12, 3, seed) <= CUT, f"seed {seed}"


def test_a_split_that_lasted_until_all_was_forgotten_heals_as_well() -> None:
    """Who is forgotten is still dialled now and then."""
    for seed in seeds(1, cost=5):
        world = scenes.split(10, 4 + seed, apart=700.0)
        assert scenes.heal(world) <= HEAL, f"seed {seed}"


def test_two_meshes_that_were_never_one_become_one_by_a_seed() -> None:
    """A list of seeds that is as long as it was at the start is still tried."""
    for number_of in seeds(10):
        world = World(5 + number_of, loss=0.0)
        for prefix in ("10.1.0", "10.2.0"):
            seed = f"tcp://{prefix}.1:7450"
            others = ("tcp://10.1.0.1:7450", "tcp://10.2.0.1:7450")
            for number in range(1, 6):
                host = world.host(address=f"tcp://{prefix}.{number}:7450", seeds=(seed, *others))
                host.group = int(prefix == "10.2.0")
        world.run(30.0)
        assert not scenes.complete(world)
        assert scenes.heal(world) <= HEAL, f"seed {5 + number_of}"


@pytest.mark.parametrize("size", [20, large(1000)])
def test_a_node_that_moved_knows_at_once_what_was_said_meanwhile(size: int) -> None:
    """What was sent to where it was is lost. Its next sync would be up to half a minute later."""
    for seed in seeds(10, cost=max(1, size // 20)):
        assert scenes.moved(size, seed) <= MOVED, f"seed {seed}"


def test_one_seed_gives_one_run() -> None:
    """Of a world; another seed another."""

    def trace(seed: int) -> list[tuple[float, int, int, bytes]]:
        world = World(seed)
        first = world.host()
        for _ in range(9):
            world.host(seeds=(first.address,))
        world.run(10.0)
        world.crash(world.hosts[3])
        world.run(20.0)
        return [(at, host.index, int(kind), node) for at, host, kind, node in world.seen]

    assert trace(1) == trace(1) != trace(2)


def test_what_a_node_of_a_few_offers_soon_after_it_joined_is_known_to_all_at_once() -> None:
    """Not a round of a large mesh later: that was 0.2 s."""
    for seed in range(20):
        world = scenes.formed(10, seed, loss=0.0, settle=5.0)
        for number in (1, 2):  # the second one comes when something was passed on just now
            told = Service(f"s{number}", "pull", "zmtp", ("tcp://127.0.0.1:1",))
            node = world.hosts[seed % 10]
            node.core.offer(world.now, [told])
            world.acted(node)

            def known(world: World = world, told: Service = told) -> bool:
                offered = [
                    sum(told in member.record.services for member in host.core.members())
                    for host in world.hosts
                ]
                return offered == [1] * len(world.hosts)

            assert world.run_until(known, 1.0, 0.01) <= 0.1, f"seed {seed}"
