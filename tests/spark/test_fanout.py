"""FanOut over real sockets, with threads in place of tasks; Spark is in test_fanout_spark.py."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark import FanOutError, FanOutStats, ItemError
from tests.spark.support import Lost, Session, fan_out
from tests.support.pairs import WAIT_S


def double(item: bytes) -> bytes:
    """What tasks do."""
    return item * 2


def test_each_item_has_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Futures, and both orders of `map`."""
    with fan_out(monkeypatch, double) as fan:
        assert fan.submit(b"a").result(WAIT_S) == b"aa"
        items = [b"%d" % i for i in range(5000)]
        assert list(fan.map(items, window=100)) == [item * 2 for item in items]
        assert sorted(fan.map(items, ordered=False)) == sorted(item * 2 for item in items)
        counts = fan.stats()
    assert (counts.submitted, counts.done, counts.open) == (10_001, 10_001, 0)
    assert "10,001 of 10,001 done" in repr(fan)


def test_what_is_given_is_encoded_and_what_comes_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both here: tasks see bytes."""
    encode: Callable[[int], bytes] = lambda number: b"%d" % number  # noqa: E731
    with fan_out(monkeypatch, double, encode=encode, decode=int) as fan:
        assert list(fan.map(range(1, 4))) == [11, 22, 33]


def test_an_item_that_raises_is_tried_again_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error has what was raised, where, how often; others are done."""
    tried: list[bytes] = []

    def fn(item: bytes) -> bytes:
        tried.append(item)
        if item == b"bad":
            raise ValueError("cannot be done")
        if item == b"late" and tried.count(item) < 3:
            raise OSError("not yet")
        return item

    with fan_out(monkeypatch, fn, max_attempts=3) as fan:
        futures = [fan.submit(item) for item in (b"a", b"bad", b"late", b"b")]
        with pytest.raises(ItemError, match=r"(?s)tried 3 times.*cannot be done") as raised:
            futures[1].result(WAIT_S)
        assert [futures[i].result(WAIT_S) for i in (0, 2, 3)] == [b"a", b"late", b"b"]
    assert (raised.value.item, raised.value.attempts) == (b"bad", 3)
    assert "test_fanout.py" in raised.value.why
    assert tried.count(b"bad") == 3
    assert fan.stats().again == 4


@pytest.mark.parametrize(
    ("fn", "said"),
    [(len, "returned int"), (lambda item: b"x" * (64 * 1024 * 1024), "67,108,864 bytes")],
)
def test_a_result_that_cannot_be_sent_is_an_error_of_its_item(
    monkeypatch: pytest.MonkeyPatch, fn: Any, said: str
) -> None:
    """And of no other."""
    with (
        fan_out(monkeypatch, fn, max_attempts=1) as fan,
        pytest.raises(ItemError, match=said),
    ):
        fan.submit(b"item").result(WAIT_S)


def test_results_of_one_group_may_be_more_than_one_message_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They go in several."""
    large = 30 * 1024 * 1024
    with fan_out(monkeypatch, lambda item: item * large, workers=1) as fan:
        assert [len(result) for result in fan.map([b"a", b"b", b"c", b"d"])] == [large] * 4


def test_map_reads_no_further_ahead_than_its_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slowly its results are taken."""
    taken: list[int] = []

    def items() -> Any:
        for i in range(100):
            taken.append(i)
            yield b"%d" % i

    with fan_out(monkeypatch, double) as fan:
        results = fan.map(items(), window=7)
        assert next(results) == b"00"
        assert len(taken) <= 8
        assert len(list(results)) == 99


def test_items_of_a_slow_iterable_do_not_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each goes out as it comes."""
    done = threading.Event()

    def fn(item: bytes) -> bytes:
        done.set()
        return item

    def items() -> Any:
        for i in range(3):
            yield b"%d" % i
            assert done.wait(WAIT_S)
            done.clear()

    with fan_out(monkeypatch, fn) as fan:
        assert list(fan.map(items())) == [b"0", b"1", b"2"]


def test_who_submits_waits_while_many_wait_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told how many; nothing was submitted."""
    go = threading.Event()

    def fn(item: bytes) -> bytes:
        assert go.wait(WAIT_S)
        return item

    with fan_out(monkeypatch, fn, workers=1, waiting_items=3, group_items=1) as fan:
        futures: list[Future[Any]] = []
        with pytest.raises(mm.TimedOutError, match="3 items wait for workers"):
            while True:
                futures.append(fan.submit(b"%d" % len(futures), timeout=0.2))
        assert fan.stats().submitted == len(futures)
        go.set()
        assert [one.result(WAIT_S) for one in futures] == [b"%d" % i for i in range(len(futures))]


