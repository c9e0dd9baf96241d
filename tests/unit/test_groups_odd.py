"""Groups where something is gone, in the way, or not allowed; and ends in the midst of them.

Not here: what a group does (test_groups.py), what goes over the wire (test_groups_wire.py).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.support import feeding
from tests.support.feeding import UP, World, nothing
from tests.support.grouped import SHORT_S, bodies, info, joined, member, sent, shared, until
from tests.support.later import Later
from tests.support.pairs import WAIT_S, told, wait_until
from tests.support.replayed import publishing
from tests.support.spooled import batches, segments, turn_bit

BIG = 8000
"""Bytes of a message of which a segment has a handful."""
SOON: dict[str, Any] = {"reconnect_min": 0.005, "reconnect_max": 0.01}


def test_members_have_the_same_topics(world: World, tmp_path: Path) -> None:
    """Whoever has others is refused while somebody is in it, and both sides are told why."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with (
            member(world, pub, topics=["a", "b"]) as first,
            member(world, pub, topics=["b", "a", "b"]) as same,
        ):
            joined(pub, 2, "a")
            for topics in ("a", ["a", "c"], ["a", "b", "c"], ""):
                with member(world, pub, topics=topics, **SOON) as other:
                    told(other, "its topics are not those of the members that its group has")
                    wait_until(
                        lambda: any(e.reason is mm.Reason.GROUP for e in pub.events()),
                    )
            sent(pub, 10, topics=1)
            pub.send(b"x", topic="a")
            of_first, of_same = shared([first, same], 1)
            assert bodies(of_first + of_same) == [b"x"]
        until(pub, lambda one: one.members == 0)
        with member(world, pub, topics="c") as other:
            joined(pub, 1, "c")
            pub.send(b"y", topic="c")
            assert bytes(other.recv(timeout=WAIT_S)) == b"y"


def test_an_empty_group_may_ask_for_other_topics(world: World, tmp_path: Path) -> None:
    """What waits is looked at again; what was passed over stays so."""
    with publishing(world, tmp_path / "s") as (_, pub):
        with member(world, pub, topics="a"):
            joined(pub, 1, "a")
        until(pub, lambda one: one.members == 0)
        for i in range(2500):  # more than the queues of a group hold
            pub.send(b"%d" % i, topic="ab"[i % 2])
        until(pub, lambda one: one.unwanted > 0)
        got: list[bytes] = []
        with member(world, pub, topics="b") as sub:
            while info(pub).lag:
                got += bodies(shared([sub], 0, once=True)[0])
            nothing(sub)
        one = info(pub)
        assert 0 < len(got) < 1250
        assert set(got) <= {b"%d" % i for i in range(1, 2500, 2)}
        assert (one.acked, one.unwanted) == (len(got), 2500 - len(got))


