"""A worker that hangs beside one that works: what the late one had goes to the other, all of it.

Not here: who is late, to the millisecond (tests/sim/test_ack_timeouts.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until

TIMEOUT = 1.0
JOBS = 400


@contextmanager
def beside_one_that_hangs(**options: Any) -> Iterator[tuple[mm.Push, mm.Pull, set[bytes]]]:
    """A Push, the Pull that hangs, and what another one has done."""
    done: set[bytes] = set()
    options.setdefault("delivery", "at_least_once")
    with mm.Push(bind="tcp://127.0.0.1:0", ack_timeout=TIMEOUT, **options) as push:
        hung = mm.Pull(connect=push.endpoint, ack="manual")
        good = mm.Pull(connect=push.endpoint)
        push.wait_for_peers(2, timeout=WAIT_S)

        def work() -> None:
            for job in good:
                done.add(bytes(job[:6]))

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield push, hung, done
        finally:
            push.finish()
            hung.close()
            thread.join(WAIT_S)
            good.close()


@pytest.mark.parametrize("routing", ["round_robin", "least_loaded", "hash"])
@pytest.mark.parametrize("size", [10, 20_000])
def test_its_jobs_are_done_by_the_other(routing: Any, size: int) -> None:
    """Also those that waited in its queue and were not written; each is one attempt more."""
    with beside_one_that_hangs(routing=routing, max_attempts=2) as (push, _, done):
        keyed = {"key": b"k"} if routing == "hash" else {}
        receipts = push.send_many(
            [b"%06d" % i + bytes(size) for i in range(JOBS)], confirm=True, **keyed
        )
        receipts.wait(timeout=WAIT_S)  # none is a dead letter
        assert len(done) == JOBS
        assert receipts.tally()["acked"] == JOBS


def test_it_has_work_again_once_it_acknowledges() -> None:
    """Late is not gone: an acknowledgement, also of what was taken back, lets it have its turn."""
    with beside_one_that_hangs() as (push, late, _):
        push.send_many([b"%06d" % i for i in range(10)])
        held = late.recv(timeout=WAIT_S)
        wait_until(lambda: any(e.kind is mm.EventKind.ACK_TIMEOUT for e in push.events()))
        held.ack()

        def has_new_work() -> bool:
            push.send(b"again")
            try:
                message = late.recv(timeout=0.01)
            except mm.TimedOutError:
                return False
            message.ack()
            return bytes(message) == b"again"

        wait_until(has_new_work)


def test_one_that_is_alone_keeps_its_turn() -> None:
    """There is nobody else to do it."""
    with (
        mm.Push(bind="tcp://127.0.0.1:0", delivery="at_least_once", ack_timeout=TIMEOUT) as push,
        mm.Pull(connect=push.endpoint, ack="manual") as pull,
    ):
        push.send(b"x")
        first = pull.recv(timeout=WAIT_S)
        second = pull.recv(timeout=WAIT_S)
        assert (first.attempt, second.attempt) == (1, 2)
        second.ack()
        push.drain(timeout=WAIT_S).raise_for_loss()


def test_all_that_are_late_take_turns() -> None:
    """Where nobody is in time, what was taken back goes round, as it may be done yet."""
    with mm.Push(bind="tcp://127.0.0.1:0", delivery="at_least_once", ack_timeout=TIMEOUT) as push:
        with mm.Pull(connect=push.endpoint, ack="manual") as one:
            with mm.Pull(connect=push.endpoint, ack="manual") as two:
                push.wait_for_peers(2, timeout=WAIT_S)
                push.send_many([b"1", b"2"])
                one.recv(timeout=WAIT_S)
                two.recv(timeout=WAIT_S)
                wait_until(lambda: push.stats().redelivered_messages >= 4)
