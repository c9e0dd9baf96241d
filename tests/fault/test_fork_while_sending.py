"""A fork takes the core's locks, then the interpreter's: nobody may wait the other way round."""

from __future__ import annotations

import threading
from collections.abc import Callable

import meshmsg as mm
from tests.support.forked import in_child, refused
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
            push.send(b"end")

        def receive() -> None:
            last = b""
            while last != b"end":
                messages = pull.recv_many(timeout=WAIT_S)
                counts[1] += len(messages)
                last = messages[-1]
            counts[1] -= 1  # the end is not of what was counted

        forks_beside(
            [threading.Thread(target=receive)],
            send,
            stop,
            lambda: refused(lambda: push.send(b"never")),
        )
        assert counts[0] == counts[1] > 0


def iterate(pull: mm.Pull, counts: list[int]) -> None:
    """Receive by a loop, until the last one."""
    for message in pull:
        if message == b"end":
            return
        counts[0] += 1


def test_forks_beside_a_loop_that_receives_neither_hang_nor_lose() -> None:
    """Its looks and waits are native calls."""
    with mm.Pull(bind="inproc://forks") as pull, mm.Push(connect="inproc://forks") as push:
        stop = threading.Event()
        counts = [0, 0]

        def send() -> None:
            while not stop.is_set():
                push.send(b"x")
                counts[1] += 1
            push.send(b"end")

        forks_beside([threading.Thread(target=iterate, args=(pull, counts))], send, stop)
        assert counts[0] == counts[1] > 0


def test_forks_beside_surveys_hang_nobody() -> None:
    """Their answers are taken by native calls."""
    with (
        mm.Surveyor(bind="inproc://forks") as surveyor,
        mm.Respondent(connect="inproc://forks") as respondent,
    ):
        surveyor.wait_for_peers(timeout=WAIT_S)
        stop = threading.Event()

        def answer() -> None:
            for question in respondent:
                question.reply(question)
                if question == b"end":
                    return

        def ask() -> None:
            while not stop.is_set():
                assert list(surveyor.survey(b"?", deadline=WAIT_S)) == [b"?"]
            assert list(surveyor.survey(b"end", deadline=WAIT_S)) == [b"end"]

        forks_beside([threading.Thread(target=answer)], ask, stop)


def test_forks_beside_a_poller_hang_nobody() -> None:
    """Its waits and its answers are native calls; the child is told whose it is."""
    with mm.Surveyor(bind="inproc://forks") as surveyor:
        respondents = [mm.Respondent(connect="inproc://forks") for _ in range(2)]
        surveyor.wait_for_peers(2, timeout=WAIT_S)
        stop = threading.Event()
        poller = mm.Poller(respondents)

        def answer() -> None:
            left = len(respondents)
            while left:
                for respondent in poller.poll():
                    question = respondent.recv()
                    question.reply(question)
                    left -= question == b"end"

        def ask() -> None:
            while not stop.is_set():
                assert list(surveyor.survey(b"?", deadline=WAIT_S)) == [b"?"] * 2
            assert list(surveyor.survey(b"end", deadline=WAIT_S)) == [b"end"] * 2

        forks_beside([threading.Thread(target=answer)], ask, stop, lambda: refused(poller.poll))
        poller.close()
        for respondent in respondents:
            respondent.close()


def forks_beside(
    threads: list[threading.Thread],
    work: Callable[[], None],
    stop: threading.Event,
    forked: Callable[[], bool] = lambda: True,
) -> None:
    """Fork often while that work and those threads go on; then have them end."""
    threads = [*threads, threading.Thread(target=work)]
    for thread in threads:
        thread.daemon = True  # one that hangs is to fail the test, not to stay
        thread.start()
    for _ in range(FORKS):
        assert in_child(forked)
    stop.set()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
