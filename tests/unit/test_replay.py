"""`Pub(spool=)` and `Sub(replay=)`: what was published can be read again, and what comes follows.

Not here: what goes wrong (test_replay_odd.py), what goes over the wire (test_replay_wire.py).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.feeding import World, nothing, taken
from tests.support.lives import life_of
from tests.support.mm import lib
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.replayed import Stream, numbers, publishing, put

SEAMS = 100
SEAMS_EACH = 10
"""Seams of one spool."""
SOON: dict[str, Any] = {"reconnect_min": 0.005, "reconnect_max": 0.01}


FROM = {
    "earliest": 1,
    "seq:1": 1,
    "seq:40": 40,
    "seq:101": 101,
    "seq:102": 101,
    "seq:9000": 101,
    "last:1": 100,
    "last:30": 71,
    "last:100": 1,
    "last:5000": 1,
    "since:1h": 1,
    "since:1d": 1,
    "since:100000000d": 1,
}
"""Of a spool of 100: the number of the first that comes."""


@pytest.mark.parametrize("replay", FROM)
def test_each_kind_begins_where_it_says(world: World, tmp_path: Path, replay: str) -> None:
    """And goes on with what comes, without a gap and without anything twice."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 100)
        with world.socket("Sub", connect=pub.endpoint, topics="", replay=replay) as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            last = put(pub, spool, 50)
            assert numbers(sub, last) == list(range(FROM[replay], last + 1))
            nothing(sub)


@pytest.mark.parametrize("durability", ["buffered", "os", "disk"])
def test_what_is_sent_in_any_way_is_replayed(world: World, tmp_path: Path, durability: str) -> None:
    """Bodies, frames, topics, what goes with a message; empty ones and large ones."""
    with publishing(world, tmp_path / "s", durability=durability) as (spool, pub):
        pub.send(b"")
        pub.send(b"b" * 50_000, topic="t", key=b"k", headers={"h": "v"})
        pub.send_frames([b"f1", b"", b"f3"])
        pub.send_frames([b"f1", b"f2"], topic="t")
        assert pub.send_many([b"m%d" % i for i in range(500)]) == 500
        assert pub.send_batch(pa.array([b"a", b"bb"], pa.binary())) == 2
        for _ in range(2):
            with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
                got = [sub.recv(timeout=WAIT_S) for _ in range(506)]
                assert [m.seq for m in got] == [(life_of(spool), i) for i in range(1, 507)]
                assert (got[0], got[0].topic) == (b"", "")
                assert (got[1], got[1].topic, got[1].key) == (b"b" * 50_000, "t", b"k")
                assert got[1].headers == {"h": "v"}
                assert got[2].frames == (b"f1", b"", b"f3")
                assert got[3].frames == (b"t", b"f1", b"f2")
                assert [*map(bytes, got[4:])] == [b"m%d" % i for i in range(500)] + [b"a", b"bb"]


def test_topics_are_filtered_in_what_was_and_in_what_comes(world: World, tmp_path: Path) -> None:
    """Each subscriber has its own; of a topic that is asked for later only what comes then."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 99, topics=3)
        options: dict[str, Any] = {"connect": pub.endpoint, "replay": "earliest"}
        with (
            world.socket("Sub", topics=["t1"], **options) as one,
            world.socket("Sub", topics=["t0", "t2"], **options) as two,
            world.socket("Sub", topics=["t", "t1"], **options) as every,
        ):
            pub.wait_for_subscribers("t1", 2, timeout=WAIT_S)
            pub.wait_for_subscribers("t2", 2, timeout=WAIT_S)
            last = put(pub, spool, 3, topics=3)
            assert last == 102
            assert numbers(one, 100) == [i for i in range(1, 103) if i % 3 == 1]
            assert numbers(two, 102) == [i for i in range(1, 103) if i % 3 != 1]
            assert numbers(every, 102) == list(range(1, 103))
            one.subscribe("t2")
            pub.wait_for_subscribers("t2", 3, timeout=WAIT_S)
            put(pub, spool, 3, topics=3)
            assert numbers(one, 104) == [103, 104]


def test_who_subscribes_once_it_is_connected_has_its_replay_then(
    world: World, tmp_path: Path
) -> None:
    """Nothing is passed over before it has said what it wants."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 50)
        with world.socket("Sub", connect=pub.endpoint, replay="earliest") as sub:
            sub.wait_for_peers(timeout=WAIT_S)
            put(pub, spool, 10)
            sub.subscribe("")
            assert numbers(sub, 60) == list(range(1, 61))


