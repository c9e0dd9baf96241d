"""Who is idle gets some of what comes together, and what nobody wants any more does not go out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_all
from typing import Any, cast

import pytest

import meshmsg as mm
from meshmsg.spark import FanOut
from meshmsg.spark.fanout import _fanout
from tests.spark.support import Session, fan_out
from tests.support.pairs import WAIT_S, wait_until

MANY = 500
AHEAD = 8
"""Items of groups of one that may be on their way: in the queue, and with its worker."""


class Held:
    """What tasks do: each item is held until it may go on, the first is told of."""

    def __init__(self) -> None:
        self.first, self.go = threading.Event(), threading.Event()
        self.seen: list[bytes] = []

    def __call__(self, item: bytes) -> bytes:
        self.seen.append(item)
        self.first.set()
        assert self.go.wait(WAIT_S)
        return item


@pytest.mark.parametrize("each", [1, 10])
def test_items_that_come_together_are_divided_among_who_is_idle(
    monkeypatch: pytest.MonkeyPatch, each: int
) -> None:
    """Two that are idle have half each: the last item of one half waits for that of the other."""
    both = threading.Barrier(2)

    def fn(item: bytes) -> bytes:
        if item == b"last":
            both.wait(WAIT_S)
        return item

    half = [b"other"] * (each - 1) + [b"last"]
    with fan_out(monkeypatch, fn, workers=2) as fan:
        wait_until(lambda: fan.stats().workers == 2)
        with fan._sending._changed:  # so that all of them wait as the first goes out
            futures = [fan.submit(item) for item in half + half]
        assert [one.result(WAIT_S) for one in futures] == half + half


def begun(fan: FanOut, held: Held) -> Future[Any]:
    """Have the one worker be busy; return what it is busy with."""
    one = fan.submit(b"first")
    assert held.first.wait(WAIT_S)
    return one


@pytest.mark.parametrize("group_items", [1, 100])
def test_what_was_cancelled_before_it_went_out_is_not_done(
    monkeypatch: pytest.MonkeyPatch, group_items: int
) -> None:
    """So what comes behind it does not wait for it; whoever waits for the cancelled is told."""
    held = Held()
    with fan_out(monkeypatch, held, workers=1, group_items=group_items) as fan:
        first = begun(fan, held)
        with fan._sending._changed:
            futures = [fan.submit(b"%d" % number) for number in range(MANY)]
            assert all(one.cancel() for one in futures[1:])
        held.go.set()
        assert fan.submit(b"behind").result(WAIT_S) == b"behind"
        assert (first.result(WAIT_S), futures[0].result(WAIT_S)) == (b"first", b"0")
        assert not wait_for_all(futures, WAIT_S).not_done
        counts = fan.stats()
    assert len(held.seen) <= 3 + AHEAD
    assert (counts.done, counts.failed, counts.open) == (3, MANY - 1, 0)


def test_what_a_map_that_was_left_had_read_ahead_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for what was on its way."""
    read, go = threading.Event(), threading.Event()
    seen: list[bytes] = []

    def items() -> Iterator[bytes]:
        for number in range(MANY):
            yield b"%d" % number
        read.set()

    def fn(item: bytes) -> bytes:
        seen.append(item)
        assert (read if item == b"0" else go).wait(WAIT_S)
        return item

    with fan_out(monkeypatch, fn, workers=1, group_items=1) as fan:
        results = fan.map(items(), window=2 * MANY)
        assert next(results) == b"0"
        cast("Generator[Any]", results).close()
        go.set()
        assert fan.submit(b"behind").result(WAIT_S) == b"behind"
    assert len(seen) <= 2 + AHEAD


class Nobody:
    """A job of Spark's that waits for a slot, and so never begins."""

    begun = 0

    def __init__(self, *_: object, **__: object) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: True


@pytest.mark.parametrize("workers", [0, 1])
def test_a_log_is_told_if_no_task_begins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, workers: int
) -> None:
    """Other jobs have the slots, most likely; a fan-out that is idle says nothing."""
    waited, told = threading.Event(), FanOut._tell_of_no_task
    monkeypatch.setattr(_fanout, "BEGUN_S", 0.01)
    monkeypatch.setattr(FanOut, "_tell_of_no_task", lambda self: (told(self), waited.set()))
    held = threading.Event()
    real = mm.Pull.recv_many

    def late(self: Any, *arguments: Any, **options: Any) -> Any:
        assert held.wait(WAIT_S)  # until a task has begun, if one is to
        return real(self, *arguments, **options)

    monkeypatch.setattr(mm.Pull, "recv_many", late)
    with caplog.at_level(logging.WARNING, "meshmsg"):
        if workers:
            fan = fan_out(monkeypatch, bytes, workers=1)
            wait_until(lambda: fan.stats().workers == 1)
        else:
            monkeypatch.setattr(_fanout, "Jobs", Nobody)
            fan = FanOut(cast(Any, Session()), bytes, workers=1)
        held.set()
        assert waited.wait(WAIT_S)
        fan.close(cancel=not workers)
    assert ("no task of a fan-out has begun within" in caplog.text) is not bool(workers)
