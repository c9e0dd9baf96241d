"""Messages of one frame and of several, mixed, as each role gives them out: however they are
received, each is what the frames that were sent say, to the octet.

Not here: order and loss (test_prefetch.py), memory (test_ready_no_memory.py), questions and answers
(test_request_frames.py).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.pairs import WAIT_S, joined

COUNT = 60
LARGE = 300_000
"""Bytes: such a frame is handed over by reference, in a batch of its own."""
Shape = tuple[bytes, tuple[bytes, ...], Any, str, str]


def some_frames(seed: int, least: int = 1) -> list[list[bytes]]:
    """Messages of one to five frames, some of them empty, not UTF-8 or large."""
    rng = random.Random(seed)
    messages = [
        [rng.randbytes(rng.choice((0, 1, 7, 40, 200))) for _ in range(rng.randint(least, 5))]
        for _ in range(COUNT)
    ]
    for i in (3, COUNT // 2, COUNT - 1):
        messages[i][rng.randrange(len(messages[i]))] = rng.randbytes(LARGE)
    for frames in messages:
        frames[0] = b"\xc3" + frames[0]  # no UTF-8; nor what an XPub takes for a subscription
    return messages


def shape(message: Any) -> Shape:
    """All that can be seen of a message."""
    return bytes(message), message.frames, message.peer, message.topic, type(message).__name__


def whole(frames: list[bytes], peer: int) -> Shape:
    """What most roles make of frames."""
    one = "Message" if len(frames) == 1 else "FullMessage"
    return frames[-1], tuple(frames), peer, "", one


def topical(frames: list[bytes], peer: int) -> Shape:
    """What a subscriber makes of them: the first of several is the topic."""
    body, all_of_it, peer, topic, name = whole(frames, peer)
    if len(frames) > 1:
        topic = frames[0].decode("utf-8", "surrogateescape")
    return body, all_of_it, peer, topic, name


def routed(frames: list[bytes], peer: int) -> Shape:
    """What a Router makes of those behind the identity."""
    return frames[-1], tuple(frames), NAME, "", "FullMessage"


NAME = b"\xffname"
Form = Callable[[list[bytes], int], Shape]
ROLES: dict[str, tuple[str, str, Form, dict[str, Any]]] = {
    "pull": ("Pull", "Push", whole, {}),
    "pair": ("Pair", "Pair", whole, {}),
    "bus": ("Bus", "Bus", whole, {}),
    "dealer": ("Dealer", "Dealer", whole, {}),
    "router": ("Router", "Dealer", routed, {"identity": NAME}),
    "sub": ("Sub", "Pub", topical, {}),
    "xsub": ("XSub", "XPub", topical, {}),
    "xpub": ("XPub", "XSub", whole, {}),
}


def recv_each(socket: Any, count: int) -> list[Any]:
    """Wait up to a time for each."""
    return [socket.recv(timeout=WAIT_S) for _ in range(count)]


def recv_each_for_ever(socket: Any, count: int) -> list[Any]:
    """Wait for each as long as it takes."""
    return [socket.recv() for _ in range(count)]


def iterate(socket: Any, count: int) -> list[Any]:
    """Loop."""
    return [message for _, message in zip(range(count), socket)]  # noqa: B905


def recv_after_iterating(socket: Any, count: int) -> list[Any]:
    """What a loop prefetched, one by one."""
    return [next(iter(socket)), *recv_each_for_ever(socket, count - 1)]


def many(socket: Any, count: int) -> list[Any]:
    """Some at a time."""
    found: list[Any] = []
    while len(found) < count:
        found += socket.recv_many(7, timeout=WAIT_S)
    return found


def polled(socket: Any, count: int) -> list[Any]:
    """As a poller tells of them, so that none is prefetched."""
    found: list[Any] = []
    with mm.Poller([socket]) as poller:
        while len(found) < count:
            assert poller.poll(WAIT_S) == [socket]
            found.append(socket.recv(timeout=0))
    return found


def many_after_one(socket: Any, count: int) -> list[Any]:
    """What a loop prefetched, some at a time."""
    return [next(iter(socket)), *many(socket, count - 1)]


WAYS = [recv_each, recv_each_for_ever, iterate, recv_after_iterating, many, polled, many_after_one]


def sent_to(role: str, module: Any = mm) -> tuple[Any, Any, Form]:
    """The class that receives, one that opens who sends, and what is made of frames."""
    receiver, sender, form, options = ROLES[role]
    opening = {"recv_queue_bytes": 2**26, "recv_queue_messages": 1000}
    sending = {"send_queue_bytes": 2**26, "send_queue_messages": 1000, **options}

    def receiving(**given: Any) -> Any:
        return getattr(module, receiver)(**opening, **given)

    def from_there(**given: Any) -> Any:
        return getattr(mm, sender)(**sending, **given)

    return receiving, from_there, form


def subscribed(role: str, receiver: Any, sender: Any) -> None:
    """Have what is published come here."""
    if role in ("sub", "xsub"):
        receiver.subscribe(b"")
        sender.wait_for_subscribers(timeout=WAIT_S)


def send_all(sender: Any, messages: list[list[bytes]]) -> None:
    """Send them, and wait until the peer has them."""
    for frames in messages:
        sender.send_frames(frames)
    sender.drain(timeout=WAIT_S)


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:0", "inproc://formed"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", ROLES)
def test_a_message_is_what_its_frames_say(
    role: str, way: Callable[[Any, int], list[Any]], url: str
) -> None:
    """Whatever came with it."""
    receiving, sending, form = sent_to(role)
    messages = some_frames(7)
    with joined(receiving, sending, url) as (receiver, sender):
        subscribed(role, receiver, sender)
        peer = receiver.peers()[0].id
        send_all(sender, messages)
        found = way(receiver, COUNT)
        assert [shape(message) for message in found] == [form(f, peer) for f in messages]
        assert all(type(frame) is bytes for message in found for frame in message.frames)


@pytest.mark.parametrize("role", ROLES)
def test_recv_frames_gives_the_frames(role: str) -> None:
    """All of them; of a Router the identity first."""
    receiving, sending, _ = sent_to(role)
    messages = some_frames(9)
    first = [NAME] if role == "router" else []
    with joined(receiving, sending) as (receiver, sender):
        subscribed(role, receiver, sender)
        send_all(sender, messages)
        for frames in messages:
            assert receiver.recv_frames(timeout=WAIT_S) == first + frames


async def aio_recv(socket: Any, count: int) -> list[Any]:
    """Await each."""
    return [await socket.recv() for _ in range(count)]


async def aio_iterate(socket: Any, count: int) -> list[Any]:
    """Loop."""
    found: list[Any] = []
    async for message in socket:
        found.append(message)
        if len(found) == count:
            break
    return found


async def aio_many(socket: Any, count: int) -> list[Any]:
    """Some at a time."""
    found: list[Any] = []
    while len(found) < count:
        found += await socket.recv_many(7, timeout=WAIT_S)
    return found


@pytest.mark.parametrize("way", [aio_recv, aio_iterate, aio_many])
@pytest.mark.parametrize("role", ROLES)
def test_in_a_loop_it_is_the_same(
    role: str, way: Callable[[Any, int], Awaitable[list[Any]]]
) -> None:
    """Sent by a thread's socket."""
    receiving, sending, form = sent_to(role, aio)
    messages = some_frames(11)

    async def run() -> None:
        async with receiving(bind="tcp://127.0.0.1:0") as receiver:
            with sending(connect=receiver.endpoint) as sender:
                await receiver.wait_for_peers(timeout=WAIT_S)
                sender.wait_for_peers(timeout=WAIT_S)
                subscribed(role, receiver, sender)
                peer = receiver.peers()[0].id
                send_all(sender, messages)
                found = await way(receiver, COUNT)
                assert [shape(message) for message in found] == [form(f, peer) for f in messages]

    asyncio.run(run())


