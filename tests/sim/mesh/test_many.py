"""Ten thousand nodes: under `make sim` only, as one seed takes minutes."""

from __future__ import annotations

from meshmsg._mesh.told import State

from . import scenes
from .shared import SharedRows
from .sizes import AT_SIZE
from .targets import CRASH, STEADY
from .world import World


@AT_SIZE
def test_ten_thousand_know_in_time_that_one_of_them_vanished() -> None:
    """With one message of a hundred lost."""
    assert scenes.crash(10_000, 1, limit=20.0) <= CRASH[10_000]


@AT_SIZE
def test_ten_thousand_at_rest_for_a_minute_say_little_and_blame_nobody() -> None:
    """With one message of a hundred lost."""
    alarms, octets = scenes.quiet(10_000, 1, 60.0)
    assert alarms == 0
    assert octets <= STEADY


def test_nodes_that_share_their_members_do_not_share_what_they_think_of_them() -> None:
    """Those that are parted hold the one that vanished for alive; all others do not."""
    world = World(7)
    hosts = world.formed(30, shared=True)
    hosts[9].group = 1
    world.run(3.0)
    world.crash(hosts[4])
    world.run(12.0)
    handle = hosts[4].core.here.me.handle
    for host in hosts:
        rows = host.core.here.table.rows
        assert isinstance(rows, SharedRows)
        assert len(rows) == 29
        assert host.core.here.me.handle not in rows
        if host.index not in (4, 9):
            assert rows[handle].state == State.UNREACHABLE
    assert hosts[4].core.here.table.rows[hosts[5].core.here.me.handle].state == State.ALIVE
