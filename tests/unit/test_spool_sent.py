"""`sent` of a call that was broken off is how many of its messages the spool has.

Not here: what else such a call says (test_spool_limits.py, test_spool_late.py, test_aio_spool.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.feeding import World
from tests.support.looped import run
from tests.support.pairs import WAIT_S
from tests.support.spooled import SEGMENT

BODY = b"x" * 20_000
MANY = 50
"""More of them than the spool has room for."""
FULL: dict[str, Any] = {
    **{"segment_bytes": SEGMENT, "max_bytes": 2 * SEGMENT},
    **{"durability": "os", "overflow": "drop_newest"},
}


class FailedError(Exception):
    """What an iterable raises."""


def failing() -> Iterator[bytes]:
    """More than there is room for, and then no more."""
    for _ in range(MANY):
        yield BODY
    raise FailedError


def counted(error: Any, info: Any, before: int = 0) -> None:
    """It says what was put, of all that was given."""
    assert error.sent == info.last_seq - before
    assert error.sent + info.dropped_newest == MANY
    assert 0 < info.dropped_newest


@pytest.mark.parametrize("options", [{}, {"origin": ("p", 1)}, {"topic": "t"}, {"wait": False}])
def test_what_was_dropped_was_not_sent(
    world: World, tmp_path: Path, options: dict[str, Any]
) -> None:
    """`overflow="drop_newest"`: those that had room were, the others not; nor if none had."""
    with world.spool(tmp_path / "s", **FULL) as spool:
        with pytest.raises(FailedError) as some:
            spool.append_many(failing(), **options)
        counted(some.value, spool.info())
        last = spool.info().last_seq
        assert last > 0
        options = {k: v for k, v in options.items() if k != "origin"}  # a repeat is put already
        with pytest.raises(FailedError) as none:
            spool.append_many(failing(), **options)
        assert none.value.sent == 0  # type: ignore[attr-defined]
        assert spool.info().last_seq == last


def test_what_is_in_front_of_one_that_is_too_large_may_be_dropped(
    world: World, tmp_path: Path
) -> None:
    """The call ends in the middle of what it hands on."""
    with world.spool(tmp_path / "s", **FULL) as spool:
        with pytest.raises(mm.TooLargeError) as raised:
            spool.append_many([BODY] * MANY + [b"x" * 2 * SEGMENT])
        counted(raised.value, spool.info())


def test_a_repeat_is_in_the_spool(world: World, tmp_path: Path) -> None:
    """So it counts: whoever goes on behind `sent` goes on behind it."""
    with world.spool(tmp_path / "s") as spool:
        spool.append_many([b"1", b"2"], origin=("p", 1))
        with pytest.raises(mm.TooLargeError) as raised:
            spool.append_many([b"1", b"2", b"3", b"x" * 2 * SEGMENT], origin=("p", 1))
        assert raised.value.sent == 3  # type: ignore[attr-defined]
        assert spool.info().last_seq == 3


def test_a_call_that_is_cancelled_says_what_was_put(tmp_path: Path) -> None:
    """What an async iterable gave is put as it comes, or dropped."""

    async def main() -> None:
        given, never = asyncio.Event(), asyncio.Event()

        async def bodies() -> AsyncIterator[bytes]:
            for _ in range(MANY):
                yield BODY
            given.set()
            await never.wait()

        async with aio.Spool(tmp_path / "s", **FULL) as spool:
            task = asyncio.create_task(spool.append_many(bodies()))
            await asyncio.wait_for(given.wait(), WAIT_S)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await task
            counted(raised.value, spool.info())

    run(main)


def test_a_send_that_is_dropped_is_sent(world: World, tmp_path: Path) -> None:
    """As of a socket without a spool, whose drops are sent as well: with receipts, one each."""
    with (
        world.spool(tmp_path / "s", **FULL) as spool,
        world.push(spool, delivery="at_least_once") as push,
    ):
        with pytest.raises(FailedError) as raised:
            push.send_many(failing(), confirm=True)
        error: Any = raised.value
        tally = error.receipts.tally()
        assert error.sent == len(error.receipts) == MANY
        assert tally["dropped"] == spool.info().dropped_newest > 0
