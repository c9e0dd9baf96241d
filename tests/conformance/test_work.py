"""The work queue and its workers, one suite for threads and asyncio, and for both mixed."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns
from meshmsg.patterns import aio as patterns_aio
from tests.support.inloop import PATIENCE, LoopThread

LEASE = 0.05  # seconds; tests wait until the queue says that it is over


@dataclass
class Kit:
    """How a test makes a queue and workers."""

    queue: Callable[..., Any]
    worker: Callable[..., Any]


@pytest.fixture(params=["sync", "asyncio", "sync queue", "asyncio queue"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """Both of a kind, and one of each."""
    thread = LoopThread()

    def looped(kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: thread.make(kind, *args, **options)

    plain = request.param in ("sync", "sync queue"), request.param in ("sync", "asyncio queue")
    yield Kit(
        patterns.WorkQueue if plain[0] else looped(patterns_aio.WorkQueue),
        patterns.Worker if plain[1] else looped(patterns_aio.Worker),
    )
    thread.close()


def records(count: int) -> list[bytes]:
    """Some records, each different."""
    return [b"record %d" % number for number in range(count)]


def until(true: Callable[[], bool]) -> None:
    """Wait for what another thread or the queue's clock will do."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if true():
            return
        pause.wait(0.005)
    raise AssertionError("it did not come true")


def do_all(kit: Kit, endpoint: str) -> dict[int, bytes]:
    """Be a worker until the end."""
    with kit.worker(endpoint) as worker:
        return {number: record for batch in worker for number, record in numbered(batch)}


