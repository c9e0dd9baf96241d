"""Messages that are acknowledged, in an event loop: the same as for threads.

Not here: what can be asked for and what is refused (test_delivery.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio

WAIT_S = 20.0


async def _by_hand() -> tuple[list[bytes], mm.Stats]:
    """Two workers, one of which gives back all that it sees."""
    got: list[bytes] = []
    async with aio.Push(bind="inproc://*", delivery="at_least_once") as push:

        async def work(refuses: bool) -> None:
            async with aio.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull:
                async for message in pull:
                    leased: Any = message
                    if refuses and leased.attempt == 1:
                        leased.nack()
                        continue
                    with leased:
                        got.append(bytes(leased))

        workers = [asyncio.create_task(work(refuses)) for refuses in (True, False)]
        await push.send_many([b"%d" % i for i in range(200)], timeout=WAIT_S)
        report = await push.drain(timeout=WAIT_S)
        assert report.unconfirmed == report.queued == 0
        stats = push.stats()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return got, stats


def test_workers_that_give_back_and_workers_that_do() -> None:
    """Each message is done once, and all are."""
    got, stats = asyncio.run(_by_hand())
    assert sorted(map(int, got)) == list(range(200))
    assert stats.acked_messages + stats.redelivered_messages >= 200
    assert stats.unacked_messages == 0


@pytest.mark.parametrize("prefetch", [1, 7, None])
def test_iterating_acknowledges_what_it_has_worked_on(prefetch: int | None) -> None:
    """Without a word of the program's; the last one when the next is asked for."""

    async def run() -> int:
        async with aio.Push(bind="inproc://*", delivery="at_least_once") as push:
            async with aio.Pull(connect=push.endpoint, prefetch=prefetch) as pull:
                await push.send_many([b"x"] * 100, timeout=WAIT_S)
                count = 0
                async for _ in pull:
                    count += 1
                    if count == 100:
                        break
                with pytest.raises(mm.TimedOutError):
                    await pull.recv(timeout=0.01)
                await push.drain(timeout=WAIT_S)
                return push.stats().acked_messages

    assert asyncio.run(run()) == 100
