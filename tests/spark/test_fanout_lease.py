"""A lease is of an item, whatever goes out with it; threads and clocks in place of Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from pyspark import TaskContext

import meshmsg as mm
from meshmsg.patterns import WorkQueue
from meshmsg.spark.fanout import _task
from meshmsg.spark.fanout._results import Looking, Results
from meshmsg.spark.fanout._task import TaskOf
from meshmsg.spark.fanout._words import Outcome, Part, octets_of, parts_of
from tests.spark.support import fan_out
from tests.support.pairs import WAIT_S

LEASE_S = 10.0
ALONE = octets_of([Part(0, 1, b"alone")])


class Clock:
    """Time that moves as it is told."""

    now = 1000.0

    def monotonic(self) -> float:
        """Tell it."""
        return self.now


class Batch:
    """A batch that is lost when it was not extended for a lease."""

    attempt = 1

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now
        self.extended = self.handed_back = 0

    def extend(self) -> bool:
        """Whether it came in time."""
        ours = self._clock.now - self._since < LEASE_S
        self._since, self.extended = self._clock.now, self.extended + ours
        return ours

    def retry(self) -> None:
        """Somebody else is to have it."""
        self.handed_back += 1


class Out:
    """A Push that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[Part] = []

    def send(self, octets: bytes, *, timeout: float) -> None:
        """Keep it."""
        self.sent += parts_of(octets, Outcome) or []

    def drain(self, *, timeout: float) -> Out:
        """All is acknowledged."""
        return self

    def raise_for_loss(self) -> None:
        """And nothing lost."""


def worked(
    monkeypatch: pytest.MonkeyPatch, takes: Callable[[int], float], lease: float | None = LEASE_S
) -> tuple[list[int], Out, Batch]:
    """Work on a group of twenty; which were executed, what was told, and the batch."""
    clock, out, executed = Clock(), Out(), list[int]()
    batch: Any = Batch(clock)
    sent: Any = out
    monkeypatch.setattr(_task, "time", clock)

    def fn(item: bytes) -> bytes:
        executed.append(int(item))
        clock.now += takes(int(item))
        return item

    task = TaskOf(fn, "", "", None, WAIT_S, lease)
    task._one(sent, batch, octets_of([Part(i, 1, b"%d" % i) for i in range(20)]))
    return executed, out, batch


def test_each_item_may_take_nearly_all_of_a_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many go out together: twenty take eighteen leases, and keep theirs."""
    executed, out, batch = worked(monkeypatch, lambda _: LEASE_S * 0.9)
    assert executed == list(range(20))
    assert [part.id for part in out.sent] == executed
    assert (batch.extended, batch.handed_back) == (19, 0)


def test_short_items_are_not_told_of_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor anything where there is no lease."""
    _, _, batch = worked(monkeypatch, lambda _: LEASE_S / 500)
    assert batch.extended <= 2
    _, _, batch = worked(monkeypatch, lambda _: LEASE_S * 9, None)
    assert batch.extended == 0


