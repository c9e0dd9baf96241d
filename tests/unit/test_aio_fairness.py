"""Whether asyncio calls that need not wait let other tasks run, how often, and what that costs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.aio import _waiting
from meshmsg.aio._waiting import FAST_CALLS_MAX
from tests.support.linked import UP, deliver, linked, turns
from tests.support.pairs import WAIT_S

ROUNDS = 6


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are to run after so many calls, however little time has passed."""
    monkeypatch.setattr(_waiting, "TURN_S", 0.0)


async def spin(count: list[int]) -> None:
    """Count the turns of the loop."""
    while True:
        count[0] += 1
        await asyncio.sleep(0)


async def one_by_one(push: mm.Push, pull: aio.Pull, count: int) -> None:
    """Receive messages of which each is there already, and no more than that one."""
    pull.fileno()
    for _ in range(count):
        await pull.recv()


async def prefetched(push: mm.Push, pull: aio.Pull, count: int) -> None:
    """Receive messages that came together."""
    for _ in range(count):
        await pull.recv(timeout=WAIT_S)


async def iterated(push: mm.Push, pull: aio.Pull, count: int) -> None:
    """Iterate."""
    async for _ in pull:
        count -= 1
        if count == 0:
            return


async def in_batches(push: mm.Push, pull: aio.Pull, count: int) -> None:
    """Receive batches of one."""
    for _ in range(count):
        await pull.recv_many(1)


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("way", [one_by_one, prefetched, iterated, in_batches])
def test_no_way_of_receiving_starves_the_other_tasks(way: Callable[..., Awaitable[None]]) -> None:
    """However many messages are there, others run after so many of them."""

    async def run() -> None:
        async with linked() as (push, pull):
            count = FAST_CALLS_MAX * ROUNDS
            deliver(push, *[b"x"] * count)
            turned = [0]
            other = asyncio.ensure_future(spin(turned))
            await way(push, pull, count)
            assert turned[0] >= 5
            other.cancel()

    asyncio.run(run())


@pytest.mark.usefixtures("no_rest")
def test_sending_without_end_does_not_starve_the_other_tasks() -> None:
    """A Pub that drops never waits; it still lets others run."""

    async def run() -> None:
        turned = [0]
        other = asyncio.ensure_future(spin(turned))
        async with aio.Pub(bind=UP) as pub:
            for i in range(FAST_CALLS_MAX * 3):
                await pub.send(b"x")
                await pub.send(b"x", topic="t" if i % 2 else "")
            await pub.send_many([b"x"] * 5000)
        assert turned[0] >= 5
        other.cancel()

    asyncio.run(run())


def stopped(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have the loop's clock stand still at what is in the list."""
    now = [loop.time()]
    monkeypatch.setattr(loop, "time", lambda: now[0])
    return now


def test_others_run_once_in_the_time_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the clock stands, many calls take one turn; then as many take another."""

    async def run() -> None:
        now = stopped(asyncio.get_running_loop(), monkeypatch)
        turned = [0]
        async with aio.Pub(bind=UP) as pub:

            async def send_many_times() -> int:
                for _ in range(FAST_CALLS_MAX * ROUNDS):
                    await pub.send(b"x")
                return turned[0]

            other = asyncio.ensure_future(spin(turned))
            assert await send_many_times() == 1
            assert await send_many_times() == 1
            now[0] += 2 * _waiting.TURN_S
            assert await send_many_times() == 2
            other.cancel()

    asyncio.run(run())


def test_a_loop_whose_clock_is_behind_is_shared_all_the_same() -> None:
    """A socket that was used in a loop before goes on in one whose time began anew."""
    turned = [0]

    async def send(pub: aio.Pub, at: float) -> None:
        with pytest.MonkeyPatch.context() as patch:
            stopped(asyncio.get_running_loop(), patch)[0] = at
            other = asyncio.ensure_future(spin(turned))
            for _ in range(FAST_CALLS_MAX * 2):
                await pub.send(b"x")
            other.cancel()

    pub = aio.Pub(bind=UP)
    asyncio.run(send(pub, 1e9))
    before = turned[0]
    asyncio.run(send(pub, 5.0))
    assert turned[0] > before
    pub.close()


@pytest.mark.usefixtures("no_rest")
def test_a_send_that_is_cancelled_while_others_run_has_sent_nothing() -> None:
    """Each call that lets others run is given up right there; the others were sent."""

    async def run() -> None:
        async with aio.Push(bind=UP) as push, aio.Pull(connect=push.endpoint) as pull:
            await push.wait_for_peers(timeout=WAIT_S)
            sent = given_up = 0
            for i in range(FAST_CALLS_MAX * ROUNDS):
                step = push.send(b"%d" % i)
                try:
                    step.send(None)
                except StopIteration:
                    sent += 1
                else:
                    given_up += 1
                    step.close()
            assert given_up == ROUNDS
            assert push.stats().sent_messages == sent
            got = 0
            while got < sent:
                got += len(await pull.recv_many(timeout=WAIT_S))
            await turns()
            assert got == sent

    asyncio.run(run())
