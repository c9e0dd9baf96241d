"""A Sub that is said to have something gives something: Poller, fileno(), asyncio.

What was queued under a topic that is no longer subscribed to is nothing to give, wherever it waits.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, endpoint_for, wait_until

MANY = 300


def by_poller(sub: mm.Sub) -> Callable[[], bool]:
    """Ask a Poller."""
    poller = mm.Poller([sub])
    return lambda: poller.poll(0) == [sub]


def by_fileno(sub: mm.Sub) -> Callable[[], bool]:
    """Ask select."""
    fd = sub.fileno()
    return lambda: select.select([fd], [], [], 0)[0] == [fd]


ways = pytest.mark.parametrize("ask", [by_poller, by_fileno])
transports = pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc"])


@contextmanager
def filled(transport: str, path: Path, *topics: str) -> Iterator[tuple[mm.Pub, mm.Sub]]:
    """A Sub with many messages of each topic in its queue, one after the other."""
    with (
        mm.Pub(bind=endpoint_for(transport, path), overflow="block") as pub,
        mm.Sub(connect=pub.endpoint, topics=topics) as sub,
    ):
        for topic in topics:
            pub.wait_for_subscribers(topic, timeout=WAIT_S)
            for number in range(MANY):
                pub.send(b"%d" % number, topic=topic, timeout=WAIT_S)
        wait_until(lambda: sub.stats().queued_in_messages == MANY * len(topics))
        yield pub, sub


@ways
@transports
def test_a_sub_with_nothing_left_that_it_wants_is_not_ready(
    ask: Any, transport: str, short_path: Path
) -> None:
    """All that is queued is of the topic that goes: nothing is ready, and all of it is counted."""
    with filled(transport, short_path, "gone") as (pub, sub):
        ready = ask(sub)
        assert ready()
        sub.unsubscribe("gone")
        assert not ready()
        stats = sub.stats()
        assert (stats.queued_in_messages, stats.dropped_filtered) == (0, MANY)
        sub.subscribe("new")
        pub.wait_for_subscribers("new", timeout=WAIT_S)
        pub.send(b"x", topic="new", timeout=WAIT_S)
        wait_until(ready)
        assert sub.recv(timeout=0) == b"x"
        assert not ready()


@ways
@pytest.mark.parametrize("gone", ["first", "last"])
def test_a_sub_is_ready_as_long_as_a_topic_that_stays_has_something(
    ask: Any, gone: str, short_path: Path
) -> None:
    """What goes lies in front of what stays, or behind it: each time it says so, there is one."""
    with filled("tcp", short_path, "first", "last") as (_, sub):
        ready = ask(sub)
        sub.unsubscribe(gone)
        for _ in range(MANY):
            assert ready()
            assert sub.recv(timeout=0).topic != gone
        assert not ready()
        assert sub.stats().dropped_filtered == MANY


@ways
def test_what_an_iteration_prefetched_is_something_to_give(ask: Any, short_path: Path) -> None:
    """It was taken from the queue before: it is given out, and ready as long as it is there."""
    with filled("tcp", short_path, "t") as (_, sub):
        assert next(iter(sub)) == b"0"
        held = MANY - 1
        ready = ask(sub)
        sub.unsubscribe("t")
        given = 0
        while ready():
            assert sub.recv(timeout=0).topic == "t"
            given += 1
        assert given + sub.stats().dropped_filtered == held
        with pytest.raises(mm.WouldBlockError):
            sub.recv(timeout=0)


@ways
def test_what_comes_and_was_never_asked_for_makes_nothing_ready(ask: Any) -> None:
    """A publisher of ill manners sends what nobody subscribed to, alone and in between."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        mm.Sub(connect=f"tcp://127.0.0.1:{server.getsockname()[1]}", topics="good") as sub,
    ):
        peer, _ = server.accept()
        with peer:
            bad = ref.message(b"bad", b"x")
            peer.sendall(ref.greeting() + ref.ready(b"PUB") + bad * MANY)
            ready = ask(sub)
            wait_until(lambda: sub.stats().dropped_filtered == MANY)
            assert not ready()
            peer.sendall(bad + ref.message(b"good", b"1") + bad + bad + ref.message(b"good", b"2"))
            for body in (b"1", b"2"):
                wait_until(ready)
                assert sub.recv(timeout=0) == body
            assert not ready()


def test_an_asyncio_sub_does_not_wake_for_what_is_gone(short_path: Path) -> None:
    """A receive waits on, and gets what comes later; its descriptor says the same."""

    async def scene() -> None:
        async with (
            aio.Pub(bind=endpoint_for("tcp", short_path)) as pub,
            aio.Sub(connect=pub.endpoint, topics=["gone", "stays"]) as sub,
        ):
            fd = sub.fileno()
            await pub.wait_for_subscribers("gone", timeout=WAIT_S)
            await pub.wait_for_subscribers("stays", timeout=WAIT_S)
            for number in range(MANY):
                await pub.send(b"%d" % number, topic="gone", timeout=WAIT_S)
            while sub.stats().queued_in_messages < MANY:
                await asyncio.sleep(0)
            assert select.select([fd], [], [], 0)[0] == [fd]
            sub.unsubscribe("gone")
            assert select.select([fd], [], [], 0)[0] == []
            waiting = asyncio.ensure_future(sub.recv(timeout=WAIT_S))
            await pub.send(b"x", topic="stays", timeout=WAIT_S)
            assert (await waiting) == b"x"

    asyncio.run(scene())
