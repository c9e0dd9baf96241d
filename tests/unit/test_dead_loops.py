"""Functions of dead letters that a loop calls, and that raise: nothing is left behind.

Not here: what becomes of the letter (test_dead_letters.py, test_dead_refused.py).
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT

UP = "tcp://127.0.0.1:0"
TIMES = 12


def descriptors() -> int:
    """How many this process has."""
    return len(os.listdir("/proc/self/fd"))


def has_a_letter(error: BaseException, folder: Path | None, *, closes: bool) -> None:
    """Run a loop in which a function is given one, and raises that."""

    async def main() -> None:
        given = asyncio.Event()

        def function(_: mm.DeadLetter) -> None:
            given.set()
            raise error

        spool = (
            aio.Spool(folder, durability="os", segment_bytes=SEGMENT)
            if folder is not None
            else None
        )
        more = {"spool": spool} if spool is not None else {"delivery": "at_least_once"}
        push = aio.Push(bind=UP, max_attempts=1, dead_letter=function, **more)  # type: ignore[arg-type]
        pull = aio.Pull(connect=push.endpoint, ack="manual")
        await push.send(b"bad")
        message = await pull.recv(timeout=WAIT_S)
        assert message.nack() is True
        await asyncio.wait_for(given.wait(), WAIT_S)
        if closes:
            push.close()
            pull.close()
            if spool is not None:
                await spool.close()

    with suppress(type(error)):
        asyncio.run(main())


@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("spooled", [True, False])
@pytest.mark.parametrize(
    "error", [ValueError, KeyboardInterrupt, SystemExit, asyncio.CancelledError]
)
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_function_that_raises_leaves_no_descriptor(
    error: type[BaseException], spooled: bool, closes: bool, tmp_path: Path
) -> None:
    """Whether the sockets were closed, or dropped with the loop."""
    before = 0
    for number in range(TIMES):
        has_a_letter(error("bad"), tmp_path / str(number) if spooled else None, closes=closes)
        most = before or sys.maxsize
        wait_until(lambda most=most: gc.collect() >= 0 and descriptors() <= most)
        before = before or descriptors()  # those of the engine are there from the first time on
