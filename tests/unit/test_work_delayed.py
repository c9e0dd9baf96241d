"""Batches that are given back to go out later: they are counted, and named where they hold a work
queue up; a queue of threads and one of asyncio.

Not here: the Push underneath (test_later_told.py), what is retried without a delay
(tests/conformance/test_work.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.patterns import Worker
from tests.support.pairs import WAIT_S, wait_until
from tests.support.patterned import Kit

FAR_S = 3600
LEAST = 1000
"""Batches that never stop a queue."""
LEAST_BYTES = 16 * 1024 * 1024


def give_back(queue: Any, batches: Iterator[Any], count: int, size: int = 1) -> None:
    """Put so many records, each of which is to go out again later."""
    before = queue.stats().batches_delayed
    for _ in range(count):
        queue.put(bytes(size), timeout=WAIT_S)
        next(batches).retry(delay=FAR_S)
    wait_until(lambda: queue.stats().batches_delayed == before + count)


def fill(queue: Any, count: int) -> str:
    """Put what there is room for; the words of the error of one more."""
    for _ in range(count):
        queue.put(b"new", timeout=WAIT_S)
    with pytest.raises(mm.TimedOutError) as failed:
        queue.put(b"new", timeout=0.01)
    return str(failed.value)


def test_so_many_that_they_stop_the_queue_are_counted_and_named(kit: Kit) -> None:
    """By the error of `put`, and what would let more of them wait."""
    limits = {"backlog_messages": 2, "backlog_bytes": 64 << 20}
    with kit.pattern("WorkQueue", batch_messages=1, **limits) as queue:
        with Worker(queue.endpoint) as worker:
            give_back(queue, iter(worker), LEAST)
            stats = queue.stats()
            assert (stats.leased, stats.batches_again, stats.waiting) == (LEAST, LEAST, 0)
            assert fill(queue, 2) == (
                "backlog full for 0.01 s: 2 records waiting for 1 worker (limit 2 records, "
                "67108864 bytes); 1000 batches given back to go out later (retry(delay=)), and "
                "from 1000 batches on, or above 67108864 bytes, no new one goes out "
                "(backlog_messages, backlog_bytes)"
            )
            with pytest.raises(mm.TimedOutError, match="1000 batches given back to go out later"):
                queue.put_many([b"new"], timeout=0.01)
            assert queue.stats().waiting == 2
            assert ", 1000 leased, 1000 batches given back to go out later, 0 of " in repr(queue)


def test_a_larger_backlog_lets_more_of_them_wait(kit: Kit) -> None:
    """As many batches as it has records."""
    most = LEAST + 2
    with kit.pattern("WorkQueue", batch_messages=1, backlog_messages=most) as queue:
        with Worker(queue.endpoint) as worker:
            give_back(queue, iter(worker), most)
            words = fill(queue, most)
            assert "; 1002 batches given back to go out later" in words
            assert "from 1002 batches on" in words


def test_their_bytes_stop_it_too(kit: Kit) -> None:
    """Above the limit, and not before."""
    with kit.pattern("WorkQueue", backlog_messages=1, backlog_bytes=1) as queue:
        with Worker(queue.endpoint) as worker:
            batches = iter(worker)
            give_back(queue, batches, 1, size=LEAST_BYTES // 2)
            give_back(queue, batches, 1, size=LEAST_BYTES // 2)
            words = fill(queue, 1)
            assert "; 2 batches given back to go out later (retry(delay=))" in words
            assert f"above {LEAST_BYTES} bytes" in words


def test_a_backlog_that_is_full_for_another_reason_says_nothing_of_them(kit: Kit) -> None:
    """They are counted all the same."""
    with kit.pattern("WorkQueue", batch_messages=1, backlog_messages=1) as queue:
        with Worker(queue.endpoint, prefetch=1) as worker:
            batches = iter(worker)
            give_back(queue, batches, 2)
            queue.put(b"in hand")
            assert bytes(next(batches).records[0]) == b"in hand"
            queue.put(b"kept")  # by the Push, for who has room first
            wait_until(lambda: not queue.stats().waiting)
            words = fill(queue, 1)
            assert words.endswith("(limit 1 record, 67108864 bytes)")
            assert queue.stats().batches_delayed == 2


def test_a_join_that_takes_too_long_says_how_many_are_to_go_out_later(kit: Kit) -> None:
    """They are what it waits for."""
    with kit.pattern("WorkQueue") as queue, Worker(queue.endpoint) as worker:
        batches = iter(worker)
        for count, said in ((1, "1 batch given back"), (2, "2 batches given back")):
            give_back(queue, batches, 1)
            if count == 2:
                queue.finish()
                with pytest.raises(mm.TimedOutError) as failed:
                    queue.join(timeout=0.01)
                assert str(failed.value) == (
                    f"0 records waiting and 2 leased after 0.01 s; {said} to go out later; "
                    "1 worker here, 0 told to end"
                )
            assert f"{said} to go out later" in repr(queue)


def test_it_goes_on_when_one_is_due(kit: Kit) -> None:
    """Everything is done in the end, what came back and what waited for that."""
    with kit.pattern("WorkQueue", batch_messages=1) as queue, Worker(queue.endpoint) as worker:
        queue.put(bytes(64 << 20 >> 1))
        queue.put(bytes(63 << 20))
        done = []
        for batch in worker:
            if batch.attempt == 1 and len(batch.records[0]) > 1:
                batch.retry(delay=0.2)
                if batch.number == 1:
                    queue.put_many([b"x"] * 10)
                    queue.finish()
                continue
            done.append(batch.number)
        assert sorted(done) == list(range(12))
        stats = queue.join(timeout=WAIT_S)
        assert (stats.acknowledged, stats.batches_again, stats.batches_delayed) == (12, 2, 0)
