"""Nobody who is well is held unreachable, whatever the others are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from meshmsg._mesh.limits import Times
from meshmsg._mesh.opinion import Opinions
from meshmsg._mesh.table import Row
from meshmsg._mesh.told import EventKind, State

from . import scenes
from .targets import STEADY
from .world import World


@pytest.mark.parametrize(("size", "seconds"), [(3, 600.0), (10, 300.0), (100, 60.0), (1000, 8.0)])
def test_a_quiet_mesh_has_no_false_alarm_and_says_little(size: int, seconds: float) -> None:
    """With one message of a hundred lost."""
    alarms, rate = scenes.quiet(size, 1, seconds)
    assert alarms == 0
    assert rate <= STEADY


@pytest.mark.parametrize("loss", [0.05, 0.15])
def test_a_mesh_that_loses_many_messages_has_no_false_alarm(loss: float) -> None:
    """Suspicions there are; they are refuted in time."""
    alarms, _ = scenes.quiet(50, 2, 60.0, loss=loss)
    assert alarms == 0


def slow(size: int, seed: int, times: Times, cost: float) -> int:
    """False alarms of those who are well about each other, where one of twenty is slow."""
    world = World(seed, times=times)
    world.formed(size)
    world.run(1.0)
    for host in world.hosts[::20]:
        host.cost = cost
    well = {host.core.me().node_id for host in world.hosts if not host.cost}
    since = world.now
    world.run(since + 60)
    alarms = scenes.events(world, EventKind.UNREACHABLE, since)
    return sum(node in well and not host.cost for _, host, node in alarms)


def test_what_slow_members_say_of_others_is_not_believed() -> None:
    """Each message takes them 80 ms, so that what waits for them grows for ever."""
    assert slow(40, 4, Times(), 0.08) == 0


def by_words_alone(opinions: Opinions, now: float, row: Row) -> None:
    """In place of a last look: as plain SWIM ends a suspicion."""
    if row.suspicion is not None:
        row.suspicion.looked = row.suspicion.silent = True


def test_what_slow_members_say_is_believed_where_nothing_is_done_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Plain SWIM: no health of one's own, no last look, and suspicions that do not wait."""
    monkeypatch.setattr(Opinions, "_look", by_words_alone)
    plain = replace(Times(), health_max=0, suspicion_max=1.0, checkers=0.0, confirmers=1)
    assert slow(40, 4, replace(plain, suspicion=0.15), 0.08) > 0


def test_a_process_that_was_frozen_for_a_minute_blames_nobody_and_comes_back() -> None:
    """It was unreachable meanwhile; then it is alive with all again."""
    world = scenes.formed(30, 6)
    host = world.hosts[3]
    host.frozen = world.now + 60
    since = world.now
    world.run(since + 59)
    assert scenes.states(world, host) == {State.UNREACHABLE}
    took = world.run_until(lambda: scenes.complete(world), 30.0)
    assert took < 20
    by_host = [
        node for _, told, node in scenes.events(world, EventKind.UNREACHABLE) if told is host
    ]
    assert by_host == []


def test_clocks_that_drift_change_nothing() -> None:
    """By one of a hundred, in both directions."""
    world = World(8)
    for number, host in enumerate(world.formed(40)):
        host.rate = 1.01 if number % 2 else 0.99
    world.run(120.0)
    assert scenes.false_alarms(world, 0.0) == 0
    world.crash(world.hosts[5])
    assert scenes.until_told(world, EventKind.UNREACHABLE, world.hosts[5], 20.0) <= 4.5


def test_one_that_can_send_and_hears_nothing_is_noticed_and_takes_nobody_with_it() -> None:
    """One-way loss: it suspects all, and all refute it or do not believe it."""
    world = scenes.formed(40, 9)
    deaf = world.hosts[11]
    deaf.deaf = True
    since = world.now
    world.run(since + 30)
    assert scenes.states(world, deaf) == {State.UNREACHABLE}
    others = {h.core.me().node_id for h in world.hosts if h is not deaf}
    wrong = [
        node
        for _, told, node in scenes.events(world, EventKind.UNREACHABLE, since)
        if node in others and told is not deaf
    ]
    assert wrong == []
