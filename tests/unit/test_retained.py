"""`Pub(retain="last")`: who subscribes gets the last message of each topic, and then what comes.

Not here: from a spool (test_retained_spool.py), the rules peer by peer (tests/c/test_retained.c),
peers of other libraries (tests/interop/test_retained.py).
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from meshmsg import aio
from meshmsg._events.event_log import EventLog
from tests.support.feeding import UP, World, nothing
from tests.support.inloop import LoopThread
from tests.support.mm import ffi, lib
from tests.support.pairs import WAIT_S, endpoint_for, wait_until

transports = pytest.mark.parametrize("transport", ["tcp", "ipc", "inproc", "sp+tcp"])
MANY = 3000


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def retaining(world: World, **options: Any) -> Any:
    """A Pub that retains."""
    return world.socket("Pub", retain="last", **{"bind": UP, **options})


def came(sub: Any, count: int) -> list[tuple[str, bytes]]:
    """Receive so many: topic and body of each."""
    messages = [sub.recv(timeout=WAIT_S) for _ in range(count)]
    return [(str(m.topic), bytes(m)) for m in messages]


@transports
def test_who_subscribes_gets_the_last_of_each_topic_and_then_what_comes(
    world: World, transport: str, short_path: Path
) -> None:
    """On every transport, also over SP, where the body begins with the topic."""
    sp = transport.startswith("sp+")
    with retaining(world, bind=endpoint_for(transport.removeprefix("sp+"), short_path)) as pub:
        for number in range(3):
            pub.send(b"%d" % number, topic="a.1")
        pub.send(b"x", topic="a.2")
        pub.send(b"no", topic="b")
        url = f"sp+{pub.endpoint}" if sp else pub.endpoint
        with world.socket("Sub", connect=url, topics="a.") as sub:
            first = came(sub, 2)
            pub.wait_for_subscribers("a.", timeout=WAIT_S)
            pub.send(b"3", topic="a.1")
            found = sorted(first) + came(sub, 1)
            wanted = [("a.1", b"2"), ("a.2", b"x"), ("a.1", b"3")]
            assert found == [("", t.encode() + b) if sp else (t, b) for t, b in wanted]
            nothing(sub)
        assert pub.stats().retained_topics == 3


def test_all_ways_to_send_retain(world: World) -> None:
    """Bodies, frames, many, Arrow; with what goes with them; large ones."""
    with retaining(world) as pub:
        pub.send(b"b" * 100_000, topic="large", key=b"k", headers={"h": "v"})
        pub.send_frames([b"f1", b"", b"f3"], topic="frames")
        pub.send_frames([b"own", b"f"])
        assert pub.send_many([b"m%d" % i for i in range(500)]) == 500
        assert pub.stats().retained_topics == 4
        assert bytes(pub.retained("")) == b"m499"
        assert pub.send_batch(pa.array([b"a", b"last"], pa.binary())) == 2
        with world.socket("Sub", connect=pub.endpoint, topics="") as sub:
            got = {str(m.topic): m for m in [sub.recv(timeout=WAIT_S) for _ in range(4)]}
        assert (got["large"], got["large"].key) == (b"b" * 100_000, b"k")
        assert got["large"].headers == {"h": "v"}
        assert got["frames"].frames == (b"frames", b"f1", b"", b"f3")
        assert got["own"] == b"f"
        assert (got[""], got[""].topic) == (b"last", "")
        kept = pub.retained("large")
        assert (kept, kept.topic, kept.key) == (got["large"], "large", b"k")
        assert pub.retained("larg") is None


def test_an_empty_body_is_published_and_clears_its_topic(world: World) -> None:
    """As of MQTT."""
    with retaining(world) as pub, world.socket("Sub", connect=pub.endpoint, topics="") as live:
        pub.wait_for_subscribers(timeout=WAIT_S)
        pub.send(b"1", topic="t")
        pub.send(b"", topic="t")
        assert came(live, 2) == [("t", b"1"), ("t", b"")]
        stats = pub.stats()
        assert (stats.retained_topics, stats.retained_bytes) == (0, 0)
        assert pub.retained("t") is None
        with world.socket("Sub", connect=pub.endpoint, topics="t") as late:
            pub.wait_for_subscribers("t", 2, timeout=WAIT_S)
            pub.send(b"2", topic="t")
            assert came(late, 1) == [("t", b"2")]


def test_each_new_subscription_gets_what_it_brings_and_overlapping_ones_once(world: World) -> None:
    """A later topic of the same peer as well; a wider one only what is new."""
    with retaining(world) as pub:
        for topic in ("a", "ab", "abc", "b"):
            pub.send(topic.encode(), topic=topic)
        with world.socket("Sub", connect=pub.endpoint, topics=["ab", "a"]) as sub:
            assert sorted(came(sub, 3)) == [("a", b"a"), ("ab", b"ab"), ("abc", b"abc")]
            sub.subscribe("")
            assert came(sub, 1) == [("b", b"b")]
            sub.subscribe("abc")
            sub.unsubscribe("")
            sub.subscribe("b")
            assert came(sub, 1) == [("b", b"b")]
            nothing(sub)


def test_more_topics_than_a_queue_holds_go_out_as_there_is_room(world: World) -> None:
    """Nothing is dropped, and the outbox is never more than half full of them."""
    with retaining(world, send_queue_messages=4) as pub:
        for number in range(MANY):
            pub.send(b"v", topic=f"{number}")
        with (
            world.socket("Sub", connect=pub.endpoint, topics="", recv_queue_messages=1) as slow,
            world.socket("Sub", connect=pub.endpoint, topics="", recv_queue_messages=1) as other,
        ):
            pub.wait_for_subscribers(count=2, timeout=WAIT_S)
            assert pub.stats().queued_out_messages <= 6
            assert {t for t, _ in came(slow, MANY)} == {f"{i}" for i in range(MANY)}
            assert len(set(came(other, MANY))) == MANY
            stats = pub.stats()
            assert (stats.dropped, stats.retained_sent) == (0, 2 * MANY)
            copies = stats.retained_sent + stats.sent_messages - stats.unwanted_messages
            assert stats.written_messages + stats.queued_out_messages == copies


def test_drain_waits_for_what_is_owed(world: World) -> None:
    """All of it is with its subscriber then."""
    with retaining(world, send_queue_messages=4) as pub:
        for number in range(200):
            pub.send(b"v", topic=f"{number}")
        with world.socket("Sub", connect=pub.endpoint, topics="") as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            report = pub.drain(timeout=WAIT_S)
            assert (report.delivered, report.queued, report.unconfirmed) == (200, 0, 0)
            assert len(came(sub, 200)) == 200


@pytest.mark.parametrize("queue", [1, 6, 1000])
def test_seams_at_random_moments_have_no_gap_and_nothing_twice(world: World, queue: int) -> None:
    """While the publisher sends all the time, and waits for who has no room."""
    chance = random.Random(queue)
    topics = 40
    numbers = [0] * topics
    stop = threading.Event()
    with retaining(world, overflow="block", send_queue_messages=queue) as pub:

        def stream() -> None:
            while not stop.is_set():
                topic = chance.randrange(topics)
                numbers[topic] += 1
                pub.send(b"%d" % numbers[topic], topic=f"t{topic}", timeout=WAIT_S)

        thread = threading.Thread(target=stream)
        thread.start()
        try:
            for wanted in ["", "t1", "t", "t", "", "t2", "t3", "t"] * 3:
                with world.socket("Sub", connect=pub.endpoint, topics=wanted) as sub:
                    last: dict[str, int] = {}
                    for _ in range(300):
                        message = sub.recv(timeout=WAIT_S)
                        topic, number = str(message.topic), int(message)
                        assert number == last.get(topic, number - 1) + 1
                        last[topic] = number
        finally:
            stop.set()
            thread.join()


def test_a_value_is_retained_as_long_as_its_time(world: World) -> None:
    """What has a `ttl` goes by itself when it is over; the others stay."""
    with retaining(world) as pub:
        pub.send(b"soon over", topic="a", ttl=0.001)
        pub.send(b"stays", topic="b", ttl=3600)
        pub.send(b"too", topic="c")
        wait_until(lambda: pub.stats().retained_topics == 2)
        assert pub.retained("a") is None
        with world.socket("Sub", connect=pub.endpoint, topics="") as sub:
            assert sorted(came(sub, 2)) == [("b", b"stays"), ("c", b"too")]
            nothing(sub)


def test_what_finds_no_room_is_sent_counted_and_told(world: World) -> None:
    """Topics that are there stay; one that grows too large has no value then."""
    with (
        retaining(world, retain_topics_max=2, retain_bytes_max=2000) as pub,
        world.socket("Sub", connect=pub.endpoint, topics="") as live,
    ):
        pub.wait_for_subscribers(timeout=WAIT_S)
        for topic in ("a", "b", "c", "b"):
            pub.send(b"v", topic=topic)
        assert [topic for topic, _ in came(live, 4)] == ["a", "b", "c", "b"]
        stats = pub.stats()
        assert (stats.retained_topics, stats.unretained_messages) == (2, 1)
        assert pub.retained("c") is None
        pub.send(b"v" * 2000, topic="b")
        assert pub.retained("b") is None
        assert pub.stats().unretained_messages == 2
        details = [e.detail for e in pub.events() if e.kind is mm.EventKind.NOT_RETAINED]
        assert details[0] == "no room for one topic more (retain_topics_max)"
        assert pub.stats().dropped == 0


def test_a_replay_of_a_pub_without_a_spool_is_what_is_retained(world: World) -> None:
    """It gives no replay, and so what any subscriber gets."""
    with retaining(world) as pub:
        pub.send(b"v", topic="t")
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            assert came(sub, 1) == [("t", b"v")]


def test_who_comes_again_gets_them_again(world: World) -> None:
    """It may have missed what came meanwhile: the last of each topic is there."""
    with retaining(world) as pub, world.socket("Sub", topics="t") as sub:
        for number in range(3):
            pub.send(b"%d" % number, topic="t")
            sub.connect(pub.endpoint)
            assert came(sub, 1) == [("t", b"%d" % number)]
            sub.disconnect(pub.endpoint)
            wait_until(lambda: not pub.peers())


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"retain": "all"}, mm.UsageError, "retain is 'all'; it is 'last' or None"),
        ({"retain": True}, TypeError, "retain is True; it is 'last' or None"),
        ({"retain_topics_max": 5}, mm.UsageError, "max is for a Pub with retain='last'"),
        ({"retain": "last", "retain_topics_max": 0}, mm.UsageError, "a whole number from 1 to"),
        ({"retain": "last", "retain_topics_max": 2**30 + 1}, mm.UsageError, "from 1 to 107374182"),
        ({"retain": "last", "retain_bytes_max": 1.5}, TypeError, "retain_bytes_max is 1.5"),
    ],
)
def test_what_is_wrong_is_said(options: Any, error: Any, words: str) -> None:
    """In both worlds, before anything is opened."""
    for module in (mm, aio):
        with pytest.raises(error, match=words):
            module.Pub(**options)


def test_only_a_pub_retains() -> None:
    """Of an XPub its user decides what who subscribes gets."""
    for module in (mm, aio):
        with pytest.raises(TypeError, match=r"'retain'; use retain= of a Pub: no other role"):
            module.XPub(retain="last")
    with mm.Pub() as pub, pytest.raises(mm.UsageError, match="retains nothing; open it with"):
        pub.retained("t")


def test_the_core_refuses_it_of_another_role() -> None:
    """A C program is told by the code."""
    opts, out = ffi.new("mm_socket_opts *"), ffi.new("mm_handle *")
    with mm.Engine() as engine:
        for role, rc in (
            (lib.MM_PUB, 0),
            (lib.MM_XPUB, lib.MM_EINVAL),
            (lib.MM_SUB, lib.MM_EINVAL),
        ):
            assert lib.mm_socket_defaults(role, opts) == 0
            opts.flags |= lib.MM_OPT_RETAIN
            assert lib.mm_socket_open(engine._handle, role, opts, out) == rc


def test_the_log_says_what_was_not_retained_and_the_limit() -> None:
    """As of drops: how many, why, and what the option is set to."""
    with mm.Pub(retain="last", retain_topics_max=1) as pub:
        for topic in ("a", "b"):
            pub.send(b"v", topic=topic)
        event = next(e for e in pub.events() if e.kind is mm.EventKind.NOT_RETAINED)
    level, words = EventLog("Pub", SimpleNamespace(retain_topics_max=1)).judge(event)
    assert level == logging.WARNING
    assert words == (
        "Pub NOT_RETAINED: 1 message not retained: no room for one topic more (retain_topics_max=1)"
    )


def test_the_limits_may_be_as_large_as_is_said(world: World) -> None:
    """The largest of each."""
    with retaining(world, retain_topics_max=2**30, retain_bytes_max=2**63 - 1) as pub:
        pub.send(b"v", topic="t")
        assert pub.retained("t") == b"v"
