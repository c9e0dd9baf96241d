"""Of whom `allow=` is asked next: addresses take turns, so that one alone keeps out nobody.

Not here: the queue itself (tests/c/test_fair.c), what answers do (test_allow_functions.py).
"""

from __future__ import annotations

import queue
import threading
from contextlib import ExitStack

import meshmsg as mm
from tests.support.applicants import applicant, heard
from tests.support.pairs import WAIT_S, wait_until

STRANGERS = 30


def test_one_address_with_many_applicants_keeps_out_nobody() -> None:
    """A function that takes its time is asked of another one long before the many are through."""
    asked: queue.Queue[str] = queue.Queue()
    go = threading.Semaphore(0)

    def allow(who: mm.Applicant) -> mm.Later:
        asked.put(who.address)
        go.acquire(timeout=WAIT_S)
        return mm.Later("not now")

    with (
        mm.Pull(bind="tcp://127.0.0.1:0", security=mm.Plain(allow=allow)) as pull,
        ExitStack() as stack,
    ):
        try:
            for number in range(STRANGERS):
                stack.enter_context(applicant(pull.endpoint, "127.0.0.2"))
                if number == 0:
                    assert "127.0.0.2" in asked.get(timeout=WAIT_S)  # and the function is busy
            wait_until(lambda: heard(pull) == STRANGERS)
            stack.enter_context(applicant(pull.endpoint, "127.0.0.3"))
            wait_until(lambda: heard(pull) == STRANGERS + 1)
            before = 0
            while go.release() or "127.0.0.3" not in asked.get(timeout=WAIT_S):
                before += 1
            assert before < STRANGERS / 2
        finally:
            go.release(2 * STRANGERS)
