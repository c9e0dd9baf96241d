"""`Pub(spool=)` and `Sub(group=)`: each message goes to one member, and the group keeps its place.

Not here: what goes wrong (test_groups_odd.py), what goes over the wire (test_groups_wire.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import UP, World, nothing
from tests.support.grouped import bodies, info, joined, member, sent, shared, until
from tests.support.inloop import LoopThread
from tests.support.pairs import WAIT_S
from tests.support.replayed import publishing


@pytest.fixture(params=["threads", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """Both worlds."""
    thread = LoopThread() if request.param == "asyncio" else None
    yield World(thread)
    if thread is not None:
        thread.close()


def test_each_message_goes_to_one_member_and_every_group_gets_all(
    world: World, tmp_path: Path
) -> None:
    """And a subscriber that is in none gets all as ever."""
    with (
        publishing(world, tmp_path / "s") as (_, pub),
        member(world, pub) as a,
        member(world, pub) as b,
        member(world, pub, "other") as c,
        world.socket("Sub", connect=pub.endpoint, topics="") as plain,
    ):
        joined(pub, 4)
        assert len(pub.peers()) == pub.stats().peers == 4
        put = sent(pub, 200, topics=50)
        of_a, of_b = shared([a, b], 200)
        assert of_a
        assert of_b
        assert sorted(bodies(of_a) + bodies(of_b)) == sorted(put)
        assert bodies(shared([c], 200)[0]) == put
        assert [bytes(plain.recv(timeout=WAIT_S)) for _ in put] == put
        for sub in (a, b, c):
            nothing(sub)
        for name, members in (("w", 2), ("other", 1)):
            one = until(pub, lambda one: one.acked == 200, name)
            assert (one.members, one.floor, one.lag, one.unacked) == (members, 200, 0, 0)


def test_messages_of_one_key_keep_their_order_at_one_member(world: World, tmp_path: Path) -> None:
    """Their `key`, whatever the topic; without one the topic."""
    with (
        publishing(world, tmp_path / "s") as (_, pub),
        member(world, pub) as a,
        member(world, pub) as b,
        member(world, pub) as c,
    ):
        joined(pub, 3)
        for i in range(300):
            if i % 2:
                pub.send(b"%d" % i, topic=f"t{i % 30}")
            else:
                pub.send(b"%d" % i, topic=f"odd{i}", key=b"k%d" % (i % 30))
        at: dict[object, int] = {}
        for number, got in enumerate(shared([a, b, c], 300)):
            last: dict[object, int] = {}
            for message in got:
                key = message.key or message.topic
                assert at.setdefault(key, number) == number
                assert last.get(key, -1) < int(message)
                last[key] = int(message)


def test_messages_say_what_they_are(world: World, tmp_path: Path) -> None:
    """Their topic, their number in the spool, what went with them, the attempt."""
    with (
        publishing(world, tmp_path / "s") as (_, pub),
        member(world, pub, topics=["a", "b"]) as sub,
    ):
        joined(pub, 1, "a")
        pub.send(b"1", topic="a", key=b"k", headers={"h": "v"})
        pub.send(b"2", topic="c")
        pub.send_frames([b"f1", b"f2"], topic="b")
        pub.send(b"b" * 50_000, topic="b")
        one, two, three = (sub.recv(timeout=WAIT_S) for _ in range(3))
        assert (one, one.topic, one.key, one.headers["h"]) == (b"1", "a", b"k", "v")
        assert (one.seq[1], one.attempt, two.seq[1]) == (1, 1, 3)
        assert one.seq[0] == two.seq[0]
        assert two.frames == (b"b", b"f1", b"f2")
        assert len(three) == 50_000
        nothing(sub)
        assert until(pub, lambda one: one.lag == 0).unwanted == 1


def test_by_hand_a_message_is_done_when_it_says_so(world: World, tmp_path: Path) -> None:
    """Given back it comes again, counted; what a lost member had goes to another."""
    with publishing(world, tmp_path / "s") as (_, pub):
        a = member(world, pub, ack="manual")
        joined(pub, 1)
        sent(pub, 3, topics=1)
        first, second, _ = (a.recv(timeout=WAIT_S) for _ in range(3))
        assert isinstance(first, mm.LeasedMessage)
        until(pub, lambda one: one.unacked == 3)  # known once all of it was written
        assert second.ack() is True
        assert until(pub, lambda one: one.acked == 1).floor == 0
        assert first.nack() is True
        again = a.recv(timeout=WAIT_S)
        assert (bytes(again), again.attempt, again.seq) == (b"0", 2, first.seq)
        with member(world, pub, ack="manual") as b:
            joined(pub, 2)
            a.close()
            left = shared([b], 2)[0]
            assert sorted(bodies(left)) == [b"0", b"2"]
            for message in left:
                assert message.ack() is True
            one = until(pub, lambda one: one.floor == 3)
            assert (one.acked, one.lag, one.members) == (3, 0, 1)
            assert one.redelivered >= 2


def test_a_group_goes_on_where_it_was_in_each_life_of_its_publisher(
    world: World, tmp_path: Path
) -> None:
    """What was acknowledged does not come again; what was not does, once somebody is there."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with member(world, pub, ack="manual") as sub:
            joined(pub, 1)
            sent(pub, 6, topics=1)
            got = [sub.recv(timeout=WAIT_S) for _ in range(6)]
            for message in got[:4]:
                message.ack()
            until(pub, lambda one: one.floor == 4)
        until(pub, lambda one: one.members == 0)
        sent(pub, 2, topics=1, first=6)
    with publishing(world, tmp_path / "s") as (_, pub):
        assert (info(pub).floor, info(pub).lag, info(pub).members) == (4, 4, 0)
        sent(pub, 2, topics=1, first=8)
        with member(world, pub) as sub:
            assert bodies(shared([sub], 6)[0]) == [b"%d" % i for i in range(4, 10)]
            nothing(sub)
            assert until(pub, lambda one: one.lag == 0).floor == 10


