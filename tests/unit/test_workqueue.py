"""WorkQueue and Worker over real sockets, with threads for workers and no Spark."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import meshmsg
import meshmsg.patterns.aio
from meshmsg.patterns import WorkBatch, Worker, WorkQueue, work
from meshmsg.patterns.workqueue._batch import RECORD_SIZE_MAX
from meshmsg.patterns.workqueue._held import LOOK_S, Held
from tests.support.pairs import of_its_own, wait_until

GONE = of_its_own().replace(":0", ":9")
PATIENCE = 60.0  # seconds until a test gives up; none of them waits that long


class Crew:
    """Threads that work, and what they did."""

    def __init__(self) -> None:
        self.done: list[tuple[int, bytes]] = []
        self.errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []

    def add(self, body: Callable[[], None]) -> None:
        """Start one."""

        def run() -> None:
            try:
                body()
            except BaseException as error:  # reported by join()
                self.errors.append(error)

        self._threads.append(threading.Thread(target=run))
        self._threads[-1].start()

    def add_worker(self, endpoint: str, *, prefetch: int = 2) -> None:
        """Start one that does all it gets."""

        def body() -> None:
            for batch in work(endpoint, prefetch=prefetch, silence=PATIENCE):
                self.done.extend(batch.numbered())

        self.add(body)

    def join(self) -> None:
        """Wait for all; fail with the first error."""
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]


@pytest.fixture
def crew() -> Iterator[Crew]:
    """Threads that have ended when the test ends."""
    crew = Crew()
    yield crew
    crew.join()


def eventually(true: Callable[[], bool]) -> None:
    """Wait for what another thread will do; fail when it does not."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come true")


def records(count: int) -> list[bytes]:
    """Some records, each different."""
    return [b"record %d" % number for number in range(count)]


def test_every_record_is_done_once_by_several_workers(crew: Crew) -> None:
    """Three workers share the work; each record comes with its sequence number."""
    with WorkQueue(batch_messages=10) as queue:
        for _ in range(3):
            crew.add_worker(queue.endpoint)
        assert queue.put_many(records(2000), timeout=PATIENCE) == 2000
        queue.finish()
        stats = queue.join(workers=3, timeout=PATIENCE)
        crew.join()
    assert sorted(crew.done) == list(enumerate(records(2000)))
    assert (stats.put, stats.acknowledged, stats.batches_again) == (2000, 2000, 0)
    assert (stats.waiting, stats.leased, stats.lost, stats.workers_ended) == (0, 0, 0, 3)


def test_a_worker_that_dies_midway_loses_nothing(crew: Crew) -> None:
    """The batch in hand and the one fetched ahead go to another worker, with a higher attempt."""
    dead = threading.Event()
    attempts: list[int] = []

    with WorkQueue(batch_messages=10) as queue:

        def dies() -> None:
            with Worker(queue.endpoint, prefetch=2) as worker:
                batches = iter(worker)
                crew.done.extend(next(batches).numbered())
                next(batches)  # acknowledges the first, and is never done
            dead.set()

        crew.add(dies)
        queue.put_many(records(100), timeout=PATIENCE)
        queue.finish()
        assert dead.wait(PATIENCE)

        def survives() -> None:
            for batch in work(queue.endpoint, silence=PATIENCE):
                attempts.append(batch.attempt)
                crew.done.extend(batch.numbered())

        crew.add(survives)
        stats = queue.join(workers=1, timeout=PATIENCE)
        crew.join()
    assert sorted(crew.done) == list(enumerate(records(100)))
    assert stats.acknowledged == 100
    assert stats.batches_again in (1, 2)  # with or without the batch fetched ahead
    assert max(attempts) == 2


def test_a_worker_that_hangs_loses_its_lease_and_the_repetition_is_seen(crew: Crew) -> None:
    """Two workers did the same batch: both results carry one sequence, and it is counted once.

    On a slow machine the second one may lose its lease, too, and the batch be done a third time.
    """
    hung, both = threading.Event(), threading.Event()
    with WorkQueue(batch_messages=5, lease=0.5) as queue:

        def hangs() -> None:
            for batch in work(queue.endpoint, prefetch=1, silence=PATIENCE):
                hung.set()
                assert both.wait(PATIENCE)
                crew.done.extend(batch.numbered())

        def takes_over() -> None:
            for batch in work(queue.endpoint, prefetch=1, silence=PATIENCE):
                both.set()
                crew.done.extend(batch.numbered())

        crew.add(hangs)
        queue.put_many(records(5))
        assert hung.wait(PATIENCE)
        crew.add(takes_over)
        eventually(lambda: queue.stats().acknowledged == 5)
        queue.finish()
        stats = queue.join(workers=2, timeout=PATIENCE)
        crew.join()
    assert stats.acknowledged == stats.put == 5
    counts = Counter(crew.done)
    assert sorted(counts) == list(enumerate(records(5)))
    assert min(counts.values()) >= 2


