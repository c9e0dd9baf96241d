"""What a signal's function raises in a method of a queue, or in a worker's loop, stops neither.

Not here: signals' functions that call methods themselves (tests/conformance).
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.patterns import IdleQueue, IdleWorker, WorkQueue
from meshmsg.patterns.idle import _job
from tests.support.pairs import WAIT_S
from tests.support.points import at_point, interrupt

LOCKS = ("threading.py", "/_idle.py", "/_queue.py")
"""Where a method of a queue, or its lock, may be interrupted."""

ONE_STEP = ("with ", "taken.append(")
"""Lines that begin with what no signal can come before: it has come in the line before already."""


def of_locks(code: CodeType) -> bool:
    """Whether a method of a queue, or its lock, is interrupted in it."""
    return code.co_filename.endswith(LOCKS)


def may_be(frame: FrameType, what: str) -> bool:
    """Lines and returns, but those where no signal can come."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip()
    return what == "return" or (what == "line" and not line.startswith(ONE_STEP))


def is_free(call: Callable[[], object]) -> bool:
    """Whether another thread can do this."""
    done = threading.Event()

    def other() -> None:
        call()
        done.set()

    threading.Thread(target=other, daemon=True).start()
    return done.wait(WAIT_S)


@pytest.mark.parametrize("kind", [IdleQueue, WorkQueue])
def test_ctrl_c_at_any_line_of_looking_leaves_no_lock_held(kind: Any) -> None:
    """Counts, and putting a record."""
    number, was_hit = 0, True
    with kind() as queue:
        while was_hit:
            number += 1
            with at_point(number, interrupt, of_locks, may_be) as hit, suppress(KeyboardInterrupt):
                queue.stats()
            was_hit = hit()
            assert is_free(queue.stats)
    assert number > 2


def test_ctrl_c_at_any_line_of_putting_leaves_no_lock_held_and_hides_no_record() -> None:
    """It was put, or is in the error; where the queue fails by it, that is told."""
    number, was_hit = 0, True
    while was_hit:
        number += 1
        given: list[bytes] = []

        def records(given: list[bytes] = given) -> Iterator[bytes]:
            given.append(b"a")
            yield b"a"

        unput: list[bytes] = []
        with suppress(mm.ClosedError), WorkQueue() as queue:
            with at_point(number, interrupt, of_locks, may_be) as hit:
                try:
                    queue.put_many(records())
                except KeyboardInterrupt as error:
                    unput = getattr(error, "unput", [])
            was_hit = hit()
            assert is_free(queue.stats)
            assert queue.stats().waiting + len(unput) >= len(given)
    assert number > 10


def test_a_job_that_ctrl_c_took_away_from_its_worker_is_given_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker had received it, and did not know it yet."""
    made = _job.JobForm._of.__func__  # type: ignore[attr-defined]
    strikes = [KeyboardInterrupt()]

    def of(kind: Any, *given: Any) -> Any:
        if strikes:
            raise strikes.pop()
        return made(kind, *given)

    monkeypatch.setattr(_job.JobForm, "_of", classmethod(of))
    with IdleQueue(retries=1) as queue, mm.Req(connect=queue.front.endpoint) as req:
        answers: list[bytes] = []
        asking = threading.Thread(target=lambda: answers.append(req.request(b"q", timeout=WAIT_S)))
        asking.start()
        with IdleWorker(queue.back.endpoint) as worker:
            with suppress(KeyboardInterrupt):
                for job in worker:
                    job.reply(b"unexpected")
                    break
            for job in worker:
                job.reply(b"answered")
                break
        asking.join()
        assert answers == [b"answered"]
        assert queue.stats().retried == 1