def test_a_cancelled_future_is_dropped_and_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its item may be done; nobody is told."""
    go = threading.Event()

    def fn(item: bytes) -> bytes:
        assert go.wait(WAIT_S)
        return item

    with fan_out(monkeypatch, fn, workers=1) as fan:
        first, second = fan.submit(b"1"), fan.submit(b"2")
        assert second.cancel()
        go.set()
        assert first.result(WAIT_S) == b"1"
    counts = fan.stats()
    assert (counts.done, counts.failed, counts.open) == (1, 1, 0)


def test_leaving_by_an_exception_cancels_what_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its futures say so."""
    go, begun = threading.Event(), threading.Event()

    def fn(item: bytes) -> bytes:
        begun.set()
        assert go.wait(WAIT_S)
        return item

    with pytest.raises(KeyError), fan_out(monkeypatch, fn, patience=0.5) as fan:
        future = fan.submit(b"item")
        assert begun.wait(WAIT_S)
        future.add_done_callback(lambda _: go.set())  # not before it is told of it
        raise KeyError
    with pytest.raises(FanOutError, match="cancelled"):
        future.result(WAIT_S)
    with pytest.raises((FanOutError, mm.ClosedError)):
        fan.submit(b"later")
    fan.close()


def test_a_job_that_fails_is_begun_again_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is open is told why."""

    def fn(item: bytes) -> bytes:
        raise Lost("this task ends")

    with fan_out(monkeypatch, fn, workers=1, restarts=2, max_attempts=100) as fan:
        future = fan.submit(b"item")
        with pytest.raises(FanOutError, match="the Spark job of the tasks failed"):
            future.result(WAIT_S)
        assert fan.stats().jobs >= 2
        with pytest.raises(FanOutError):
            fan.submit(b"another")


def test_each_who_is_told_that_it_is_over_has_an_error_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One for all would keep the frames of all who raise it, and what is in them."""

    def fn(item: bytes) -> bytes:
        raise Lost("this task ends")

    with fan_out(monkeypatch, fn, workers=1, restarts=1, max_attempts=100) as fan:
        futures = [fan.submit(b"1"), fan.submit(b"2")]
        told = [future.exception(WAIT_S) for future in futures]
        for _ in range(2):
            with pytest.raises(FanOutError, match="this task ends") as raised:
                fan.submit(b"3")
            told.append(raised.value)
    assert len({id(one) for one in told}) == len(told)
    assert {str(one.__cause__) for one in told if one is not None} == {"this task ends"}


@pytest.mark.parametrize(
    "kind", [SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError]
)
def test_a_function_that_exits_is_an_item_that_failed(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    """As one that raises: its worker is not lost, nor are others of its group tried again."""

    def fn(item: bytes) -> bytes:
        if item == b"bad":
            raise kind("no more of this")
        return item

    with fan_out(monkeypatch, fn, workers=1, max_attempts=2) as fan:
        results = list(fan.map([b"a", b"bad", b"b"], errors="return"))
        counts = fan.stats()
    assert [results[0], results[2]] == [b"a", b"b"]
    assert f"{kind.__name__}: no more of this" in results[1].why
    assert (counts.again, counts.jobs) == (1, 1)


def test_progress_is_told_and_one_that_raises_is_called_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The work goes on."""
    told: list[FanOutStats] = []

    def progress(counts: FanOutStats) -> None:
        told.append(counts)
        raise ValueError("a bar that is broken")

    with fan_out(monkeypatch, double, progress=progress) as fan:
        for _ in range(3):
            assert fan.submit(b"a").result(WAIT_S) == b"aa"
    assert len(told) == 1
    assert told[0].done == 1


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"workers": 0}, mm.UsageError, "workers is 0"),
        ({"workers": "two"}, TypeError, "workers is 'two'"),
        ({"group_items": 1001}, mm.UsageError, "group_items is 1001"),
        ({"waiting_items": 0}, mm.UsageError, "waiting_items is 0"),
        ({"max_attempts": 0}, mm.UsageError, "max_attempts is 0"),
        ({"restarts": -1}, mm.UsageError, "restarts is -1"),
        ({"patience": 0}, mm.UsageError, "patience is 0"),
        ({"patience": None}, TypeError, "patience is None"),
        ({"task_security": b"key"}, TypeError, "path of a file of policies"),
        ({"bind": "tcp://*:0"}, mm.InsecureBindError, "security="),
        ({"bind": "tcp://*:0", "insecure": True}, mm.UsageError, "advertise="),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    """And leaves no socket open."""
    with pytest.raises(error, match=said):
        fan_out(monkeypatch, double, **options)


@pytest.mark.parametrize("item", ["text", 5, None])
def test_an_item_is_bytes(monkeypatch: pytest.MonkeyPatch, item: Any) -> None:
    """Or what encode= makes bytes of."""
    with fan_out(monkeypatch, double) as fan, pytest.raises(TypeError, match="encode="):
        fan.submit(item)


def test_a_session_that_tells_no_slots_needs_workers() -> None:
    """As one of Spark Connect."""

    class Connect(Session):
        @property
        def sparkContext(self) -> Any:  # type: ignore[override]
            """Is not there."""
            raise AttributeError("sparkContext")

    from meshmsg.spark.fanout._numbers import slots_of

    with pytest.raises(mm.UsageError, match="workers= is needed"):
        slots_of(Connect(), None)  # type: ignore[arg-type]
    assert slots_of(Session(), None) == 2  # type: ignore[arg-type]
