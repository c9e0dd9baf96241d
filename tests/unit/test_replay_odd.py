"""Replays where something is gone, in the way, or not there; and ends in the midst of them.

Not here: what is replayed (test_replay.py), what goes over the wire (test_replay_wire.py).
"""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.feeding import UP, World, nothing
from tests.support.pairs import WAIT_S, told, wait_until
from tests.support.replayed import Stream, numbers, publishing, put
from tests.support.spoolcodec import BATCH
from tests.support.spooled import batches, segments, turn_bit

TINY: dict[str, Any] = {"recv_queue_messages": 1}
BIG = 8000
"""Bytes of a message of which a segment has a handful."""


def lost(sub: Any) -> list[tuple[int, str]]:
    """How many messages were told to be gone, each time, and why."""
    return [
        (event.count, event.detail)
        for event in sub.events()
        if event.kind is mm.EventKind.REPLAY_LOST
    ]


def test_what_was_removed_before_is_told_of_and_it_goes_on(world: World, tmp_path: Path) -> None:
    """Where a number was asked for; who asks for all has what there is."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        last = put(pub, spool, 40, size=BIG)
        assert spool.trim(20) > 0
        first = spool.info().first_seq
        assert 1 < first <= 20
        for replay, gone in (("seq:5", first - 5), ("earliest", 0), ("last:1000", 0)):
            with world.socket("Sub", connect=pub.endpoint, topics="", replay=replay) as sub:
                assert numbers(sub, last) == list(range(first, last + 1))
                assert [count for count, _ in lost(sub)] == ([gone] if gone else [])


@pytest.mark.parametrize(("beyond", "told_of"), [(-1, False), (0, False), (1, True), (2**61, True)])
def test_who_asks_for_more_than_there_is_is_told_once(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, beyond: int, told_of: bool
) -> None:
    """As of a log that was made anew; the next number is asked for by who has all. It goes on."""
    ends: list[Any] = []
    with publishing(world, tmp_path / "s") as (spool, pub):
        last = put(pub, spool, 20)
        asked = last + 1 + beyond
        options: dict[str, Any] = {"topics": "", "replay": f"seq:{asked}"}
        with world.socket("Sub", connect=pub.endpoint, **options) as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            newest = put(pub, spool, 1)
            assert numbers(sub, newest)[0] == min(asked, newest)
            ends += lost(sub)
            name = pub.endpoint
            pub.close()
            with world.socket("Pub", bind=name, spool=spool) as again:  # it goes on where it was
                again.wait_for_subscribers(timeout=WAIT_S)
                newest = put(again, spool, 1)
                assert numbers(sub, newest) == [newest]
                assert lost(sub) == []
    words = f"seq:{asked} is behind the end of its spool: it goes on with the next message, 21"
    assert ends == ([(0, words)] if told_of else [])
    assert (words in caplog.text) is told_of


def test_a_log_made_anew_that_has_not_come_so_far_is_told(world: World, tmp_path: Path) -> None:
    """To who had all of the log before it, and comes again; it gets all from there on."""
    with publishing(world, tmp_path / "before") as (spool, pub):
        last, bound = put(pub, spool, 20), pub.endpoint
        with world.socket("Sub", connect=bound, topics="", replay="seq:11") as sub:
            assert numbers(sub, last) == list(range(11, last + 1))
            pub.close()
            with publishing(world, tmp_path / "anew", bind=bound) as (anew, again):
                again.wait_for_subscribers(timeout=WAIT_S)
                assert numbers(sub, put(again, anew, 1)) == [1]
                [(count, why)] = lost(sub)
                assert (count, "seq:11 is behind the end" in why) == (0, True)


def test_what_is_removed_under_a_slow_one_is_told_of(world: World, tmp_path: Path) -> None:
    """It goes on with the first that is there; what came and what is gone is all there was."""
    with publishing(world, tmp_path / "s", pub_send_queue_messages=1) as (spool, pub):
        last = put(pub, spool, 2000, size=BIG)
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest", **TINY) as sub:
            got = numbers(sub, 3)
            assert spool.trim(last - 30) > 0
            got += numbers(sub, last)
            assert got == sorted(set(got))
            gone = lost(sub)  # files go one by one
            assert len(got) + sum(count for count, _ in gone) == last
            assert all("removed" in why for _, why in gone)


@pytest.mark.parametrize("policy", ["gap", "fail"])
def test_harm_is_passed_over_or_ends_the_replay_as_the_spool_says(
    world: World, tmp_path: Path, policy: str
) -> None:
    """And the live ones do not notice."""
    with world.spool(tmp_path / "s") as spool:
        for number in range(1, 31):
            spool.append((b"%d." % number).ljust(BIG, b"x"))
    file = segments(tmp_path / "s")[1]
    at = batches(file)[1]
    turn_bit(file, at + BATCH + 40)
    number = int(file.stem) + 1
    with publishing(world, tmp_path / "s", on_corruption=policy) as (spool, pub):
        options: dict[str, Any] = {"connect": pub.endpoint, "topics": ""}
        with (
            world.socket("Sub", **options) as live,
            world.socket("Sub", replay="earliest", **options) as sub,
        ):
            pub.wait_for_subscribers(count=2 if policy == "gap" else 1, timeout=WAIT_S)
            assert numbers(sub, number - 1) == list(range(1, number))
            if policy == "gap":
                last = put(pub, spool, 1)
                assert numbers(sub, last) == list(range(number + 1, last + 1))
                [(gone, why)] = lost(sub)
                assert (gone, "harmed" in why) == (1, True)
            else:
                told(sub, f"messages {number} to {number} of its spool are harmed")
                wait_until(lambda: any(event.reason is mm.Reason.SPOOL for event in pub.events()))
                pub.wait_for_subscribers(timeout=WAIT_S)
                put(pub, spool, 1)
            assert live.recv(timeout=WAIT_S).startswith(b"31.")


@pytest.mark.parametrize("role", ["Pub", "XPub"])
def test_of_who_has_no_spool_only_what_comes_is_there(world: World, role: str) -> None:
    """An event says so, once a connection; messages have no number."""
    with world.socket(role, bind=UP) as pub:
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            pub.send(b"x")
            message = sub.recv(timeout=WAIT_S)
            assert (message, message.seq) == (b"x", None)
            kinds = [event.kind for event in sub.events()]
            assert kinds.count(mm.EventKind.PEER_LIVE) == 1
        with world.socket(
            "Sub", connect=pub.endpoint, topics="", replay="earliest", require="replay"
        ) as sub:
            told(sub, "publishes from no spool (require): give the Pub a spool, or use no require")
            told(pub, "replay of X-Meshmsg, which a Pub with a spool says (require)")


def test_who_has_one_is_not_refused(world: World, tmp_path: Path) -> None:
    """Nor told of."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        put(pub, spool, 3)
        with world.socket(
            "Sub", connect=pub.endpoint, topics="", replay="earliest", require="replay"
        ) as sub:
            assert numbers(sub, 3) == [1, 2, 3]
            assert [e.kind for e in sub.events()] == [mm.EventKind.PEER_UP]