def test_a_worker_that_was_late_says_what_it_did_and_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others have it by then: it is not executed twice for nothing, nor acknowledged."""
    executed, out, batch = worked(monkeypatch, lambda item: LEASE_S * 1.1 if item == 5 else 0.1)
    assert executed == list(range(6))
    assert [part.id for part in out.sent] == executed
    assert batch.handed_back == 1


def test_groups_that_take_longer_than_the_lease_stay_with_their_worker() -> None:
    """The one in hand and the one ahead, with another worker idle: each item is executed once."""
    lease, count, begun, pause = 0.8, 25, threading.Event(), threading.Event()
    executed: list[bytes] = []

    def fn(item: bytes) -> bytes:
        begun.set()
        executed.append(item)
        pause.wait(lease / 20)
        return item

    with (
        mm.Pull(bind="tcp://127.0.0.1:0") as pull,
        WorkQueue(batch_messages=1, lease=lease) as queue,
        ThreadPoolExecutor(2) as pool,
    ):
        task = TaskOf(fn, queue.endpoint, pull.endpoint, None, WAIT_S, lease)
        run = lambda: list(task(iter([])))  # noqa: E731
        queue.put_many(octets_of([Part(i, 1, b"item") for i in range(count)]) for _ in range(2))
        running = [pool.submit(run)]
        assert begun.wait(WAIT_S)
        running.append(pool.submit(run))
        queue.finish()
        told: list[Part] = []
        while not all(one.done() for one in running):
            with suppress(mm.TimedOutError):
                told += parts_of(bytes(pull.recv(timeout=0.1)), Outcome) or []
        assert [one.result(WAIT_S) for one in running] == [[], []]
        stats = queue.join(timeout=WAIT_S)
    assert [part.number for part in told] == [Outcome.DONE] * (2 * count)
    assert (len(executed), stats.batches_again) == (2 * count, 0)


def test_what_a_hung_worker_has_goes_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has one result; what hung is tried again, and what comes of it late is not told."""
    go, hung = threading.Event(), threading.Event()

    def fn(item: bytes) -> bytes:
        if item == b"hangs" and not hung.is_set():
            hung.set()
            assert go.wait(WAIT_S)
            return b"late"
        return item

    with fan_out(monkeypatch, fn, workers=2, lease=0.5) as fan:
        futures = [fan.submit(b"hangs"), *(fan.submit(b"%d" % i) for i in range(50))]
        results = [one.result(WAIT_S) for one in futures]
        again = fan.stats().again
        go.set()
    assert results == [b"hangs", *(b"%d" % i for i in range(50))]
    assert again >= 1


class Flushed(Results):
    """Results whose flushes are told, and so that somebody has looked."""

    def __init__(self) -> None:
        super().__init__(lambda octets: None, [0])
        self.looks = threading.Semaphore(0)

    def flush(self) -> None:
        """Tell it."""
        self.looks.release()

    def looked(self) -> None:
        """Wait until somebody looked who began after this call: the one under way ends first."""
        for _ in range(2):
            assert self.looks.acquire(timeout=WAIT_S)


def test_an_item_that_takes_two_leases_hangs_and_one_that_is_late_does_not() -> None:
    """Nor do results that nobody takes: no item is worked on meanwhile."""
    clock, hung, results = Clock(), threading.Event(), Flushed()
    with Looking(LEASE_S, hung.set, clock.monotonic) as looking:
        results.began = clock.now
        looking.begin(results)
        clock.now += LEASE_S * 1.9
        results.looked()
        assert not hung.is_set()
        results.began = None
        clock.now += LEASE_S
        results.looked()
        assert not hung.is_set()
        results.began = clock.now - LEASE_S * 2
        assert hung.wait(WAIT_S)


def test_only_a_task_of_spark_ends_its_process(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody would begin another one for what is none."""
    ended: list[int] = []
    monkeypatch.setattr(_task.os, "_exit", ended.append)
    task = TaskOf(lambda item: item, "", "", None, WAIT_S, LEASE_S)
    task._hung()
    assert ended == []
    monkeypatch.setattr(TaskContext, "_taskContext", object())
    task._hung()
    assert ended == [_task.HUNG_STATUS]
    assert "an item took more than 2 x 10 s (lease=)" in capfd.readouterr().err


def test_the_time_of_an_item_is_told_only_while_it_is_worked_on() -> None:
    """Where there is a lease, also of an item that is alone; not while its result is told."""
    seen: list[bool] = []

    class Telling(Out):
        def drain(self, *, timeout: float) -> Out:
            """Look whether an item is worked on."""
            seen.append(looking._results is not None)
            return self

    def fn(item: bytes) -> bytes:
        now = looking._results
        seen.append(now is not None and now.began is not None)
        return item

    out: Any = Telling()
    batch: Any = Batch(Clock())
    with Looking(LEASE_S) as looking:
        TaskOf(fn, "", "", None, WAIT_S, LEASE_S)._one(out, batch, ALONE, looking)
    assert seen == [True, False]
