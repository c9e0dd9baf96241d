"""Receives of asyncio tasks that are given up: what they had taken is there for the next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from meshmsg.aio import _receiving
from tests.support.linked import RUNNERS, deliver, linked, turns
from tests.support.pairs import WAIT_S


def test_a_batch_given_up_leaves_what_it_gathered_to_who_waits() -> None:
    """Another task's recv, or a descriptor that was asked for, hears of it."""

    async def run() -> None:
        async with linked() as (push, pull):
            gathers = asyncio.ensure_future(pull.recv_batch(max_wait=WAIT_S * 10))
            await asyncio.sleep(0)
            deliver(push, b"1")
            while not pull.stats().received_messages:
                await asyncio.sleep(0)
            waits = asyncio.ensure_future(pull.recv())
            await asyncio.sleep(0)
            gathers.cancel()
            assert await asyncio.wait_for(waits, WAIT_S) == b"1"

    asyncio.run(run())


@pytest.mark.parametrize("size", [5, 400_000])
def test_a_batch_that_is_cancelled_is_there_for_the_next(size: int) -> None:
    """A large message as well, of which a batch is made otherwise."""

    async def run() -> None:
        async with linked() as (push, pull):
            gathers = asyncio.ensure_future(pull.recv_batch(max_wait=WAIT_S * 10))
            await asyncio.sleep(0)
            deliver(push, bytes(size))
            while not pull.stats().received_messages:
                await asyncio.sleep(0)
            gathers.cancel()
            await asyncio.wait([gathers])
            assert await pull.recv(timeout=0) == bytes(size)

    asyncio.run(run())


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_signals_function_that_raises_in_one_task_strands_no_other(
    runner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its task was the one that was woken: the next in line takes over."""

    class Stop(Exception):
        pass

    async def run() -> None:
        async with linked() as (push, pull):
            real, failing = _receiving._take, [True]

            def take(*args: Any) -> int:
                rc = real(*args)
                if rc > 0 and failing:
                    failing.clear()
                    raise Stop
                return rc

            monkeypatch.setattr(_receiving, "_take", take)
            tasks = [asyncio.ensure_future(pull.recv()) for _ in range(3)]
            await turns()
            deliver(push, b"1", b"2", b"3")
            found = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT_S)
            found.append(await pull.recv(timeout=WAIT_S))
            assert isinstance(found.pop(0), Stop)
            assert found == [b"1", b"2", b"3"]

    runner(run())