def one_seam(world: World, pub: Any, last: int, chance: random.Random) -> None:
    """A subscriber comes while messages do, and goes a while behind the seam."""
    kind = chance.choice(["earliest", "last", "seq", "since:1h"])
    count = chance.randrange(1, 200)
    replay = f"{kind}:{count}" if kind in ("last", "seq") else kind
    queue = chance.choice([1, 3, 1000])
    options: dict[str, Any] = {"replay": replay, "recv_queue_messages": queue}
    with world.socket("Sub", connect=pub.endpoint, topics="", **options) as sub:
        got = numbers(sub, last + chance.randrange(1, 20))
    assert got == list(range(got[0], got[-1] + 1))
    if kind in ("earliest", "since:1h"):
        assert got[0] == 1
    if kind == "seq":
        assert got[0] <= count


@pytest.mark.parametrize("size", [20, 3000])
def test_a_hundred_seams_at_random_moments(world: World, tmp_path: Path, size: int) -> None:
    """While the publisher sends all the time: no gap, nothing twice, all in order.

    Each ten have a spool of their own: what is read again grows all the time.
    """
    chance = random.Random(1)
    for part in range(SEAMS // 2 // SEAMS_EACH):
        with (
            publishing(world, tmp_path / f"{part}", segment_bytes=2**20) as (spool, pub),
            Stream(pub, spool, size=size) as stream,
        ):
            for _ in range(SEAMS_EACH):
                one_seam(world, pub, stream.last, chance)


def test_many_are_behind_at_once_and_a_slow_one_holds_up_nobody(
    world: World, tmp_path: Path
) -> None:
    """More than there are readers; the slow one has all of it in the end."""
    count = 2 * lib.MM_REPLAY_READERS_MAX
    small = {"recv_queue_messages": 1, "recv_queue_bytes": 2000}
    with publishing(world, tmp_path / "s", pub_send_queue_messages=50) as (spool, pub):
        options: dict[str, Any] = {"connect": pub.endpoint, "topics": "", "replay": "earliest"}
        put(pub, spool, 700, size=3000)
        slow = [world.socket("Sub", **options, **small) for _ in range(20)]
        pub.wait_for_subscribers(count=20, timeout=WAIT_S)
        quick = [world.socket("Sub", **options) for _ in range(count)]
        pub.wait_for_subscribers(count=20 + count, timeout=WAIT_S)
        last = put(pub, spool, 20, size=3000)
        with world.socket("Sub", connect=pub.endpoint, topics="") as live:
            pub.wait_for_subscribers(count=21 + count, timeout=WAIT_S)
            pub.send(b"x")
            came = (live.recv(timeout=WAIT_S) for _ in range(last + 1))
            assert b"x" in came  # what was put before may come first
        for sub in quick + slow:
            assert numbers(sub, last) == list(range(1, last + 1))
            assert sub.recv(timeout=WAIT_S) == b"x"
        for sub in quick + slow:
            sub.close()


def test_many_that_come_while_somebody_sends_without_a_pause_get_it_all(
    world: World, tmp_path: Path
) -> None:
    """More than there are readers, and none keeps the others, or the engine, from their turn."""
    count = 3 * lib.MM_REPLAY_READERS_MAX
    with publishing(world, tmp_path / "s", durability="os") as (spool, pub):
        put(pub, spool, 300)
        with Stream(pub, spool, pause_s=0) as stream:
            options: dict[str, Any] = {"connect": pub.endpoint, "topics": "", "replay": "earliest"}
            subs = [world.socket("Sub", **options) for _ in range(count)]
            pub.wait_for_subscribers(count=count, timeout=WAIT_S)
            upto = stream.last
            for sub in subs:
                got = numbers(sub, upto)
                assert got == list(range(1, got[-1] + 1))
        for sub in subs:
            sub.close()


def test_one_that_is_behind_as_its_publisher_ends_has_what_there_is_within_linger(
    world: World, tmp_path: Path
) -> None:
    """What its queue has room for; the rest is there for it at the next publisher."""
    with publishing(world, tmp_path / "s", durability="os") as (spool, pub):
        last = put(pub, spool, 900)
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            pub.close()
            assert numbers(sub, last) == list(range(1, last + 1))


def test_one_that_is_too_slow_for_what_comes_reads_it_from_the_spool(
    world: World, tmp_path: Path
) -> None:
    """Others lose what they have no room for; it does not."""
    with publishing(world, tmp_path / "s", pub_send_queue_messages=5) as (spool, pub):
        tiny = {"recv_queue_messages": 1}
        with (
            world.socket("Sub", connect=pub.endpoint, topics="", replay="last:1", **tiny) as behind,
            world.socket("Sub", connect=pub.endpoint, topics="", **tiny) as other,
        ):
            pub.wait_for_subscribers(count=2, timeout=WAIT_S)
            last = put(pub, spool, 1500, size=10_000)
            assert numbers(behind, last) == list(range(1, last + 1))
            wait_until(lambda: pub.stats().dropped_overflow > 0)
            assert taken(other, 1)


def test_a_publisher_that_starts_again_goes_on_with_its_numbers(
    world: World, tmp_path: Path
) -> None:
    """And its subscribers with what they miss, also what was put while they were away."""
    url = of_its_own("tcp://127.0.0.1:0")
    with publishing(world, tmp_path / "s", bind=url) as (spool, pub):
        url = pub.endpoint
        put(pub, spool, 30, topics=2)
        sub = world.socket("Sub", connect=url, topics="", replay="last:10", **SOON)
        some = world.socket(
            "Sub",
            connect=url,
            topics="t1",
            replay="earliest",
            reconnect_min=0.01,
            reconnect_max=0.02,
        )
        assert numbers(sub, 30) == list(range(21, 31))
        assert numbers(some, 29) == list(range(1, 30, 2))
    with world.spool(tmp_path / "s") as spool:
        for number in range(31, 41):
            spool.append(b"%d." % number)
    with publishing(world, tmp_path / "s", bind=url) as (spool, pub):
        last = put(pub, spool, 10, topics=2)
        assert numbers(sub, last) == list(range(31, last + 1))
        assert numbers(some, last - 1) == list(range(41, last + 1, 2))
    sub.close()
    some.close()


def test_reconnects_in_the_midst(world: World, tmp_path: Path) -> None:
    """Cut by the publisher's end, at a random moment; nothing is missed or comes twice."""
    url = of_its_own("tcp://127.0.0.1:0")
    chance = random.Random(2)
    got: list[int] = []
    sub: Any = None
    for _ in range(20):
        with publishing(world, tmp_path / "s", bind=url, pub_linger=0) as (spool, pub):
            url = pub.endpoint
            if sub is None:
                sub = world.socket(
                    "Sub",
                    connect=url,
                    topics="",
                    replay="earliest",
                    reconnect_min=0.005,
                    reconnect_max=0.01,
                )
            with Stream(pub, spool, size=2000) as stream:
                upto = stream.last + chance.randrange(1, 30)
                got += numbers(sub, upto)
            last = stream.last
    with publishing(world, tmp_path / "s", bind=url) as (spool, pub):
        last = put(pub, spool, 1)
        if got[-1] < last:
            got += numbers(sub, last)
    assert got == list(range(1, last + 1))
    sub.close()


def test_a_spool_of_another_publisher_begins_as_was_asked(world: World, tmp_path: Path) -> None:
    """What was heard of one says nothing of the other."""
    url = of_its_own("tcp://127.0.0.1:0")
    with publishing(world, tmp_path / "s", bind=url) as (spool, pub):
        url = pub.endpoint
        put(pub, spool, 30)
        sub = world.socket("Sub", connect=url, topics="", replay="seq:10", **SOON)
        assert numbers(sub, 30) == list(range(10, 31))
    with publishing(world, tmp_path / "other") as (spool, pub):
        put(pub, spool, 20)  # before it comes: what is asked for is there
        pub.bind(url)
        assert numbers(sub, 20) == list(range(10, 21))
    with publishing(world, tmp_path / "s", bind=url) as (spool, pub):
        last = put(pub, spool, 5)
        assert numbers(sub, last) == list(range(31, last + 1))
    sub.close()


def test_drain_waits_for_the_live_ones_and_for_those_behind(world: World, tmp_path: Path) -> None:
    """All that was put is with them then."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 500)
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            report = pub.drain(timeout=WAIT_S)
            assert (report.delivered, report.queued, report.unconfirmed) == (500, 0, 0)
            assert numbers(sub, 500) == list(range(1, 501))


def test_what_is_newest_of_each_topic_is_there_at_once(world: World, tmp_path: Path) -> None:
    """With `conflate`: a replay gives whoever comes the last value of each topic."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 90, topics=3)
        with world.socket(
            "Sub", connect=pub.endpoint, topics="", conflate="topic", replay="earliest"
        ) as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            pub.drain(timeout=WAIT_S)
            got = [sub.recv(timeout=WAIT_S) for _ in range(3)]
            assert {m.topic: m.number for m in got} == {"t1": 88, "t2": 89, "t0": 90}
