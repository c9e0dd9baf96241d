"""`replay="since:..."` reads no segment file of which all is too old.

Not here: which heads are read to find that out (tests/c/test_spool_compact_shared.c), other replays
(test_replay.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S
from tests.support.replayed import numbers, publishing, put
from tests.support.spoolaged import aged
from tests.support.spoolcodec import BATCH, HEAD
from tests.support.spooled import segments, turn_bit

HOUR_US = 3_600_000_000


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def test_what_is_too_old_is_not_read(world: World, tmp_path: Path) -> None:
    """A replay from the first message on meets the harm that is there; one of the last minutes does
    not, as it reads no file of which all is older.
    """
    path = tmp_path / "s"
    with publishing(world, path) as (spool, pub):
        while spool.info().files < 4:
            last = put(pub, spool, 1, size=8_000)
    files = segments(path)
    old = time.time_ns() // 1000 - HOUR_US
    for minute, file in enumerate(files[:3]):
        aged(file, old + minute)
    turn_bit(files[0], HEAD + BATCH + 4_000)
    young = int(files[3].stem)
    with publishing(world, path) as (spool, pub):
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="since:5m") as sub:
            assert numbers(sub, last) == list(range(young, last + 1))
            pub.wait_for_subscribers(timeout=WAIT_S)
            last = put(pub, spool, 1)
            assert numbers(sub, last) == [last]
            assert [e for e in sub.events() if e.kind is mm.EventKind.REPLAY_LOST] == []
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="since:1d") as sub:
            with pytest.raises(mm.TimedOutError):
                sub.recv(timeout=0.05)
