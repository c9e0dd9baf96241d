"""Nobody who is well is held unreachable, whatever the others are."""

from __future__ import annotations

import pytest

from meshmsg._mesh.told import EventKind, State

from . import scenes
from .sizes import large, seeds
from .slow import Blamed, slow
from .targets import HEAL, LOSSY_ALARMS, SLOW_SHARE, STEADY
from .world import World

HOUR = 3600.0
"""Seconds."""


@pytest.mark.parametrize(
    ("size", "seconds"),
    [(3, 600.0), (10, 300.0), (100, 60.0), (1000, 8.0), large(100, HOUR), large(1000, HOUR)],
)
def test_a_quiet_mesh_has_no_false_alarm_and_says_little(size: int, seconds: float) -> None:
    """With one message of a hundred lost."""
    for seed in seeds(1, cost=max(1, int(size * seconds) // 3000)):
        alarms, rate = scenes.quiet(size, 1 + seed, seconds)
        assert alarms == 0, f"seed {1 + seed}"
        assert rate <= STEADY, f"seed {1 + seed}"


@pytest.mark.parametrize(
    ("size", "loss"), [(50, 0.05), (50, 0.15), large(1000, 0.05), large(1000, 0.15)]
)
def test_a_mesh_that_loses_many_messages_has_no_false_alarm(size: int, loss: float) -> None:
    """Suspicions there are; they are refuted in time."""
    for seed in seeds(1, cost=size // 10):
        alarms, _ = scenes.quiet(size, 2 + seed, 60.0, loss=loss)
        assert alarms == 0, f"seed {2 + seed}"


@pytest.mark.parametrize(("size", "few"), [(30, 2), large(50, 20), large(200, 1)])
def test_a_mesh_that_loses_three_of_ten_messages_loses_nobody_for_good(size: int, few: int) -> None:
    """Some are held unreachable for a while, and are back while as much is lost."""
    for seed in seeds(few, cost=size // 5):
        lossy = scenes.lossy(size, seed, loss=0.3, seconds=60.0)
        assert lossy.alarms <= LOSSY_ALARMS * size, f"seed {seed}"
        assert lossy.back <= HEAL, f"seed {seed}"
        assert lossy.final == 0, f"seed {seed}"


def blamed(size: int, few: int, seconds: float, *, plain: bool) -> Blamed:
    """Over the seeds: false alarms about those who are well, where one of twenty is slow."""
    some = seeds(few, cost=5)
    found = [slow(size, seed, plain=plain, seconds=seconds) for seed in some]
    return Blamed(sum(one.by_well for one in found), sum(one.by_slow for one in found))


@pytest.mark.parametrize(
    ("size", "few", "seconds"),
    [(40, 2, 60.0), large(40, 2, 180.0), large(200, 2, 60.0), large(1000, 1, 60.0)],
)
def test_slow_members_have_those_who_are_well_blamed_a_fiftieth_as_often_as_by_plain_swim(
    size: int, few: int, seconds: float
) -> None:
    """By those who are well, and by the slow ones, which nothing answers in time: they are more
    than a minute behind after ten seconds, and nine minutes after three."""
    ours = blamed(size, few, seconds, plain=False)
    plain = blamed(size, few, seconds, plain=True)
    assert plain.by_well >= SLOW_SHARE
    assert ours.by_well * SLOW_SHARE <= plain.by_well
    assert sum(ours) * SLOW_SHARE <= sum(plain)


@pytest.mark.parametrize("size", [30, large(1000)])
def test_a_process_that_was_frozen_for_a_minute_blames_nobody_and_comes_back(size: int) -> None:
    """It was unreachable meanwhile; then it is alive with all again."""
    for seed in seeds(1, cost=max(5, size // 10)):
        world = scenes.formed(size, 6 + seed)
        host = world.hosts[3]
        host.frozen = world.now + 60
        since = world.now
        world.run(since + 59)
        assert scenes.states(world, host) == {State.UNREACHABLE}, f"seed {6 + seed}"
        took = world.run_until(lambda world=world: scenes.complete(world), 30.0)
        assert took < 20, f"seed {6 + seed}"
        told = scenes.events(world, EventKind.UNREACHABLE)
        assert [node for _, by, node in told if by is host] == [], f"seed {6 + seed}"


@pytest.mark.parametrize("size", [40, large(1000)])
def test_clocks_that_drift_change_nothing(size: int) -> None:
    """By one of a hundred, in both directions."""
    for seed in seeds(1, cost=max(5, size // 10)):
        world = World(8 + seed)
        for number, host in enumerate(world.formed(size)):
            host.rate = 1.01 if number % 2 else 0.99
        world.run(120.0)
        assert scenes.false_alarms(world, 0.0) == 0, f"seed {8 + seed}"
        gone = world.hosts[5]
        world.crash(gone)
        took = scenes.until_told(world, EventKind.UNREACHABLE, gone, 20.0)
        assert took <= (4.5 if size <= 100 else 6.5), f"seed {8 + seed}"


@pytest.mark.parametrize("size", [40, large(200), large(1000)])
def test_one_that_can_send_and_hears_nothing_is_noticed_and_takes_nobody_with_it(size: int) -> None:
    """One-way loss: it suspects all, and all refute it or do not believe it."""
    for seed in seeds(1, cost=max(5, size // 10)):
        world = scenes.formed(size, 9 + seed)
        deaf = world.hosts[11]
        deaf.deaf = True
        since = world.now
        world.run(since + 30)
        assert scenes.states(world, deaf) == {State.UNREACHABLE}, f"seed {9 + seed}"
        others = {h.core.me().node_id for h in world.hosts if h is not deaf}
        wrong = [
            node
            for _, told, node in scenes.events(world, EventKind.UNREACHABLE, since)
            if node in others and told is not deaf
        ]
        assert wrong == [], f"seed {9 + seed}"