def test_leaving_the_loop_gives_the_batch_back(crew: Crew) -> None:
    """`break` acknowledges nothing: the batch in hand goes to somebody else."""
    with WorkQueue(batch_messages=1) as queue:
        queue.put_many(records(3))
        queue.finish()
        with Worker(queue.endpoint, prefetch=1) as worker:
            for batch in worker:
                assert batch.records == (b"record 0",)
                break
        crew.add_worker(queue.endpoint)
        stats = queue.join(workers=1, timeout=PATIENCE)
        crew.join()
    assert sorted(crew.done) == list(enumerate(records(3)))
    assert stats.batches_again == 1


def test_a_worker_that_comes_after_the_end_is_told_so() -> None:
    """A task that starts late gets no work and does not hang."""
    with WorkQueue() as queue:
        queue.finish()
        assert list(work(queue.endpoint, silence=PATIENCE)) == []
        assert queue.join(workers=1, timeout=PATIENCE).workers_ended == 1


def test_an_idle_worker_waits_for_records_put_later(crew: Crew) -> None:
    """Asking before there is anything is fine; `put` then answers at once."""
    with WorkQueue() as queue:
        got: list[WorkBatch] = []
        with pytest.raises(meshmsg.TimedOutError, match="0 of 1 worker after"):
            queue.wait_for_workers(1, timeout=0.01)
        crew.add(lambda: got.extend(work(queue.endpoint, silence=PATIENCE)))
        queue.wait_for_workers(1, timeout=PATIENCE)
        assert [queue.put(record) for record in records(3)] == [0, 1, 2]
        queue.finish()
        queue.join(workers=1, timeout=PATIENCE)
        crew.join()
    assert [record for batch in got for record in batch] == records(3)


def test_put_waits_while_the_backlog_is_full(crew: Crew) -> None:
    """Back-pressure: nothing is added over the limit, and room made by a worker lets it go on."""
    with WorkQueue(backlog_messages=10, batch_messages=5) as queue:
        assert queue.put_many(records(10)) == 10
        with pytest.raises(
            meshmsg.TimedOutError, match=r"10 records waiting for 0 workers \(limit 10"
        ):
            queue.put(b"one more", timeout=0.01)
        assert queue.stats().put == 10
        crew.add_worker(queue.endpoint)
        assert queue.put(b"one more", timeout=PATIENCE) == 10
        queue.finish()
        queue.join(workers=1, timeout=PATIENCE)
        crew.join()
    assert len(crew.done) == 11


def test_the_backlog_is_limited_in_bytes_too() -> None:
    """A few large records fill it as well as many small ones."""
    with WorkQueue(backlog_bytes=100) as queue:
        queue.put(b"x" * 100)
        with pytest.raises(meshmsg.TimedOutError):
            queue.put(b"x", timeout=0.01)


def test_wrong_use_is_refused_with_a_reason() -> None:
    """Limits, order of calls, and text instead of bytes."""
    for bad in (0, 1001):
        with pytest.raises(meshmsg.UsageError, match="1 to 1000"):
            WorkQueue(batch_messages=bad)
    with pytest.raises(meshmsg.UsageError):
        WorkQueue(backlog_messages=0)
    with pytest.raises(meshmsg.UsageError):
        WorkQueue(lease=0.0)
    with WorkQueue() as queue:
        with pytest.raises(TypeError, match="encode"):
            queue.put("text")  # type: ignore[arg-type]
        with pytest.raises(meshmsg.UsageError, match="finish"):
            queue.join()
        queue.put(b"x")
        queue.finish()
        with pytest.raises(meshmsg.UsageError):
            queue.put(b"y")
        with pytest.raises(meshmsg.TimedOutError, match="1 record waiting and 0 leased"):
            queue.join(timeout=0.01)
    with pytest.raises(meshmsg.ClosedError):
        queue.put(b"z")
    assert repr(queue) == "<WorkQueue closed>"
    with pytest.raises(meshmsg.UsageError, match="prefetch"):
        Worker("tcp://127.0.0.1:1", prefetch=0)


def test_closing_wakes_a_put_and_a_join_that_wait(crew: Crew) -> None:
    """Both get ClosedError; nobody hangs on a queue that is gone."""
    started = threading.Barrier(3)
    queue = WorkQueue(backlog_messages=1)
    queue.put(b"x")

    def puts() -> None:
        started.wait()
        with pytest.raises(meshmsg.ClosedError):
            queue.put(b"y")

    other = WorkQueue()
    other.put(b"x")
    other.finish()

    def joins() -> None:
        started.wait()
        with pytest.raises(meshmsg.ClosedError):
            other.join()

    crew.add(puts)
    crew.add(joins)
    started.wait()
    queue.close()
    other.close()
    other.close()
    crew.join()


