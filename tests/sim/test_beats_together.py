"""Heartbeats that are rare go out together: who rests with many connections wakes a few times."""

from __future__ import annotations

from contextlib import ExitStack

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.worlds import found, seek

UP = "tcp://127.0.0.1:0"
LINKS = 40
APART_S = 0.3
"""Between two of them, as they connect."""
INTERVALS = 5
STEP_S = 0.05
PING = b"\x04PING"


def moments(interval: float) -> tuple[int, int]:
    """In how many moments of a few intervals PINGs were written, and how many there were."""
    beats = {"heartbeat_interval": interval, "heartbeat_timeout": interval * 2.25}
    with SimWorld(seed=1) as world, ExitStack() as stack:
        one, two = world.engine(), world.engine()
        pull = stack.enter_context(mm.Pull(engine=one, bind=UP, **beats))  # type: ignore[arg-type]
        for count in range(1, LINKS + 1):
            push = mm.Push(engine=two, connect=pull.endpoint, **beats)  # type: ignore[arg-type]
            stack.enter_context(push)
            pull.wait_for_peers(count, timeout=interval)
            world.run(APART_S)
        world.run(2 * interval)
        seek(world, PING)
        several = 0
        for _ in range(int(INTERVALS * interval / STEP_S)):
            before = found(world)
            world.run(STEP_S)
            several += found(world) > before
        assert len(pull.peers()) == LINKS
        return several, found(world)


def test_rare_ones_wait_for_each_other() -> None:
    """Each connection has one an interval from each side all the same, and none is given up."""
    several, pings = moments(20.0)
    assert several <= 2 * 8 * (INTERVALS + 1)
    assert pings >= 2 * LINKS * INTERVALS


def test_those_of_connections_at_work_do_not() -> None:
    """They are by the clock of each."""
    several, pings = moments(5.0)
    assert several > 3 * 8 * INTERVALS
    assert pings >= 2 * LINKS * (INTERVALS - 1)
