"""What a fan-out and its tasks say to each other, and the books; aio.FanOut and its loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg.spark import FanOutError, ItemError, aio
from meshmsg.spark.fanout import _fanout
from meshmsg.spark.fanout._books import Books
from meshmsg.spark.fanout._words import GROUP_MAX, Outcome, Part, octets_of, parts_of
from tests.spark.support import Session, Threads
from tests.support.pairs import WAIT_S

PARTS = st.builds(
    Part, st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=50)
)


@given(st.lists(PARTS, min_size=1, max_size=20))
def test_what_is_said_is_what_is_read(parts: list[Part]) -> None:
    """To the octet."""
    assert parts_of(octets_of(parts)) == parts


@given(st.binary(max_size=200))
def test_other_octets_are_nothing_or_whole(octets: bytes) -> None:
    """Nothing raises, and what is believed makes the same octets again."""
    parts = parts_of(octets)
    assert parts is None or octets_of(parts) == octets


@given(st.lists(PARTS, min_size=1, max_size=5), st.data())
def test_what_was_cut_or_went_on_is_nothing(parts: list[Part], data: Any) -> None:
    """The sizes come to the message's."""
    octets = octets_of(parts)
    assert parts_of(octets[: data.draw(st.integers(0, len(octets) - 1))]) is None
    assert parts_of(octets + b"x") is None


def test_more_parts_than_a_group_has_and_unknown_outcomes_are_nothing() -> None:
    """Bounded by the count that is there, not by what it says."""
    assert parts_of(octets_of([Part(0, 0, b"")] * (GROUP_MAX + 1))) is None
    assert parts_of(b"\xff" * 4) is None
    assert parts_of(octets_of([Part(1, 9, b"")]), Outcome) is None
    assert parts_of(octets_of([Part(1, Outcome.DONE, b"")]), Outcome) is not None


def books(max_attempts: int = 3) -> tuple[Books, int, Future[Any]]:
    """One item that is open."""
    kept, future = Books(max_attempts, lambda octets: octets), Future[Any]()
    return kept, kept.add("given", b"body", future), future


def say(kept: Books, *parts: Part) -> list[Part]:
    """Take what a task says; tell who waits; return what goes out again."""
    settled, again = kept.came(list(parts))
    for one in settled:
        one.tell()
    return again


def test_the_first_result_counts_and_others_are_late() -> None:
    """Whatever comes of an item that went out twice."""
    kept, number, future = books()
    assert say(kept, Part(number, Outcome.DONE, b"1")) == []
    assert say(kept, Part(number, Outcome.DONE, b"2")) == []
    assert say(kept, Part(number, Outcome.FAILED, b"3"), Part(99, Outcome.DONE, b"")) == []
    assert future.result(0) == b"1"
    counts = kept.stats(0, 1)
    assert (counts.done, counts.late, counts.open) == (1, 2, 0)


def test_an_item_that_was_not_begun_is_not_charged_for_its_workers() -> None:
    """It may be lost with any number of workers that did not come to it."""
    kept, number, future = books(max_attempts=2)
    for _ in range(10):
        (again,) = say(kept, Part(number, Outcome.RETURNED, b""))
        assert again == Part(number, 2, b"body")
    assert say(kept, Part(number, Outcome.BEGUN, b"")) == []
    assert say(kept, Part(number, Outcome.RETURNED, b"")) == []
    with pytest.raises(ItemError, match="tried 2 times.*its worker was lost with it") as raised:
        future.result(0)
    assert raised.value.item == "given"


def test_a_result_that_cannot_be_decoded_is_its_futures_error() -> None:
    """And no other's."""
    kept, future = Books(1, int), Future[Any]()
    number = kept.add("given", b"", future)
    say(kept, Part(number, Outcome.DONE, b"no number"))
    with pytest.raises(ValueError, match="no number"):
        future.result(0)


