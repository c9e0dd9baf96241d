"""Sub(conflate=): only the newest is kept, however it is received, and while nobody receives."""

from __future__ import annotations

import asyncio
import select
import threading
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, endpoint_for, wait_until
from tests.support.room import UP, room
from tests.support.stalled import PATIENCE_S

MANY = 5000
transports = pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc", "sp+tcp"])


def joined(transport: str, path: Path, **options: Any) -> tuple[mm.Pub, mm.Sub]:
    """A publisher that waits for room, and a Sub of everything that keeps the newest."""
    pub = mm.Pub(bind=endpoint_for(transport.removeprefix("sp+"), path), overflow="block")
    url = f"sp+{pub.endpoint}" if transport.startswith("sp+") else pub.endpoint
    sub = mm.Sub(connect=url, topics=["t", "u"], **options)
    pub.wait_for_subscribers("t", timeout=WAIT_S)
    pub.wait_for_subscribers("u", timeout=WAIT_S)
    return pub, sub


def parsed(sub: mm.Sub, count: int) -> None:
    """So many messages have come."""
    wait_until(lambda: sub.stats().parsed_messages == count)


@transports
def test_the_newest_is_there_after_many_that_nobody_received(
    transport: str, short_path: Path
) -> None:
    """Queues of two messages: nothing waits, nothing grows, the publisher is never held up."""
    options = {"recv_queue_messages": 2, "conflate": True}
    pub, sub = joined(transport, short_path, **options)
    with pub, sub:
        pub.send(bytes(1000), topic="t", timeout=WAIT_S)
        parsed(sub, 1)
        before = live_bytes()
        for number in range(MANY):
            pub.send(b"%d" % number, topic="t", timeout=WAIT_S)
        parsed(sub, MANY + 1)
        assert live_bytes() - before < 2 << 20
        newest = sub.recv(timeout=0)
        assert newest.endswith(b"%d" % (MANY - 1))
        with pytest.raises(mm.WouldBlockError):
            sub.recv(timeout=0)
        stats = sub.stats()
        assert stats.dropped_conflated == stats.dropped == MANY
        assert stats.parsed_messages == stats.received_messages + stats.dropped


@transports
def test_of_each_topic_the_newest_is_there(transport: str, short_path: Path) -> None:
    """Two topics in turn; over SP it is the subscription that tells them apart."""
    pub, sub = joined(transport, short_path, conflate="topic")
    with pub, sub:
        for number in range(MANY):
            pub.send(b"%d" % number, topic="tu"[number % 2], timeout=WAIT_S)
        parsed(sub, MANY)
        found = sub.recv_many(timeout=0)
        found += [sub.recv(timeout=0)] if len(found) == 1 else []
        assert [int(bytes(body).lstrip(b"tu")) for body in found] == [MANY - 2, MANY - 1]
        assert sub.stats().dropped_conflated == MANY - 2


def test_messages_of_several_frames_stay_whole(short_path: Path) -> None:
    """Small ones, large ones, and empty frames."""
    pub, sub = joined("tcp", short_path, conflate="topic")
    with pub, sub:
        for number in range(100):
            for topic in (b"t", b"u"):
                body = b"%d" % number * (20_000 if number % 10 == 9 else 1)
                pub.send_frames([topic, b"", body], timeout=WAIT_S)
        parsed(sub, 200)
        for topic in (b"t", b"u"):
            assert sub.recv_frames(timeout=0) == [topic, b"", b"99" * 20_000]


