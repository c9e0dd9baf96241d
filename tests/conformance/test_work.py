"""The work queue and its workers, one suite for threads and asyncio, and for both mixed."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns
from meshmsg.patterns import aio as patterns_aio
from meshmsg.patterns.workqueue import _wire as wire
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
    assert (stats.acknowledged, stats.handed_out, stats.repeated, stats.malformed) == (
        *(500, 500),
        *(0, 0),
    )
    assert stats.workers_lost == stats.handed_back == stats.late == 0


def test_a_live_worker_alone_never_gets_its_own_batch_again(kit: Kit) -> None:
    """Its batches take longer than the lease, with one ahead: each record is done once."""
    executed = 0
    with kit.queue(batch_messages=5, lease=LEASE) as queue:
        queue.put_many(records(20))
        queue.finish()
        with kit.worker(queue.endpoint) as worker:
            for batch in worker:
                executed += len(list(batch.records))
                until(lambda: bool(queue.stats().stalled_seconds > LEASE * 2))
        stats = queue.join(timeout=PATIENCE)
    assert (executed, stats.handed_out, stats.acknowledged, stats.late) == (20, 20, 20, 0)


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
    assert (stats.handed_out_again, stats.leased) == (0, 100)


def test_a_hanging_worker_loses_all_it_has_to_one_with_room_and_is_told(kit: Kit) -> None:
    """What it had ahead is not done twice; what it had in hand is counted when it acks late."""
    with kit.queue(batch_messages=5, lease=LEASE) as queue, kit.worker(queue.endpoint) as slow:
        queue.put_many(records(10))
        batches = iter(slow)
        first = next(batches)
        until(lambda: bool(queue.stats().leased == 10))
        until(lambda: bool(queue.stats().stalled_seconds > LEASE * 2))
        with ThreadPoolExecutor(2) as pool:
            other = pool.submit(do_all, kit, queue.endpoint)
            until(lambda: bool(queue.stats().acknowledged == 10))
            assert not first.extend()
            assert first.lost
            rest = pool.submit(list, batches)  # acknowledges the first, and dropped the second
            until(lambda: bool(queue.stats().repeated == 5))
            queue.finish()
            assert rest.result(PATIENCE) == []
            stats = queue.join(workers=2, timeout=PATIENCE)
            assert other.result(PATIENCE) == dict(enumerate(records(10)))
    assert (stats.handed_out, stats.handed_out_again, stats.repeated) == (20, 10, 5)
    assert (stats.acknowledged, stats.malformed) == (10, 0)


def test_a_lost_worker_s_batches_go_to_others_without_waiting_for_a_lease(kit: Kit) -> None:
    """Its connection ended: there is nothing to wait for, and no lease is needed."""
    with kit.queue(batch_messages=5) as queue:
        queue.put_many(records(10))
        queue.finish()
        with kit.worker(queue.endpoint) as lost:
            assert next(iter(lost)).attempt == 1
            until(lambda: bool(queue.stats().leased == 10))
        assert do_all(kit, queue.endpoint) == dict(enumerate(records(10)))
        stats = queue.join(workers=1, timeout=PATIENCE)
    assert (stats.workers_lost, stats.handed_out_again, stats.repeated) == (1, 10, 0)


def test_a_worker_whose_connection_was_cut_keeps_what_nobody_took(kit: Kit) -> None:
    """It lives on and comes back: it does not get again what it has in hand or ahead."""
    seen = []
    with (
        kit.queue(batch_messages=5) as queue,
        kit.worker(queue.endpoint, identity=b"ann") as worker,
    ):
        queue.put_many(records(15))
        queue.finish()
        for batch in worker:
            seen.append((batch.number, batch.attempt))
            if batch.number == 0:
                until(lambda: bool(queue.stats().leased == 10))
                with mm.Dealer(connect=queue.endpoint, identity=b"ann"):  # takes its place
                    until(lambda: bool(queue.stats().workers_lost == 1))
                until(lambda: bool(worker.stats().peers == 1))
                assert batch.extend()
                until(lambda: bool(queue.stats().leased == 10))
        stats = queue.join(timeout=PATIENCE)
    assert seen == [(0, 1), (1, 1), (2, 1)]
    assert (stats.handed_out, stats.handed_out_again, stats.late, stats.repeated) == (15, 10, 0, 0)


def test_a_batch_handed_back_comes_again_with_the_next_attempt(kit: Kit) -> None:
    """It is not acknowledged by going on, and comes before what is new."""
    with kit.queue(batch_messages=1) as queue, kit.worker(queue.endpoint, prefetch=1) as worker:
        queue.put_many(records(3))
        queue.finish()
        seen = []
        for batch in worker:
            seen.append((batch.number, batch.attempt))
            if batch.number == 1 and batch.attempt < 3:
                batch.retry(delay=0.01)
                with pytest.raises(mm.UsageError, match="batch 1 is not in hand"):
                    batch.retry()
        stats = queue.join(timeout=PATIENCE)
    assert sorted(seen) == [(0, 1), (1, 1), (1, 2), (1, 3), (2, 1)]
    assert (stats.handed_back, stats.handed_out_again, stats.acknowledged) == (2, 0, 3)


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
        with pytest.raises(ValueError, match="delay is -1"):
            batch.retry(delay=-1)
        assert queue.stats().handed_back == 0


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
        assert queue.join(timeout=PATIENCE) == queue.join(timeout=0)


def test_room_for_one_lets_one_of_many_put() -> None:
    """They wake together, and all but one wait on: the backlog is a limit."""

    async def main() -> list[int]:
        async with patterns_aio.WorkQueue(backlog_messages=1, batch_messages=1) as queue:
            await queue.put(b"x")
            putting = [asyncio.create_task(queue.put(b"y", timeout=PATIENCE)) for _ in range(5)]
            waiting = []
            async with patterns_aio.Worker(queue.endpoint, prefetch=1) as worker:
                async for _ in worker:
                    while queue.stats().put < 6 and not queue.stats().waiting:
                        await asyncio.sleep(0)
                    waiting.append(queue.stats().waiting)
                    if len(waiting) == 6:
                        queue.finish()
            await asyncio.gather(*putting)
            return waiting

    assert asyncio.run(main()) == [1, 1, 1, 1, 1, 0]


def test_join_says_how_long_the_slowest_has_shown_nothing(kit: Kit) -> None:
    """Where there is no lease, a worker that hangs is told of."""
    with kit.queue() as queue, kit.worker(queue.endpoint) as worker:
        queue.put(b"x")
        queue.finish()
        batch = next(iter(worker))
        until(lambda: bool(queue.stats().stalled_seconds > 0.1))
        with pytest.raises(
            mm.TimedOutError, match=r"the slowest has shown no progress for 0\.\d s"
        ):
            queue.join(timeout=0.01)
        assert len(batch) == 1


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


def test_a_queue_of_the_first_version_is_understood(kit: Kit) -> None:
    """It tells no terms: it is asked in its own words, and a batch cannot be handed back."""
    with mm.Router(bind="tcp://127.0.0.1:0") as old, ThreadPoolExecutor(1) as pool:
        with kit.worker(old.endpoint, prefetch=1) as worker:
            first = pool.submit(next, iter(worker))
            name, *ask = old.recv_frames(timeout=PATIENCE)
            assert ask == wire.pack_ask(1, [])
            old.send_frames([name, *wire.pack_work(0, 1, 0, [b"record"])])
            batch = first.result(PATIENCE)
            with pytest.raises(mm.PeerError, match="speaks version 1"):
                batch.retry()
            second = pool.submit(lambda: [one.number for one in worker])  # the first was left
            old.send_frames([name, *wire.pack_work(1, 1, 1, [b"record"])])
            asks = [old.recv_frames(timeout=PATIENCE)[1:]]
            while asks[-1] != wire.pack_ask(1, [1]):
                asks.append(old.recv_frames(timeout=PATIENCE)[1:])
            old.send_frames([name, wire.END])
            assert second.result(PATIENCE) == [1]
    assert all(len(one) == 3 for one in asks)


def test_a_queue_that_understands_only_later_workers_is_a_clear_error(kit: Kit) -> None:
    """Which version it has, and what to do."""
    with mm.Router(bind="tcp://127.0.0.1:0") as later, ThreadPoolExecutor(1) as pool:
        with kit.worker(later.endpoint) as worker:
            first = pool.submit(next, iter(worker))
            name = later.recv_frames(timeout=PATIENCE)[0]
            terms = wire._TERMS.pack(9, 7, 0)
            later.send_frames([name, wire.TERMS, terms])
            with pytest.raises(mm.PeerError, match="speaks version 9 and understands 7 and later"):
                first.result(PATIENCE)


def test_a_worker_of_the_first_version_is_understood(kit: Kit) -> None:
    """It asks in three frames, and passes over what it does not know."""
    with kit.queue(batch_messages=1, lease=PATIENCE) as queue:
        queue.put_many(records(3))
        queue.finish()
        with mm.Dealer(connect=queue.endpoint, identity=b"old") as old:
            done: list[int] = []
            words = []
            while not words or words[-1] != wire.END:
                old.send_frames(wire.pack_ask(1, done))
                kind, *rest = old.recv_frames(timeout=PATIENCE)
                while kind == wire.TERMS:
                    kind, *rest = old.recv_frames(timeout=PATIENCE)
                header = wire.parse_header(rest[0]) if kind == wire.WORK else None
                done = [] if header is None else [header[0]]
                words.append(kind)
            stats = queue.join(workers=1, timeout=PATIENCE)
    assert words == [wire.WORK] * 3 + [wire.END]
    assert (stats.acknowledged, stats.handed_out, stats.malformed) == (3, 3, 0)


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