def test_a_worker_notices_that_there_is_no_queue() -> None:
    """Silence ends in PeerError with the endpoint in it, not in waiting for ever."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        endpoint = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        with pytest.raises(meshmsg.PeerError, match=rf"no sign of the .* {endpoint} for 0\.5 s$"):
            next(work(endpoint, silence=0.5))


def test_a_silence_shorter_than_the_time_between_looks_is_kept() -> None:
    """The worker does not wait for longer than it may; who is connected is not silent."""
    held = Held("tcp://somewhere", 2, 0.25)
    assert held.wait(0.0) == 0.25
    assert held.wait(0.125) == 0.125
    assert held.wait(1.0) == 0.0
    assert Held("tcp://somewhere", 2, 60.0).wait(1.0) == LOOK_S
    assert not held.silent(0.2, [], [])
    with pytest.raises(meshmsg.PeerError, match=r"for 0\.25 s"):
        held.silent(0.25, [], [])
    with WorkQueue() as queue, meshmsg.Pull(connect=queue.endpoint) as pull:
        pull.wait_for_peers(timeout=PATIENCE)
        assert held.silent(1.0, pull.peers(), [])


def test_nonsense_from_a_peer_is_refused_and_others_are_served(crew: Crew) -> None:
    """A DEALER that speaks something else is no peer, and disturbs nobody."""
    with WorkQueue() as queue, meshmsg.Dealer(connect=queue.endpoint) as odd:
        eventually(lambda: bool(odd.stats().handshakes_failed))
        crew.add_worker(queue.endpoint)
        queue.put_many(records(10))
        queue.finish()
        stats = queue.join(workers=1, timeout=PATIENCE)
        crew.join()
    assert sorted(crew.done) == list(enumerate(records(10)))
    assert (stats.acknowledged, stats.lost) == (10, 0)


def test_repr_and_stats_tell_what_is_going_on() -> None:
    """Enough to see in a log line why nothing moves."""
    with WorkQueue() as queue:
        queue.put_many(records(3))
        assert repr(queue) == (
            f"<WorkQueue {queue.endpoint}: 0 workers, 3 waiting, 0 leased, 0 of 3 acknowledged>"
        )
        assert queue.socket_stats().sent_messages == 0


def test_a_worker_that_stops_where_no_queue_is_ends_at_once_without_a_word(
    crew: Crew, caplog: pytest.LogCaptureFixture
) -> None:
    """It did nothing that anybody should know of, so it waits for no answer."""
    with Worker(GONE, silence=PATIENCE) as worker:
        crew.add(
            lambda: crew.done.extend(record for batch in worker for record in batch.numbered())
        )
        wait_until(lambda: worker._pull.events(since=0))  # it tries to connect
        worker.stop()
        crew.join()
        assert list(worker) == []
    assert "work queue" not in caplog.text


def test_an_asyncio_worker_that_stops_where_no_queue_is_ends_at_once_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As with threads."""

    async def run() -> None:
        async with meshmsg.patterns.aio.Worker(GONE, silence=PATIENCE) as worker:

            async def loop() -> list[object]:
                return [batch async for batch in worker]

            task = asyncio.ensure_future(loop())
            while not worker._pull.events(since=0):
                await asyncio.sleep(0)
            worker.stop()
            assert await asyncio.wait_for(task, PATIENCE) == []

    asyncio.run(run())
    assert "work queue" not in caplog.text


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda queue: queue.put(b"x", timeout=-1), ValueError),
        (lambda queue: queue.put(b"x", timeout="a"), TypeError),
        (lambda queue: queue.put_many([b"x"], timeout=-1), ValueError),
        (lambda queue: queue.wait_for_workers(timeout="a"), TypeError),
        (lambda queue: queue.wait_for_workers(-1), meshmsg.UsageError),
        (lambda queue: queue.wait_for_workers("a"), TypeError),
        (lambda queue: queue.join(workers=-2), meshmsg.UsageError),
        (lambda queue: queue.join(workers=True), TypeError),
        (lambda queue: queue.join(timeout=-1), ValueError),
        (lambda queue: queue.put(bytes(RECORD_SIZE_MAX + 1)), meshmsg.TooLargeError),
    ],
)
def test_the_work_queue_refuses_what_it_cannot_do(
    call: Callable[[Any], Any], error: type[Exception]
) -> None:
    """Of threads and of asyncio, and nothing is put."""
    with WorkQueue() as queue:
        with pytest.raises(error):
            call(queue)
        assert queue.stats().put == 0

    async def run() -> None:
        async with meshmsg.patterns.aio.WorkQueue() as queue:
            with pytest.raises(error):
                await call(queue)
            assert queue.stats().put == 0

    asyncio.run(run())
