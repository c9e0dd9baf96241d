"""Each number that a work queue or its worker is given: what is none, and what is out of its range,
is refused at once, with its name, its value and what it may be; for threads and for asyncio.

Not here: what the numbers do (tests/conformance/test_work.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns
from meshmsg.patterns import aio as patterns_aio
from meshmsg.patterns.workqueue import _numbers as numbers
from meshmsg.patterns.workqueue._batch import BATCH_MAX, RECORD_SIZE_MAX
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.patterned import Kit

GONE = of_its_own().replace(":0", ":9")
HUGE = 10**400
"""More than a float holds."""
NO_NUMBERS: list[Any] = [True, False, "1", b"1", [1], 1j, Decimal(1), {}]
COUNTS: dict[str, tuple[int, int]] = {
    "batch_messages": (1, BATCH_MAX),
    "batch_bytes": (1, RECORD_SIZE_MAX),
    "backlog_messages": (1, 2**32 - 1),
    "backlog_bytes": (1, 2**63 - 1),
    "prefetch": (1, 65_536),
    "count": (0, 2**32 - 1),
    "workers": (0, 2**32 - 1),
}
SECONDS: dict[str, tuple[list[Any], str]] = {
    "lease": (
        [0, 0.0009, -1, 4_000_001, math.inf, HUGE],
        "seconds, from 0.001 to 4000000, or None",
    ),
    "silence": ([0, -1, -math.inf, -HUGE, None], "seconds, above 0"),
    "delay": ([-1, -0.001, 2_000_001, math.inf, HUGE, None], "seconds, from 0 to 2000000"),
    "timeout": ([-1, -0.001, -math.inf, -HUGE], "seconds >= 0, or None to wait for ever"),
}
"""What each may not be besides NaN, and what it says that it may."""
OF_QUEUE = ("batch_messages", "batch_bytes", "backlog_messages", "backlog_bytes", "lease")
OF_WORKER = ("prefetch", "silence")
Call = Callable[[Any, Any], Any]
CALLS: dict[str, tuple[str, Call]] = {
    "wait_for_workers count": ("count", lambda queue, n: queue.wait_for_workers(n)),
    "wait_for_workers": ("timeout", lambda queue, n: queue.wait_for_workers(timeout=n)),
    "put": ("timeout", lambda queue, n: queue.put(b"x", timeout=n)),
    "put_many": ("timeout", lambda queue, n: queue.put_many([b"x"], timeout=n)),
    "join workers": ("workers", lambda queue, n: queue.join(workers=n)),
    "join": ("timeout", lambda queue, n: queue.join(timeout=n)),
}


def wrong_of(name: str) -> Iterator[tuple[Any, type[Exception], str]]:
    """What that argument may not be, the error of it, and its words."""
    if name in COUNTS:
        low, high = COUNTS[name]
        words = f"it is a whole number from {low} to {high}"
        fractions = [1.0, 1.5, math.nan, math.inf, Fraction(1), None]
        yield from ((value, TypeError, words) for value in [*NO_NUMBERS, *fractions])
        yield from ((value, mm.UsageError, words) for value in (low - 1, high + 1, -HUGE, HUGE))
        return
    outside, words = SECONDS[name]
    yield from ((value, TypeError, words) for value in NO_NUMBERS)
    for value in [math.nan, *outside]:
        yield value, TypeError if value is None else mm.UsageError, words


def refuses(name: str, call: Callable[[Any], Any]) -> None:
    """It refuses all that is wrong for that argument."""
    for value, error, words in wrong_of(name):
        with pytest.raises(error) as failed:
            call(value)
        said = str(failed.value)
        assert type(failed.value) is error or name == "timeout"
        assert said.startswith(f"{name} is {value!r}; "), said
        assert words in said


@pytest.mark.parametrize("name", OF_QUEUE)
def test_a_queue_refuses_a_number_that_is_none(kit: Kit, name: str) -> None:
    """Before anything is opened."""
    refuses(name, lambda value: kit.pattern("WorkQueue", **{name: value}))


@pytest.mark.parametrize("name", OF_WORKER)
def test_a_worker_refuses_a_number_that_is_none(kit: Kit, name: str) -> None:
    """The same."""
    refuses(name, lambda value: kit.pattern("Worker", GONE, **{name: value}))


@pytest.mark.parametrize("package", [patterns, patterns_aio], ids=["sync", "asyncio"])
@pytest.mark.parametrize("name", OF_WORKER)
def test_work_refuses_it_as_it_is_called(package: Any, name: str) -> None:
    """Not when it is iterated over."""
    refuses(name, lambda value: package.work(GONE, **{name: value}))


@pytest.mark.parametrize("call", CALLS)
def test_a_call_of_a_queue_refuses_a_number_that_is_none(kit: Kit, call: str) -> None:
    """Nothing is put, and what comes next is as ever."""
    name, use = CALLS[call]
    with kit.pattern("WorkQueue") as queue:
        if call.startswith("join"):
            queue.finish()
        refuses(name, lambda value: use(queue, value))
        assert queue.stats().put == 0
        if not call.startswith("join"):
            assert queue.put(b"x", timeout=0) == 0


def test_a_time_out_below_0_is_a_value_error_too(kit: Kit) -> None:
    """As it is of a socket, with its words."""
    with kit.pattern("WorkQueue") as queue, mm.Pull() as pull:
        for wrong in (-1, math.nan):
            with pytest.raises(ValueError, match="timeout is") as of_socket:
                pull.recv(timeout=wrong)
            with pytest.raises(ValueError, match=f"^{re.escape(str(of_socket.value))}$"):
                queue.put(b"x", timeout=wrong)


def test_a_delay_that_is_none_hands_nothing_back(kit: Kit) -> None:
    """The batch stays in hand, and is done."""
    with kit.pattern("WorkQueue") as queue, kit.pattern("Worker", queue.endpoint) as worker:
        queue.put(b"x")
        queue.finish()
        for batch in worker:
            refuses("delay", lambda value, batch=batch: batch.retry(delay=value))
        stats = queue.join(timeout=WAIT_S)
        assert (stats.acknowledged, stats.batches_again) == (1, 0)


def test_a_batch_of_nobody_refuses_it_as_well(kit: Kit) -> None:
    """Such as one that a test of a program makes."""
    batch = patterns.WorkBatch(0, 1, 0, (b"x",))
    refuses("delay", lambda value: batch.retry(delay=value))
    batch.retry(delay=0)


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_may_be_what_its_limits_are(kit: Kit, name: str) -> None:
    """Both, and a socket takes them."""
    for value in COUNTS[name]:
        assert numbers.check_count(name, value) == value
        if name in OF_QUEUE:
            with kit.pattern("WorkQueue", **{name: value}) as queue:
                queue.put(b"x")
        elif name == "prefetch":
            with kit.pattern("Worker", GONE, prefetch=value) as worker:
                assert worker.stats().peers == 0


@pytest.mark.parametrize("lease", [0.001, 4_000_000, Fraction(1, 2), 1, None])
def test_a_lease_may_be_what_its_limits_are(kit: Kit, lease: Any) -> None:
    """It is what the Push underneath takes as its `ack_timeout`."""
    with kit.pattern("WorkQueue", lease=lease) as queue:
        queue.put(b"x")


@pytest.mark.parametrize("silence", [5e-324, 60, math.inf, HUGE])
def test_a_silence_may_be_for_ever(kit: Kit, silence: Any) -> None:
    """It has no upper limit."""
    with kit.pattern("WorkQueue") as queue:
        with kit.pattern("Worker", queue.endpoint, silence=silence) as worker:
            queue.put(b"x")
            queue.finish()
            if silence >= 1:
                assert [list(batch.records) for batch in worker] == [[b"x"]]


@pytest.mark.parametrize("timeout", [None, math.inf, HUGE, 1e300, Fraction(60), 60])
def test_a_time_out_may_be_for_ever(kit: Kit, timeout: Any) -> None:
    """Whoever waits so is woken by what it waits for."""
    with kit.pattern("WorkQueue", batch_messages=1, backlog_messages=1) as queue:
        with ThreadPoolExecutor(1) as pool:
            queue.put(b"x")
            waits = pool.submit(queue.put, b"y", timeout=timeout)
            with patterns.Worker(queue.endpoint) as worker:
                for batch in worker:
                    if batch.records == (b"y",):
                        queue.finish()
            assert waits.result(WAIT_S) == 1
            assert queue.join(timeout=timeout).acknowledged == 2
        queue.wait_for_workers(0, timeout=timeout)


def test_a_batch_may_be_held_back_as_long_as_any_message(kit: Kit) -> None:
    """To the limit; a fraction is a number, too."""
    with kit.pattern("WorkQueue", batch_messages=1) as queue:
        with kit.pattern("Worker", queue.endpoint) as worker:
            queue.put_many([b"a", b"b", b"c"])
            batches = iter(worker)
            next(batches).retry(delay=2_000_000)
            next(batches).retry(delay=Fraction(4_000_000, 2))
            next(batches).retry(delay=0)
            assert next(batches).attempt == 2
            assert queue.stats().batches_delayed == 2