def test_the_topics_of_a_member_stay(world: World, tmp_path: Path) -> None:
    """It says so when they are to change."""
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub, topics="a") as sub:
        for call in (sub.subscribe, sub.unsubscribe):
            with pytest.raises(mm.UsageError, match=r"topics of a member of a group \('w'\) stay"):
                call("a")
        joined(pub, 1, "a")


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no text": ({"group": 3}, TypeError, "the name of a group, as text"),
    "no name": ({"group": ""}, mm.UsageError, "1 to 58 of A-Z"),
    "a space": ({"group": "a b"}, mm.UsageError, "1 to 58 of A-Z"),
    "long": ({"group": "x" * 59}, mm.UsageError, "1 to 58 of A-Z"),
    "umlaut": ({"group": "\xe4"}, mm.UsageError, "1 to 58 of A-Z"),
    "no topics": ({"group": "w", "topics": ()}, mm.UsageError, "topics is empty"),
    "replay": ({"group": "w", "replay": "earliest"}, mm.UsageError, "Pub.seek_group"),
    "conflate": ({"group": "w", "conflate": True}, mm.UsageError, "each message of a group"),
    "prefetch 0": ({"group": "w", "prefetch": 0}, mm.UsageError, "prefetch is 0"),
    "ack": ({"group": "w", "ack": "no"}, mm.UsageError, "'auto' or 'manual'"),
    "prefetch alone": ({"prefetch": 5}, mm.UsageError, "is for a Sub with group="),
    "ack alone": ({"ack": "manual"}, mm.UsageError, "is for a Sub with group="),
    "require alone": ({"require": "group"}, mm.UsageError, "for a Sub with group="),
    "require acks": ({"group": "w", "require": "acks"}, mm.UsageError, "nothing is acknowledged"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused(world: World, name: str) -> None:
    """Before anything is opened."""
    options, error, words = WRONG[name]
    with pytest.raises(error, match=words):
        world.socket("Sub", **{"topics": "", **options})


def test_names_of_groups_are_as_long_as_they_may_be(world: World, tmp_path: Path) -> None:
    """58, with each sign there is."""
    names = ["x" * 58, "A-Z.a_z.0-9", ".", "-"]
    with publishing(world, tmp_path / "s") as (_, pub):
        subs = [member(world, pub, name) for name in names]
        joined(pub, 4)
        assert [one.name for one in pub.groups()] == sorted(names)
        for sub in subs:
            sub.close()


@pytest.mark.parametrize("role", ["Pub", "XPub"])
def test_who_keeps_no_groups_is_told_of_or_refused(world: World, role: str) -> None:
    """A publisher without a spool gives each member all, as ever; require refuses it."""
    with world.socket(role, bind=UP) as pub:
        with world.socket("Sub", connect=pub.endpoint, topics="", group="w") as sub:
            assert "it keeps no groups" in feeding.told(sub, mm.EventKind.PEER_LIVE).detail
            pub.wait_for_subscribers(timeout=WAIT_S)
            pub.send(b"x", topic="t")
            message = sub.recv(timeout=WAIT_S)
            assert (message, message.seq, message.attempt, message.ack()) == (b"x", None, 1, False)
            assert not sub.peers()[0].acks
        with world.socket(
            "Sub", connect=pub.endpoint, topics="", group="w", require="group", **SOON
        ) as sub:
            told(sub, "it keeps no groups (require): give the Pub a spool, or use no require")
            told(pub, "group of X-Meshmsg, which a Pub with a spool says (require)")
        if role == "Pub":
            for call in (pub.groups, lambda: pub.forget_group("w")):
                with pytest.raises(mm.UsageError, match="a Pub with spool="):
                    call()
            with pytest.raises(mm.UsageError, match="a Pub with spool="):
                pub.seek_group("w", 1)


def test_publishers_of_others_are_told_of_too(world: World) -> None:
    """libzmq has no groups; nor has SP."""
    with zmq.Context() as context, context.socket(zmq.PUB) as pub:
        port = pub.bind_to_random_port("tcp://127.0.0.1")
        url = f"tcp://127.0.0.1:{port}"
        with world.socket("Sub", connect=url, topics="t", group="w") as sub:
            told(sub, "it keeps no groups")
            got: list[bytes] = []

            def came() -> bool:
                pub.send_multipart([b"t", b"x"])
                try:
                    got.append(bytes(sub.recv(timeout=0.01)))
                except mm.TimedOutError:
                    return False
                return True

            wait_until(came)
            assert got == [b"x"]
    with mm.Pub(bind=UP) as other:
        url = f"sp+{other.endpoint}"
        with world.socket("Sub", connect=url, topics="t", group="w") as sub:
            told(sub, "it keeps no groups")


def test_with_a_spool_nobody_is_refused(world: World, tmp_path: Path) -> None:
    """And a member may require what there is."""
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub, require="group") as sub:
        joined(pub, 1)
        pub.send(b"x")
        assert bytes(sub.recv(timeout=WAIT_S)) == b"x"