@pytest.mark.parametrize("wire", ["zmtp", "sp", "libzmq"])
def test_others_beside_it_get_what_comes(world: World, tmp_path: Path, wire: str) -> None:
    """A Sub without a replay, one of SP, one of libzmq: no number stands in front of a message."""
    with publishing(world, tmp_path / "s") as (spool, pub), zmq.Context() as context:
        url = ("sp+" if wire == "sp" else "") + pub.endpoint
        put(pub, spool, 20)
        other = context.socket(zmq.SUB)
        other.rcvtimeo = round(WAIT_S * 1000)
        with (
            other,
            world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub,
        ):
            assert numbers(sub, 20) == list(range(1, 21))
            if wire == "libzmq":
                other.subscribe(b"")
                other.connect(url)
                pub.wait_for_subscribers(count=2, timeout=WAIT_S)
                pub.send_many([b"21.", b"22."])
                assert [other.recv(), other.recv()] == [b"21.", b"22."]
            else:
                with world.socket("Sub", connect=url, topics="") as live:
                    pub.wait_for_subscribers(count=2, timeout=WAIT_S)
                    pub.send_many([b"21.", b"22."])
                    got = [live.recv(timeout=WAIT_S) for _ in range(2)]
                    assert [(m, m.seq) for m in got] == [(b"21.", None), (b"22.", None)]
            assert numbers(sub, 22) == [21, 22]


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest", "block"])
def test_what_others_have_no_room_for_is_theirs_to_lose_or_to_wait_for(
    world: World, tmp_path: Path, overflow: str
) -> None:
    """It holds up no send; and one with a replay has all, also while others wait."""
    with publishing(world, tmp_path / "s", pub_overflow=overflow, pub_send_queue_messages=4) as (
        spool,
        pub,
    ):
        with (
            world.socket("Sub", connect=pub.endpoint, topics="", **TINY) as other,
            world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub,
        ):
            pub.wait_for_subscribers(count=2, timeout=WAIT_S)
            last = put(pub, spool, 1500, size=10_000)
            if overflow == "block":
                bodies = [other.recv(timeout=WAIT_S) for _ in range(last)]
                assert [int(b.split(b".")[0]) for b in bodies] == list(range(1, last + 1))
            assert numbers(sub, last) == list(range(1, last + 1))
            assert (pub.stats().dropped_overflow > 0) == (overflow != "block")


