"""Coroutine functions as `allow=`: how many run at once, and what ends them.

Not here: what answers do (test_allow_functions.py), whose turn it is (test_allow_turns.py).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

import meshmsg as mm
import meshmsg.aio
from meshmsg._binding.core import lib
from meshmsg._socket import door
from tests.support.applicants import applicant
from tests.support.looped import until
from tests.support.pairs import WAIT_S, told, told_all, wait_until

UP = "tcp://127.0.0.1:0"
LIMIT = 64
"""MMI_ASKED_MAX."""


class Asked:
    """A coroutine function that answers once the gate is open, and notes what became of it."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started = self.cancelled = self.ended = 0

    async def __call__(self, who: mm.Applicant) -> mm.Later:
        """Wait for the gate."""
        self.started += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.ended += 1
        return mm.Later("not now")


def served(asked: Asked) -> meshmsg.aio.Pull:
    """Open a socket that asks it."""

    async def allow(who: mm.Applicant) -> mm.Later:
        return await asked(who)

    return meshmsg.aio.Pull(bind=UP, security=mm.Plain(allow=allow))


def test_so_many_run_at_once_and_the_rest_waits_its_turn() -> None:
    """As many applicants as there are could come otherwise, each with a task."""

    async def run() -> None:
        asked = Asked()
        async with served(asked) as pull:
            with ExitStack() as stack:
                for _ in range(LIMIT + 6):
                    stack.enter_context(applicant(pull.endpoint))
                await until(lambda: asked.started == LIMIT)
                await until(lambda: pull.stats().half_open == LIMIT + 6)
                assert asked.started == LIMIT
                asked.gate.set()
                await until(lambda: asked.ended == LIMIT + 6)

    asyncio.run(run())


@pytest.mark.parametrize("end", ["the peer left", "the socket was closed", "the loop ended"])
def test_what_nobody_waits_for_is_cancelled(end: str, caplog: pytest.LogCaptureFixture) -> None:
    """And nothing is told of it as if the function had been wrong."""
    seen: list[tuple[Asked, meshmsg.aio.Pull]] = []

    async def run() -> None:
        asked = Asked()
        pull = served(asked)
        seen.append((asked, pull))
        with applicant(pull.endpoint) as peer:
            await until(lambda: asked.started)
            if end == "the peer left":
                peer.socket.close()
                await until(lambda: asked.cancelled)
            elif end == "the socket was closed":
                pull.close()
                await until(lambda: asked.cancelled)

    asyncio.run(run())
    [(asked, pull)] = seen
    pull.close()
    told_all()
    assert (asked.cancelled, asked.ended) == (1, 0)
    assert "allow= gave" not in caplog.text
    assert "destroyed" not in caplog.text


class Core:
    """The core, but when it is looked first whether a question waits, its peer leaves meanwhile."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.leave = leave
        self.looked = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(lib, name)

    def mm_question_waits(self, engine: int, question: int) -> int:
        """Say so, once its peer has left."""
        if threading.current_thread().name == "meshmsg-allow" and not self.looked.is_set():
            self.looked.set()
            self.leave()
            wait_until(lambda: lib.mm_question_waits(engine, question) < 0)
        return int(lib.mm_question_waits(engine, question))


def test_one_that_begins_while_its_peer_is_missed_is_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was given up as one that was not begun, and ran for ever."""
    begun = threading.Event()

    async def run() -> None:
        asked = Asked()

        async def allow(who: mm.Applicant) -> mm.Later:
            begun.set()
            return await asked(who)

        async with meshmsg.aio.Pull(bind=UP, security=mm.Plain(allow=allow)) as pull:
            with applicant(pull.endpoint) as peer:

                def leave() -> None:
                    assert begun.wait(WAIT_S)
                    peer.socket.close()

                core = Core(leave)
                monkeypatch.setattr(door, "lib", core)
                assert core.looked.wait(WAIT_S)  # with the loop at rest: nothing is begun
                await until(lambda: asked.cancelled)

    asyncio.run(run())


def test_what_a_cancelled_one_does_at_its_end_is_not_cancelled_again() -> None:
    """It may take longer than a second until it is done."""
    cancelled = 0

    async def run() -> None:
        gate, ended = asyncio.Event(), asyncio.Event()

        async def allow(who: mm.Applicant) -> mm.Allow:
            nonlocal cancelled
            try:
                await gate.wait()
            except asyncio.CancelledError:
                cancelled += 1
                later = asyncio.get_running_loop().time() + 2.5 * door.LOOK_MS / 1000
                while asyncio.get_running_loop().time() < later:
                    try:
                        await asyncio.sleep(0)
                    except asyncio.CancelledError:
                        cancelled += 1
            ended.set()
            return mm.Allow()

        async with meshmsg.aio.Pull(bind=UP, security=mm.Plain(allow=allow)) as pull:
            with applicant(pull.endpoint):
                await until(lambda: pull.stats().half_open == 1)
                await until(lambda: any(one.tasks for one in door._doors.values()))
            await asyncio.wait_for(ended.wait(), WAIT_S)

    asyncio.run(run())
    assert cancelled == 1


def test_an_error_without_a_text_is_told_all_the_same() -> None:
    """What raises when it is to say what it is."""

    class WordlessError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def allow(who: mm.Applicant) -> mm.Allow:
        raise WordlessError

    with mm.Pull(bind=UP, security=mm.Plain(allow=allow)) as pull:
        with applicant(pull.endpoint) as peer:
            peer.until_closed()
        told(pull, "later: allow= raised WordlessError")


def test_errors_that_come_often_are_told_once_a_second_with_how_many_there_were(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Who can cause one fills no log."""
    clock = [100.0]
    monkeypatch.setattr(door, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    calls: list[mm.Applicant] = []

    def allow(who: mm.Applicant) -> mm.Allow:
        calls.append(who)
        raise ValueError("a\nline that is long enough to be cut somewhere" * 3)

    with mm.Pull(bind=UP, security=mm.Plain(allow=allow)) as pull:
        for count in range(1, 5):
            if count == 4:
                clock[0] += door.TOLD_AGAIN_S
            with applicant(pull.endpoint) as peer:
                peer.until_closed()
            wait_until(lambda count=count: pull.stats().handshakes_failed == count)
        words = [event.detail for event in pull.events() if "allow= raised" in event.detail]
    assert len(calls) == 4

    def errors() -> list[str]:
        return [one.getMessage() for one in caplog.records if one.exc_info]

    wait_until(lambda: len(errors()) == 2)
    assert [one.rpartition(": it is")[2] for one in errors()] == [
        " to try again.",
        " to try again; 2 errors before it were not told",
    ]
    assert words[0].startswith("later: allow= raised ValueError: a line that is long")
    assert all(word.isprintable() for word in words)
