"""A sync socket and an asyncio one that see each other, on any loop.

Not here: what is sent over them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
RUNNERS = [asyncio.run, uvloop.run]


@asynccontextmanager
async def linked(url: str = UP, **options: Any) -> AsyncIterator[tuple[mm.Push, aio.Pull]]:
    """A sync Push and an asyncio Pull that see each other."""
    with mm.Push(bind=url, **options) as push:
        async with aio.Pull(connect=push.endpoint, **options) as pull:
            await pull.wait_for_peers(timeout=WAIT_S)
            push.wait_for_peers(timeout=WAIT_S)
            yield push, pull


def deliver(push: mm.Push, *bodies: bytes) -> None:
    """Send, and return once the peer's engine has them: the loop has not run meanwhile."""
    push.send_many(bodies, timeout=WAIT_S)
    push.drain(timeout=WAIT_S).raise_for_loss()


async def ready(pull: aio.Pull, push: mm.Push, *bodies: bytes) -> None:
    """Have these messages at hand, so that none has to be waited for."""
    deliver(push, b"first", *bodies)
    assert await pull.recv(timeout=WAIT_S) == b"first"


async def turns(count: int = 5) -> None:
    """Let the other tasks run."""
    for _ in range(count):
        await asyncio.sleep(0)