@pytest.mark.parametrize("make", [recv_each, iterate, many])
def test_the_frames_of_a_request_are_those_behind_its_way_back(make: Any) -> None:
    """Also when it came with others."""
    messages = some_frames(13)
    with joined(mm.Rep, mm.Dealer) as (rep, dealer):
        for frames in messages:
            dealer.send_frames([b"way", b"back", b"", *frames])
        dealer.drain(timeout=WAIT_S)
        found = make(rep, COUNT)
        peer = rep.peers()[0].id
        expected = [(f[-1], tuple(f), peer, "", "Request") for f in messages]
        assert [shape(message) for message in found] == expected
        found[0].reply(b"x")
        assert dealer.recv_frames(timeout=WAIT_S) == [b"way", b"back", b"", b"x"]


def test_what_waits_behind_the_first_counts_with_its_identity() -> None:
    """As the core counts what a Router received: all that is queued is as large as it was there."""
    frames = [b"12345", b"678"]
    with joined(mm.Router, mm.Dealer) as (router, dealer):
        for _ in range(5):
            dealer.send_frames(frames)
        dealer.drain(timeout=WAIT_S)
        first = next(iter(router))
        each = len(first.peer) + sum(map(len, frames))
        stats = router.stats()
        assert (stats.received_messages, stats.queued_in_messages) == (1, 4)
        assert (stats.received_bytes, stats.queued_in_bytes) == (each, 4 * each)
