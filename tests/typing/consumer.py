"""What a type checker sees of the public names; checked by mypy and pyright, never run."""

from __future__ import annotations

from typing_extensions import assert_type

import meshmsg as mm
from meshmsg import aio
from meshmsg.testing import SimWorld


def sync() -> None:
    """The sync sockets."""
    push = mm.Push(bind="tcp://127.0.0.1:0", overflow="block", send_queue_messages=10, linger=0.5)
    pull = mm.Pull(connect=[push.endpoint], heartbeat_interval=None)
    assert_type(push.send_many([b"a", bytearray(b"b")]), int)
    assert_type(pull.recv(timeout=1.0), mm.Message)
    assert_type(pull.recv_many(10), list[mm.Message])
    assert_type(pull.recv_frames(), list[bytes])
    assert_type(push.drain(timeout=1), mm.DrainReport)
    assert_type(push.peers(), list[mm.PeerInfo])
    assert_type(push.stats().closed[mm.Reason.EOF], int)
    for message in pull:
        assert_type(message, mm.Message)
        assert_type(message.topic, str)
    for request in mm.Rep(bind="inproc://x"):
        assert_type(request.reply(b"x"), bool)
    assert_type(mm.Req(connect="inproc://x").request(b"q", retries=2), mm.Message)
    with SimWorld(1) as world:
        assert_type(world.engine(), mm.Engine)


async def awaited() -> None:
    """The asyncio ones."""
    pull = aio.Pull(bind="tcp://127.0.0.1:0")
    assert_type(await pull.recv(), mm.Message)
    assert_type(await aio.Req(connect=pull.endpoint).request(b"q"), mm.Message)
    async for message in pull:
        assert_type(message, mm.Message)
    async for request in aio.Rep(bind="inproc://x"):
        assert_type(request.reply(b"x"), bool)
