"""Members that do not exist, as many as somebody likes: what they cost, and whom they keep out."""

from __future__ import annotations

import pytest

from meshmsg._mesh.joining.admission import Room

from . import bombs, scenes
from .sizes import large, seeds

SMALL = Room(members=400, kept_free=40, unheard=200, few=4)
"""As the limits are, a fiftieth of each."""
NEWCOMER = 10.0
"""Seconds until one that joins in spite of them and all others know each other."""
CRASH = 60.0
"""Seconds until all know of one that vanished in spite of them."""
GONE = 40.0
"""Seconds until one node alone has found some of them gone."""


@pytest.mark.parametrize(("fakes", "room"), [(400, SMALL), large(20_000, Room())])
def test_fakes_of_one_member_take_its_share_and_nothing_from_those_who_are_well(
    fakes: int, room: Room
) -> None:
    """Twenty nodes: nobody is held for gone, one that is new gets in, and one that vanished is
    noticed, if later than among twenty."""
    for seed in seeds(1, cost=fakes // 100):
        found = bombs.bombed(20, fakes, seed, room)
        assert found.wrong == 0, f"seed {seed}"
        assert found.most <= room.unheard + 20, f"seed {seed}"
        assert found.newcomer <= NEWCOMER, f"seed {seed}"
        assert found.crash <= CRASH, f"seed {seed}"
        assert found.drained < bombs.LIMIT, f"seed {seed}"


@pytest.mark.parametrize(("fakes", "room"), [(400, SMALL), large(20_000, Room())])
def test_a_node_whose_table_is_full_of_fakes_takes_who_comes_itself(fakes: int, room: Room) -> None:
    """They come from many hosts, so that all places are taken but the last ones; as soon as some
    of them were asked and are gone, others may tell of newcomers, too."""
    for seed in seeds(1, cost=fakes // 100):
        world = scenes.formed(4, seed, settle=5.0)
        node = world.hosts[1]
        node.core.opinions.admission.room = room
        bomb = bombs.Bomb(world, world.hosts[0], fakes)
        bomb.flood(node, sources=8)
        known = node.core.here.table.known
        assert known == room.members - room.kept_free, f"seed {seed}"
        new = world.host(seeds=(node.address,))
        took = world.run_until(lambda new=new, node=node: bombs.met([new, node]), NEWCOMER, 0.1)
        assert took <= NEWCOMER, f"seed {seed}"
        assert node.core.here.table.known <= room.members
        world.run(world.now + GONE)
        assert node.core.here.table.known < known, f"seed {seed}"
        assert node.core.opinions.admission.admits(world.now, "tcp://10.88.0.1:5")
