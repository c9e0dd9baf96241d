"""What is over by its `ttl` is not replayed: who comes back gets nothing that is of no use.

Not here: a ttl while a message waits in a queue (test_ttl_waits.py), groups (test_groups.py).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World, nothing
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.replayed import publishing

COUNT = 1_000
"""Messages: more than a run, and more than is looked at before one write."""
SOON: dict[str, Any] = {"reconnect_min": 0.005, "reconnect_max": 0.05}
REPLAYS = ["earliest", "seq:1", f"last:{COUNT}", "since:1h"]


def over(spool: Any) -> None:
    """Wait until the time of each message that has a short one is over."""
    ends = [one.expires for one in spool.read(1).messages if one.expires is not None]
    soon = max((end for end in ends if end < time.time() + WAIT_S), default=0.0)
    wait_until(lambda: time.time() > soon)


def of_use(number: int) -> bool:
    """Whether a message has a time that is long, or none."""
    return number % 3 != 0


def published(pub: Any, first: int, count: int) -> list[int]:
    """Publish so many, of which a third is over soon; the numbers of the others."""
    for number in range(first, first + count):
        more = {0: {"ttl": 0.001}, 1: {"ttl": 3_600.0}, 2: {}}[number % 3]
        pub.send(b"%d" % number, topic=f"t{number % 2}", timeout=WAIT_S, **more)
    return [number for number in range(first, first + count) if of_use(number)]


def received(sub: Any, wanted: list[int]) -> None:
    """Receive those, in order, and nothing else."""
    found = [sub.recv(timeout=WAIT_S) for _ in wanted]
    assert [int(bytes(one)) for one in found] == wanted
    assert [one.seq[1] for one in found] == wanted
    nothing(sub)


@pytest.mark.parametrize("replay", REPLAYS)
@pytest.mark.parametrize("again", [False, True])
def test_what_is_over_is_left_out(world: World, tmp_path: Path, replay: str, again: bool) -> None:
    """Of a Pub that is there, and of its next life; counted, and no gap that anybody is told of."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        wanted = published(pub, 1, COUNT)
        over(spool)
        if not again:
            check(world, pub, replay, wanted)
    if again:
        with publishing(world, tmp_path / "s") as (_, pub):
            check(world, pub, replay, wanted)


def check(world: World, pub: Any, replay: str, wanted: list[int]) -> None:
    """A subscriber that comes gets those only; so it does of what is published live."""
    before = pub.stats().dropped_expired
    with world.socket("Sub", connect=pub.endpoint, topics="", replay=replay) as sub:
        received(sub, wanted)
        assert pub.stats().dropped_expired - before == COUNT - len(wanted)
        pub.send(b"%d" % (COUNT + 1), topic="t")
        received(sub, [COUNT + 1])
        assert mm.EventKind.REPLAY_LOST not in {event.kind for event in sub.events()}


def test_who_was_away_gets_nothing_stale(world: World, tmp_path: Path) -> None:
    """It goes on where it was, behind what was published and was over before it came back."""
    endpoint = of_its_own()
    with publishing(world, tmp_path / "s", endpoint) as (_, pub):
        endpoint = pub.endpoint
        sub = world.socket("Sub", connect=endpoint, topics="", replay="earliest", **SOON)
        pub.send(b"1")
        received(sub, [1])
    with sub:
        with publishing(world, tmp_path / "s") as (spool, elsewhere):
            wanted = published(elsewhere, 2, COUNT)
            over(spool)
        with publishing(world, tmp_path / "s", endpoint):
            received(sub, wanted)
