"""A fork takes the core's locks, then the interpreter's: nobody may wait the other way round."""

from __future__ import annotations

import os
import threading

import meshmsg as mm
from tests.support.pairs import WAIT_S

FORKS = 60


def test_forks_beside_a_thread_that_sends_neither_hang_nor_lose() -> None:
    """The sender's calls are native and hold the interpreter's lock as long as they can."""
    with mm.Push(bind="tcp://127.0.0.1:0") as push, mm.Pull(connect=push.endpoint) as pull:
        push.wait_for_peers(timeout=WAIT_S)
        stop = threading.Event()
        counts = [0, 0]

        def send() -> None:
            while not stop.is_set():
                push.send(b"x" * 50)
                counts[0] += 1

        def receive() -> None:
            while counts[1] < counts[0] or not stop.is_set():
                try:
                    counts[1] += len(pull.recv_many(timeout=0.05))
                except mm.TimedOutError:
                    continue

        threads = [threading.Thread(target=send), threading.Thread(target=receive)]
        for thread in threads:
            thread.start()
        for _ in range(FORKS):
            child = os.fork()
            if child == 0:
                try:
                    push.send(b"never")
                except mm.ForkedError:
                    os._exit(0)
                os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        stop.set()
        for thread in threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        assert counts[0] == counts[1] > 0
