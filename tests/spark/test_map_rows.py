"""map_rows without Spark: attempts at a partition are threads. Spark is in test_fanout_spark.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg.spark import FanOutError, ItemError, aio, map_rows
from meshmsg.spark.fanout._telling import TELL_S, Telling
from meshmsg.spark.fanout._words import GROUP_BYTES, GROUP_MAX, Outcome, Part, octets_of, parts_of
from meshmsg.spark.rows._progress import Progress
from meshmsg.spark.rows._rows import Job
from meshmsg.spark.rows._task import ROW_BITS, RowsOf, error_of
from tests.spark.rows import Rows
from tests.spark.support import Lost
from tests.support.pairs import WAIT_S

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

Mapped = Callable[..., list[Any]]


def in_threads(rows: Rows, fn: Callable[[bytes], bytes], **options: Any) -> list[Any]:
    """All results of a call."""
    options = {"patience": WAIT_S, **options}
    return list(map_rows(rows, fn, **options))  # type: ignore[arg-type]


def in_a_loop(rows: Rows, fn: Callable[[bytes], bytes], **options: Any) -> list[Any]:
    """The same, for asyncio."""

    options = {"patience": WAIT_S, **options}

    async def main() -> list[Any]:
        results = aio.map_rows(rows, fn, **options)  # type: ignore[arg-type]
        return [one async for one in results]

    return asyncio.run(main())


both = pytest.mark.parametrize("mapped", [in_threads, in_a_loop])


def numbered(count: int) -> list[bytes]:
    """So many rows."""
    return [b"%d" % i for i in range(count)]


@both
@pytest.mark.parametrize("count", [0, 1, GROUP_MAX, GROUP_MAX + 1, 12_345])
def test_each_row_of_a_large_partition_has_its_result(mapped: Mapped, count: int) -> None:
    """One batch of Spark has more rows than one message."""
    rows = numbered(count)
    assert mapped(Rows(rows), bytes.upper) == rows


@both
def test_attempts_that_run_at_once_tell_each_row_once(mapped: Mapped) -> None:
    """As Spark does with speculation, and with a worker that it gave up."""
    rows = numbered(3000)
    attempts = [rows[:1700], rows, rows[:2999], rows]
    assert mapped(Rows(*attempts, batch_rows=500), lambda row: row + b"!") == [
        row + b"!" for row in rows
    ]


@both
def test_a_row_is_tried_again_and_then_given_up(mapped: Mapped) -> None:
    """In the place of its result comes what it was, how often it was tried, and why not."""
    tried: list[bytes] = []

    def fn(row: bytes) -> bytes:
        tried.append(row)
        if row == b"bad":
            raise ValueError("not bad")
        if tried.count(row) < 3:
            raise (SystemExit, asyncio.CancelledError)[tried.count(row) - 1]("not yet")
        return row

    rows = Rows([b"a", b"bad", b"b"])
    first, error, last = mapped(rows, fn, max_attempts=3, errors="return")
    assert (first, last) == (b"a", b"b")
    assert isinstance(error, ItemError)
    assert (error.item, error.attempts) == (b"bad", 3)
    assert error.why.startswith("row 1 of partition 0: Traceback")
    assert "ValueError: not bad" in error.why
    assert [tried.count(row) for row in (b"a", b"bad", b"b")] == [3, 3, 3]
    with pytest.raises(ItemError, match="tried once, and not done: row 0"):
        mapped(Rows([b"bad"]), fn, max_attempts=1, patience=WAIT_S)


@both
def test_a_partition_whose_rows_were_others_the_second_time_is_an_error(mapped: Mapped) -> None:
    """No result is missing without a word."""
    rows = numbered(10)
    with pytest.raises(FanOutError, match="partition 0 had 4 rows at last, and 10 results came"):
        mapped(Rows(rows, rows[:4]), bytes.upper)


@both
def test_a_job_that_fails_is_an_error_with_its_cause(mapped: Mapped) -> None:
    """In words."""

    def fn(row: bytes) -> bytes:
        raise Lost("this task ends")

    with pytest.raises(FanOutError, match="the Spark job failed: this task ends"):
        mapped(Rows([b"a"]), fn)


@both
@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"max_attempts": 0}, mm.UsageError, "max_attempts is 0"),
        ({"max_attempts": "2"}, TypeError, "max_attempts is '2'"),
        ({"errors": "skip"}, mm.UsageError, "errors is 'skip'"),
        ({"total": -1}, mm.UsageError, "total is -1"),
        ({"progress": "bar"}, TypeError, "progress is 'bar'; it is True for a bar"),
        ({"task_security": b"key"}, TypeError, "path of a file of policies"),
        ({"results": "tcp://*:0"}, mm.InsecureBindError, "security="),
        ({"results": "tcp://*:0", "insecure": True}, mm.UsageError, "advertise="),
    ],
)
def test_what_cannot_be_meant_is_refused(
    mapped: Mapped, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    """And no socket stays open."""
    with pytest.raises(error, match=said):
        mapped(Rows([b"a"]), bytes.upper, **options)


def test_who_leaves_the_loop_of_asyncio_ends_the_job() -> None:
    """Nothing runs on behind it; the loop of the next one has all."""

    async def main() -> bytes:
        rows: Any = Rows(numbered(20))
        async with aclosing(aio.map_rows(rows, bytes.upper, patience=WAIT_S)) as results:
            return await anext(results)  # type: ignore[no-any-return]

    assert asyncio.run(main()) == b"0"


def job(returned: bool = True) -> Job:
    """One that is not begun."""
    rows: Any = Rows([])
    return Job(rows, RowsOf(bytes.upper, "", None, WAIT_S, 1), returned, Progress(None, None))


def cut(attempt: int, count: int, sizes: Sequence[int]) -> list[bytes]:
    """The messages of an attempt that told of so many rows."""
    parts = [Part((7 << ROW_BITS) + i, Outcome.DONE, b"%d" % attempt) for i in range(count)]
    messages, start = [], 0
    for size in sizes:
        messages.append(octets_of(parts[start : start + size]))
        start += size
    messages.append(octets_of(parts[start:]))
    return [one for one in messages if parts_of(one)]


@given(st.data())
def test_whatever_order_attempts_come_in_each_row_is_given_once(data: Any) -> None:
    """Each attempt begins at the first row, stops anywhere, and is cut anywhere."""
    count = data.draw(st.integers(1, 30))
    told = [data.draw(st.integers(0, count)) for _ in range(data.draw(st.integers(0, 3)))]
    left = [
        cut(i, many, data.draw(st.lists(st.integers(1, 10), max_size=5)))
        for i, many in enumerate([*told, count])
    ]
    one, given_ = job(), 0
    while any(left):
        turn = data.draw(st.sampled_from([i for i, messages in enumerate(left) if messages]))
        given_ += len(list(one.came([left[turn].pop(0)])))
    assert given_ == count
    one._counts = {7: count}
    one.check()
    one._counts = {7: count + 1}
    with pytest.raises(FanOutError, match=f"partition 7 had {count + 1} rows"):
        one.check()


def test_what_is_no_message_of_a_task_is_nothing() -> None:
    """It is missed at the end, if it was one."""
    assert list(job().came([b"", b"\xff" * 40])) == []


def test_a_row_that_is_null_or_cut_off_has_an_error_all_the_same() -> None:
    """Its number is told."""

    def fn(row: bytes) -> bytes:
        raise ValueError("no")

    part = RowsOf(fn, "", None, WAIT_S, 2)._done(5, None)  # type: ignore[arg-type]
    error = error_of(part)
    assert (error.item, error.attempts) == (None, 2)
    assert "row 5 of partition 0: " in error.why
    assert error_of(Part(1, Outcome.FAILED, b"\0")).item == b""


def test_messages_are_full_and_slow_results_do_not_wait() -> None:
    """By count, by size, and by time."""
    sent: list[list[Part]] = []
    now = [0.0]
    telling = Telling(lambda octets: sent.append(parts_of(octets) or []), lambda: now[0])
    for i in range(GROUP_MAX + 1):
        telling.tell(Part(i, 0, b""))
    assert [len(one) for one in sent] == [GROUP_MAX]
    telling.tell(Part(1, 0, b"x" * (GROUP_BYTES + 1)))
    assert [len(one) for one in sent] == [GROUP_MAX, 1]
    telling.tell(Part(2, 0, b"x"))
    assert [len(one) for one in sent] == [GROUP_MAX, 1, 1]
    now[0] = TELL_S
    telling.tell(Part(3, 0, b"x"))
    assert [len(one) for one in sent] == [GROUP_MAX, 1, 1, 2]
    telling.tell(Part(4, 0, b"x"))
    assert len(sent) == 4
    telling.flush()
    telling.flush()
    assert [len(one) for one in sent] == [GROUP_MAX, 1, 1, 2, 1]
