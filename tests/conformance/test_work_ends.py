"""How a work queue ends: closed by a signal's function, or by a failure of its own, which it tells;
for threads and asyncio.

Not here: what workers and iterables do wrong (test_work_faults.py).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns
from tests.support.inloop import PATIENCE
from tests.support.patterned import Kit, until


def fail(*_: object) -> None:
    """Be the fault that nobody thought of."""
    raise RuntimeError("this should not happen")


def test_a_queue_that_fails_is_closed_and_tells_all_who_wait(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """In its log, to put, join and wait_for_workers, once to who closes it; its workers see it."""
    queue = kit.pattern("WorkQueue", backlog_messages=1)
    other = kit.pattern("WorkQueue")
    queue.put(b"one")
    other.put(b"one")
    other.finish()
    with ThreadPoolExecutor(3) as pool:
        waits = [
            pool.submit(queue.put, b"two"),
            pool.submit(queue.wait_for_workers, 5),
            pool.submit(other.join),
        ]
        for one in (queue, other):
            one._books.sent = fail
            with mm.Pull(connect=one.endpoint) as worker:
                until(lambda worker=worker: bool(worker.stats().disconnects))  # type: ignore[misc]
        for wait in waits:
            with pytest.raises(mm.ClosedError, match="the work queue failed") as told:
                wait.result(PATIENCE)
            assert isinstance(told.value.__cause__, RuntimeError)
    with pytest.raises(mm.ClosedError):
        queue.put_many([b"more"])
    for one in (queue, other):
        with pytest.raises(mm.ClosedError, match="failed before") as closed:
            one.close()
        assert isinstance(closed.value.__cause__, RuntimeError)
        one.close()
    assert caplog.text.count("a work queue failed") == 2
    assert "this should not happen" in caplog.text
    caplog.clear()  # what it logged holds the loop
    del told, closed, waits, wait, queue, other, one


def test_a_failure_while_handing_out_closes_the_queue(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """Whichever thread it is in: who puts hands out, too."""
    queue = kit.pattern("WorkQueue")
    queue._books.peek = fail
    with (
        mm.Pull(connect=queue.endpoint),
        pytest.raises(mm.ClosedError, match="the work queue failed") as told,
    ):
        while True:  # asyncio hands out in a task of its own
            queue.put(b"record")
    assert isinstance(told.value.__cause__, RuntimeError)
    with pytest.raises(mm.ClosedError, match="failed before"):
        queue.close()
    caplog.clear()
    del queue, told


def test_the_error_of_a_block_is_not_replaced_by_that_of_its_work_queue(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """Who leaves by an error of their own hears that one."""
    with pytest.raises(KeyError), kit.pattern("WorkQueue") as queue:
        queue._books.peek = fail
        with mm.Pull(connect=queue.endpoint), pytest.raises(mm.ClosedError):
            queue.put(b"record")
            queue.wait_for_workers(2, timeout=PATIENCE)
        raise KeyError("of the user")
    caplog.clear()


def test_a_block_whose_work_queue_failed_does_not_end_well(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """Though nobody waited for anything."""
    with pytest.raises(mm.ClosedError, match="failed before"), kit.pattern("WorkQueue") as queue:
        queue._books.peek = fail
        with suppress(mm.ClosedError):
            queue.put(b"record")
        with mm.Pull(connect=queue.endpoint):
            until(lambda: "a work queue failed" in caplog.text)
    caplog.clear()


def test_a_signal_s_function_may_close_a_queue_whose_method_it_interrupted() -> None:
    """The method holds the lock, and goes on only when the function has returned."""
    queue = patterns.WorkQueue()
    with queue._changed:
        queue.close()
    queue._thread.join(PATIENCE)
    assert not queue._thread.is_alive()


def test_a_signal_s_function_may_finish_a_queue_whose_method_it_interrupted() -> None:
    """Workers are told when the method that holds the lock goes on."""
    with patterns.WorkQueue() as queue, ThreadPoolExecutor(1) as pool:
        doing = pool.submit(lambda: list(patterns.work(queue.endpoint)))
        queue.wait_for_workers(timeout=PATIENCE)
        with queue._changed:
            queue.finish()
            assert queue.stats().finished
            assert "1 worker," in repr(queue)
        assert doing.result(PATIENCE) == []
        assert queue.join(workers=1, timeout=PATIENCE).workers_ended == 1


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("put", [b"x"]), ("put_many", [[b"x"]]), ("wait_for_workers", []), ("join", [])],
)
def test_what_a_signal_s_function_cannot_do_is_refused(method: str, arguments: list[Any]) -> None:
    """The method that it interrupted is halfway through the books, and cannot go on before."""
    with patterns.WorkQueue() as queue:
        queue.finish()
        with queue._changed, pytest.raises(mm.UsageError, match=rf"{method}\(\) .* signal"):
            getattr(queue, method)(*arguments)
        assert queue.stats().put == 0
        queue.join(timeout=PATIENCE)


def test_times_in_errors_are_rounded(kit: Kit) -> None:
    """As a reader wants them, whatever the sum of two floats is."""
    span = 0.01 + 0.02
    with kit.pattern("WorkQueue", backlog_messages=1) as queue, kit.pattern("IdleQueue") as idle:
        for one in (queue, idle):
            with pytest.raises(mm.TimedOutError, match=r"0 of 1 worker after 0\.03 s"):
                one.wait_for_workers(timeout=span)
        queue.put(b"x")
        with pytest.raises(mm.TimedOutError, match=r"backlog full for 0\.03 s"):
            queue.put(b"y", timeout=span)
        queue.finish()
        with pytest.raises(mm.TimedOutError, match=r"0 leased after 0\.03 s"):
            queue.join(timeout=span)
