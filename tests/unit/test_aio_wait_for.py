"""Receives under `asyncio.wait_for`, cancelled or out of time as a message comes: it is not lost.

Not here: `timeout=` of the calls themselves. Law: what a call that was given up had before it is
there for the next one; a task that was cancelled is cancelled, or has what it asked for, as
`asyncio.wait_for` before Python 3.12 prefers that.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.linked import RUNNERS, UP, deliver, linked, turns
from tests.support.pairs import WAIT_S

LONG_S = WAIT_S * 10
TURNS = range(6)
"""Turns of the loop from the message to what gives the call up: in some it is under way."""


async def first_of(batch: Awaitable[mm.MessageBatch]) -> bytes:
    """The only message of a batch."""
    [body] = await batch
    return bytes(body)


RECEIVES: dict[str, Callable[[aio.Pull], Awaitable[Any]]] = {
    "recv": lambda pull: pull.recv(),
    "recv in time": lambda pull: pull.recv(timeout=LONG_S),
    "recv_frames": lambda pull: pull.recv_frames(),
    "recv_many": lambda pull: pull.recv_many(),
    "recv_batch": lambda pull: pull.recv_batch(),
    "recv_batch that gathers": lambda pull: pull.recv_batch(max_wait=LONG_S),
    "async for": lambda pull: anext(aiter(pull)),
}


class Hurried:
    """A loop's clock, which can be put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        real, self.ahead_s = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: real() + self.ahead_s)


def bodies(found: Any) -> list[bytes]:
    """The messages of what any receive gives."""
    return [bytes(found)] if isinstance(found, bytes) else [bytes(body) for body in found]


async def check(waits: asyncio.Task[Any], pull: aio.Pull) -> None:
    """The message is what the call gave, or what the next one gives."""
    try:
        found = bodies(await waits)
    except (asyncio.CancelledError, asyncio.TimeoutError):
        found = [await pull.recv(timeout=WAIT_S)]
    assert found == [b"1"]
    with pytest.raises(mm.WouldBlockError):
        await pull.recv(timeout=0)


@pytest.mark.parametrize("after", TURNS)
@pytest.mark.parametrize("call", RECEIVES)
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_message_that_comes_as_its_receive_is_cancelled_is_not_lost(
    runner: Any, call: str, after: int
) -> None:
    """In whichever turn of the loop; the receive itself is cancelled, or who waits for it."""

    async def run() -> None:
        for wrapped in (False, True):
            async with linked() as (push, pull):
                asked = RECEIVES[call](pull)
                waits = asyncio.ensure_future(asyncio.wait_for(asked, LONG_S) if wrapped else asked)
                await turns()
                deliver(push, b"1")
                await turns(after)
                waits.cancel()
                await check(waits, pull)

    runner(run())


@pytest.mark.parametrize("after", TURNS)
@pytest.mark.parametrize("call", RECEIVES)
def test_a_message_that_comes_as_the_time_of_its_receive_is_up_is_not_lost(
    call: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop's clock is put forward in that turn."""

    async def run() -> None:
        async with linked() as (push, pull):
            clock = Hurried(monkeypatch)
            waits = asyncio.ensure_future(asyncio.wait_for(RECEIVES[call](pull), LONG_S / 2))
            await turns()
            deliver(push, b"1")
            await turns(after)
            clock.ahead_s = LONG_S / 2
            await check(waits, pull)

    asyncio.run(run())


@pytest.mark.parametrize("after", TURNS)
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_request_that_comes_as_its_receive_is_cancelled_is_not_lost(
    runner: Any, after: int
) -> None:
    """The next one has it, and can answer it."""

    async def run() -> None:
        async with aio.Rep(bind=UP) as rep:
            with mm.Req(connect=rep.endpoint) as req:
                asks = asyncio.ensure_future(asyncio.to_thread(req.request, b"q", timeout=WAIT_S))
                waits = asyncio.ensure_future(asyncio.wait_for(rep.recv(), LONG_S))
                while not rep.stats().parsed_messages:
                    await asyncio.sleep(0)
                await turns(after)
                waits.cancel()
                try:
                    request = await waits
                except asyncio.CancelledError:
                    request = await rep.recv(timeout=WAIT_S)
                assert request == b"q"
                request.reply(b"a")
                assert await asyncio.wait_for(asks, WAIT_S) == b"a"

    runner(run())


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("after", TURNS)
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_reply_that_comes_as_its_request_is_cancelled_counts_as_late(
    runner: Any, after: int, count: int
) -> None:
    """Received is what the program had; several replies that come together, too."""

    async def run() -> None:
        for wrapped in (False, True):
            with mm.Rep(bind=UP) as rep:
                async with aio.Req(connect=rep.endpoint) as req:
                    asks = []
                    for _ in range(count):
                        asked = req.request(b"q")
                        call = asyncio.wait_for(asked, LONG_S) if wrapped else asked
                        asks.append(asyncio.ensure_future(call))
                    await turns()
                    requests = [
                        await asyncio.to_thread(rep.recv, timeout=WAIT_S) for _ in range(count)
                    ]
                    for request in requests:
                        request.reply(b"a")
                    rep.drain(timeout=WAIT_S).raise_for_loss()
                    await turns(after)
                    for task in asks:
                        task.cancel()
                    found = await asyncio.gather(*asks, return_exceptions=True)
                    had = found.count(b"a")
                    stats = req.stats()
                    assert stats.parsed_messages == count
                    assert (stats.received_messages, stats.dropped_late) == (had, count - had)
                    assert stats.received_bytes == had

    runner(run())


@pytest.mark.parametrize("after", TURNS)
@pytest.mark.parametrize("call", RECEIVES)
@pytest.mark.parametrize("runner", RUNNERS)
def test_no_receive_swallows_a_cancellation(runner: Any, call: str, after: int) -> None:
    """A task that receives and goes on awaiting is cancelled there."""

    async def run() -> None:
        async with linked() as (push, pull):

            async def work() -> None:
                await RECEIVES[call](pull)
                await asyncio.Event().wait()

            works = asyncio.ensure_future(work())
            await turns()
            deliver(push, b"1")
            await turns(after)
            works.cancel()
            await asyncio.wait([works], timeout=WAIT_S)
            assert works.cancelled()

    runner(run())


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="mended in CPython")
def test_what_wait_for_of_an_old_python_swallows_timeout_does_not() -> None:
    """As docs/semantics.md says of both."""

    async def run(wrapped: bool) -> bool:
        async with linked() as (push, pull):

            async def work() -> None:
                if wrapped:
                    await asyncio.wait_for(pull.recv(), LONG_S)
                else:
                    await pull.recv(timeout=LONG_S)
                await asyncio.sleep(0)

            works = asyncio.ensure_future(work())
            await turns()
            deliver(push, b"1")
            while not pull.stats().received_messages:
                await asyncio.sleep(0)
            works.cancel()
            await asyncio.wait([works], timeout=WAIT_S)
            return works.cancelled()

    assert asyncio.run(run(wrapped=False))
    assert not asyncio.run(run(wrapped=True))