class Cut:
    """A way to a queue that can be cut; whoever comes again is let through."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        self._target = host, int(port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self._streams: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def _run(self, function: Callable[..., None], *args: Any) -> None:
        self._threads.append(threading.Thread(target=function, args=args))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                one = self._listener.accept()[0]
                two = socket.create_connection(self._target)
                self._streams += [one, two]
                self._run(self._pass, one, two)
                self._run(self._pass, two, one)

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """End all connections."""
        for one in self._streams:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Cut:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        for thread in self._threads:
            thread.join(PATIENCE)
        for one in (self._listener, *self._streams):
            one.close()


def numbered(batch: Any) -> Iterator[tuple[int, bytes]]:
    """The records of a batch with their numbers, each taken from it."""
    first = batch.first_sequence
    return ((first + at, record) for at, record in enumerate(batch))


def test_every_record_is_done_once_by_several_workers(kit: Kit) -> None:
    """Put while they ask; each is told when it is over."""
    with kit.queue(batch_messages=10, backlog_messages=100) as queue, ThreadPoolExecutor(3) as pool:
        doing = [pool.submit(do_all, kit, queue.endpoint) for _ in range(3)]
        queue.wait_for_workers(3, timeout=PATIENCE)
        assert queue.put(records(1)[0], timeout=PATIENCE) == 0
        assert queue.put_many(records(500)[1:], timeout=PATIENCE) == 499
        queue.finish()
        stats = queue.join(workers=3, timeout=PATIENCE)
        done = [one.result(PATIENCE) for one in doing]
    assert sum(map(len, done)) == 500
    assert {n: r for one in done for n, r in one.items()} == dict(enumerate(records(500)))
    assert (stats.acknowledged, stats.leased, stats.waiting) == (500, 0, 0)
    assert stats.batches_again == stats.lost == 0


def test_a_worker_that_moves_on_keeps_its_batches(kit: Kit) -> None:
    """They take longer than the lease, with one ahead: each record is done once."""
    executed, lease = 0, 0.6
    with kit.queue(batch_messages=5, lease=lease) as queue:
        queue.put_many(records(10))
        queue.finish()
        with kit.worker(queue.endpoint) as worker:
            for batch in worker:
                pause = threading.Event()
                for _ in batch:
                    pause.wait(lease / 4)
                    executed += 1
        stats = queue.join(timeout=PATIENCE)
    assert (executed, stats.acknowledged, stats.batches_again) == (10, 10, 0)


@pytest.mark.parametrize("kit", ["sync", "asyncio"], indirect=True)
@pytest.mark.parametrize("how", ["records", "extend"])
def test_progress_keeps_a_batch_from_an_idle_worker(kit: Kit, how: str) -> None:
    """Longer than the lease in all, but never without a sign for so long: nobody else gets it."""
    lease = 1.0
    with kit.queue(batch_messages=100, lease=lease) as queue, kit.worker(queue.endpoint) as worker:
        queue.put_many(records(100))
        queue.finish()
        batch = next(iter(worker))
        with ThreadPoolExecutor(1) as pool:
            idle = pool.submit(do_all, kit, queue.endpoint)
            queue.wait_for_workers(2, timeout=PATIENCE)
            begun = threading.Event()
            taken, steps = iter(batch), 0
            while steps * lease / 20 < lease * 1.2:
                begun.wait(lease / 20)
                steps += 1
                assert (how == "extend" and batch.extend()) or next(taken)
            stats = queue.stats()
            assert not batch.lost
            worker.close()
            assert idle.result(PATIENCE) == dict(enumerate(records(100)))
    assert (stats.batches_again, stats.leased) == (0, 100)


def test_a_hanging_worker_loses_all_it_has_to_one_with_room(kit: Kit) -> None:
    """What it had ahead it does not begin, and what it acknowledges late counts for nothing."""
    with kit.queue(batch_messages=5, lease=LEASE) as queue, kit.worker(queue.endpoint) as slow:
        queue.put_many(records(10))
        batches = iter(slow)
        next(batches)
        with ThreadPoolExecutor(2) as pool:
            other = pool.submit(do_all, kit, queue.endpoint)
            until(lambda: bool(queue.stats().acknowledged == 10))
            queue.finish()
            stats = queue.join(workers=1, timeout=PATIENCE)
            assert other.result(PATIENCE) == dict(enumerate(records(10)))
            assert list(batches) == []
    assert stats.batches_again >= 2
    assert stats.acknowledged == 10


def test_a_lost_worker_s_batches_go_to_others_without_waiting_for_a_lease(kit: Kit) -> None:
    """Its connection ended: there is nothing to wait for, and no lease is needed."""
    with kit.queue(batch_messages=5) as queue:
        queue.put_many(records(10))
        queue.finish()
        with kit.worker(queue.endpoint) as lost:
            assert next(iter(lost)).attempt == 1
            until(lambda: bool(queue.stats().leased == 10))
            assert (queue.stats().workers, queue.stats().waiting) == (1, 0)
        assert do_all(kit, queue.endpoint) == dict(enumerate(records(10)))
        stats = queue.join(workers=1, timeout=PATIENCE)
    assert (stats.batches_again, stats.acknowledged) == (2, 10)


def test_a_worker_whose_connection_was_cut_gets_its_batches_again(kit: Kit) -> None:
    """It lives on and comes back: what it had comes again, to it or to others, and is known."""
    seen: list[tuple[int, int]] = []
    with kit.queue(batch_messages=5) as queue, Cut(queue.endpoint) as between:
        with kit.worker(between.endpoint) as worker:
            queue.put_many(records(15))
            queue.finish()
            for batch in worker:
                seen.append((batch.first_sequence, batch.attempt))
                if len(seen) == 1:
                    until(lambda: bool(queue.socket_stats().unacked_messages == 2))
                    between.cut()
                    until(lambda: bool(queue.stats().batches_again == 2))
        stats = queue.join(timeout=PATIENCE)
    assert seen[0] == (0, 1)
    assert (0, 2) in seen[1:]
    assert {first for first, _ in seen} == {0, 5, 10}
    assert stats.acknowledged == 15


def test_a_batch_handed_back_comes_again_with_the_next_attempt(kit: Kit) -> None:
    """It is not acknowledged by going on, and comes before what is new."""
    with kit.queue(batch_messages=1) as queue, kit.worker(queue.endpoint, prefetch=1) as worker:
        queue.put_many(records(3))
        queue.finish()
        seen = []
        for batch in worker:
            seen.append((batch.number, batch.attempt))
            if batch.number == 1 and batch.attempt < 3:
                batch.retry()
                with pytest.raises(mm.UsageError, match="batch 1 is not in hand"):
                    batch.retry()
        stats = queue.join(timeout=PATIENCE)
    assert sorted(seen) == [(0, 1), (1, 1), (1, 2), (1, 3), (2, 1)]
    assert (stats.batches_again, stats.acknowledged) == (2, 3)


def test_a_batch_handed_back_for_later_comes_no_sooner(kit: Kit) -> None:
    """Others come first."""
    with kit.queue(batch_messages=1) as queue, kit.worker(queue.endpoint, prefetch=1) as worker:
        queue.put_many(records(3))
        queue.finish()
        seen = []
        for batch in worker:
            seen.append((batch.number, batch.attempt))
            if batch.number == 0 and batch.attempt == 1:
                batch.retry(delay=0.3)
        queue.join(timeout=PATIENCE)
    assert seen == [(0, 1), (1, 1), (2, 1), (0, 2)]


def test_a_loop_that_was_left_hands_its_batch_back_when_the_next_one_begins(kit: Kit) -> None:
    """It was not done, so it is neither acknowledged nor forgotten."""
    with kit.queue(batch_messages=1) as queue, kit.worker(queue.endpoint, prefetch=1) as worker:
        queue.put_many(records(2))
        queue.finish()
        left = next(iter(worker))
        again = [(batch.number, batch.attempt) for batch in worker]
        assert left.number == 0
    assert sorted(again) == [(0, 2), (1, 1)]


def test_a_delay_that_is_none_is_refused(kit: Kit) -> None:
    """Nothing is handed back for a mistake."""
    with kit.queue() as queue, kit.worker(queue.endpoint) as worker:
        queue.put(b"x")
        batch = next(iter(worker))
        for wrong in (-1, float("nan")):
            with pytest.raises(mm.UsageError, match="it is seconds, from 0 to"):
                batch.retry(delay=wrong)
        assert queue.stats().batches_again == 0


def test_what_waits_ends_when_the_queue_is_closed(kit: Kit) -> None:
    """put, join and wait_for_workers raise ClosedError; time-outs say what is the matter."""
    queue = kit.queue(backlog_messages=1)
    queue.put(b"x")
    with pytest.raises(mm.TimedOutError, match="1 record waiting for 0 workers"):
        queue.put(b"y", timeout=0.01)
    with pytest.raises(mm.TimedOutError, match="0 of 2 workers"):
        queue.wait_for_workers(2, timeout=0.01)
    with pytest.raises(mm.UsageError, match="finish"):
        queue.join()
    with pytest.raises(TypeError, match="encode"):
        queue.put("text")
    with ThreadPoolExecutor(2) as pool:
        waits = [pool.submit(queue.put, b"y"), pool.submit(queue.wait_for_workers, 1)]
        queue.close()
        queue.close()
        for one in waits:
            with pytest.raises(mm.ClosedError):
                one.result(PATIENCE)
    assert repr(queue) == "<WorkQueue closed>"


def test_what_is_so_already_is_found_without_waiting(kit: Kit) -> None:
    """A timeout of 0 asks whether it can be done now; it can."""
    with kit.queue(backlog_messages=2) as queue:
        queue.wait_for_workers(0, timeout=0)
        assert queue.put(b"x", timeout=0) == 0
        assert queue.put_many([b"y"], timeout=0) == 1
        with pytest.raises(mm.TimedOutError):
            queue.put(b"z", timeout=0)
        queue.finish()
        with kit.worker(queue.endpoint) as worker:
            assert len(list(worker)) == 1
        ended = queue.join(timeout=PATIENCE)
        # The worker has left; whether its link is still counted is a matter of moments.
        assert replace(queue.join(timeout=0), workers=ended.workers) == ended


def test_room_for_one_lets_one_of_many_put() -> None:
    """They wake together, and all but one wait on: the backlog is a limit."""

    async def main() -> tuple[int, int, int]:
        async with patterns_aio.WorkQueue(backlog_messages=1, batch_messages=1) as queue:
            await queue.put(b"x")
            putting = [asyncio.create_task(queue.put(b"y", timeout=PATIENCE)) for _ in range(5)]
            for _ in range(100):
                await asyncio.sleep(0)
            before, most, done = queue.stats().put, 0, 0
            async with patterns_aio.Worker(queue.endpoint, prefetch=1) as worker:
                async for _ in worker:
                    most = max(most, queue.stats().waiting)
                    done += 1
                    if done == 6:
                        queue.finish()
            await asyncio.gather(*putting)
            return before, most, done

    before, most, done = asyncio.run(main())
    assert (before, done) == (1, 6)
    assert most <= 1


def test_what_a_worker_is_and_does_shows_in_its_repr(kit: Kit) -> None:
    """Its name, its queue, what it has; and that of a batch is no dump of its records."""
    with kit.queue(batch_messages=2) as queue:
        with kit.worker(queue.endpoint, identity=b"ann") as worker:
            assert repr(worker) == (
                f"<Worker ann of {queue.endpoint}: nothing in hand, 0 ahead, 0 batches done>"
            )
            queue.put_many(records(3))
            batches = iter(worker)
            batch = next(batches)
            assert "batch 0 in hand" in repr(worker)
            assert repr(batch) == "<WorkBatch 0: 2 records from 0, attempt 1>"
            next(batches)
            assert "1 batch done" in repr(worker)
        assert repr(worker) == "<Worker ann closed, 1 batch done>"


def test_an_engine_that_is_closed_ends_the_queue_which_says_so(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever waits in join is woken, not left for ever; it did not fail, so it can be left."""
    with mm.Engine() as engine, kit.queue(engine=engine) as queue:
        queue.put(b"never done")
        queue.finish()
        engine.close()
        with pytest.raises(mm.ClosedError, match="its engine was closed by others"):
            queue.join(timeout=PATIENCE)
    assert caplog.text.count("a work queue serves nobody any more") == 1


