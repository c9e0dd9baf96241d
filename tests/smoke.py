"""What an installed wheel must do at least, on any Python it says it is for: run it with that one.

No pytest and nothing of this tree: only the wheel and what it depends on.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading

import meshmsg as mm
from meshmsg import aio
from meshmsg.testing import SimWorld

WAIT_S = 60.0


def exchange(url: str) -> None:
    """Requests, many at once, and an error of ours, over one transport."""
    with mm.Rep(bind=url) as rep, mm.Req(connect=rep.endpoint) as req:
        answering = threading.Thread(target=lambda: rep.recv(timeout=WAIT_S).reply(b"answer"))
        answering.start()
        assert req.request(b"ask", timeout=WAIT_S) == b"answer"
        answering.join()
    with mm.Push(bind=url) as push, mm.Pull(connect=push.endpoint) as pull:
        push.wait_for_peers(timeout=WAIT_S)
        push.send_many([b"%d" % i for i in range(1000)])
        got: list[bytes] = []
        while len(got) < 1000:
            got += pull.recv_many(timeout=WAIT_S)
        assert got == [b"%d" % i for i in range(1000)]
        push.drain(timeout=WAIT_S).raise_for_loss()
        with contextlib.suppress(mm.WouldBlockError):
            pull.recv(timeout=0)
            raise AssertionError("there was one message too many")


async def awaited() -> None:
    """The same names, awaited."""
    async with aio.Pub(bind="tcp://127.0.0.1:0") as pub:
        async with aio.Sub(connect=pub.endpoint, topics=["t"]) as sub:
            await pub.wait_for_subscribers("t", timeout=WAIT_S)
            await pub.send(b"x", topic="t")
            assert await sub.recv(timeout=WAIT_S) == b"x"


def simulated() -> None:
    """A world without a clock."""
    with SimWorld(1) as world:
        with mm.Pull(engine=world.engine(), bind="tcp://127.0.0.1:5") as pull:
            with mm.Push(engine=world.engine(), connect="tcp://127.0.0.1:5") as push:
                push.send(b"x")
                assert pull.recv(timeout=WAIT_S) == b"x"


for transport in ("tcp://127.0.0.1:0", "ipc://*", "ipc://@meshmsg-smoke", "inproc://smoke"):
    exchange(transport)
asyncio.run(awaited())
simulated()
print(sys.version.split()[0], mm.__file__)
