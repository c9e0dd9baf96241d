"""A time that was up before a put, for threads and for asyncio: what each of them says is the same.

Not here: who waits for room in vain (test_spool_limits.py), tables (test_spool_arrow.py), a time
that the disk takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World

FEW = 10
"""Messages that a full spool has room for."""
BRIEF_S = 1e-9
"""Seconds that are over as soon as a call has looked at the clock."""


def late(count: int) -> Iterator[bytes]:
    """So many messages; the time is up before the last one comes."""
    until = time.monotonic() + BRIEF_S
    for at in range(count - 1):
        yield b"%d" % at
    while time.monotonic() <= until:
        pass
    yield b"late"


CALLS: dict[str, Callable[[Any, Any, float], Any]] = {
    "append": lambda spool, _, timeout: spool.append(b"x", timeout=timeout),
    "append_many": lambda spool, _, timeout: spool.append_many([b"x"], timeout=timeout),
    "send": lambda _, push, timeout: push.send(b"x", timeout=timeout),
    "confirm": lambda _, push, timeout: push.send(b"x", timeout=timeout, confirm=True),
    "frames": lambda _, push, timeout: push.send_frames([b"x", b"y"], timeout=timeout),
    "delay": lambda _, push, timeout: push.send(b"x", timeout=timeout, delay=60.0),
    "send_many": lambda _, push, timeout: push.send_many([b"x"], timeout=timeout),
    "receipts": lambda _, push, timeout: push.send_many([b"x"], timeout=timeout, confirm=True),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_time_that_was_up_before_a_put(world: World, tmp_path: Path, call: str) -> None:
    """With room it is put all the same; without, 0 is WouldBlockError, and any other a time-out."""
    with world.life(tmp_path / "s", durability="buffered", overflow="block", max_messages=FEW) as (
        spool,
        push,
    ):
        for timeout in (0, BRIEF_S):
            CALLS[call](spool, push, timeout)
        assert spool.info().last_seq == 2
        spool.append_many([b"x"] * (FEW - 2))
        for timeout, kind in ((0, mm.WouldBlockError), (BRIEF_S, mm.TimedOutError)):
            with pytest.raises(kind) as caught:
                CALLS[call](spool, push, timeout)
            assert vars(caught.value)["sent"] == 0
        assert spool.info().last_seq == FEW


MANY: dict[str, Callable[[Any, Any, Iterator[bytes], float], Any]] = {
    "append_many": lambda spool, _, source, timeout: spool.append_many(source, timeout=timeout),
    "send_many": lambda _, push, source, timeout: push.send_many(source, timeout=timeout),
    "receipts": lambda _, push, source, timeout: push.send_many(
        source, timeout=timeout, confirm=True
    ),
}


@pytest.mark.parametrize("call", MANY)
def test_a_time_that_is_up_in_the_middle_of_many(world: World, tmp_path: Path, call: str) -> None:
    """As they come late: what has room is put; the first that has none is a time-out.

    A task writes nothing itself. What the spool notes down once a second, just then, makes it too
    late with room left, so a task tries again.
    """
    full = 4 * FEW
    with world.life(tmp_path / "s", durability="buffered", overflow="block", max_messages=full) as (
        spool,
        push,
    ):
        spool.append_many([b"x"] * (3 * FEW + 1))  # in the last file that there is room for
        spool.flush()
        before = spool.info().last_seq
        with suppress(mm.TimedOutError) if world._thread else nullcontext():
            MANY[call](spool, push, late(3), BRIEF_S)
        put = spool.info().last_seq - before
        assert put == 3 or (world._thread and put < 3)
        for timeout, kind in ((BRIEF_S, mm.TimedOutError), (0, mm.WouldBlockError)):
            left, sent = full - spool.info().last_seq, -1
            while sent < left:
                left = full - spool.info().last_seq
                with pytest.raises(kind) as caught:
                    MANY[call](spool, push, late(left + 3), timeout)
                sent = vars(caught.value)["sent"]
                assert sent == left or (world._thread and sent < left)
        assert spool.info().last_seq == 4 * FEW