def test_a_group_with_members_is_not_moved(world: World, tmp_path: Path) -> None:
    """Nor forgotten; nor what is not there, or has a wrong name or number."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        sent(pub, 5)
        with member(world, pub):
            joined(pub, 1)
            with pytest.raises(mm.UsageError, match="a subscriber is in it"):
                pub.seek_group("w", "earliest")
            with pytest.raises(mm.UsageError, match="a subscriber is in it"):
                pub.forget_group("w")
        until(pub, lambda one: one.members == 0)
        with pytest.raises(mm.SpoolError, match="there is no group 'none'"):
            pub.forget_group("none")
        for name, error in (("a b", mm.UsageError), (3, TypeError)):
            with pytest.raises(error, match="group is"):
                pub.seek_group(name, "earliest")
            with pytest.raises(error, match="group is"):
                pub.forget_group(name)
        for start in ("first", 0, -1):
            with pytest.raises(mm.UsageError, match="start is"):
                pub.seek_group("w", start)
        with pytest.raises(mm.UsageError, match="start is 7; the next message is 6"):
            pub.seek_group("w", 7)
        pub.forget_group("w")


def test_a_cursor_of_a_group_is_one_as_others(tmp_path: Path) -> None:
    """Whoever has it open keeps the group from being forgotten, and not from being moved."""
    with publishing(World(None), tmp_path / "s") as (spool, pub):
        with spool.cursor("group.w") as cursor:
            sent(pub, 3)
            pub.seek_group("w", 3)
            assert cursor.floor == 2
            with pytest.raises(mm.UsageError, match="its cursor is open"):
                pub.forget_group("w")
        pub.forget_group("w")


def test_files_go_once_the_groups_are_done_that_the_spool_waits_for(
    world: World, tmp_path: Path
) -> None:
    """By the name of its cursor; a group that is not named holds nothing."""
    with publishing(world, tmp_path / "s", until_acked_by=["group.w"]) as (spool, pub):
        pub.seek_group("w", "earliest")
        pub.seek_group("slow", "earliest")
        for i in range(40):
            pub.send((b"%d." % i).ljust(BIG, b"x"), topic="t")
        assert spool.info().first_seq == 1
        with member(world, pub) as sub:
            assert len(shared([sub], 40)[0]) == 40
            nothing(sub)
            wait_until(lambda: spool.info().first_seq > 30)
        assert info(pub, "slow").lag == 41 - spool.info().first_seq


def test_a_place_that_was_removed_is_told_of(world: World, tmp_path: Path) -> None:
    """And what a group did not get is counted."""
    with publishing(world, tmp_path / "s") as (spool, pub):
        pub.seek_group("w", "earliest")
        for i in range(40):
            pub.send((b"%d." % i).ljust(BIG, b"x"), topic="t")
        assert spool.trim(20) > 0
        first = spool.info().first_seq
        assert (info(pub).lag, info(pub).removed) == (41 - first, first - 1)
        with member(world, pub) as sub:
            got = shared([sub], 40 - first + 1)[0]
            assert [message.seq[1] for message in got] == list(range(first, 41))
            nothing(sub)
            one = until(pub, lambda one: one.lag == 0)
            assert (one.acked, one.removed) == (41 - first, first - 1)
            told(pub, "removed from its spool before")
        assert until(pub, lambda one: one.members == 0).removed == first - 1
        with pytest.raises(mm.SpoolTrimmedError, match="message 1 was removed"):
            pub.seek_group("w", 1)


@pytest.mark.parametrize("policy", ["gap", "fail"])
def test_harm_is_passed_over_or_ends_the_group_as_the_spool_says(
    world: World, tmp_path: Path, policy: str
) -> None:
    """The live ones go on."""
    with world.spool(tmp_path / "s") as spool:
        for i in range(30):
            spool.append((b"%d." % i).ljust(BIG, b"x"))
    files = segments(tmp_path / "s")
    turn_bit(files[1], batches(files[1])[2] + 100)
    bad = int(files[1].stem) + 2
    with publishing(world, tmp_path / "s", on_corruption=policy) as (_, pub):
        pub.seek_group("w", "earliest")
        with (
            member(world, pub) as sub,
            world.socket("Sub", connect=pub.endpoint, topics="") as live,
        ):
            joined(pub, 2)
            pub.send(b"30.", topic="")
            assert bytes(live.recv(timeout=WAIT_S)) == b"30."
            if policy == "gap":
                got = [int(bytes(m).split(b".")[0]) + 1 for m in shared([sub], 30)[0]]
                assert got == [seq for seq in range(1, 32) if seq != bad]
                nothing(sub)
                assert until(pub, lambda one: one.lag == 0).harmed == 1
            else:
                assert len(shared([sub], bad - 1)[0]) == bad - 1
                assert "harmed" in feeding.told(pub, mm.EventKind.SPOOL_STOPPED).detail
                nothing(sub)


def test_a_harmed_place_is_told_of_and_made_anew(world: World, tmp_path: Path) -> None:
    """Whoever comes to it is told, and comes again."""
    with publishing(world, tmp_path / "s") as (_, pub):
        pub.seek_group("w", "earliest")
        sent(pub, 3, topics=1)
    file = tmp_path / "s" / "cursors" / "group.w"
    file.write_bytes(b"x" * len(file.read_bytes()))
    with publishing(world, tmp_path / "s") as (_, pub):
        assert (info(pub).floor, info(pub).lag) == (None, None)
        with member(world, pub, **SOON) as sub:
            words = feeding.told(pub, mm.EventKind.SPOOL_STOPPED)
            assert words.detail == "group w: its cursor is harmed, or of another spool"
            assert words.reason is mm.Reason.GROUP
            told(sub, f"the peer refused: {words.detail}")
            sub.close()  # it may have come again by then, and is in the group until that is seen
            wait_until(lambda: (stats := pub.stats()).peers == stats.half_open == 0)
        with pytest.raises(mm.SpoolCorruptError, match="'w' is harmed"):
            pub.seek_group("w", 1)
        pub.forget_group("w")
        pub.seek_group("w", "earliest")
        with member(world, pub) as sub:
            assert bodies(shared([sub], 3)[0]) == [b"0", b"1", b"2"]


def test_there_are_as_many_groups_as_may_be(world: World, tmp_path: Path) -> None:
    """64; the next is refused, and told so. One that is forgotten makes room."""
    with publishing(world, tmp_path / "s") as (_, pub):
        for i in range(64):
            pub.seek_group(f"g{i}", "earliest")
        pub.seek_group("g0", "latest")
        with pytest.raises(mm.UsageError, match="there are 64 groups, as many as may be"):
            pub.seek_group("more", "earliest")
        with member(world, pub, "more", **SOON) as sub:
            told(pub, "group more: there are as many as may be")
            told(sub, "the peer refused: group more: there are as many as may be")
            pub.forget_group("g1")
            joined(pub, 1)
            wait_until(lambda: info(pub, "more").floor == 0 and len(pub.groups()) == 64)
            pub.send(b"x")
            assert bytes(sub.recv(timeout=WAIT_S)) == b"x"


def test_a_message_that_nobody_can_do_ends(world: World, tmp_path: Path) -> None:
    """After so many attempts, counted; also where its member comes again each time."""
    with publishing(world, tmp_path / "s", pub_max_attempts=3) as (_, pub):
        for attempt in (1, 2, 3):
            sub = member(world, pub, ack="manual")
            joined(pub, 1)
            if attempt == 1:
                pub.send(b"poison", topic="t")
            message = sub.recv(timeout=WAIT_S)
            assert (bytes(message), message.attempt) == (b"poison", attempt)
            assert message.nack()
            sub.close()
            until(pub, lambda one: one.members == 0)
        with member(world, pub) as sub:
            pub.send(b"next", topic="t")
            assert bytes(sub.recv(timeout=WAIT_S)) == b"next"
            nothing(sub)
        one = until(pub, lambda one: one.floor == 2)
        assert (one.attempts, one.acked) == (1, 1)


def test_what_a_member_has_for_too_long_goes_to_another(world: World, tmp_path: Path) -> None:
    """As of a Push: who has no credit left keeps what it has until another one comes."""
    with publishing(world, tmp_path / "s", pub_ack_timeout=0.2) as (_, pub):
        pub.seek_group("w", "earliest")
        put = sent(pub, 4, topics=4)
        with member(world, pub, ack="manual", prefetch=4) as slow:
            assert sorted(bodies(shared([slow], 4)[0])) == put
            with member(world, pub, prefetch=1) as other:
                attempts: dict[bytes, int] = {}

                def all_done() -> bool:
                    for message in shared([other], 0, once=True)[0]:
                        attempts.setdefault(bytes(message), message.attempt)  # it may be slow, too
                    return bool(info(pub).lag == 0)

                wait_until(all_done)
                assert attempts == dict.fromkeys(put, 2)
                assert feeding.told(pub, mm.EventKind.ACK_TIMEOUT).count >= 1
                nothing(slow)


def test_limits_of_a_group_are_for_a_pub_with_a_spool(world: World) -> None:
    """Elsewhere nothing is acknowledged."""
    for options in ({"max_attempts": 3}, {"ack_timeout": 1.0}):
        with pytest.raises(mm.UsageError, match="for the groups of a Pub"):
            world.socket("Pub", **options)


def test_members_count_as_connections(world: World, tmp_path: Path) -> None:
    """And give their place back."""
    with publishing(world, tmp_path / "s", pub_connections_max=2) as (_, pub):
        subs = [member(world, pub, **SOON) for _ in range(2)]
        joined(pub, 2)
        with member(world, pub, **SOON) as third:
            told(pub, "too many connections")
            subs[0].close()
            third.wait_for_subscribed(timeout=WAIT_S)
            wait_until(lambda: info(pub).members == 2)
        subs[1].close()
        until(pub, lambda one: one.members == 0)
        assert pub.stats().peers == 0
        assert pub.stats().disconnects >= 3


def test_a_member_that_stops_gets_no_more_and_the_rest_is_others(
    world: World, tmp_path: Path
) -> None:
    """What it has it may still be done with."""
    with publishing(world, tmp_path / "s") as (_, pub):
        sub = member(world, pub)
        joined(pub, 1)
        put = sent(pub, 10, topics=1)
        assert bytes(sub.recv(timeout=WAIT_S)) == b"0"
        sub.stop_receiving(deadline=WAIT_S)
        more = sent(pub, 5, topics=1, first=10)
        seen = []
        while True:
            try:
                seen.append(bytes(sub.recv(timeout=WAIT_S)))
            except mm.ClosedError:
                break
        sub.close()
        with member(world, pub) as other:
            until(pub, lambda one: one.members == 1)
            got = bodies(shared([other], 15 - 1 - len(seen))[0])
            assert [b"0", *seen, *got] == put + more


def test_a_spool_that_is_closed_first_ends_the_groups(world: World, tmp_path: Path) -> None:
    """Calls say so; what was not acknowledged comes with the next life."""
    spool = world.spool(tmp_path / "s")
    pub = world.socket("Pub", bind=UP, spool=spool)
    with member(world, pub, ack="manual") as sub:
        joined(pub, 1)
        sent(pub, 2, topics=1)
        assert len(shared([sub], 2)[0]) == 2
        spool.close()
        for call in (pub.groups, lambda: pub.seek_group("w", 1), lambda: pub.forget_group("w")):
            with pytest.raises(mm.ClosedError):
                call()
        pub.close()
    with publishing(world, tmp_path / "s") as (_, pub), member(world, pub) as sub:
        assert bodies(shared([sub], 2)[0]) == [b"0", b"1"]
    with pytest.raises(mm.ClosedError):
        pub.groups()


def first_of(subs: list[Any]) -> Any:
    """Receive one from whoever has one: all messages of a topic are for one of a group."""
    for _ in range(int(WAIT_S / SHORT_S)):
        for sub in subs:
            try:
                return sub.recv(timeout=SHORT_S)
            except mm.TimedOutError:
                pass
    raise AssertionError(f"nobody got a message within {WAIT_S:.0f} s")


def test_whoever_ends_at_whatever_moment_nothing_hangs(world: World, tmp_path: Path) -> None:
    """Members, the Pub and calls about groups, all at once."""
    for round_ in range(8):
        spool = world.spool(tmp_path / f"s{round_}")
        pub = world.socket("Pub", bind=UP, spool=spool)
        pub.seek_group("idle", "earliest")
        subs = [member(world, pub, f"g{i % 2}", **SOON) for i in range(4)]
        stop = threading.Event()

        def publish(pub: Any = pub, stop: threading.Event = stop) -> None:
            try:
                while not stop.is_set():
                    pub.send(b"x", topic="t")
            except mm.ClosedError:
                pass

        def ask(pub: Any = pub, stop: threading.Event = stop) -> None:
            try:
                while not stop.is_set():
                    pub.groups()
                    pub.seek_group("idle", "earliest")
            except mm.ClosedError:
                pass

        calls = [Later(publish), Later(ask)]
        first_of(subs)
        for end in ([pub, *subs, spool], [*subs, pub, spool], [spool, pub, *subs])[round_ % 3]:
            end.close()
        stop.set()
        for call in calls:
            call.result()


def test_whoever_was_in_a_group_however_briefly_has_made_it(world: World, tmp_path: Path) -> None:
    """It is there for whoever looks, moves or forgets it; what came since then is its."""
    with publishing(world, tmp_path / "s") as (_, pub):
        for i in range(20):
            with member(world, pub, f"g{i}"):
                joined(pub, 1)
            wait_until(lambda: pub.stats().peers == 0)
            if i % 2:
                pub.forget_group(f"g{i}")
            else:
                pub.send(b"x")
                with pytest.raises(mm.UsageError, match="start is"):
                    pub.seek_group(f"g{i}", 9999)
                assert info(pub, f"g{i}").lag == 1
                pub.forget_group(f"g{i}")
        assert pub.groups() == []
