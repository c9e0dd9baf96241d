"""Signals while many messages are sent: whatever they end, each message is sent or given back.

Law: the main thread is hit wherever it happens to be, again and again; what is counted is exact.
"""

from __future__ import annotations

import asyncio
import operator
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.aio import _sending
from tests.support.pairs import WAIT_S

BODIES = [b"%d" % i for i in range(3000)]
LIKE_BYTES: list[Any] = [memoryview(body) if i % 3 else body for i, body in enumerate(BODIES)]
ROUNDS = 300
LATEST_S = 0.001
"""Seconds after which a signal comes at the latest: a send_many of all takes longer."""


class Stop(BaseException):
    """What the signal's function raises: as KeyboardInterrupt, no Exception."""


@contextmanager
def hit(after_s: float) -> Iterator[Callable[[], bool]]:
    """Have a Stop raised once, at some point of what is done here; tells whether it was."""
    armed = True

    def stop(*_: object) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, after_s)
        yield lambda: not armed
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def streamed(bodies: list[Any]) -> tuple[Any, Callable[[], int]]:
    """Return an iterator that is never interrupted itself, and how many were taken from it."""
    source = iter(bodies)
    return source, lambda: len(bodies) - operator.length_hint(source)


def listed(bodies: list[Any]) -> tuple[Any, Callable[[], int]]:
    """The same of a list: all is taken at once."""
    return bodies, lambda: len(bodies)


def was_told(error: Stop, sent: int, bodies: list[Any], taken: int) -> bool:
    """Whether it ended the call: it says what was sent of these, and gives back what was not."""
    told = vars(error)
    if "sent" not in told:  # it came before the call began, or after it was over
        assert sent in (0, len(bodies))
        return False
    assert told["sent"] == sent
    assert told["unsent"] == bodies[sent:taken]
    return True


@pytest.mark.parametrize("bodies", [BODIES, LIKE_BYTES], ids=["bytes", "views"])
@pytest.mark.parametrize("kind", [streamed, listed])
def test_what_a_signal_ends_gives_back_exactly_what_was_not_sent(
    bodies: list[Any], kind: Callable[[list[Any]], tuple[Any, Callable[[], int]]]
) -> None:
    """Wherever in the call it comes."""
    seeded = random.Random(1)
    stopped = 0
    with mm.Push(bind="tcp://127.0.0.1:0", overflow="drop_newest") as push:
        for _ in range(ROUNDS):
            source, taken = kind(bodies)
            before = push.stats().sent_messages
            try:
                with hit(seeded.uniform(0.00001, LATEST_S)):
                    push.send_many(source, timeout=WAIT_S)
            except Stop as error:
                stopped += was_told(error, push.stats().sent_messages - before, bodies, taken())
    assert stopped > 10


async def nobody() -> None:
    """Let nobody run in between: a loop itself does not survive what is raised in it."""


def test_in_a_loop_what_a_signal_ends_gives_back_exactly_what_was_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the same attributes."""
    seeded = random.Random(2)
    monkeypatch.setattr(_sending, "others_run", nobody)

    async def run() -> int:
        stopped = 0
        async with aio.Push(bind="tcp://127.0.0.1:0", overflow="drop_newest") as push:
            for _ in range(ROUNDS):
                source, taken = streamed(BODIES)
                before = push.stats().sent_messages
                try:
                    with hit(seeded.uniform(0.00001, LATEST_S)):
                        await push.send_many(source, timeout=WAIT_S)
                except Stop as error:
                    stopped += was_told(error, push.stats().sent_messages - before, BODIES, taken())
        return stopped

    assert asyncio.run(run()) > 10
