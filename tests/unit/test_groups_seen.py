"""What is seen of groups: whose a peer is, and which cursors are groups.

Not here: what a group does (test_groups.py), how far it is behind (test_group_lag.py).
"""

from __future__ import annotations

from pathlib import Path

import meshmsg as mm
from tests.support.feeding import UP, World
from tests.support.grouped import joined, member
from tests.support.pairs import WAIT_S
from tests.support.replayed import publishing
from tests.support.spooled import SEGMENT


def test_a_cursor_with_the_prefix_alone_is_no_group(world: World, tmp_path: Path) -> None:
    """It has no name that a group may have, so it could be neither moved nor forgotten."""
    with mm.Spool(tmp_path / "s", segment_bytes=SEGMENT) as spool, spool.cursor("group."):
        pass
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub):
        joined(pub, 1)
        assert [one.name for one in pub.groups()] == ["w"]
        assert list(pub.stats().group_lag) == ["w"]


def test_a_publisher_says_whose_its_peers_are(world: World, tmp_path: Path) -> None:
    """The group of each member; a subscriber is in none. A member says its own."""
    with (
        publishing(world, tmp_path / "s") as (_, pub),
        world.socket("Pub", bind=UP) as plain,
        member(world, pub, "a") as a,
        member(world, pub, "b"),
        world.socket("Sub", connect=pub.endpoint, topics="") as sub,
    ):
        joined(pub, 3)
        assert sorted(one.group for one in pub.peers()) == ["", "a", "b"]
        a.connect(plain.endpoint)
        a.wait_for_peers(2, timeout=WAIT_S)
        groups = {one.endpoint: one.group for one in a.peers()}
        assert groups == {pub.endpoint: "a", plain.endpoint: ""}
        assert [one.group for one in sub.peers()] == [""]
