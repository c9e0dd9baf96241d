"""Items that are given up: who is told, and that the others go on; threads in place of tasks."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark import FanOutError, ItemError, aio
from meshmsg.spark.fanout import _fanout
from meshmsg.spark.fanout._numbers import checked_call
from tests.spark.support import Session, Threads, fan_out
from tests.support.pairs import WAIT_S

ITEMS = [b"a", b"bad 1", b"b", b"bad 2", b"c"]


def good_only(item: bytes) -> bytes:
    """What tasks do: some items they cannot."""
    if item.startswith(b"bad"):
        raise ValueError(f"cannot do {item.decode()}")
    return item.upper()


def words(results: list[Any]) -> list[Any]:
    """Results, with the item in the place of an error."""
    return [one.item if isinstance(one, ItemError) else one for one in results]


@pytest.mark.parametrize("ordered", [True, False])
def test_errors_are_given_in_the_place_of_results(
    monkeypatch: pytest.MonkeyPatch, ordered: bool
) -> None:
    """With the item, how often it was tried, and what was raised last; others have results."""
    with fan_out(monkeypatch, good_only, max_attempts=3) as fan:
        results = list(fan.map(ITEMS, ordered=ordered, errors="return"))
        counts = fan.stats()
    wanted = [b"A", b"bad 1", b"B", b"bad 2", b"C"]
    assert words(results) == wanted if ordered else sorted(words(results)) == sorted(wanted)
    error = next(one for one in results if isinstance(one, ItemError) and one.item == b"bad 2")
    assert error.attempts == 3
    assert "ValueError: cannot do bad 2" in error.why
    assert (counts.done, counts.failed, counts.open) == (3, 2, 0)


@pytest.mark.parametrize("ordered", [True, False])
def test_asyncio_gives_them_too(monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    """As threads do; and raises without it."""
    monkeypatch.setattr(_fanout, "Jobs", Threads)
    dead: list[ItemError] = []

    async def main() -> list[Any]:
        async with aio.FanOut(
            Session(), good_only, patience=WAIT_S, max_attempts=2, dead=dead.append
        ) as fan:
            found = [one async for one in fan.map(ITEMS, ordered=ordered, errors="return")]
            with pytest.raises(ItemError, match="cannot do bad"):
                async for _ in fan.map(ITEMS, ordered=ordered):
                    pass
            with pytest.raises(mm.UsageError, match="errors is 'skip'"):
                await anext(fan.map(ITEMS, errors="skip"))  # type: ignore[arg-type]
        return found

    results = asyncio.run(main())
    assert sorted(words(results)) == sorted([b"A", b"bad 1", b"B", b"bad 2", b"C"])
    assert {error.item for error in dead} == {b"bad 1", b"bad 2"}


def test_what_cannot_be_decoded_is_given_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of its item alone."""
    with fan_out(monkeypatch, lambda item: item, decode=int) as fan:
        first, second, third = fan.map([b"1", b"x", b"3"], errors="return")
    assert (first, third) == (1, 3)
    assert isinstance(second, ValueError)


def test_dead_is_told_before_the_future_and_the_work_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of `submit` and `map` alike; an item that was done is not told of."""
    dead: list[ItemError] = []
    with fan_out(monkeypatch, good_only, max_attempts=2, dead=dead.append) as fan:
        future = fan.submit(b"bad 1")
        with pytest.raises(ItemError) as raised:
            future.result(WAIT_S)
        assert dead == [raised.value]
        assert words(list(fan.map([b"a", b"bad 2"], errors="return"))) == [b"A", b"bad 2"]
    assert [(one.item, one.attempts) for one in dead] == [(b"bad 1", 2), (b"bad 2", 2)]


def test_dead_that_raises_is_logged_and_called_for_the_next(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No future waits for it in vain."""
    told: list[bytes] = []

    def dead(error: ItemError) -> None:
        told.append(error.item)  # type: ignore[arg-type]
        raise OSError("the disk is full")

    with caplog.at_level(logging.ERROR, "meshmsg"):
        with fan_out(monkeypatch, good_only, max_attempts=1, dead=dead) as fan:
            assert words(list(fan.map(ITEMS, errors="return")))[::2] == [b"A", b"B", b"C"]
    assert sorted(told) == [b"bad 1", b"bad 2"]
    assert caplog.text.count("the disk is full") >= 2


def test_a_cancelled_item_and_what_ends_with_all_are_no_dead_letters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first nobody wants, the second was not given up by itself; it raises in any case."""
    dead: list[ItemError] = []
    begun, go = threading.Event(), threading.Event()

    def fn(item: bytes) -> bytes:
        begun.set()
        assert go.wait(WAIT_S)
        return good_only(item)

    with fan_out(monkeypatch, fn, workers=1, max_attempts=1, dead=dead.append) as fan:
        future = fan.submit(b"bad 1")
        assert begun.wait(WAIT_S)
        assert future.cancel()
        go.set()
        assert fan.submit(b"a").result(WAIT_S) == b"A"
        results = fan.map([b"b", b"bad 2"], errors="return")
        fan._end(FanOutError("over"))
        with pytest.raises(FanOutError, match="over"):
            list(results)
    assert dead == []


def test_what_is_neither_a_word_nor_a_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once."""
    with fan_out(monkeypatch, good_only) as fan:
        with pytest.raises(mm.UsageError, match="errors is 'ignore'; it is 'raise' or 'return'"):
            fan.map([], errors="ignore")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"dead is \[\]; it is a function"):
        fan_out(monkeypatch, good_only, dead=[])
    assert checked_call("dead", None) is None
