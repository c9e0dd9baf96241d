"""Groups: what no member of one gets, as its publisher sends no such; and where a new one begins.

Not here: what was removed or is harmed (test_groups_odd.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.cursored import saved
from tests.support.disks import failing_disk
from tests.support.feeding import World
from tests.support.grouped import info, joined, member, until
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S, told
from tests.support.replayed import publishing


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


TOO_LARGE = "larger than what this socket sends (message_size_max, frames_max)"


def test_what_a_publisher_does_not_send_is_passed_over_and_counted(
    world: World, tmp_path: Path
) -> None:
    """It was put by another way; what comes behind it goes to a member, and the reason is right."""
    with publishing(world, tmp_path / "s", pub_message_size_max=100) as (spool, pub):
        pub.seek_group("w", "earliest")
        spool.append(b"x" * 101)
        pub.send(b"small", timeout=WAIT_S)
        with member(world, pub) as sub:
            assert bytes(sub.recv(timeout=WAIT_S)) == b"small"
            with pytest.raises(mm.WouldBlockError):  # whoever asks on is done with it
                sub.recv(timeout=0)
            one = until(pub, lambda one: one.lag == 0)
        assert (one.refused, one.acked, one.removed, one.harmed) == (1, 1, 0, 0)
        told(pub, TOO_LARGE)


def test_who_hears_all_is_told_the_same_reason(world: World, tmp_path: Path) -> None:
    """Not that the wire of a peer has no words for it, which would put the blame on the peer."""
    with publishing(world, tmp_path / "s", pub_message_size_max=100) as (spool, pub):
        with world.socket("Sub", connect=pub.endpoint, topics="") as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            spool.append(b"x" * 101)
            pub.send(b"small", timeout=WAIT_S)
            assert bytes(sub.recv(timeout=WAIT_S)) == b"small"
        assert [e.detail for e in pub.events() if e.kind is mm.EventKind.DROPPED] == [TOO_LARGE]


def test_who_asks_for_a_replay_gets_none_of_it_either(world: World, tmp_path: Path) -> None:
    """It is counted and told for each that would have had it; what is behind it comes."""
    with publishing(world, tmp_path / "s", pub_message_size_max=100) as (spool, pub):
        spool.append(b"x" * 101)
        spool.append(b"y" * 100)
        pub.send(b"small", timeout=WAIT_S)
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            assert sub.recv(timeout=WAIT_S) == b"y" * 100
            assert sub.recv(timeout=WAIT_S) == b"small"
            with pytest.raises(mm.TimedOutError):
                sub.recv(timeout=0.05)
            assert pub.peers()[0].dropped_messages == 1
        told(pub, TOO_LARGE)


def test_it_is_not_retained_either(world: World, tmp_path: Path) -> None:
    """What was sent by another one, with a higher limit; nor is one of too many frames."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.send(b"x" * 200, topic="size")
        pub.send_frames([b"1", b"2", b"3"], topic="frames")
        pub.send(b"small", topic="fine")
    limits = {"pub_message_size_max": 100, "pub_frames_max": 3}
    with publishing(world, tmp_path / "s", pub_retain="last", **limits) as (_, pub):
        assert pub.retained("size", timeout=WAIT_S) is None
        assert pub.retained("frames", timeout=WAIT_S) is None
        assert pub.retained("fine", timeout=WAIT_S) == b"small"
        told(pub, TOO_LARGE)


@pytest.mark.parametrize("durability", ["os", "buffered"])
def test_where_a_new_group_begins_is_on_the_disk_as_it_is_there(
    world: World, tmp_path: Path, durability: str
) -> None:
    """Else a publisher that is killed would give it, in its next life, all that was before."""
    options = {"durability": durability, "sync_every": 1000}
    with publishing(world, tmp_path / "s", **options) as (spool, pub):
        pub.send_many([b"old"] * 5)
        pub.drain(timeout=WAIT_S)  # it was published
        assert spool.info().durable_seq == 0
        with member(world, pub):
            joined(pub, 1)
            assert info(pub).floor == 5
            assert saved(tmp_path / "s/cursors/group.w")[1] == 5


def test_a_disk_that_fails_leaves_groups_where_they_were(world: World, tmp_path: Path) -> None:
    """The one that was to be moved; and none is made by half. Nothing else is written then."""
    with publishing(world, tmp_path / "s", durability="disk") as (_, pub):
        pub.send_many([b"x"] * 5)
        pub.seek_group("w", 4)
        pub.drain(timeout=WAIT_S)
        with failing_disk():
            for name in ("w", "new"):
                with pytest.raises(mm.SpoolError):
                    pub.seek_group(name, 2)
        assert [(one.name, one.floor) for one in pub.groups()] == [("w", 3)]
        pub.seek_group("w", 2)
        assert (info(pub).floor, info(pub).lag) == (1, 4)