def test_a_spool_has_one_socket(world: World, tmp_path: Path) -> None:
    """Of either kind; and it is free again once that is closed."""
    with world.spool(tmp_path / "s") as spool:
        with world.socket("Pub", bind=UP, spool=spool):
            for role in ("Pub", "Push"):
                with pytest.raises(mm.UsageError, match="feeds another socket already"):
                    world.socket(role, bind=UP, spool=spool)
        world.socket("Push", bind=UP, spool=spool).close()
        spool.delete_cursor("push")
        world.socket("Pub", bind=UP, spool=spool).close()


def test_a_spool_that_is_closed_first_ends_the_publishing(world: World, tmp_path: Path) -> None:
    """Who is live has what was put before; a send says that the spool is closed."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        with world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest") as sub:
            pub.wait_for_subscribers(timeout=WAIT_S)
            assert numbers(sub, put(pub, spool, 1)) == [1]  # it had all there is, and so is live
            last = put(pub, spool, 99)
            spool.close()
            with pytest.raises(mm.ClosedError):
                pub.send(b"x")
            assert numbers(sub, last) == list(range(2, 101))
            nothing(sub)


def test_a_pub_that_is_closed_has_published_what_was_put(world: World, tmp_path: Path) -> None:
    """To the live ones; as of any Pub, `linger` is for that."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        with world.socket("Sub", connect=pub.endpoint, topics="") as live:
            pub.wait_for_subscribers(timeout=WAIT_S)
            last = put(pub, spool, 200)
            pub.close()
            got = [live.recv(timeout=WAIT_S) for _ in range(last)]
            assert [int(b.split(b".")[0]) for b in got] == list(range(1, last + 1))


def test_whoever_ends_at_whatever_moment_nothing_hangs(world: World, tmp_path: Path) -> None:
    """Subscribers, the Pub, its spool, the engine, in any order and at any moment."""
    chance = random.Random(3)
    for _ in range(25):
        pause = threading.Event()
        engine = mm.Engine()
        spool = world.spool(tmp_path / "s")
        pub = world.socket("Pub", bind=UP, spool=spool, engine=engine)
        subs = [
            world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest", **more)
            for more in (TINY, {}, {})
        ]
        put(pub, spool, chance.randrange(50), size=3000)
        ends = [pub, spool, *subs] if chance.random() < 0.7 else [engine, pub, spool, *subs]
        chance.shuffle(ends)
        for end in ends:
            pause.wait(chance.random() * 0.004)
            end.close()
        engine.close()


WRONG = (
    *("", "Latest", "seq:", "seq:0", "seq:-1", "last:0", "seq:9223372036854775808", "last:1.5"),
    *(
        "since:",
        "since:5",
        "since:5w",
        "since:0s",
        "since:-5m",
        "seq:1 ",
        " earliest",
        "seq:\u0661",
    ),
    *("EARLIEST", "since:99999999999999999999d", "since:9223372036854775807d"),
)


@pytest.mark.parametrize("replay", WRONG)
def test_what_says_nothing_that_there_is_is_refused(world: World, replay: str) -> None:
    """And no socket is left."""
    with pytest.raises(mm.UsageError, match="replay is"):
        world.socket("Sub", replay=replay)


def test_other_options_that_make_no_sense_are_refused(world: World, tmp_path: Path) -> None:
    """Each says what is meant."""
    with pytest.raises(TypeError, match="replay is 5; it is 'earliest'"):
        world.socket("Sub", replay=5)
    with pytest.raises(mm.UsageError, match="no replay is asked for here"):
        world.socket("Sub", require="replay")
    with pytest.raises(TypeError, match="spool is 'x'"):
        world.socket("Pub", spool="x")
    with world.spool(tmp_path / "s") as spool, pytest.raises(mm.UsageError, match="overflow is"):
        world.socket("Pub", spool=spool, overflow="error")


def test_a_simulated_world_has_no_spool(tmp_path: Path) -> None:
    """As of a Push."""
    with SimWorld(seed=1) as sim, mm.Spool(tmp_path / "s") as spool:
        with pytest.raises(mm.UsageError, match="no threads, and so no spools"):
            mm.Pub(engine=sim.engine(), spool=spool)


def test_a_stream_is_whole_for_all_of_many_that_come_and_go(world: World, tmp_path: Path) -> None:
    """While others end in the midst of their replay."""
    chance = random.Random(4)
    with publishing(world, tmp_path / "s") as (spool, pub), Stream(pub, spool) as stream:
        stays = world.socket("Sub", connect=pub.endpoint, topics="", replay="earliest")
        for _ in range(20):
            with world.socket(
                "Sub", connect=pub.endpoint, topics=["t0"], replay="earliest", **TINY
            ) as sub:
                numbers(sub, chance.randrange(1, 10))
        upto = stream.last
        assert numbers(stays, upto)[:upto] == list(range(1, upto + 1))
        stays.close()
