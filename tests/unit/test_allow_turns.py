"""Of whom `allow=` is asked next: addresses take turns, so that one alone keeps out nobody.

Not here: the queue itself (tests/c/test_fair.c), what answers do (test_allow_functions.py).
"""

from __future__ import annotations

import queue
import socket
import threading
from contextlib import ExitStack

import meshmsg as mm
from meshmsg._socket.peers import attempts_of
from tests.support import refcodec as ref
from tests.support import refplain as plain
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

STRANGERS = 30
HELLO = ref.greeting(mechanism=b"PLAIN") + plain.framed(plain.hello(b"somebody", b"1234"))


def applicant(endpoint: str, source: str) -> RawPeer:
    """Somebody who comes from this address, and says who he is."""
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    made = socket.create_connection((host, int(port)), timeout=WAIT_S, source_address=(source, 0))
    return RawPeer.of(made).send(HELLO)


def heard(pull: mm.Pull) -> int:
    """How many have said all that they have to say."""
    return sum(one.octets >= len(HELLO) for one in attempts_of(pull._handle))


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
