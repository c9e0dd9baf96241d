"""`stats().group_lag`: how far each group is behind, for a dashboard, without waiting for the disk.

Not here: what groups() tells besides (test_groups.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.feeding import World
from tests.support.grouped import info, member, sent, shared, until
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S
from tests.support.replayed import publishing

COUNT, SIZE = 40, 8_000
"""Messages, and bytes of each: of several files."""


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def told(pub: Any) -> dict[str, int | None]:
    """What the counters say, and that groups() says the same."""
    found = dict(pub.stats().group_lag)
    assert found == {one.name: one.lag for one in pub.groups()}
    return found


def test_each_group_has_its_lag_in_the_counters(world: World, tmp_path: Path) -> None:
    """Of one that was never joined, of one that is, and of one that was left."""
    with publishing(world, tmp_path / "s") as (_, pub):
        assert told(pub) == {}
        pub.seek_group("down", "earliest")
        pub.seek_group("up", "earliest")
        assert told(pub) == {"down": 0, "up": 0}
        sent(pub, 100)
        assert dict(pub.stats().group_lag) == {"down": 100, "up": 100}
        with member(world, pub, "up", ack="manual") as sub:
            for message in shared([sub], 100)[0][:30]:
                message.ack()
            until(pub, lambda one: one.acked == 30, "up")
            assert told(pub) == {"down": 100, "up": 70}
        sent(pub, 5)
        assert told(pub) == {"down": 105, "up": 75}


def test_a_group_that_its_first_member_made_is_there(world: World, tmp_path: Path) -> None:
    """No seek, and no look at the disk, was before it."""
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub, "new", ack="manual"):
        until(pub, lambda one: one.members == 1, "new")
        sent(pub, 3)
        until(pub, lambda one: one.lag == 3, "new")
        assert dict(pub.stats().group_lag) == {"new": 3}


def test_what_was_there_before_the_pub_is_known_from_its_beginning(
    world: World, tmp_path: Path
) -> None:
    """A durable subscriber that stays down is what one looks for."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.seek_group("down", "earliest")
        sent(pub, 10)
    with publishing(world, tmp_path / "s") as (_, pub):
        assert dict(pub.stats().group_lag) == {"down": 10}
        sent(pub, 1)
        assert dict(pub.stats().group_lag) == {"down": 11}


def test_a_move_counts_at_once_and_what_is_forgotten_is_gone(world: World, tmp_path: Path) -> None:
    """As a dashboard sees it that never asks for groups()."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.seek_group("w", "earliest")
        sent(pub, 10)
        pub.seek_group("w", 8)
        assert dict(pub.stats().group_lag) == {"w": 3}
        pub.seek_group("w", "latest")
        assert dict(pub.stats().group_lag) == {"w": 0}
        pub.forget_group("w")
        assert dict(pub.stats().group_lag) == {}


def test_no_lag_is_more_than_what_can_be_read(tmp_path: Path) -> None:
    """Retention took what a group that nobody is in had not done."""
    with (
        mm.Spool(tmp_path / "s", durability="os", segment_bytes=65_536) as spool,
        mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
    ):
        pub.seek_group("w", "earliest")
        pub.send_many([b"x" * 1000] * 500)
        spool.trim(400)
        info = spool.info()
        assert info.first_seq > 1
        assert told(pub) == {"w": info.last_seq - info.first_seq + 1}


def test_a_harmed_cursor_has_no_lag_and_the_others_have_theirs(tmp_path: Path) -> None:
    """None, as in groups(); and the metrics have a number all the same."""
    with mm.Spool(tmp_path / "s") as spool, mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub:
        for name in ("bad", "good"):
            pub.seek_group(name, "earliest")
        pub.send_many([b"x"] * 4)
    file = tmp_path / "s" / "cursors" / "group.bad"
    file.write_bytes(b"\xff" * len(file.read_bytes()))
    with mm.Spool(tmp_path / "s") as spool, mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub:
        assert told(pub) == {"bad": None, "good": 4}
        counts = pub.stats().as_dict()
        assert (counts["groups"], counts["group_lag_max"]) == (2, 4)


def test_metrics_have_the_same_names_with_groups_and_without() -> None:
    """So `as_dict` has no name of a group."""
    with mm.Pub(bind="tcp://127.0.0.1:0") as pub, mm.Sub(connect=pub.endpoint, topics="") as sub:
        counts = pub.stats().as_dict()
        assert (counts["groups"], counts["group_lag_max"]) == (0, 0)
        assert list(counts) == list(sub.stats().as_dict())
        assert pub.stats().group_lag == {}


def test_more_open_cursors_than_there_is_room_for_at_first_are_all_told(tmp_path: Path) -> None:
    """Cursors that are of no group are not."""
    with (
        mm.Spool(tmp_path / "s", durability="os") as spool,
        mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
    ):
        cursors = [spool.cursor(f"group.{n:03}") for n in range(100)]
        plain = spool.cursor("plain")
        pub.send(b"x")
        assert dict(pub.stats().group_lag) == {f"{n:03}": 1 for n in range(100)}
        for cursor in [*cursors, plain]:
            cursor.close()


def test_a_spool_that_was_closed_first_is_no_error_of_the_counters(tmp_path: Path) -> None:
    """The other counters are what one wants then."""
    spool = mm.Spool(tmp_path / "s")
    with mm.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub:
        pub.seek_group("w", "earliest")
        spool.close()
        assert pub.stats().group_lag == {}


def test_counters_of_asyncio_are_told_without_awaiting(tmp_path: Path) -> None:
    """As of any socket."""

    async def main() -> None:
        async with (
            aio.Spool(tmp_path / "s") as spool,
            aio.Pub(spool=spool, bind="tcp://127.0.0.1:0") as pub,
        ):
            await pub.seek_group("w", "earliest")
            await pub.send(b"x")
            assert pub.stats().group_lag == {"w": 1}

    asyncio.run(asyncio.wait_for(main(), WAIT_S))


def test_what_the_pub_has_in_memory_is_lag_though_it_was_removed(
    world: World, tmp_path: Path
) -> None:
    """And the next member gets it; whoever has the Pub sees that it is not lost yet."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        pub.seek_group("w", "earliest")
        for i in range(COUNT):
            pub.send((b"%d." % i).ljust(SIZE, b"x"), topic="t")
        with member(world, pub, ack="manual"):
            until(pub, lambda one: one.unacked == COUNT)
            assert spool.trim(COUNT // 2) > 0
            first = spool.info().first_seq
            assert first > 1
            assert (info(pub).lag, info(pub).removed) == (COUNT, 0)
        until(pub, lambda one: one.members == 0)
        assert (info(pub).lag, info(pub).removed) == (COUNT, 0)
        with member(world, pub) as sub:
            assert len(shared([sub], COUNT)[0]) == COUNT
            until(pub, lambda one: one.lag == 0)