def names(kind: type) -> set[str]:
    """Its public names, and what makes it iterable or a context."""
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", ["WorkBatch", "WorkQueue", "Worker"])
def test_threads_and_asyncio_have_the_same_names_and_arguments(name: str) -> None:
    """What waits is awaited there; defaults and kinds are the same."""
    one, two = getattr(patterns, name), getattr(patterns_aio, name)
    assert names(one) == names(two)
    assert inspect.signature(one.__init__).parameters.keys() == (
        inspect.signature(two.__init__).parameters.keys()
    )
    for method in names(one):
        if callable(getattr(one, method)):
            ours, theirs = (inspect.signature(getattr(k, method)) for k in (one, two))
            assert list(ours.parameters.values()) == list(theirs.parameters.values()), method
    if name != "WorkBatch":
        ours, theirs = inspect.signature(one), inspect.signature(two)
        assert list(ours.parameters.values()) == list(theirs.parameters.values())
    assert patterns.__all__ == patterns_aio.__all__
    ours, theirs = (inspect.signature(module.work) for module in (patterns, patterns_aio))
    assert ours.parameters == theirs.parameters


def test_an_asyncio_queue_without_a_loop_is_refused() -> None:
    """It says what to do, and binds nothing."""
    with pytest.raises(mm.UsageError, match="while its event loop runs"):
        patterns_aio.WorkQueue(bind="inproc://no loop")
