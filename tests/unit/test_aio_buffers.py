"""In an event loop, a send that waits sends what one that need not wait sends: to the byte.

Not here: sends that need not wait (test_buffers).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from meshmsg import aio
from tests.support.buffers import FEW
from tests.support.linked import turns
from tests.support.pairs import WAIT_S

CALLS: dict[str, Callable[[Any, Any], Awaitable[object]]] = {
    "send": lambda push, data: push.send(data),
    "timed": lambda push, data: push.send(data, timeout=WAIT_S),
    "frames": lambda push, data: push.send_frames([data], timeout=WAIT_S),
    "many": lambda push, data: push.send_many([data]),
    "stream": lambda push, data: push.send_many(iter([data]), timeout=WAIT_S),
}


@pytest.mark.parametrize("kind", FEW)
def test_what_waited_for_a_peer_arrives_as_it_is(kind: str) -> None:
    """By each call of a Push, and a request."""
    make, body = FEW[kind]

    async def run() -> list[bytes]:
        found: list[bytes] = []
        for call in CALLS.values():
            async with aio.Push(bind="tcp://127.0.0.1:0") as push:
                sending = asyncio.ensure_future(call(push, make()))
                await turns()
                assert not sending.done()
                async with aio.Pull(connect=push.endpoint) as pull:
                    found.append(await pull.recv(timeout=WAIT_S))
                await sending
        async with aio.Req(bind="tcp://127.0.0.1:0") as req:
            asking = asyncio.create_task(req.request(make(), timeout=WAIT_S))
            await turns()
            async with aio.Rep(connect=req.endpoint) as rep:
                request = await rep.recv(timeout=WAIT_S)
                request.reply(make())
                found += [request, await asking]
        return found

    assert asyncio.run(run()) == [body] * (len(CALLS) + 2)


@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("topic", ["", b"t"])
def test_what_waited_for_a_subscribers_room_arrives_as_it_is(topic: Any, kind: str) -> None:
    """With a topic and without."""
    make, body = FEW[kind]

    async def run() -> list[list[bytes]]:
        async with (
            aio.Pub(bind="tcp://127.0.0.1:0", overflow="block", send_queue_messages=1) as pub,
            aio.Sub(connect=pub.endpoint, topics="", recv_queue_messages=1) as sub,
        ):
            await pub.wait_for_subscribers("", timeout=WAIT_S)
            filling: list[asyncio.Task[None]] = []
            sending: list[asyncio.Task[None]] = []
            # What is full may get room once more: the kernel and the subscriber still take some.
            while not sending or sending[-1].done():
                while not filling or filling[-1].done():
                    filling.append(asyncio.create_task(pub.send(bytes(1_000_000), timeout=WAIT_S)))
                    await turns()
                sending.append(asyncio.create_task(pub.send(make(), topic=topic, timeout=WAIT_S)))
                await turns()
            found: list[list[bytes]] = []
            while len(found) < len(sending):
                frames = await sub.recv_frames(timeout=WAIT_S)
                if len(frames[-1]) < 1_000_000:
                    found.append(frames)
            await asyncio.gather(*filling, *sending)
            return found

    expected = [b"t", body] if topic else [body]
    assert all(frames == expected for frames in asyncio.run(run()))


@pytest.mark.parametrize("call", CALLS)
def test_an_array_can_be_resized_while_what_it_held_waits(call: str) -> None:
    """By another task: what was given is what is sent."""

    async def run() -> bytes:
        data = bytearray(b"hello")
        async with aio.Push(bind="tcp://127.0.0.1:0") as push:
            sending = asyncio.ensure_future(CALLS[call](push, data))
            await turns()
            data.extend(b"longer" * 1000)
            data[:5] = b"other"
            async with aio.Pull(connect=push.endpoint) as pull:
                await sending
                return await pull.recv(timeout=WAIT_S)

    assert asyncio.run(run()) == b"hello"
