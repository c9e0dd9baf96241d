"""The work queue when something goes wrong: iterables that raise, queues that are restarted,
threads that extend; for threads and asyncio.

Not here: the books alone (tests/unit/test_work_books.py).
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
from tests.support.inloop import PATIENCE, LoopThread
from tests.support.pairs import of_its_own
from tests.support.patterned import until


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


@pytest.mark.parametrize(
    ("role", "says"),
    [
        ("Rep", "PULL cannot talk to REP"),
        ("Dealer", "PULL cannot talk to DEALER"),
        ("Pull", "PULL cannot talk to PULL"),
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


def test_a_queue_that_is_restarted_begins_anew(make: Any) -> None:
    """Its batches come, whatever the worker has of the one before; that counts for nothing."""
    endpoint = of_its_own().replace(":0", ":6")
    with make("Worker", endpoint) as worker:
        batches = iter(worker)
        with make("WorkQueue", bind=endpoint, batch_messages=1) as before:
            before.put_many([b"old", b"not begun"], timeout=PATIENCE)
            old = next(batches)
            until(lambda: bool(before.stats().leased == 2))
        with make("WorkQueue", bind=endpoint, batch_messages=1) as after:
            after.put_many([b"new", b"newer"], timeout=PATIENCE)
            after.finish()
            until(lambda: bool(after.stats().leased == 2))
            got = [bytes(record) for batch in batches for record in batch]
            stats = after.join(workers=1, timeout=PATIENCE)
    assert [bytes(record) for record in old] == [b"old"]
    assert [one for one in got if one != b"not begun"] == [b"new", b"newer"]
    assert (stats.put, stats.acknowledged, stats.batches_again) == (2, 2, 0)


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
