"""asyncio, with the n-th allocation of the core failing, for every n there is.

Not here: blocking sockets (tests/sim/test_no_memory.py). Law: a call that found no memory says so,
and works when it is made again; nothing hangs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.mm import lib

T = TypeVar("T")
WAIT_S = 30.0
LOST_S = 0.2
"""Seconds until what may have been lost with its connection is sent again."""
TRIES = 8
POINTS_MAX = 3000


async def again(call: Callable[[], Awaitable[T]]) -> T:
    """Await until there is memory."""
    for _ in range(TRIES):
        try:
            return await call()
        except (mm.ResourceError, MemoryError):
            continue
    return await call()


def opened(make: Callable[[], T]) -> T:
    """Open until there is memory."""
    for _ in range(TRIES):
        try:
            return make()
        except (mm.ResourceError, MemoryError):
            continue
    return make()


async def answer(rep: aio.Rep) -> None:
    """Answer whatever comes."""
    while True:
        request = await again(lambda: rep.recv(timeout=WAIT_S))
        try:
            request.reply(bytes(request).upper())
        except mm.ResourceError:
            request.reply(bytes(request).upper())


async def conversation(where: str) -> None:
    """Requests until each has its answer, then messages one way."""
    with mm.Engine() as engine:
        rep = opened(lambda: aio.Rep(bind=where, engine=engine))
        req = opened(lambda: aio.Req(connect=rep.endpoint, engine=engine, reconnect_min=0.01))
        answering = asyncio.create_task(answer(rep))
        try:
            for number in range(4):
                body = b"q%d" % number * (1 + 20_000 * number)
                got = await again(lambda body=body: ask(req, body))
                assert bytes(got) == body.upper()
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            req.close()
            rep.close()


async def ask(req: aio.Req, body: bytes) -> bytes:
    """Ask until it is answered: a connection that ended for want of memory takes it along."""
    for _ in range(TRIES):
        try:
            return await req.request(body, timeout=LOST_S)
        except (mm.TimedOutError, mm.PeerError):
            continue
    return await req.request(body, timeout=WAIT_S)


@pytest.mark.parametrize("where", ["tcp://127.0.0.1:0", "inproc://no-memory"])
def test_whichever_allocation_fails_awaiting_goes_on(where: str) -> None:
    """Every allocation in turn, until the conversation ends without having come to it."""
    for point in range(1, POINTS_MAX):
        lib.mm_test_alloc_fail(0)
        engine_free = lib.mm_live_handles()
        lib.mm_test_alloc_fail(point)
        try:
            try:
                asyncio.run(conversation(where))
            except (mm.ResourceError, MemoryError):
                pass  # opening the engine: there is nothing yet that could try again
        finally:
            left = lib.mm_test_alloc_fail(0)
        assert lib.mm_live_handles() == engine_free, point
        if left > 0:
            assert point > 50, "the conversation hardly allocates: the hook is not reached"
            return
    raise AssertionError(f"still allocating after {POINTS_MAX} failures")
