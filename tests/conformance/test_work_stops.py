"""A worker that stops: what is in hand is done and acknowledged, what is ahead goes to others, and
nobody is lost; for threads and asyncio.

Not here: workers that die or are closed with work in hand (test_work.py, test_work_faults.py).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns
from meshmsg.patterns.workqueue import _wire as wire
from meshmsg.patterns.workqueue._hand import LEAVE_S, Hand
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
        until(lambda: bool(queue.stats().leased == 15))
        worker.stop()
        worker.stop()
        assert list(batches) == []
        stats = queue.stats()
        assert (stats.acknowledged, stats.leased, stats.handed_back) == (5, 0, 10)
        assert list(worker) == []
    with kit.pattern("Worker", queue.endpoint) as other:
        for batch in other:
            assert batch.attempt == 1
            done.extend(batch)
    stats = queue.join(workers=1, timeout=PATIENCE)
    queue.close()
    assert done == [b"%d" % number for number in range(20)]
    assert (stats.workers_lost, stats.handed_out_again, stats.repeated, stats.malformed) == (
        *(0, 0),
        *(0, 0),
    )


def test_stopping_wakes_a_worker_that_waits(kit: Kit) -> None:
    """Another thread may do it, and the queue is told without waiting for the next question."""
    with kit.pattern("WorkQueue") as queue, kit.pattern("Worker", queue.endpoint) as worker:
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(lambda: list(worker))
            queue.wait_for_workers(timeout=PATIENCE)
            worker.stop()
            assert waits.result(PATIENCE) == []
        assert (queue.stats().workers, queue.stats().workers_lost) == (0, 0)


def test_a_worker_that_is_stopped_before_it_begins_ends_its_loop_at_once(kit: Kit) -> None:
    """A signal may come so early; nothing was begun."""
    with kit.pattern("WorkQueue") as queue, kit.pattern("Worker", queue.endpoint) as worker:
        queue.put(b"record")
        worker.stop()
        assert list(worker) == []
        stats = queue.stats()
    assert (stats.waiting, stats.acknowledged, stats.workers_lost) == (1, 0, 0)


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
        with worker._lock:
            getattr(worker, method)()
        assert list(worker) == []


def test_a_queue_that_does_not_answer_a_worker_that_leaves_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is not waited for without end, and what may be done twice is no secret."""
    hand = Hand("tcp://somewhere", 2, LEAVE_S)
    hand.hear(wire.pack_terms(None))
    hand.leave(1.0)
    words = hand.question(1.0)
    assert words is not None
    assert words == wire.pack_ask(0, [], ([], []))
    asked = wire.parse_ask(words)
    assert asked is not None
    assert asked.leaves
    hand.asked()
    hand.silent(LEAVE_S, [], [])
    hand.leave(1.0 + LEAVE_S / 2)
    assert not hand.ended
    hand.leave(1.0 + LEAVE_S)
    hand.leave(2.0 + LEAVE_S)
    assert hand.ended
    assert caplog.text.count("did not answer a worker that leaves") == 1


def test_a_question_of_a_worker_that_pauses_is_no_goodbye(kit: Kit) -> None:
    """It has something in hand: that stays its own."""
    with kit.pattern("WorkQueue", batch_messages=1) as queue:
        queue.put_many([b"one"])
        with mm.Dealer(connect=queue.endpoint, identity=b"other") as other:
            other.send_frames(wire.pack_ask(1, []), timeout=PATIENCE)
            while (frames := other.recv_frames(timeout=PATIENCE))[0] != wire.WORK:
                pass
            header: Any = wire.parse_header(frames[1])
            other.send_frames(wire.pack_ask(0, [], ([header[0]], [])), timeout=PATIENCE)
            other.send_frames([b"nonsense"])
            until(lambda: bool(queue.stats().malformed == 1))
            assert (queue.stats().leased, queue.stats().workers) == (1, 1)
