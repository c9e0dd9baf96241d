"""What a signal's function raises, at whichever place of a read, leaves out nothing.

Not here: many reads of large runs, broken off in the core (test_spool_reader_signals.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from tests.support.called import at_call
from tests.support.points import interrupt
from tests.support.spoolcodec import BATCH
from tests.support.spooled import batches, segments, small, turn_bit

FEW = 6
"""Messages, read once for each place."""
MOST = 4
"""Of them at once."""
FILES = ("_spool/reader.py", "_spool/cursor.py", "_spool/batch.py")
KEPT: list[Any] = []
"""Loops that were begun: they end where nothing is broken off."""
PLACES_MAX = 3000


def numbers(one: Any) -> list[int]:
    """Those of what was read: a table, a list, a message or a gap."""
    if isinstance(one, mm.SpoolBatch):
        one = [*one.gaps, *one.messages]
    if isinstance(one, list):
        return [seq for each in one for seq in numbers(each)]
    return list(range(one.first, one.last + 1)) if isinstance(one, mm.SpoolGap) else [one.seq]


def batch(reader: Any) -> Any:
    """A table."""
    return reader.read_batch(MOST)


def messages(reader: Any) -> Any:
    """A list."""
    return reader.read(MOST)


def loop(reader: Any) -> Any:
    """The first of a loop, which has made more."""
    KEPT.append(iter(reader))
    return next(KEPT[-1], [])


def turns(reader: Any) -> Any:
    """A loop; what it made is read, and the rest is a table."""
    return (loop, messages, batch)[min(reader.seq - 1, 2)](reader)


def all_of(reader: Any, number: int, take: Callable[[Any], Any]) -> tuple[bool, list[int]]:
    """Read it to its end, broken off at that place; whether it was, and the numbers."""
    got: list[Any] = []
    ended = False
    with at_call(number, interrupt, FILES) as hit:
        while not ended:
            with suppress(KeyboardInterrupt):
                ended = reader.seq > FEW
                if not ended:
                    got.append(take(reader))
    KEPT.clear()
    return hit(), numbers(got)


@pytest.mark.parametrize("take", [batch, messages, loop, turns])
@pytest.mark.parametrize("of", ["spool", "view", "cursor", "gap"])
def test_each_place_leaves_out_nothing(tmp_path: Path, of: str, take: Callable[[Any], Any]) -> None:
    """All numbers come in their order, once."""
    number, was_hit = 0, True
    with ExitStack() as stack:
        spool = stack.enter_context(small(tmp_path / "s", on_corruption="gap"))
        for _ in range(FEW // 2):
            spool.append_many([b"x" * 100] * 2)
            spool.flush()
        view = stack.enter_context(mm.SpoolView(tmp_path / "s", on_corruption="gap"))
        if of == "gap":
            file = segments(tmp_path / "s")[0]
            turn_bit(file, batches(file)[1] + BATCH + 8)
        while was_hit:
            number += 1
            assert number < PLACES_MAX
            with ExitStack() as each:
                whole = each.enter_context(spool.cursor("c")) if of == "cursor" else spool
                reader = each.enter_context((view if of == "view" else whole).reader())
                was_hit, got = all_of(reader, number, take)
            assert got == list(range(1, FEW + 1)), number
    assert number > FEW


class Alarm(Exception):
    """What a signal's function raises, and a task may catch."""


def ring() -> None:
    """As of `interrupt`."""
    raise Alarm


async def next_of(reader: Any) -> Any:
    """The first of a loop, which has made more."""
    KEPT.append(aiter(reader))
    return await anext(KEPT[-1], [])


@pytest.mark.parametrize(
    "take", [lambda reader: reader.read_batch(MOST), lambda reader: reader.read(MOST), next_of]
)
def test_each_place_in_a_loop_leaves_out_nothing(
    tmp_path: Path, take: Callable[[Any], Awaitable[Any]]
) -> None:
    """Of asyncio."""

    async def all_there(spool: mm.aio.Spool, number: int) -> tuple[bool, list[int]]:
        got: list[Any] = []
        async with spool.reader() as reader:
            with at_call(number, ring, ("aio/_spool/reader.py",)) as hit:
                ended = False
                while not ended:
                    with suppress(Alarm):
                        ended = reader.seq > FEW
                        if not ended:
                            got.append(await take(reader))
        return hit(), numbers(got)

    async def main() -> None:
        number, was_hit = 0, True
        async with mm.aio.Spool(tmp_path / "s", durability="os") as spool:
            await spool.append_many([b"x"] * FEW)
            while was_hit:
                number += 1
                was_hit, got = await all_there(spool, number)
                assert got == list(range(1, FEW + 1)), number
                while KEPT:
                    await KEPT.pop().aclose()
        assert number > FEW

    asyncio.run(main())


def test_seek_is_behind_what_was_broken_off(tmp_path: Path) -> None:
    """Whatever a table was to have, it goes on where it was told to."""
    with small(tmp_path / "s") as spool, spool.reader() as reader:
        spool.append_many([b"x" * 100] * FEW)
        number, was_hit = 0, True
        while was_hit:
            number += 1
            reader.seek(2)
            with at_call(number, interrupt, FILES) as hit, suppress(KeyboardInterrupt):
                reader.read_batch(MOST)
            was_hit = hit()
            assert reader.seq == (2 if was_hit else 2 + MOST)
            reader.seek(3)
            assert reader.seq == 3
            assert reader.read_batch(1).first_seq == 3
    assert number > FEW
