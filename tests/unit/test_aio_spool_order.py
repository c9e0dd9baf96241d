"""Tasks put into a spool in their order, whatever they put: also those that wait for room.

Not here: how they wait (test_aio_spool.py), threads, which have no order among each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.feeding import SEGMENT, UP
from tests.support.pairs import WAIT_S

try:
    import pyarrow as pa
except ImportError:
    pa = None  # type: ignore[assignment, unused-ignore]

ROOM = 20
"""Messages of a spool that is full."""
PUTS: dict[str, Callable[[Any, Any, bytes], Awaitable[Any]]] = {
    "append": lambda spool, _, body: spool.append(body),
    "append_many": lambda spool, _, body: spool.append_many([body]),
    "send": lambda _, push, body: push.send(body),
    "confirm": lambda _, push, body: push.send(body, confirm=True),
    "frames": lambda _, push, body: push.send_frames([b".", body]),
    "priority": lambda _, push, body: push.send(body, priority=3),
    "delay": lambda _, push, body: push.send(body, delay=60.0),
    "many": lambda _, push, body: push.send_many([body]),
    "receipts": lambda _, push, body: push.send_many([body], confirm=True),
}


@asynccontextmanager
async def pair(path: Path, **options: Any) -> AsyncIterator[tuple[aio.Spool, aio.Push]]:
    """A spool and the Push that it feeds."""
    options.setdefault("durability", "buffered")
    async with (
        aio.Spool(path, segment_bytes=SEGMENT, **options) as spool,
        aio.Push(bind=UP, spool=spool, priorities=4) as push,
    ):
        yield spool, push


def begun(spool: aio.Spool, push: aio.Push, names: list[str]) -> list[asyncio.Task[Any]]:
    """A task for each, in their order; the body says which."""
    return [
        asyncio.ensure_future(PUTS[name](spool, push, name.encode()))  # type: ignore[arg-type]
        for name in names
    ]


async def behind(spool: aio.Spool, seq: int) -> list[str]:
    """The names that stand in the bodies behind that number."""
    await spool.flush()
    read = await spool.read(seq + 1)
    return [bytes(one).decode() for one in read.messages]


def run(main: Callable[[], Any]) -> None:
    """Run it, but not for ever."""
    asyncio.run(asyncio.wait_for(main(), WAIT_S))


@pytest.mark.parametrize("backwards", [False, True])
def test_those_that_have_room_come_in_the_order_of_their_tasks(
    tmp_path: Path, backwards: bool
) -> None:
    """One message of frames is not overtaken by a plain one that was begun behind it."""

    async def main() -> None:
        async with pair(tmp_path / "s") as (spool, push):
            names = list(PUTS)[::-1] if backwards else list(PUTS)
            await asyncio.gather(*begun(spool, push, names))
            assert await behind(spool, 0) == names

    run(main)


@pytest.mark.parametrize("last", PUTS)
def test_those_that_wait_for_room_come_in_the_order_of_their_tasks(
    tmp_path: Path, last: str
) -> None:
    """Whichever is put last, behind plain ones that wait, is put behind them all."""

    async def main() -> None:
        async with pair(tmp_path / "s", overflow="block", max_messages=ROOM) as (spool, push):
            await spool.append_many([b"x"] * ROOM)
            names = ["append", "send", "append", last]
            tasks = begun(spool, push, names)
            for _ in range(20):
                await asyncio.sleep(0)
            with pytest.raises(mm.WouldBlockError):  # it cannot wait, and does not overtake
                await push.send_frames([b"x", b"y"], timeout=0)
            assert not any(task.done() for task in tasks)
            assert await spool.trim(ROOM // 2) > 0
            await asyncio.gather(*tasks)
            assert await behind(spool, ROOM) == names

    run(main)


@pytest.mark.skipif(pa is None, reason="pyarrow is not here")
def test_a_table_that_waits_for_room_comes_behind_who_waited_before(tmp_path: Path) -> None:
    """And before who came after it."""

    async def main() -> None:
        async with pair(tmp_path / "s", overflow="block", max_messages=ROOM) as (spool, push):
            await spool.append_many([b"x"] * ROOM)
            tasks = begun(spool, push, ["append", "frames"])
            for _ in range(20):
                await asyncio.sleep(0)
            tasks.append(asyncio.ensure_future(spool.append_batch(pa.array([b"a", b"b"]))))
            await asyncio.sleep(0)
            tasks += begun(spool, push, ["send"])
            for _ in range(20):
                await asyncio.sleep(0)
            assert await spool.trim(ROOM // 2) > 0
            await asyncio.gather(*tasks)
            assert await behind(spool, ROOM) == ["append", "frames", "a", "b", "send"]

    run(main)