def test_members_come_and_go_and_nothing_is_lost(world: World, tmp_path: Path) -> None:
    """What one had and was not done with another one gets, and an empty group waits."""
    with publishing(world, tmp_path / "s") as (_, pub):
        seen: set[bytes] = set()
        put: list[bytes] = []
        pub.seek_group("w", "earliest")
        for round_ in range(6):
            subs = [member(world, pub) for _ in range(1 + round_ % 3)]
            put += sent(pub, 100, topics=20, first=round_ * 100)
            for got in shared(subs, 50):
                seen |= set(bodies(got))
            for sub in subs:
                sub.close()
        with member(world, pub) as last:
            while len(seen) < len(put):
                seen.add(bytes(last.recv(timeout=WAIT_S)))
            assert seen == set(put)
            nothing(last)
        assert until(pub, lambda one: one.members == 0).floor == 600


def test_a_new_group_begins_with_what_comes_and_can_be_put_elsewhere(
    world: World, tmp_path: Path
) -> None:
    """Before it has members, or while it has none; that is kept."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        sent(pub, 10, topics=1)
        with member(world, pub, "new") as sub:
            joined(pub, 1)
            sent(pub, 1, topics=1, first=10)
            assert bodies(shared([sub], 1)[0]) == [b"10"]
        pub.seek_group("w", "earliest")
        assert (info(pub).lag, info(pub).members) == (11, 0)
        for start, first in (("earliest", 1), (5, 5), ("latest", 12), (12, 12), (1, 1)):
            pub.seek_group("w", start)
            assert info(pub).floor == first - 1
            with member(world, pub) as sub:
                joined(pub, 1)
                last = 11 - first + 1
                assert bodies(shared([sub], last)[0]) == [b"%d" % i for i in range(first - 1, 11)]
                nothing(sub)
            until(pub, lambda one: one.members == 0 and one.lag == 0)
        assert [one.name for one in pub.groups()] == ["new", "w"]
        pub.forget_group("w")
        assert [one.name for one in pub.groups()] == ["new"]
        assert [one.name for one in spool.cursors()] == ["group.new"]
    with publishing(world, tmp_path / "s") as (_, pub):
        assert [one.name for one in pub.groups()] == ["new"]


def test_a_group_may_be_over_each_transport_and_either_side_may_bind(
    world: World, tmp_path: Path
) -> None:
    """Who binds does not matter."""
    for number, bind in enumerate((UP, f"ipc://{tmp_path}/x", "inproc://groups")):
        with publishing(world, tmp_path / f"s{number}", bind=bind) as (_, pub):
            with member(world, pub) as a:
                joined(pub, 1)
                put = sent(pub, 20)
                assert bodies(shared([a], 20)[0]) == put
                nothing(a)
                until(pub, lambda one: one.floor == 20)
            with world.socket("Sub", bind=UP, topics="", group="w") as b:
                pub.connect(b.endpoint)
                joined(pub, 1)
                put = sent(pub, 20)
                assert bodies(shared([b], 20)[0]) == put


@pytest.mark.parametrize("with_more", [{}, {"prefetch": 1}, {"recv_queue_messages": 2}])
def test_a_member_has_no_more_than_it_may(
    world: World, tmp_path: Path, with_more: dict[str, Any]
) -> None:
    """However much waits: the rest is in the spool."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with member(world, pub, ack="manual", **with_more) as sub:
            joined(pub, 1)
            put = sent(pub, 1200, topics=1)
            most = min(with_more.values(), default=1000)
            got = []
            for _ in put:
                got.append(sub.recv(timeout=WAIT_S))
                assert info(pub).unacked <= most if len(got) % 200 == 1 else True
                got[-1].ack()
            assert bodies(got) == put
            until(pub, lambda one: one.floor == 1200)


