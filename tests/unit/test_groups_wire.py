"""Members of a group, octet by octet; and peers that say what they should not.

Not here: what users see (test_groups.py). Law: whatever a peer says, others go on.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.feeding import UP, World
from tests.support.grouped import bodies, info, joined, member, sent, shared, until
from tests.support.pairs import WAIT_S, told, wait_until
from tests.support.rawpeer import RawPeer
from tests.support.replayed import publishing

FEATURES = (b"X-Meshmsg", b"1 refuse stop ack meta")
WORLD = World(None)
GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def of(group: bytes) -> tuple[bytes, bytes]:
    """What a member says in its READY."""
    return (b"X-Meshmsg-Group", group)


def ack(floor: int, limit: int, *, flags: int = 0) -> bytes:
    """Return an ACK."""
    return ref.command(b"ACK", struct.pack(">BQQ", flags, floor, limit))


ALL = ref.subscription(True, b"")
_open: list[RawPeer] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Connections end with their test."""
    yield
    while _open:
        _open.pop().socket.close()


def dialed(pub: Any) -> RawPeer:
    """Return a connection to it."""
    _open.append(RawPeer(pub.endpoint))
    return _open[-1]


def words(peer: RawPeer, count: int) -> list[tuple[bytes, bytes]]:
    """Read so many commands and last frames: a command's name and data; "" and a body."""
    found: list[tuple[bytes, bytes]] = []
    while len(found) < count:
        flags, body = peer.frame()
        if flags & ref.COMMAND:
            found.append((body[1 : 1 + body[0]], body[1 + body[0] :]))
        elif not flags & ref.MORE:
            found.append((b"", body))
    return found


def begun(pub: Any, group: bytes = b"w", credit: int = 10) -> RawPeer:
    """Return a member that has begun."""
    peer = dialed(pub).shake(b"SUB", FEATURES, of(group))
    peer.send(ALL + ack(0, credit))
    assert words(peer, 1)[0][0] == b"COUNT"
    until(pub, lambda one: one.members >= 1, group.decode())
    pub.wait_for_subscribers(timeout=WAIT_S)
    return peer


def test_a_member_says_its_group_and_a_publisher_that_it_keeps_them(tmp_path: Path) -> None:
    """In READY; who has no spool does not say it, and who is in none says none."""
    with publishing(WORLD, tmp_path / "s") as (_, pub), mm.Pub(bind=UP) as plain:
        for one, says in ((pub, True), (plain, False)):
            peer = dialed(one).send(ref.greeting() + ref.ready(b"SUB"))
            peer.greeted()
            assert (b" replay group" in peer.frame()[1]) == says
    for group, ready in (
        ("workers", (GOLDEN / "ready_member.bin").read_bytes()),
        (None, ref.ready(b"SUB", (b"X-Meshmsg", FEATURES[1] + b" takes=67108864/1024"))),
    ):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(WAIT_S)
            url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            with mm.Sub(connect=url, topics="t", group=group, linger=0):
                peer = RawPeer.of(server.accept()[0])
                _open.append(peer)
                peer.send(ref.greeting() + ref.ready(b"PUB", FEATURES))
                peer.greeted()
                assert ref.frame(peer.frame()[1], ref.COMMAND) == ready


def test_messages_are_counted_and_say_where_they_are_in_the_spool(tmp_path: Path) -> None:
    """COUNT first; AGAIN in front of each; what is acknowledged is done."""
    with publishing(WORLD, tmp_path / "s") as (spool, pub):
        peer = begun(pub)
        sent(pub, 2, topics=1)
        got = words(peer, 4)
        life = struct.unpack(">Q", got[0][1][:8])[0]  # of that spool: its epoch is 1 in others, too
        again = [(b"AGAIN", struct.pack(">QQI", life, seq, 1)) for seq in (1, 2)]
        assert got == [again[0], (b"", b"0"), again[1], (b"", b"1")]
        assert life > 2**32
        until(pub, lambda one: one.unacked == 2)
        peer.send(ack(1, 10))
        assert until(pub, lambda one: one.acked == 1).floor == 1
        peer.socket.close()
        until(pub, lambda one: one.members == 0)
        assert info(pub).lag == 1
        assert spool.info().last_seq == 2


NAMES = {
    "empty": b"",
    "a space": b"a b",
    "a slash": b"../x",
    "a zero": b"a\0b",
    "no ascii": b"\xc3\xa4",
    "59": b"x" * 59,
    "huge": b"x" * 9000,
}


@pytest.mark.parametrize("role", ["Pub", "XPub", "Push"])
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_name_ends_the_handshake(role: str, name: str) -> None:
    """Whatever it is said to: nobody who may say it says that."""
    other = b"PULL" if role == "Push" else b"SUB"
    with getattr(mm, role)(bind=UP) as one:
        peer = dialed(one).send(ref.greeting() + ref.ready(other, FEATURES, of(NAMES[name])))
        peer.until_closed()
        told(one, f"a group of {len(NAMES[name])} octets; it has 1 to 58 of A-Z a-z 0-9 . _ -")


def test_a_group_twice_ends_the_handshake(tmp_path: Path) -> None:
    """As of any property."""
    with publishing(WORLD, tmp_path / "s") as (_, pub):
        dialed(pub).send(ref.greeting() + ref.ready(b"SUB", of(b"a"), of(b"b"))).until_closed()
        told(pub, "a property twice")
        assert pub.groups() == []


