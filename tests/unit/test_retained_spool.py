"""`Pub(spool=, retain="last")`: what is retained is read from the spool, before anything is
published.

Not here: without a spool (test_retained.py), replays (test_replay.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import meshmsg as mm
from tests.support.feeding import World, nothing
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing
from tests.support.spooled import BATCH, HEAD, fill, segments, small, turn_bit

KEPT = {"pub_retain": "last"}


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def came(sub: Any, count: int) -> list[tuple[str, bytes]]:
    """Receive so many: topic and body of each."""
    messages = [sub.recv(timeout=WAIT_S) for _ in range(count)]
    return sorted((str(m.topic), bytes(m)) for m in messages)


def test_what_was_retained_is_retained_again_after_a_restart(world: World, tmp_path: Path) -> None:
    """The last of each topic in the spool, of all ways to send; what was cleared is not."""
    with publishing(world, tmp_path / "s", **KEPT) as (_, pub):
        for number in range(500):
            pub.send(b"%d" % number, topic=f"t{number % 7}")
        pub.send(b"", topic="t0")
        pub.send_frames([b"f", b"g"], topic="frames", key=b"k")
        pub.send_many([b"one", b"two"])
        pub.send_batch(pa.array([b"three"], pa.binary()))
        before = {topic: pub.retained(topic) for topic in ("", "frames", "t0", "t1", "t6")}
    with publishing(world, tmp_path / "s", **KEPT) as (_, pub):
        assert {topic: pub.retained(topic) for topic in before} == before
        assert before["t0"] is None
        assert (before[""], before["t6"]) == (b"three", b"496")
        assert pub.stats().retained_topics == 8
        with world.socket("Sub", connect=pub.endpoint, topics="t") as sub:
            wanted = [(f"t{n % 7}", b"%d" % n) for n in range(493, 500) if n % 7]
            assert came(sub, 7) == sorted([*wanted, ("", b"three")])
            pub.send(b"new", topic="t1")
            assert came(sub, 1) == [("t1", b"new")]
            nothing(sub)


def test_one_that_asks_for_a_replay_gets_that_and_no_value_besides(
    world: World, tmp_path: Path
) -> None:
    """Beside it, one that asks for none gets the values."""
    with publishing(world, tmp_path / "s", **KEPT) as (_, pub):
        for number in range(1, 21):
            pub.send(b"%d." % number, topic=f"t{number % 2}")
    with publishing(world, tmp_path / "s", **KEPT) as (_, pub):
        options: dict[str, Any] = {"connect": pub.endpoint, "topics": "t"}
        with (
            world.socket("Sub", replay="earliest", **options) as all_of_it,
            world.socket("Sub", replay="last:1", **options) as one,
            world.socket("Sub", **options) as plain,
        ):
            pub.wait_for_subscribers("t", 3, timeout=WAIT_S)
            assert came(plain, 2) == [("t0", b"20."), ("t1", b"19.")]
            pub.send(b"21.", topic="t1")
            assert [all_of_it.recv(timeout=WAIT_S).seq[1] for _ in range(21)] == [*range(1, 22)]
            assert [one.recv(timeout=WAIT_S).seq[1] for _ in range(2)] == [20, 21]
            assert came(plain, 1) == [("t1", b"21.")]
            for sub in (all_of_it, one, plain):
                nothing(sub)


def test_what_is_put_while_the_spool_is_read_is_published_behind_it(
    world: World, tmp_path: Path
) -> None:
    """A subscriber that is there from the beginning gets each value once, and all that follows."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.send_many([b"x" * 100] * 5000)
        for number in range(100):
            pub.send(b"old", topic=f"t{number}")
    with publishing(world, tmp_path / "s", **KEPT) as (_, pub):
        with world.socket("Sub", connect=pub.endpoint, topics="t") as sub:
            pub.wait_for_subscribers("t", timeout=WAIT_S)
            for number in range(100):
                pub.send(b"new", topic=f"t{number}")
            got = [sub.recv(timeout=WAIT_S) for _ in range(200)]
            assert {m.topic for m in got if m == b"old"} == {f"t{i}" for i in range(100)}
            assert [m.topic for m in got if m == b"new"] == [f"t{i}" for i in range(100)]
            nothing(sub)


def test_what_has_no_room_or_no_time_left_is_not_retained_again(
    world: World, tmp_path: Path
) -> None:
    """Counted as ever; the first topics stay."""
    with publishing(world, tmp_path / "s") as (_, pub):
        for topic in ("a", "b", "c"):
            pub.send(b"v", topic=topic)
        pub.send(b"w", topic="a", ttl=0.001)
    with publishing(world, tmp_path / "s", **KEPT, pub_retain_topics_max=2) as (_, pub):
        assert pub.retained("b") == b"v"
        wait_until(lambda: pub.retained("a") is None)
        stats = pub.stats()
        assert (stats.retained_topics, stats.unretained_messages) == (1, 1)


@pytest.mark.parametrize("gaps", [True, False])
def test_harm_in_the_spool_is_told(world: World, tmp_path: Path, gaps: bool) -> None:
    """Passed over and counted, or the Pub goes no further and says so."""
    with small(tmp_path / "s") as spool:
        count = fill(spool, 3)
    turn_bit(segments(tmp_path / "s")[1], HEAD + BATCH + 100)
    options: dict[str, Any] = {"on_corruption": "gap"} if gaps else {}
    with publishing(world, tmp_path / "s", **KEPT, **options) as (_, pub):
        if gaps:
            assert pub.retained("") is not None
            lost = pub.stats().unretained_messages
            assert 0 < lost < count
            told = [e for e in pub.events() if e.kind is mm.EventKind.NOT_RETAINED]
            assert sum(event.count for event in told) == lost
            assert told[0].detail == "harmed in its spool (on_corruption)"
            return
        with pytest.raises(mm.SpoolCorruptError):
            pub.retained("t", timeout=WAIT_S)
        wait_until(lambda: any(e.kind is mm.EventKind.SPOOL_STOPPED for e in pub.events()))


def test_a_pub_closes_while_its_spool_is_read(world: World, tmp_path: Path) -> None:
    """At once, and without harm; so does the spool."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.send_many([b"x" * 100] * 20_000)
    for _ in range(5):
        with publishing(world, tmp_path / "s", **KEPT) as (_, pub):
            pass
        with pytest.raises(mm.ClosedError):
            pub.retained("t")
