"""no_peer in an event loop: as of threads (tests/sim/test_no_peer)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.linked import turns
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
TRIES = 3
CALLS: dict[str, Callable[[Any, float | None], Awaitable[object]]] = {
    "send": lambda socket, timeout: socket.send(b"x", timeout=timeout),
    "buffer": lambda socket, timeout: socket.send(bytearray(b"x"), timeout=timeout),
    "frames": lambda socket, timeout: socket.send_frames([b"x", b"y"], timeout=timeout),
    "many": lambda socket, timeout: socket.send_many([b"x"], timeout=timeout),
    "stream": lambda socket, timeout: socket.send_many(iter([b"x"]), timeout=timeout),
}
KINDS = {
    "Push": (aio.Push, b"PULL"),
    "Dealer": (aio.Dealer, b"DEALER"),
    "Pair": (aio.Pair, b"PAIR"),
}


@pytest.mark.parametrize("timeout", [None, WAIT_S, 0])
@pytest.mark.parametrize("role", KINDS)
def test_what_nobody_is_there_for_is_dropped_or_refused_at_once(
    role: str, timeout: float | None
) -> None:
    """By each call; what is dropped is counted and told."""

    async def run() -> None:
        async with KINDS[role][0](bind=UP, no_peer="drop") as socket:
            for call in CALLS.values():
                await call(socket, timeout)
            told = [event for event in socket.events() if event.kind == mm.EventKind.DROPPED]
            stats = socket.stats()
            assert stats.sent_messages == stats.dropped_no_peer == len(CALLS)
            assert told
        async with KINDS[role][0](bind=UP, no_peer="error") as socket:
            for call in CALLS.values():
                with pytest.raises(mm.WouldBlockError):
                    await call(socket, timeout)
            assert socket.stats().sent_messages == 0

    asyncio.run(run())


@pytest.mark.parametrize("overflow", ["block", "error", "drop_newest"])
@pytest.mark.parametrize("call", CALLS)
def test_block_waits_for_a_peer_whatever_a_full_queue_does(call: str, overflow: Any) -> None:
    """It comes while the call waits."""

    async def run() -> list[bytes]:
        async with aio.Push(bind=UP, no_peer="block", overflow=overflow) as push:
            with pytest.raises(mm.TimedOutError):
                await CALLS[call](push, 0.01)
            sending = asyncio.ensure_future(CALLS[call](push, WAIT_S))
            await turns()
            assert not sending.done()
            async with aio.Pull(connect=push.endpoint) as pull:
                await sending
                assert push.stats().dropped == 0
                return await pull.recv_frames(timeout=WAIT_S)

    assert asyncio.run(run())[0] == b"x"


@pytest.mark.parametrize("no_peer", ["error", "drop"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", KINDS)
def test_who_waits_for_room_when_the_last_peer_leaves_learns_of_it(
    role: str, call: str, no_peer: Any
) -> None:
    """What it waits with is refused, or dropped; again, if the kernel had room for it after all."""

    async def waited() -> bool:
        kind, peer = KINDS[role]
        async with kind(bind=UP, no_peer=no_peer, send_queue_messages=1) as socket:
            with RawPeer(socket.endpoint).shake(peer):
                await socket.wait_for_peers(timeout=WAIT_S)
                with pytest.raises(mm.WouldBlockError):
                    while True:
                        await socket.send(bytes(500_000), timeout=0)
                before = socket.stats().sent_messages
                sending = asyncio.ensure_future(CALLS[call](socket, None))
                await turns()
            done = (await asyncio.gather(sending, return_exceptions=True))[0]
            stats = socket.stats()
            if no_peer == "error" and isinstance(done, mm.WouldBlockError):
                return stats.sent_messages == before
            assert not isinstance(done, BaseException)
            assert stats.sent_messages == before + 1
            return stats.dropped_no_peer == 1

    async def run() -> bool:
        return any([await waited() for _ in range(TRIES)])

    assert asyncio.run(run())


def test_a_request_to_nobody_is_refused() -> None:
    """At once."""

    async def run() -> None:
        async with aio.Req(bind=UP, no_peer="error") as req:
            with pytest.raises(mm.WouldBlockError):
                await req.request(b"x", timeout=WAIT_S)

    asyncio.run(run())
