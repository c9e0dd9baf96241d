"""What peers that lie can do to a work queue, for threads and asyncio: be counted, and no more.

Not here: the books alone (tests/unit/test_work_ledger.py).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.patterns import aio as patterns_aio
from meshmsg.patterns.workqueue import _wire as wire
from meshmsg.patterns.workqueue._desk import RECORD_SIZE_MAX, TURN
from tests.support.inloop import PATIENCE
from tests.support.patterned import Kit, until

FRAMES_MAX = 1024  # of a message, by default


def records(count: int) -> list[bytes]:
    """Some records, each different."""
    return [b"record %d" % number for number in range(count)]


def first_of(liar: mm.Dealer) -> int:
    """Ask for nothing, and hear the number of the queue's first batch."""
    liar.send_frames(wire.pack_ask(0, []), timeout=PATIENCE)  # of version 1: it does not leave
    terms = wire.parse_terms(liar.recv_frames(timeout=PATIENCE))
    assert terms is not None
    return terms.first


def test_nobody_finishes_what_they_never_had(kit: Kit) -> None:
    """Every record is done by who got it, whatever others say of it."""
    with (
        kit.pattern("WorkQueue", batch_messages=1, lease=PATIENCE) as queue,
        kit.pattern("Worker", queue.endpoint, prefetch=1) as worker,
        mm.Dealer(connect=queue.endpoint) as liar,
    ):
        queue.put_many(records(5))
        queue.finish()
        first, batches = first_of(liar), iter(worker)
        got = [next(batches)]
        mine = [(first + n) % wire.NUMBERS for n in range(5)]
        for lie in (
            wire.pack_ask(0, mine),
            wire.pack_ask(0, [], (mine, mine)),
            wire.pack_retry(0.0, mine),
            wire.pack_retry(wire.DELAY_MS_MAX / 1000, mine),
        ):
            liar.send_frames(lie, timeout=PATIENCE)
        until(lambda: bool(queue.stats().stale == 4 * 5))  # all but the first were not cut yet
        assert queue.stats().malformed == 1
        got += list(batches)
        stats = queue.join(workers=1, timeout=PATIENCE)
    assert [bytes(one.records[0]) for one in got] == records(5)
    assert [one.attempt for one in got] == [1] * 5
    assert (stats.acknowledged, stats.late, stats.handed_back) == (5, 0, 0)


def test_messages_that_are_too_much_are_counted(kit: Kit) -> None:
    """More frames, more numbers and a wider window than any worker has; others are served."""
    many = [7] * (wire.NUMBERS_MAX + 1)
    with kit.pattern("WorkQueue", batch_messages=1) as queue:
        queue.put_many(records(100))
        queue.finish()
        with mm.Dealer(connect=queue.endpoint) as liar:
            for lie in (
                [wire.ASK] + [b""] * (FRAMES_MAX - 2),
                wire.pack_ask(1, many),
                wire.pack_retry(0.0, many),
                [b""],
            ):
                liar.send_frames(lie, timeout=PATIENCE)
            liar.send_frames(wire.pack_ask(2**32 - 1, []), timeout=PATIENCE)
            until(lambda: bool(queue.stats().leased == 64))
            assert queue.stats().malformed == 4
        with kit.pattern("Worker", queue.endpoint) as worker:
            done = [record for batch in worker for record in batch.records]
    assert sorted(done) == sorted(records(100))


def test_a_batch_that_no_worker_could_get_is_refused_when_the_queue_is_made(kit: Kit) -> None:
    """It would be tried again and again, and never be sent."""
    with pytest.raises(mm.UsageError, match=f"must be 1 to {RECORD_SIZE_MAX}"):
        kit.pattern("WorkQueue", batch_bytes=RECORD_SIZE_MAX + 1)
    half = bytes(RECORD_SIZE_MAX // 2)
    with (
        kit.pattern("WorkQueue", batch_bytes=RECORD_SIZE_MAX, backlog_bytes=1 << 30) as queue,
        kit.pattern("Worker", queue.endpoint) as worker,
    ):
        assert queue.put_many([half, half, half]) == 3
        queue.finish()
        assert [len(batch) for batch in worker] == [2, 1]


def test_who_asks_faster_than_it_is_answered_does_not_fill_memory() -> None:
    """A queue of asyncio hears nobody while it has so much to say."""

    async def main() -> int:
        async with patterns_aio.WorkQueue() as queue:
            may_say, real = asyncio.Event(), queue._say

            async def say(word: Any) -> bool:
                await may_say.wait()
                return await real(word)

            queue._say = say  # type: ignore[method-assign]
            asks = TURN * 10
            with mm.Dealer(connect=queue.endpoint, send_queue_messages=asks) as liar:
                for _ in range(asks):
                    liar.send_frames(wire.pack_ask(1, [1], ([], [])), timeout=PATIENCE)
                while len(queue._desk.out) < TURN:
                    await asyncio.sleep(0)
                await liar_is_heard(queue)
                most = len(queue._desk.out)
                may_say.set()
                while queue.stats().stale < asks:
                    await asyncio.sleep(0)
            return most

    async def liar_is_heard(queue: patterns_aio.WorkQueue) -> None:
        """Give the queue time to hear all that came, if it would."""
        for _ in range(1000):
            await asyncio.sleep(0)

    assert asyncio.run(main()) < TURN + 4