@pytest.mark.parametrize("how", ["recv", "recv_many", "recv_batch", "for", "poller", "fileno"])
def test_no_older_one_comes_after_a_newer_one(how: str, short_path: Path) -> None:
    """Received in every way while it is published; the last of each topic comes in the end."""
    pub, sub = joined("tcp", short_path, conflate="topic")
    last = {"t": -1, "u": -1}

    def take(messages: Any) -> None:
        for message in messages:
            number = int(message)
            assert number > last["tu"[number % 2]]
            last["tu"[number % 2]] = number

    def publish() -> None:
        for number in range(MANY):
            pub.send(b"%d" % number, topic="tu"[number % 2], timeout=WAIT_S)

    with pub, sub:
        poller = mm.Poller([sub])
        fd = sub.fileno() if how == "fileno" else -1
        thread = threading.Thread(target=publish)
        thread.start()
        stream = iter(sub)
        while min(last.values()) < MANY - 2:
            if how == "recv":
                take([sub.recv(timeout=WAIT_S)])
            elif how == "recv_many":
                take(sub.recv_many(timeout=WAIT_S))
            elif how == "recv_batch":
                take(sub.recv_batch(timeout=WAIT_S))
            elif how == "for":
                take([next(stream)])
            elif how == "poller":
                assert poller.poll(WAIT_S) == [sub]
                take([sub.recv(timeout=0)])
            else:
                assert select.select([fd], [], [], WAIT_S)[0] == [fd]
                take([sub.recv(timeout=0)])
        thread.join(WAIT_S)
        assert poller.poll(0) == []


def test_an_iteration_is_given_what_is_newest_when_it_asks(short_path: Path) -> None:
    """Nothing is taken ahead: what came while a message was worked on is what comes next."""
    pub, sub = joined("inproc", short_path, conflate="topic")
    with pub, sub:
        stream = iter(sub)
        for number in range(10):
            for topic in ("t", "u"):
                pub.send(b"%d" % number, topic=topic, timeout=WAIT_S)
        parsed(sub, 20)
        assert next(stream) == b"9"
        pub.send(b"newer", topic="u", timeout=WAIT_S)
        parsed(sub, 21)
        assert next(stream) == b"newer"


def test_an_asyncio_sub_keeps_the_newest(short_path: Path) -> None:
    """The same, awaited and iterated over."""

    async def scene() -> None:
        async with (
            aio.Pub(bind=endpoint_for("tcp", short_path), overflow="block") as pub,
            aio.Sub(connect=pub.endpoint, topics="", conflate=True) as sub,
        ):
            await pub.wait_for_subscribers("", timeout=WAIT_S)
            for number in range(MANY):
                await pub.send(b"%d" % number, topic="t", timeout=WAIT_S)
            while sub.stats().parsed_messages < MANY:
                await asyncio.sleep(0)
            assert await sub.recv(timeout=0) == b"%d" % (MANY - 1)
            await pub.send(b"a", timeout=WAIT_S)
            async for message in sub:
                assert message == b"a"
                break
            waiting = asyncio.ensure_future(sub.recv_batch(timeout=WAIT_S))
            await pub.send(b"b", timeout=WAIT_S)
            assert list(await waiting) == [b"b"]

    asyncio.run(scene())


def test_over_its_limits_the_oldest_topic_goes() -> None:
    """Simulated: of ten topics three fit; the drops are told."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        sub = r.open(
            "Sub", connect=pub.endpoint, topics="", conflate="topic", recv_queue_messages=3
        )
        pub.wait_for_subscribers("", timeout=PATIENCE_S)
        for number in range(10):
            pub.send(b"x", topic=f"{number}")
        pub.drain(timeout=PATIENCE_S)
        assert [sub.recv(timeout=0).topic for _ in range(3)] == ["7", "8", "9"]
        stats = sub.stats()
        assert (stats.dropped_overflow, stats.dropped_conflated) == (7, 0)
        assert any(event.kind == mm.EventKind.DROPPED for event in sub.events())


@pytest.mark.parametrize("bad", ["topics", 1.5, None, "True"])
def test_conflate_is_one_of_three(bad: Any) -> None:
    """Anything else says what it may be."""
    for module in (mm, aio):
        with pytest.raises(mm.UsageError, match=r"conflate is .*; it is False, True or 'topic'"):
            module.Sub(conflate=bad)
