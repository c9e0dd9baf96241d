"""A work queue whose workers all stop rests between its looks for somebody with room.

Not here: what becomes of the batches (tests/conformance/test_work_stops.py).
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from meshmsg import WouldBlockError, patterns
from meshmsg.patterns import aio as awaited

WAIT_S = 20.0
LOOKS = 3


class Looks:
    """What a queue does, in order: it is refused, it waits."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @property
    def refused(self) -> int:
        """How often it was."""
        return self.seen.count("refused")

    def check(self) -> None:
        """Between two refusals it waited."""
        assert ["refused", "refused"] not in [self.seen[i : i + 2] for i in range(len(self.seen))]


def test_a_queue_of_threads_rests() -> None:
    """Its worker has a batch in hand, and takes no more."""
    looks, enough = Looks(), threading.Event()
    with (
        patterns.WorkQueue(batch_messages=1) as queue,
        patterns.Worker(queue.endpoint, prefetch=1) as worker,
    ):
        send, wait_for = queue._push.send, queue._changed.wait_for

        def sends(*given: Any, **named: Any) -> Any:
            try:
                return send(*given, **named)
            except WouldBlockError:
                if "timeout" not in named:
                    looks.seen.append("refused")
                if looks.refused >= LOOKS:
                    enough.set()
                raise

        def waits(*given: Any, **named: Any) -> Any:
            found = wait_for(*given, **named)
            if threading.current_thread() is queue._thread and not found:
                looks.seen.append("waits")  # until the time was up
            return found

        queue._push.send, queue._changed.wait_for = sends, waits  # type: ignore[method-assign]
        queue.put_many([b"x"] * 3)
        batches = iter(worker)
        next(batches)
        worker.stop()
        assert enough.wait(WAIT_S)
        looks.check()


def test_a_queue_of_a_loop_rests() -> None:
    """The same."""

    async def run() -> None:
        looks, enough = Looks(), asyncio.Event()
        async with (
            awaited.WorkQueue(batch_messages=1) as queue,
            awaited.Worker(queue.endpoint, prefetch=1) as worker,
        ):
            send, wait_for = queue._push.send, queue._changed.wait_for

            async def sends(*given: Any, **named: Any) -> Any:
                try:
                    return await send(*given, **named)
                except WouldBlockError:
                    looks.seen.append("refused")
                    if looks.refused >= LOOKS:
                        enough.set()
                    raise

            async def waits(*given: Any, **named: Any) -> Any:
                looks.seen.append("waits")
                return await wait_for(*given, **named)

            queue._push.send = sends  # type: ignore[method-assign]
            queue._changed.wait_for = waits  # type: ignore[method-assign]
            await queue.put_many([b"x"] * 3)
            await anext(aiter(worker))
            worker.stop()
            await asyncio.wait_for(enough.wait(), WAIT_S)
            looks.check()

    asyncio.run(run())