def test_what_is_being_decoded_is_open_and_waited_for() -> None:
    """A count has each item once, however many come in one message."""
    seen: list[tuple[int, int, int, bool]] = []

    def decode(octets: bytes) -> bytes:
        counts = kept.stats(0, 1)
        done = kept.wait_until_settled(0)
        seen.append((counts.submitted, counts.done, counts.open, done))
        return octets

    kept = Books(1, decode)
    numbers = [kept.add("given", b"", Future[Any]()) for _ in range(2)]
    say(kept, *[Part(number, Outcome.DONE, b"") for number in numbers])
    assert seen == [(2, 0, 2, False)] * 2
    assert kept.wait_until_settled(0)
    assert kept.stats(0, 1).done == 2


def test_what_ends_a_thread_as_it_decodes_ends_one_item() -> None:
    """And not the others of its message."""

    def decode(octets: bytes) -> bytes:
        if octets == b"1":
            raise SystemExit(octets)
        return octets

    kept, futures = Books(1, decode), [Future[Any]() for _ in range(3)]
    numbers = [kept.add("given", b"", future) for future in futures]
    say(kept, *[Part(number, Outcome.DONE, b"%d" % at) for at, number in enumerate(numbers)])
    assert [futures[0].result(0), futures[2].result(0)] == [b"0", b"2"]
    assert isinstance(futures[1].exception(0), SystemExit)
    assert kept.wait_until_settled(0)


def test_what_is_given_up_is_told_once() -> None:
    """What comes later is late."""
    kept, number, future = books()
    for one in kept.give_up(FanOutError("over")):
        one.tell()
    assert say(kept, Part(number, Outcome.DONE, b"1")) == []
    assert isinstance(future.exception(0), FanOutError)
    assert kept.wait_until_settled(0)


async def _numbers(count: int) -> AsyncIterator[bytes]:
    for i in range(count):
        yield b"%d" % i
        await asyncio.sleep(0)


@pytest.mark.parametrize("ordered", [True, False])
def test_asyncio_has_the_same_results(monkeypatch: pytest.MonkeyPatch, ordered: bool) -> None:
    """Of an iterable and of an async one; the loop goes on meanwhile."""
    monkeypatch.setattr(_fanout, "Jobs", Threads)

    async def main() -> None:
        async with aio.FanOut(Session(), lambda item: item * 2, patience=WAIT_S) as fan:
            one = await fan.submit(b"a")
            assert await asyncio.wait_for(one, WAIT_S) == b"aa"
            items = [b"%d" % i for i in range(50)]
            for given_items in (items, _numbers(50)):
                results = [r async for r in fan.map(given_items, ordered=ordered, window=7)]
                assert (results if ordered else sorted(results)) == (
                    [item * 2 for item in items] if ordered else sorted(i * 2 for i in items)
                )
            assert fan.stats().done == 101
            assert fan.endpoint in repr(fan)

    asyncio.run(main())


def test_asyncio_waits_for_room_without_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is submitted meanwhile comes as there is room; a window is 1 or more."""
    monkeypatch.setattr(_fanout, "Jobs", Threads)
    go, begun = threading.Event(), threading.Event()

    def fn(item: bytes) -> bytes:
        begun.set()
        assert go.wait(WAIT_S)
        return item

    async def main() -> None:
        options: dict[str, Any] = {"workers": 1, "waiting_items": 1, "group_items": 1}
        async with aio.FanOut(Session(), fn, patience=WAIT_S, **options) as fan:
            with pytest.raises(mm.UsageError, match="window is 0"):
                await anext(fan.map([b"a"], window=0))
            tasks = [asyncio.create_task(fan.submit(b"%d" % i)) for i in range(20)]
            assert await asyncio.to_thread(begun.wait, WAIT_S)
            assert not all(task.done() for task in tasks)
            go.set()
            assert [await (await task) for task in tasks] == [b"%d" % i for i in range(20)]

    asyncio.run(main())
