"""Compaction beside sockets: a Push loses no work to it, and a replay passes over what went.

Not here: compaction of a spool alone (test_spool_compact.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World, nothing, settled, taken
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S
from tests.support.replayed import publishing

SIZE = 8_000
KEPT = {"max_age": 3600}
"""Else what a Push is done with goes by itself."""


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def body(number: int) -> bytes:
    """Return the body of a message."""
    return (b"%d." % number).ljust(SIZE, b"x")


def number(message: bytes) -> int:
    """Return which one it is."""
    return int(bytes(message).split(b".")[0])


def put(socket: Any, spool: Any, files: int, **options: Any) -> int:
    """Send messages of one key, until there are so many files; the last number."""
    last = int(spool.info().last_seq)
    while spool.info().files < files:
        last += 1
        socket.send(body(last), key=b"k", **options)
    return last


def test_what_a_push_has_not_delivered_stays(world: World, tmp_path: Path) -> None:
    """Also while no Push is open, and in a life without one: all of it is delivered, once."""
    with world.life(tmp_path / "s", **KEPT) as (spool, push):
        last = put(push, spool, 4)
        assert spool.compact().messages == 0
    with world.spool(tmp_path / "s", **KEPT) as spool:
        assert (did := spool.compact()).messages == 0
        assert did.held_files >= 3
    with world.life(tmp_path / "s", **KEPT) as (spool, push):
        assert spool.compact().messages == 0
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert [number(one) for one in taken(pull, last)] == list(range(1, last + 1))
            nothing(pull)
            settled(push)
    with world.spool(tmp_path / "s", **KEPT) as spool:  # its cursor was saved as it was closed
        assert spool.compact().messages > 0


def test_a_push_that_begins_behind_it_has_what_is_there(world: World, tmp_path: Path) -> None:
    """Numbers that went are neither waited for nor counted as lost."""
    with world.spool(tmp_path / "s") as spool:
        last = 0
        while spool.info().files < 4:
            last += 1
            spool.append(body(last), key=b"k")
        spool.compact()
        there = [one.seq for one in spool.read(1).messages]
        assert len(there) < last
        with world.push(spool) as push, world.socket("Pull", connect=push.endpoint) as pull:
            assert [number(one) for one in taken(pull, len(there))] == there
            nothing(pull)
            settled(push)
            assert push.stats().dropped == 0
        (info,) = spool.cursors()
        assert (info.floor, info.lag) == (last, 0)


@pytest.mark.parametrize("replay", ["earliest", "seq:2", "since:1h"])
def test_a_replay_passes_over_what_went(world: World, tmp_path: Path, replay: str) -> None:
    """It has the rest, in order, and goes on with what comes; nothing of it is a loss."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 4, topic="t")
        assert spool.compact().messages > 0
        there = [one.seq for one in spool.read(1).messages]
        with world.socket("Sub", connect=pub.endpoint, topics="", replay=replay) as sub:
            got = [sub.recv(timeout=WAIT_S).seq[1] for _ in there]
            assert got == there
            pub.wait_for_subscribers(timeout=WAIT_S)
            pub.send(body(there[-1] + 1), topic="t")
            assert sub.recv(timeout=WAIT_S).seq[1] == there[-1] + 1
            assert [e for e in sub.events() if e.kind is mm.EventKind.REPLAY_LOST] == []
