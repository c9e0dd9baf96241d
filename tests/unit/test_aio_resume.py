"""Tasks that the loop's callback resumes itself: what is theirs stays theirs."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S
from tests.unit.test_aio_waiting import RUNNERS, UP, deliver, linked, turns


@pytest.mark.parametrize("runner", RUNNERS, ids=["asyncio", "uvloop"])
def test_a_lone_task_is_resumed_in_the_very_callback_that_found_its_message(runner: Any) -> None:
    """Not in a later turn: what the callback of the descriptor does not see did not happen."""

    async def run() -> None:
        async with linked() as (push, pull):
            loop = asyncio.get_running_loop()
            waker = pull._waker(loop)
            take, seen = waker._on_ready, list[bool]()

            def counted() -> None:
                waited = not task.done()
                take()
                seen.append(waited and task.done())

            loop.add_reader(waker._fd, counted)
            task = asyncio.ensure_future(pull.recv(timeout=WAIT_S))
            await turns()
            deliver(push, b"x")
            assert await task == b"x"
            assert any(seen)

    runner(run())


def test_what_a_task_does_when_it_is_resumed_at_once_is_its_own() -> None:
    """It runs in its own context, as the current task, and its exception is its own."""
    mine: ContextVar[str] = ContextVar("mine", default="nobody's")

    async def run() -> None:
        async with linked() as (push, pull):

            async def receive() -> None:
                mine.set("the task's")
                await pull.recv(timeout=WAIT_S)
                assert mine.get() == "the task's"
                assert asyncio.current_task() is task
                raise KeyError("of the task")

            task = asyncio.ensure_future(receive())
            await turns()
            deliver(push, b"x")
            with pytest.raises(KeyError, match="of the task"):
                await task
            assert mine.get() == "nobody's"

    asyncio.run(run())


def test_an_interrupt_in_a_task_resumed_at_once_ends_the_loop() -> None:
    """As it would have otherwise; the next loop receives on."""

    async def receive(push: mm.Push, pull: aio.Pull) -> None:
        async def interrupted() -> None:
            await pull.recv()
            raise KeyboardInterrupt

        task = asyncio.ensure_future(interrupted())
        await turns()
        deliver(push, b"x", b"y")
        await task

    with mm.Push(bind=UP) as push:
        pull = aio.Pull(connect=push.endpoint)
        push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(receive(push, pull))
        assert asyncio.run(pull.recv(timeout=WAIT_S)) == b"y"
        pull.close()
