"""The work queue when something goes wrong: iterables that raise, queues that are restarted,
threads that extend; for threads and asyncio.

Not here: the books alone (tests/unit/test_work_ledger.py).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns
from meshmsg.patterns import aio as patterns_aio
from meshmsg.patterns.workqueue import _wire as wire
from meshmsg.patterns.workqueue._desk import Desk
from meshmsg.patterns.workqueue._hand import Hand
from meshmsg.patterns.workqueue._ledger import MOVED_MAX, Ledger
from tests.support.inloop import PATIENCE, LoopThread


@pytest.fixture(params=["sync", "asyncio"])
def make(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Make a WorkQueue or a Worker of this side."""
    thread = LoopThread() if request.param == "asyncio" else None

    def made(name: str, *args: Any, **options: Any) -> Any:
        if thread is None:
            return getattr(patterns, name)(*args, **options)
        return thread.make(getattr(patterns_aio, name), *args, **options)

    yield made
    if thread is not None:
        thread.close()


def desk(first: int = 0) -> Desk:
    """The queue's side alone, with its first number."""
    return Desk(
        batch_messages=1,
        batch_bytes=1 << 20,
        backlog_messages=100,
        backlog_bytes=1 << 20,
        lease=None,
        random=lambda size: first.to_bytes(size, "big"),
    )


def talk(one: Desk, hand: Hand) -> None:
    """Let a worker ask, and hear all that the queue says."""
    question = hand.question(0.0, again=True)
    assert question is not None
    one.hear(b"ann", question, 0.0)
    hand.asked()
    while (word := one.next_word()) is not None:
        hand.hear(word.frames)


def test_what_an_iterable_gave_before_it_raised_is_put(make: Any) -> None:
    """However few they were, and the error says how many."""

    def failing() -> Iterator[bytes]:
        yield from (b"%d" % n for n in range(1234))
        raise RuntimeError("the file ended")

    with make("WorkQueue") as queue:
        with pytest.raises(RuntimeError, match="the file ended") as told:
            queue.put_many(failing())
        assert (told.value.put, told.value.unput) == (1234, [])  # type: ignore[attr-defined]
        assert queue.stats().put == 1234
        with pytest.raises(TypeError, match="encode") as told_type:
            queue.put_many([b"good", "bad", b"not looked at"])
        assert (told_type.value.put, told_type.value.unput) == (1, ["bad"])  # type: ignore[attr-defined]
        assert queue.stats().put == 1235


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("text", "not str; encode it: text.encode()"),
        (5, "not int; turn it into bytes first, for example with json.dumps(value).encode()"),
        (None, "not NoneType; turn it into bytes first"),
        (array("i", [1]), r"not array; turn it into bytes first, for example with x.tobytes()"),
    ],
)
def test_what_is_no_record_is_refused_with_a_hint_that_fits(
    make: Any, wrong: object, says: str
) -> None:
    """And it is the record that was taken and not put."""
    with make("WorkQueue") as queue:
        with pytest.raises(TypeError, match=re.escape(says)) as told:
            queue.put_many([b"good", wrong, b"not looked at"])
        assert told.value.unput == [wrong]  # type: ignore[attr-defined]
        with pytest.raises(TypeError, match=re.escape(says)):
            queue.put(wrong)
        assert queue.stats().put == 1


def test_a_record_may_be_any_of_bytes_and_is_copied(make: Any) -> None:
    """What changes it later changes nothing."""
    with make("WorkQueue") as queue, make("Worker", queue.endpoint) as worker:
        changes = bytearray(b"one")
        queue.put_many([changes, memoryview(array("H", [258])), b"three"])
        changes[:] = b"two"
        assert list(next(iter(worker)).records) == [b"one", array("H", [258]).tobytes(), b"three"]


def test_what_was_taken_and_not_put_in_time_is_in_the_error(make: Any) -> None:
    """So whoever puts from a generator can go on where it stopped."""
    with make("WorkQueue", backlog_messages=3) as queue:
        given = (b"%d" % n for n in range(10))
        with pytest.raises(mm.TimedOutError) as told:
            queue.put_many(given, timeout=0.01)
        assert told.value.put == 3  # type: ignore[attr-defined]
        assert [*told.value.unput, *given] == [b"%d" % n for n in range(3, 10)]  # type: ignore[attr-defined]
        assert queue.stats().put == 3


