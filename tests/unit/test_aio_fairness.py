"""Whether asyncio calls that need not wait let other tasks run, how often, and what that costs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg.aio import _turns
from meshmsg.aio._turns import FAST_CALLS_MAX
from tests.support.linked import RUNNERS, UP, deliver, linked
from tests.support.pairs import WAIT_S

ROUNDS = 6


@pytest.fixture
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are to run after so many calls, however little time has passed."""
    monkeypatch.setattr(_turns, "TURN_S", 0.0)


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


TOPICS: list[dict[str, Any]] = [{}, {"topic": "t"}]


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("more", TOPICS, ids=str)
@pytest.mark.parametrize("body", [b"x", bytearray(b"x")], ids=["bytes", "bytearray"])
def test_sending_without_end_does_not_starve_the_other_tasks(more: Any, body: Any) -> None:
    """A Pub that drops never waits; it still lets others run."""

    async def run() -> None:
        turned = [0]
        other = asyncio.ensure_future(spin(turned))
        async with aio.Pub(bind=UP) as pub:
            for _ in range(FAST_CALLS_MAX * 6):
                await pub.send(body, **more)
            assert turned[0] >= 5
            await pub.send_many([b"x"] * 5000)
        other.cancel()

    asyncio.run(run())


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize("more", TOPICS, ids=str)
def test_what_is_sent_is_what_it_was_before_others_ran(more: Any) -> None:
    """Who lets others run has looked at the body and the time first, and nobody can change it."""

    async def run() -> None:
        body = bytearray(b"before")

        async def change() -> None:
            with suppress(BufferError):
                body[:] = b"changed, and longer"

        async with aio.Pub(bind="inproc://what") as pub:
            async with aio.Sub(connect=pub.endpoint, topics="") as sub:
                await pub.wait_for_subscribers(timeout=WAIT_S)
                changing = asyncio.create_task(change())
                for wrong in ({"data": "text"}, {"data": b"x", "timeout": -1}):
                    with pytest.raises((TypeError, ValueError)):
                        await pub.send(**wrong, **more)  # type: ignore[arg-type]
                assert not changing.done()
                await pub.send(body, **more)
                await changing
                assert await sub.recv(timeout=WAIT_S) == b"before"

    asyncio.run(run())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock shows as long as nobody changes it."""
    now = [1000.0]
    monkeypatch.setattr(_turns, "_clock", lambda: now[0])
    monkeypatch.setattr(_turns._thread, "turned", now[0])
    return now


@pytest.mark.leaves_threads  # uvloop keeps a pipe for forks
@pytest.mark.parametrize("runner", RUNNERS)
def test_others_run_once_in_the_time_of_a_turn(runner: Any, clock: list[float]) -> None:
    """As long as the clock stands nobody else runs, whichever socket is used; then they do once."""

    async def run() -> None:
        turned = [0]
        async with aio.Pub(bind=UP) as one, aio.Pub(bind=UP) as other:

            async def send_many_times() -> int:
                for _ in range(FAST_CALLS_MAX * ROUNDS):
                    await one.send(b"x")
                    await other.send(b"x")
                return turned[0]

            spinning = asyncio.ensure_future(spin(turned))
            assert await send_many_times() == 0
            clock[0] += 2 * _turns.TURN_S
            assert await send_many_times() == 1
            assert await send_many_times() == 1
            clock[0] += 2 * _turns.TURN_S
            assert await send_many_times() == 2
            spinning.cancel()

    runner(run())


def test_the_turns_of_another_loop_are_none_of_this_one(clock: list[float]) -> None:
    """Two loops send by one socket: that one lets its tasks run does not help the other's."""
    pub = aio.Pub(bind=UP)
    turned = [0]

    async def send_a_list() -> None:
        await pub.send_many([b"x"])

    async def send() -> None:
        spinning = asyncio.ensure_future(spin(turned))
        for _ in range(ROUNDS):
            clock[0] += 2 * _turns.TURN_S
            thread = threading.Thread(target=asyncio.run, args=(send_a_list(),))
            thread.start()
            thread.join(WAIT_S)
            for _ in range(FAST_CALLS_MAX):
                await pub.send(b"x")
        spinning.cancel()

    asyncio.run(send())
    assert turned[0] >= ROUNDS - 1
    pub.close()


async def to_pull() -> tuple[Any, Any]:
    """Return a sender and its receiver."""
    push = aio.Push(bind=UP)
    pull = aio.Pull(connect=push.endpoint)
    await push.wait_for_peers(timeout=WAIT_S)
    return push, pull


async def to_subscriber() -> tuple[Any, Any]:
    """Return a publisher and its subscriber."""
    pub = aio.Pub(bind=UP)
    sub = aio.Sub(connect=pub.endpoint, topics="t")
    await pub.wait_for_subscribers("t", timeout=WAIT_S)
    return pub, sub


@pytest.mark.usefixtures("no_rest")
@pytest.mark.parametrize(("joined", "more"), [(to_pull, {}), (to_subscriber, {"topic": "t"})])
def test_a_send_that_is_cancelled_while_others_run_has_sent_nothing(joined: Any, more: Any) -> None:
    """Each call that lets others run is given up right there; the others were sent."""

    async def run() -> None:
        push, pull = await joined()
        async with push, pull:
            sent: list[int] = []
            for i in range(FAST_CALLS_MAX * ROUNDS):
                step = push.send(b"%d" % i, **more)
                try:
                    step.send(None)
                except StopIteration:
                    sent.append(i)
                else:
                    step.close()
            assert len(sent) == (FAST_CALLS_MAX - 1) * ROUNDS
            assert push.stats().sent_messages == len(sent)
            got = [int(await pull.recv(timeout=WAIT_S)) for _ in sent]
            assert got == sent
            with pytest.raises(mm.WouldBlockError):
                await pull.recv(timeout=0)

    asyncio.run(run())


def test_a_time_that_is_none_is_refused_with_each_send() -> None:
    """Also where there is room, and nothing has to be waited for."""

    async def run() -> None:
        async with aio.Pub(bind=UP) as pub:
            for _ in range(FAST_CALLS_MAX):
                with pytest.raises(ValueError, match="timeout is"):
                    await pub.send(b"x", timeout=-1)
            assert pub.stats().sent_messages == 0

    asyncio.run(run())
