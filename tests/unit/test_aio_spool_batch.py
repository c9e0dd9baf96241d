"""A table that is put in an event loop, by a call that is cancelled: `sent` is what is there.

Not here: tables that wait for room (test_aio_spool_order.py), batches that are read
(test_aio_spool.py).
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from meshmsg import aio
from meshmsg._spool.arrow import Arrays
from tests.support.looped import run, turns
from tests.support.pairs import WAIT_S

ROWS = 100


class Held:
    """Holds the thread that puts an array, before or behind that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, behind: bool) -> None:
        self.begun, self._go = threading.Event(), threading.Event()
        real = Arrays.__call__

        def call(arrays: Arrays, pointer: Any, ms: int) -> int:
            rc = real(arrays, pointer, ms) if behind else None
            self.begun.set()
            assert self._go.wait(WAIT_S)
            return real(arrays, pointer, ms) if rc is None else rc

        monkeypatch.setattr(Arrays, "__call__", call)

    def go(self) -> None:
        """Let it go on."""
        self._go.set()


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("often", [1, 3])
@pytest.mark.parametrize("durability", ["disk", "os", "buffered"])
def test_a_call_that_is_cancelled_as_a_thread_puts_says_what_was_put(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Any, often: int, behind: bool
) -> None:
    """It ends once that is known, however often it is cancelled; no more is put behind it."""
    held = Held(monkeypatch, behind)

    async def main() -> None:
        async with aio.Spool(tmp_path / "s", durability=durability) as spool:
            table = pa.chunked_array([[b"%d" % row for row in range(ROWS)]] * 2)
            task = asyncio.create_task(spool.append_batch(table))
            assert await asyncio.to_thread(held.begun.wait, WAIT_S)
            for _ in range(often):
                task.cancel()
                await turns()
            held.go()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await task
            assert vars(cancelled.value)["sent"] == spool.info().last_seq == ROWS

    run(main)


def test_a_call_that_is_cancelled_before_a_thread_comes_to_it_puts_nothing(tmp_path: Path) -> None:
    """And does not wait for what the threads of the loop do."""

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with aio.Spool(tmp_path / "s", durability="os") as spool:
            go = threading.Event()
            busy = asyncio.get_running_loop().run_in_executor(None, go.wait, WAIT_S)
            task = asyncio.create_task(spool.append_batch(pa.array([b"x"] * ROWS)))
            await turns()
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as cancelled:
                await task
            assert not busy.done()
            go.set()
            await busy
            await asyncio.to_thread(int)  # behind what it would have put
            assert vars(cancelled.value)["sent"] == spool.info().last_seq == 0

    run(main)
