"""Spools in an event loop, and how a test waits there.

Not here: objects of a loop for tests written for threads (inloop.py). Law: nothing waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from meshmsg import aio
from tests.support.pairs import WAIT_S
from tests.support.spooled import SEGMENT


def of_a_loop(path: Path, **options: Any) -> aio.Spool:
    """Open one of small segments."""
    options.setdefault("durability", "os")
    return aio.Spool(path, segment_bytes=SEGMENT, **options)


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run it, but not for ever; what it returned."""
    return asyncio.run(asyncio.wait_for(main(), WAIT_S))


async def turns(count: int = 20) -> None:
    """Let the loop turn so often: what can go on does."""
    for _ in range(count):
        await asyncio.sleep(0)


async def waits(task: asyncio.Task[Any]) -> None:
    """Check that it does not end by itself."""
    await turns()
    assert not task.done()


async def until(true: Callable[[], object]) -> None:
    """Let the loop run until it is so; only a broken build needs long."""

    async def look() -> None:
        while not true():
            await asyncio.sleep(0)

    try:
        await asyncio.wait_for(look(), WAIT_S)
    except asyncio.TimeoutError:
        raise AssertionError("it never became true") from None
