"""What a Push or a Pub makes of messages that were put by `append`, with all that it can say.

Not here: what `append` takes (test_spool_options.py). Both worlds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World, nothing, told
from tests.support.grouped import member
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def test_a_pub_publishes_under_the_topic_that_was_put(world: World, tmp_path: Path) -> None:
    """Once for each origin: to those who ask for it, live, of a replay and of a group alike."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        pub.seek_group("w", "earliest")
        with world.socket("Sub", connect=pub.endpoint, topics="order.") as live:
            pub.wait_for_subscribers("order.", timeout=WAIT_S)
            for number in (1, 1, 2):
                spool.append(b"%d" % number, topic="order.eu", key="k", origin=("orders", number))
            spool.append_many([b"other"], topic="trade.eu")
            pub.send(b"3", topic="order.eu")
            for made in (
                live,
                world.socket("Sub", connect=pub.endpoint, topics="order.", replay="earliest"),
                member(world, pub, topics="order."),
            ):
                with made as sub:
                    got = [sub.recv(timeout=WAIT_S) for _ in range(3)]
                    assert [bytes(one) for one in got] == [b"1", b"2", b"3"]
                    assert {one.topic for one in got} == {"order.eu"}
                    assert [one.key for one in got] == [b"k", b"k", None]
                    nothing(sub)


def test_a_push_sends_it_when_it_is_time(world: World, tmp_path: Path) -> None:
    """With its topic as a first frame; what is for later is not sent, whatever is behind it."""
    with world.life(tmp_path / "s") as (spool, push):
        spool.append(b"later", delay=3600)
        spool.append(b"then", at=time.time() + 3600)
        spool.append(b"now", topic="t", at=time.time() - 5)
        spool.append_many([b"soon"], delay=0.05)
        with world.socket("Pull", connect=push.endpoint) as pull:
            got = [pull.recv(timeout=WAIT_S) for _ in range(2)]
            assert [one.frames for one in got] == [(b"t", b"now"), (b"soon",)]
            nothing(pull)


def test_a_push_sends_what_is_urgent_first(world: World, tmp_path: Path) -> None:
    """Of what it has in its queues; one beyond its levels is as its highest."""
    with world.spool(tmp_path / "s") as spool:
        for number, priority in enumerate((0, 1, 0, 9, 2)):
            spool.append(b"%d" % number, priority=priority)
        with world.push(spool, priorities=3) as push:
            wait_until(lambda: push.stats().queued_out_messages == 5)
            with world.socket("Pull", connect=push.endpoint) as pull:
                got = [bytes(pull.recv(timeout=WAIT_S)) for _ in range(5)]
        assert got == [b"3", b"4", b"1", b"0", b"2"]


def test_what_is_over_is_not_sent(world: World, tmp_path: Path) -> None:
    """`expires` is until when: a Push drops it, a replay leaves it out; in the spool it stays."""
    with world.life(tmp_path / "a") as (spool, push):
        spool.append(b"old", expires=time.time() - 5)
        spool.append(b"new", expires=time.time() + 3600)
        with world.socket("Pull", connect=push.endpoint) as pull:
            one = pull.recv(timeout=WAIT_S)
            assert (bytes(one), one.expires > time.time()) == (b"new", True)
        assert told(push, mm.EventKind.DROPPED).count == 1
    with publishing(world, tmp_path / "b") as (spool, pub):
        spool.append(b"old", topic="t", expires=time.time() - 5)
        spool.append(b"new", topic="t")
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            assert bytes(sub.recv(timeout=WAIT_S)) == b"new"


def test_a_group_gets_it_when_it_is_time_and_others_at_once(world: World, tmp_path: Path) -> None:
    """A member as of a Push; a subscriber that is in none as a reader."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        pub.seek_group("w", "earliest")
        spool.append(b"later", topic="t", delay=3600)
        spool.append(b"now", topic="t")
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            got = [bytes(sub.recv(timeout=WAIT_S)) for _ in range(2)]
            assert got == [b"later", b"now"]
        with member(world, pub) as one:
            message: Any = one.recv(timeout=WAIT_S)
            assert bytes(message) == b"now"
            nothing(one)