def test_records_of_a_slow_iterable_are_handed_out_before_it_ends(make: Any) -> None:
    """A worker gets the first one while the iterable still thinks about the second."""
    with make("WorkQueue") as queue, make("Worker", queue.endpoint) as worker:
        got: list[Any] = []

        def slow() -> Iterator[bytes]:
            yield b"first"
            with patterns.Worker(queue.endpoint) as quick:
                got.append(list(next(iter(quick)).records))
            yield b"second"

        if isinstance(worker, patterns.Worker):  # the loop of asyncio is busy with the iterable
            assert queue.put_many(slow(), timeout=PATIENCE) == 2
            assert got == [[b"first"]]


def test_an_acknowledgement_to_the_queue_before_finishes_nothing() -> None:
    """Counted as stale; the batch that has that number now is still to be done."""
    before, after, hand = desk(first=2**64 - 1), desk(first=5), Hand("tcp://x", 1, 1.0)
    for one in (before, after):
        one.connected({b"ann": 1})
        one.ledger.put(b"a")
        one.ledger.put(b"b")
    talk(before, hand)
    found = hand.take(0.0)
    assert found is not None
    assert (found[0], found[5]) == (0, 2**64 - 1)
    hand.come_back(found[5])
    talk(after, hand)
    stats = after.ledger.stats(0.0)
    assert (stats.acknowledged, stats.stale, stats.malformed) == (0, 1, 0)


def test_what_a_worker_has_of_the_queue_before_it_does_not_begin(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It hears that what it has in hand is lost; what was ahead is forgotten."""
    before, after, hand = desk(first=100), desk(first=7), Hand("tcp://x", 2, 1.0)
    for one in (before, after):
        one.connected({b"ann": 1})
        one.ledger.put(b"a")
        one.ledger.put(b"b")
    talk(before, hand)
    found = hand.take(0.0)
    assert found is not None
    talk(after, hand)
    assert hand.lost == {100}
    assert after.ledger.stats(0.0).stale == 2
    assert "batches of another work queue" in caplog.text
    hand.put_down()
    talk(after, hand)
    again = hand.take(0.0)
    assert again is not None
    assert (again[0], again[5]) == (0, 7)


def test_what_is_done_while_a_question_is_sent_is_in_the_next_one() -> None:
    """Sending may take its time: another thread extends, or the loop runs other tasks."""
    one, hand = desk(), Hand("tcp://x", 2, 1.0)
    one.connected({b"ann": 1})
    one.ledger.put(b"a")
    talk(one, hand)
    found = hand.take(0.0)
    assert found is not None
    assert hand.question(0.0, again=True) is not None  # ... is being sent
    hand.come_back(found[5])
    hand.asked()
    question = hand.question(0.0)
    assert question is not None
    parsed = wire.parse_ask(question)
    assert parsed is not None
    assert parsed.done == (found[5],)


@pytest.mark.parametrize(
    ("role", "says"),
    [
        ("Rep", "a REP socket is there"),
        ("Dealer", "a DEALER socket is there"),
        ("Pull", "DEALER cannot talk to PULL"),
    ],
)
def test_a_worker_of_what_is_no_work_queue_says_so(
    make: Any, role: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As soon as it is known, not after the silence."""
    with getattr(mm, role)(bind="tcp://127.0.0.1:0") as other:
        with (
            make("Worker", other.endpoint, silence=PATIENCE) as worker,
            pytest.raises(mm.PeerError, match=f"{other.endpoint} is no work queue: {says}"),
        ):
            next(iter(worker))
    caplog.clear()


def test_extending_when_another_was_faster_to_hear_is_no_error(make: Any) -> None:
    """And a batch that was acknowledged is nobody's to extend."""
    with make("WorkQueue", batch_messages=1) as queue, make("Worker", queue.endpoint) as worker:
        queue.put_many([b"a", b"b"])
        queue.finish()
        batches = iter(worker)
        first = next(batches)
        assert first.extend()
        second = next(batches)
        assert not first.extend()
        assert second.extend()
        assert list(batches) == []
        assert not second.extend()


def test_batches_that_changed_hands_are_remembered_up_to_a_limit() -> None:
    """A queue that runs for months does not grow by them."""
    ledger = Ledger(batch_messages=1, batch_bytes=1, lease=None)
    for _ in range(MOVED_MAX + 2):
        ledger.put(b"x")
        ledger.ask(b"a", 1, [], 0.0)
        ((_, batch),) = ledger.assign(0.0)
        ledger.worker_gone(b"a")
        ledger.ask(b"b", 1, [], 0.0)
        ledger.assign(0.0)
        ledger.ask(b"b", 0, [batch.number], 0.0)
    assert len(ledger._sizes) == MOVED_MAX
    ledger.ask(b"b", 1, [0, MOVED_MAX + 1], 0.0)
    stats = ledger.stats(0.0)
    assert (stats.repeated, stats.malformed) == (1, 1)
