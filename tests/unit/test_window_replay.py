"""Dedupe windows and messages of a replay: refused, as others may have the same `seq`.

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
from tests.support.pairs import WAIT_S
from tests.support.replayed import publishing

COUNT = 2
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


@pytest.mark.parametrize("many", [False, True])
def test_a_window_refuses_what_a_replay_gives_and_says_what_to_use(
    world: World, tmp_path: Path, many: bool
) -> None:
    """Two messages have one seq: the second would be taken for done."""
    database = sqlite3.connect(":memory:")
    window, memory = mm.DedupeWindow("w"), mm.MemoryDedupeWindow()
    with (
        publishers(world, tmp_path) as both,
        world.socket("Sub", connect=both, topics="t", replay="earliest") as sub,
    ):
        got: list[Any] = []
        while len(got) < 2 * COUNT:
            got += sub.recv_many(timeout=WAIT_S) if many else [sub.recv(timeout=WAIT_S)]
    assert len({message.seq for message in got}) == COUNT
    for message in got:
        with (
            pytest.raises(mm.UsageError, match="of a Sub with replay=.*use a Sub with group="),
            window.transaction(database) as transaction,
        ):
            transaction.add(message)
        for call in (memory.seen, memory.add):
            with pytest.raises(mm.UsageError, match="use a Sub with group="):
                call(message)
    assert len(memory) == 0
    ids = [(0 if message.startswith(b"A") else 1, message.seq[1]) for message in got]
    assert all(memory.add(one) for one in ids)  # as the error says


def test_a_window_takes_what_a_group_gives_of_several_publishers(
    world: World, tmp_path: Path
) -> None:
    """Each pair is another one."""
    database = sqlite3.connect(":memory:")
    window = mm.DedupeWindow("w")
    with (
        publishers(world, tmp_path) as both,
        world.socket("Sub", connect=both, topics="t", group="g", ack="manual") as sub,
    ):
        for _ in range(2 * COUNT):
            message = sub.recv(timeout=WAIT_S)
            for new in (True, False):
                with window.transaction(database) as transaction:
                    assert transaction.add(message) is new
            message.ack()
