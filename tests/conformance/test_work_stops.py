"""A worker that stops: what is in hand is done and acknowledged, what is ahead goes to others, and
nobody is lost; for threads and asyncio.

Not here: workers that die or are closed with work in hand (test_work.py, test_work_faults.py).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from meshmsg import patterns
from tests.support.inloop import PATIENCE
from tests.support.patterned import Kit, until
from tests.support.signals import handled


def test_a_worker_that_stops_finishes_its_batch_and_hands_back_what_is_ahead(kit: Kit) -> None:
    """Nothing is done twice or lost, and what it had not begun goes out as for the first time."""
    queue = kit.pattern("WorkQueue", batch_messages=5)
    queue.put_many([b"%d" % number for number in range(20)])
    queue.finish()
    with kit.pattern("Worker", queue.endpoint, prefetch=3) as worker:
        batches = iter(worker)
        done = [record for _, record in zip(range(5), next(batches), strict=True)]
        until(lambda: bool(queue.socket_stats().unacked_messages == 3))
        until(lambda: bool(queue.stats().waiting == 0))  # without a worker the last is not made
        worker.stop()
        worker.stop()
        assert list(batches) == []
        until(lambda: bool(queue.stats().acknowledged == 5))
        until(lambda: bool(queue.stats().workers == 0))
        assert queue.stats().batches_again == 2
        until(lambda: bool(queue.stats().leased == 15))
        assert list(worker) == []
    with kit.pattern("Worker", queue.endpoint) as other:
        for batch in other:
            assert batch.attempt == 1
            done.extend(batch)
    stats = queue.join(workers=1, timeout=PATIENCE)
    queue.close()
    assert done == [b"%d" % number for number in range(20)]
    assert (stats.acknowledged, stats.batches_again) == (20, 2)


def test_stopping_wakes_a_worker_that_waits(kit: Kit) -> None:
    """Another thread may do it, and the queue is told without waiting for the next question."""
    with kit.pattern("WorkQueue") as queue, kit.pattern("Worker", queue.endpoint) as worker:
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(lambda: list(worker))
            queue.wait_for_workers(timeout=PATIENCE)
            worker.stop()
            assert waits.result(PATIENCE) == []
        until(lambda: bool(queue.stats().workers == 0))
        assert queue.stats().batches_again == 0


def test_a_worker_that_is_stopped_before_it_begins_ends_its_loop_at_once(kit: Kit) -> None:
    """A signal may come so early; nothing was begun."""
    with kit.pattern("WorkQueue") as queue, kit.pattern("Worker", queue.endpoint) as worker:
        queue.put(b"record")
        worker.stop()
        assert list(worker) == []
        until(lambda: bool(queue.stats().workers == 0))
        stats = queue.stats()
    assert (stats.waiting + stats.leased, stats.acknowledged) == (1, 0)


def test_closing_a_worker_ends_its_loop_without_an_error(kit: Kit) -> None:
    """As for IdleWorker; what it has in hand goes to others."""
    with kit.pattern("WorkQueue") as queue, kit.pattern("Worker", queue.endpoint) as worker:
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(lambda: list(worker))
            queue.wait_for_workers(timeout=PATIENCE)
            worker.close()
            assert waits.result(PATIENCE) == []
        assert list(worker) == []


@pytest.mark.parametrize("method", ["stop", "close"])
def test_a_signal_s_function_ends_the_loop_of_a_worker_that_waits(method: str) -> None:
    """The function runs inside the wait that it ends."""
    with patterns.WorkQueue() as queue, patterns.Worker(queue.endpoint) as worker:

        def wake() -> None:
            queue.wait_for_workers(timeout=PATIENCE)
            send()

        with handled(getattr(worker, method)) as send:
            waking = threading.Thread(target=wake)
            waking.start()
            assert list(worker) == []
            waking.join(PATIENCE)


@pytest.mark.parametrize("method", ["stop", "close"])
def test_a_signal_s_function_may_stop_a_worker_whose_method_it_interrupted(method: str) -> None:
    """The method holds the lock, and goes on only when the function has returned."""
    with patterns.WorkQueue() as queue, patterns.Worker(queue.endpoint) as worker:
        with worker._held._lock:
            getattr(worker, method)()
        assert list(worker) == []


def test_what_was_done_last_is_known_though_the_worker_is_gone_at_once(kit: Kit) -> None:
    """Its acknowledgement goes out as it is closed."""
    with kit.pattern("WorkQueue", batch_messages=1) as queue:
        queue.put_many([b"one", b"two"], timeout=PATIENCE)
        queue.finish()
        with kit.pattern("Worker", queue.endpoint, prefetch=1) as worker:
            for _ in worker:
                worker.stop()
        until(lambda: bool(queue.stats().acknowledged == 1))
        with kit.pattern("Worker", queue.endpoint) as other:
            assert [(list(batch), batch.attempt) for batch in other] == [([b"two"], 1)]
