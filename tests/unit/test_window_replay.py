"""The `seq` of a message that came out of a spool has one form, however it came; so a dedupe window
knows it.

Not here: what a window does with those it takes (test_window.py), replays (test_replay.py).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.grouped import member
from tests.support.lives import life_of
from tests.support.pairs import WAIT_S
from tests.support.replayed import publishing

COUNT = 3
"""Messages of each publisher."""


@contextmanager
def publishers(world: World, path: Path) -> Iterator[list[str]]:
    """Two, each with a group that begins with what is there; their endpoints."""
    with publishing(world, path / "a") as (_, a), publishing(world, path / "b") as (_, b):
        for name, pub in (("A", a), ("B", b)):
            pub.seek_group("g", "earliest")
            for number in range(COUNT):
                pub.send(b"%s %d" % (name.encode(), number), topic="t")
        yield [a.endpoint, b.endpoint]


def received(sub: Any, count: int, many: bool = False) -> list[Any]:
    """Receive so many."""
    got: list[Any] = []
    while len(got) < count:
        got += sub.recv_many(timeout=WAIT_S) if many else [sub.recv(timeout=WAIT_S)]
    return got


@pytest.mark.parametrize("bind", ["tcp://127.0.0.1:0", "inproc://one-form"])
def test_a_replay_and_a_group_say_the_same(world: World, tmp_path: Path, bind: str) -> None:
    """As does who reads the spool, of the number; in each life, also of what an earlier one put."""
    pairs: list[tuple[int, int]] = []
    for lived in (1, 2):
        with publishing(world, tmp_path / "s", bind) as (spool, pub):
            for _ in range(COUNT):
                pub.send(b"x", topic="t")
            pairs += [(life_of(spool), number) for number in range(len(pairs) + 1, lived * 3 + 1)]
            pub.seek_group(f"w{lived}", "earliest")
            with (
                world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub,
                member(world, pub, f"w{lived}") as one,
            ):
                of_replay, of_group = received(sub, len(pairs)), received(one, len(pairs))
                assert [m.seq for m in of_replay] == [m.seq for m in of_group] == pairs
            read = [(one.seq, one.number) for one in spool.read(1).messages]
            assert read == [(m.number, m.number) for m in of_replay]
    assert len({life for life, _ in pairs}) == 2


def test_a_push_with_a_spool_says_it_as_well(world: World, tmp_path: Path) -> None:
    """Of what was sent, and of what was put by `append`."""
    with world.life(tmp_path / "s") as (spool, push):
        push.send(b"one")
        spool.append(b"two", topic="t")
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            got = received(pull, 2)
            assert [m.seq for m in got] == [(life_of(spool), 1), (life_of(spool), 2)]
            assert [m.number for m in got] == [1, 2]


def test_what_has_no_seq_has_no_number(world: World) -> None:
    """Where nobody counts."""
    with (
        world.socket("Pub", bind="tcp://127.0.0.1:0") as pub,
        world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub,
    ):
        pub.wait_for_subscribers(timeout=WAIT_S)
        pub.send(b"x")
        message = sub.recv(timeout=WAIT_S)
        assert (message.seq, message.number) == (None, None)
        with pytest.raises(mm.UsageError, match="no seq.*of a Pub with a spool, by a Sub"):
            mm.MemoryDedupeWindow().add(message)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("how", [{"replay": "earliest"}, {"group": "g", "ack": "manual"}], ids=str)
def test_a_window_knows_messages_of_several_publishers(
    world: World, tmp_path: Path, how: dict[str, str], many: bool
) -> None:
    """Each pair is another one; what is received again, by another subscriber, was done."""
    database = sqlite3.connect(":memory:")
    window, memory = mm.DedupeWindow("w"), mm.MemoryDedupeWindow()
    with publishers(world, tmp_path) as both:
        for new in (True, False):
            with world.socket("Sub", connect=both, topics="t", **how) as sub:
                got = received(sub, 2 * COUNT, many)
            assert len({message.seq for message in got}) == 2 * COUNT
            for message in got:
                with window.transaction(database) as transaction:
                    assert transaction.add(message) is new
                assert memory.seen(message) is not new
                assert memory.add(message) is new


def test_what_was_done_of_a_group_is_known_of_a_replay(world: World, tmp_path: Path) -> None:
    """It is the same message."""
    memory = mm.MemoryDedupeWindow()
    with publishers(world, tmp_path) as both:
        with world.socket("Sub", connect=both, topics="t", group="g", ack="manual") as sub:
            assert all(memory.add(message) for message in received(sub, 2 * COUNT))
        with world.socket("Sub", connect=both, topics="t", replay="earliest") as sub:
            assert not any(memory.add(message) for message in received(sub, 2 * COUNT))