@pytest.mark.parametrize("role", ["Pub", "XPub", "Push", "Rep"])
def test_who_keeps_none_does_not_mind(role: str) -> None:
    """Its peer is one as others."""
    other = {"Push": b"PULL", "Rep": b"REQ"}.get(role, b"SUB")
    with getattr(mm, role)(bind=UP) as one:
        dialed(one).shake(other, FEATURES, of(b"w")).send(ref.ping(0, b"here"))
        one_peer = _open[-1]
        while one_peer.frame(pings=True)[1] != b"\x04PONGhere":
            pass
        assert not one.peers()[0].acks


@pytest.mark.parametrize("features", [b"1 refuse stop meta", b"", b"1 ackx"])
@pytest.mark.parametrize("role", [b"SUB", b"XSUB"])
def test_who_does_not_acknowledge_is_no_member(
    tmp_path: Path, role: bytes, features: bytes
) -> None:
    """It is told so; and who acknowledges is a SUB."""
    with publishing(WORLD, tmp_path / "s") as (_, pub):
        for said in (features, FEATURES[1]) if role == b"XSUB" else (features,):
            peer = dialed(pub).shake(role, (b"X-Meshmsg", said), of(b"w"))
            peer.until_closed()
            told(pub, "a member of a group acknowledges, and this does not")
        assert pub.stats().peers == 0


ODD: dict[str, tuple[bytes, mm.Reason]] = {
    "credit before topics": (ack(0, 5), mm.Reason.GROUP),
    "a topic behind its credit": (ALL + ack(0, 5) + ref.subscription(True, b"x"), mm.Reason.GROUP),
    "a topic less": (ALL + ack(0, 5) + ref.subscription(False, b""), mm.Reason.GROUP),
    "a topic as a message": (ALL + ack(0, 5) + ref.message(b"\x01x"), mm.Reason.GROUP),
    "other topics": (ref.subscription(True, b"x") + ack(0, 5), mm.Reason.GROUP),
    "all taken back": (ALL + ref.subscription(False, b"") + ack(0, 5), mm.Reason.GROUP),
    "an ACK of nothing": (ALL + ack(3, 5), mm.Reason.COMMAND),
    "a NACK of nothing": (
        ALL + ack(0, 5) + ref.command(b"NACK", struct.pack(">IQ", 0, 9)),
        mm.Reason.COMMAND,
    ),
    "a long topic": (ref.subscription(True, b"x" * 200) + ack(0, 5), mm.Reason.TOPIC_SIZE),
    "many topics": (
        b"".join(ref.subscription(True, b"%d" % i) for i in range(20)),
        mm.Reason.SUBSCRIPTIONS,
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_a_member_that_says_what_it_should_not_ends_alone(tmp_path: Path, name: str) -> None:
    """With the reason; others of its group have theirs."""
    octets, reason = ODD[name]
    limits = {"pub_topic_size_max": 100, "pub_subscriptions_max": 10}
    with (
        publishing(WORLD, tmp_path / "s", **limits) as (_, pub),
        member(WORLD, pub) as sub,
    ):
        joined(pub, 1)
        peer = dialed(pub).shake(b"SUB", FEATURES, of(b"w"))
        peer.send(octets).until_closed()
        found = [e for e in pub.events() if e.kind is mm.EventKind.PEER_DOWN]
        assert [event.reason for event in found] == [reason]
        put = sent(pub, 5)
        assert sorted(bodies(shared([sub], 5)[0])) == put


def test_topics_may_change_before_the_credit(tmp_path: Path) -> None:
    """And be said often; what is asked for then counts."""
    with publishing(WORLD, tmp_path / "s") as (_, pub):
        peer = dialed(pub).shake(b"SUB", FEATURES, of(b"w"))
        x, y = (ref.subscription(True, topic) for topic in (b"x", b"y"))
        peer.send(x + y + y + ref.subscription(False, b"x") + ref.subscription(False, b"none"))
        peer.send(ack(0, 5))
        assert words(peer, 1)[0][0] == b"COUNT"
        pub.wait_for_subscribers("y", timeout=WAIT_S)
        assert pub.subscribers("x") == 0
        pub.send(b"1", topic="x")
        pub.send(b"2", topic="y")
        assert words(peer, 2)[1] == (b"", b"2")
        assert pub.peers()[0].subscriptions == 1


def test_who_gives_no_credit_takes_no_part(tmp_path: Path) -> None:
    """However long it is there; and many of those leave room for who does."""
    with publishing(WORLD, tmp_path / "s") as (_, pub):
        for i in range(70):
            peer = dialed(pub).shake(b"SUB", FEATURES, of(b"idle%d" % i))
            peer.send(ALL)
            if i % 7:
                peer.socket.close()
                wait_until(lambda there=i // 7 + 1: pub.stats().peers == there)
        with member(WORLD, pub) as sub:
            joined(pub, 1)
            pub.send(b"x")
            assert bytes(sub.recv(timeout=WAIT_S)) == b"x"
        assert not any(one.lag for one in pub.groups() if one.name.startswith("idle"))


def test_too_many_groups_are_refused_at_the_door(tmp_path: Path) -> None:
    """64 that have members: the next hears why."""
    with publishing(WORLD, tmp_path / "s") as (_, pub):
        for i in range(64):
            dialed(pub).shake(b"SUB", FEATURES, of(b"g%d" % i)).send(ALL + ack(0, 5))
        joined(pub, 64)
        peer = dialed(pub).shake(b"SUB", FEATURES, of(b"more"))
        assert b"there are 64 groups here, as many as may be" in peer.until_closed()
        again = dialed(pub).shake(b"SUB", FEATURES, of(b"g7")).send(ALL + ack(0, 5))
        joined(pub, 65)
        again.socket.close()
        pub.send(b"x")
        for one in _open[:64]:
            assert words(one, 3)[2] == (b"", b"x")