def test_a_batch_and_an_iteration_take_messages_of_a_group(world: World, tmp_path: Path) -> None:
    """They are done when the next is asked for."""
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub) as sub:
        joined(pub, 1)
        put = sent(pub, 50)
        got: list[bytes] = []
        while len(got) < 50:
            got += [bytes(m) for m in sub.recv_many(max_messages=50, timeout=WAIT_S)]
        assert got == put
        put = sent(pub, 5)
        for number, message in enumerate(sub):
            assert bytes(getattr(message, "_real", message)) == put[number]
            if number == 4:
                break
        nothing(sub)
        until(pub, lambda one: one.floor == 55)


def test_a_member_of_several_publishers_is_in_the_group_of_each(
    world: World, tmp_path: Path
) -> None:
    """Each has a place of its own, and is told what is done of its messages."""
    with (
        publishing(world, tmp_path / "a") as (_, one),
        publishing(world, tmp_path / "b") as (_, two),
        world.socket("Sub", connect=[one.endpoint, two.endpoint], topics="", group="w") as sub,
    ):
        for pub in (one, two):
            joined(pub, 1)
        put = sent(one, 30) + sent(two, 20, first=100)
        assert sorted(bodies(shared([sub], 50)[0])) == sorted(put)
        nothing(sub)
        for pub, count in ((one, 30), (two, 20)):
            assert until(pub, lambda info: info.lag == 0).acked == count


def test_what_expires_is_done_and_what_is_for_later_comes_later(
    world: World, tmp_path: Path
) -> None:
    """As of a Push: `ttl=` of the message, `nack(delay=)` of its member."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.seek_group("w", "earliest")
        pub.send(b"old", ttl=0.001)
        pub.send(b"new", ttl=3600.0)
        with member(world, pub, ack="manual") as sub:
            message = sub.recv(timeout=WAIT_S)
            if bytes(message) == b"old":  # it was as quick as that
                assert message.ack()
                message = sub.recv(timeout=WAIT_S)
            assert bytes(message) == b"new"
            assert message.nack(delay=0.02)
            again = sub.recv(timeout=WAIT_S)
            assert (bytes(again), again.attempt, again.seq) == (b"new", 2, message.seq)
            assert again.ack()
            one = until(pub, lambda one: one.lag == 0)
            assert one.expired + one.acked == 2


def test_only_a_group_that_is_new_begins_where_a_start_of_a_program_says(
    world: World, tmp_path: Path
) -> None:
    """Each life says so; what was done is not done again, nor is a member in the way."""
    for life in range(3):
        with publishing(world, tmp_path / "s") as (_, pub):
            pub.seek_group("w", "earliest", only_new=True)
            put = sent(pub, 10, first=10 * life)
            with member(world, pub) as a:
                assert bodies(shared([a], 10)[0]) == put
                pub.seek_group("w", "earliest", only_new=True)
                nothing(a)
                with pytest.raises(mm.UsageError, match="a subscriber is in it"):
                    pub.seek_group("w", "earliest")
            until(pub, lambda one: one.lag == 0 and one.members == 0)
            pub.seek_group("w", "latest", only_new=True)
            assert info(pub).floor == 10 * (life + 1)
