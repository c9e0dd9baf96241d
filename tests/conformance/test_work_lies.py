"""What peers that are no workers can do to a work queue, and no queues to a worker: nothing.

Not here: peers that lie about what is acknowledged (tests/hostile/test_hostile_acks.py).
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor

import pytest
import zmq

import meshmsg as mm
from meshmsg.patterns.workqueue._batch import RECORD_SIZE_MAX, pack_batch
from tests.interop.zmqside import zmq_socket
from tests.support.inloop import PATIENCE
from tests.support.pairs import of_its_own
from tests.support.patterned import Kit, until

GOOD = pack_batch(0, 0, None, [b"one", b"two"])


def records(count: int) -> list[bytes]:
    """Some records, each different."""
    return [b"record %d" % number for number in range(count)]


def test_who_takes_batches_and_is_done_with_none_keeps_nobody_from_them(kit: Kit) -> None:
    """It has its prefetch, and when it is gone, others have that."""
    with kit.pattern("WorkQueue", batch_messages=1) as queue:
        with mm.Pull(connect=queue.endpoint, ack="manual", prefetch=3) as liar:
            liar.wait_for_peers(timeout=PATIENCE)
            queue.put_many(records(10), timeout=PATIENCE)
            queue.finish()
            until(lambda: bool(liar.stats().queued_in_messages == 3))
            with kit.pattern("Worker", queue.endpoint, prefetch=1) as worker:
                batches = iter(worker)
                got = [next(batches) for _ in range(7)]
                assert [batch.attempt for batch in got] == [1] * 7
                until(lambda: bool(queue.stats().acknowledged == 6))
                liar.close()
                got += list(batches)
            stats = queue.join(workers=1, timeout=PATIENCE)
    assert sorted(bytes(batch.records[0]) for batch in got) == sorted(records(10))
    assert (stats.acknowledged, stats.batches_again) == (10, 3)


def test_a_puller_of_another_library_gets_nothing(kit: Kit) -> None:
    """It could not acknowledge, and would take batches with it."""
    with kit.pattern("WorkQueue", batch_messages=1) as queue, zmq_socket(zmq.PULL) as other:
        other.connect(queue.endpoint)
        queue.put_many(records(3), timeout=PATIENCE)
        queue.finish()
        until(lambda: bool(queue.socket_stats().handshakes_failed))
        with kit.pattern("Worker", queue.endpoint) as worker:
            assert [list(batch) for batch in worker] == [[one] for one in records(3)]
        assert queue.join(workers=1, timeout=PATIENCE).acknowledged == 3


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"a job",
        GOOD[:-1],
        GOOD + b"x",
        bytes(24),
        struct.pack(">QQII", 0, 0, 0, 2**32 - 1),
        struct.pack(">QQIII", 0, 0, 0, 1, 2**32 - 1),
        struct.pack(">QQII", 0, 0, 0, 1001) + bytes(4004),
    ],
)
def test_a_worker_of_a_push_that_is_no_work_queue_says_so(kit: Kit, octets: bytes) -> None:
    """What it sends is no batch: nothing of it is given out, and no memory is taken for it."""
    with (
        mm.Push(bind=of_its_own(), delivery="at_least_once") as push,
        kit.pattern("Worker", push.endpoint, silence=PATIENCE) as worker,
    ):
        push.send(octets, timeout=PATIENCE)
        with pytest.raises(mm.PeerError, match=f"{push.endpoint} is no work queue"):
            next(iter(worker))


def test_batches_that_nobody_waits_to_be_acknowledged_are_of_no_work_queue(kit: Kit) -> None:
    """They would be lost with the worker."""
    with (
        mm.Push(bind=of_its_own()) as push,
        kit.pattern("Worker", push.endpoint, silence=PATIENCE) as worker,
        ThreadPoolExecutor(1) as pool,
    ):
        first = pool.submit(next, iter(worker))
        push.send(GOOD, timeout=PATIENCE)
        with pytest.raises(mm.PeerError, match="is no work queue"):
            first.result(PATIENCE)


def test_a_batch_that_no_worker_could_get_is_refused_when_the_queue_is_made(kit: Kit) -> None:
    """It would be tried again and again, and never be sent."""
    with pytest.raises(mm.UsageError, match=f"from 1 to {RECORD_SIZE_MAX}"):
        kit.pattern("WorkQueue", batch_bytes=RECORD_SIZE_MAX + 1)
    half = bytes(RECORD_SIZE_MAX // 2)
    with (
        kit.pattern("WorkQueue", batch_bytes=RECORD_SIZE_MAX, backlog_bytes=1 << 30) as queue,
        kit.pattern("Worker", queue.endpoint) as worker,
    ):
        assert queue.put_many([half, half, half]) == 3
        queue.finish()
        assert [len(batch) for batch in worker] == [2, 1]
