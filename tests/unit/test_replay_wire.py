"""REPLAY, COUNT, AT and LOST, octet by octet; and peers that say what they should not.

Not here: what users see (test_replay.py). Law: whatever a peer says, others go on.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.feeding import UP, World
from tests.support.lives import life
from tests.support.pairs import WAIT_S, told, wait_until
from tests.support.rawpeer import RawPeer
from tests.support.replayed import numbers, publishing, put

SEQ, LAST, SINCE, EARLIEST = 1, 2, 3, 4
MOST = 2**63 - 1
WORDS_MAX = 1_000
"""More than comes before what is waited for."""
BEGIN = ref.command(b"REPLAY", b"")
ALL = ref.subscription(True, b"")
FEATURES = (b"X-Meshmsg", b"1 refuse stop ack meta replay")
PRODUCER = bytes(range(16))


def replay(kind: int, value: int = 0, *places: tuple[bytes, int]) -> bytes:
    """Return a REPLAY."""
    known = b"".join(producer + struct.pack(">Q", number) for producer, number in places)
    return ref.command(b"REPLAY", struct.pack(">BQ", kind, value) + known)


_open: list[RawPeer] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Connections end with their test."""
    yield
    while _open:
        _open.pop().socket.close()


def dialed(socket: Any) -> RawPeer:
    """Return a connection to it."""
    _open.append(RawPeer(socket.endpoint))
    return _open[-1]


@contextmanager
def published(path: Path, count: int, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A Pub whose spool has so many messages."""
    with publishing(World(None), path, **options) as (spool, pub):
        put(pub, spool, count, topics=2, size=3)
        yield spool, pub


def words(peer: RawPeer, count: int) -> list[tuple[bytes, bytes]]:
    """Read so many commands and messages: a command's name and data; "" and a message's topic."""
    found: list[tuple[bytes, bytes]] = []
    while len(found) < count:
        flags, body = peer.frame()
        if flags & ref.COMMAND:
            found.append((body[1 : 1 + body[0]], body[1 + body[0] :]))
        elif flags & ref.MORE:
            found.append((b"", body))
    return found


def count_of(spool: Any, epoch: int = 1) -> tuple[bytes, bytes]:
    """What COUNT says of a spool."""
    return (b"COUNT", struct.pack(">Q", epoch) + bytes.fromhex(spool.info().uuid.replace("-", "")))


def at(number: int) -> tuple[bytes, bytes]:
    """What AT says."""
    return (b"AT", struct.pack(">Q", number))


def test_numbers_are_said_where_they_are_not_in_a_row(tmp_path: Path) -> None:
    """So a subscriber to everything has no octet more a message."""
    with published(tmp_path / "s", 6) as (spool, pub):
        one = dialed(pub).shake(b"SUB")
        one.send(replay(EARLIEST) + ALL + BEGIN)
        topics = [(b"", b"t1"), (b"", b"t0")] * 3
        assert words(one, 8) == [count_of(spool), at(1), *topics]
        two = dialed(pub).shake(b"SUB")
        two.send(replay(SEQ, 2) + ref.subscription(True, b"t0") + BEGIN)
        row = [(b"", b"t0"), at(4), (b"", b"t0"), at(6), (b"", b"t0")]
        assert words(two, 7) == [count_of(spool), at(2), *row]
        pub.send(b"7", topic="t1")
        pub.send(b"8", topic="t0", key=b"k")
        assert words(one, 2) == [(b"", b"t1"), (b"", b"t0")]
        assert words(two, 2) == [at(8), (b"", b"t0")]


def test_who_publishes_from_a_spool_says_so_and_others_do_not(tmp_path: Path) -> None:
    """By a word of X-Meshmsg; a Sub never says it."""
    with published(tmp_path / "s", 0) as (_, pub), mm.Pub(bind=UP) as plain:
        for one, says in ((pub, True), (plain, False)):
            peer = dialed(one).send(ref.greeting() + ref.ready(b"SUB"))
            peer.greeted()
            assert (b" meta replay" in peer.frame()[1]) == says


def test_what_was_heard_goes_before_what_was_asked(tmp_path: Path) -> None:
    """Of this spool; numbers of others say nothing. What it has not is told."""
    with published(tmp_path / "s", 6) as (spool, pub):
        own = count_of(spool)[1][8:]
        for places, first in (
            ([(PRODUCER, 3), (own, 5)], 5),
            ([(own, MOST)], 7),
            ([(PRODUCER, 3)], 2),
            ([(own, 7)], 7),
        ):
            peer = dialed(pub).shake(b"SUB")
            peer.send(replay(SEQ, 2, *places) + ALL + BEGIN)
            assert words(peer, 2) == [count_of(spool), at(first)]
            peer.socket.close()


ODD = {
    "cut": ref.command(b"REPLAY", b"\x04"),
    "kind 0": replay(0),
    "kind 5": replay(5),
    "huge": replay(SEQ, 2**63),
    "twice": replay(EARLIEST) + replay(EARLIEST),
    "behind a subscription": ALL + replay(EARLIEST),
    "begun at once": BEGIN,
    "begun twice": replay(EARLIEST) + ALL + BEGIN + BEGIN,
    "a cut place": ref.command(b"REPLAY", struct.pack(">BQ", 4, 0) + PRODUCER),
    "a place of 0": replay(EARLIEST, 0, (PRODUCER, 0)),
    "17 places": replay(EARLIEST, 0, *[(PRODUCER, 1)] * 17),
}


@pytest.mark.parametrize("name", ODD)
def test_a_replay_that_is_wrong_ends_its_connection_alone(tmp_path: Path, name: str) -> None:
    """With the reason; others have theirs."""
    with published(tmp_path / "s", 6) as (_, pub):
        with mm.Sub(connect=pub.endpoint, topics="", replay="earliest") as sub:
            peer = dialed(pub).shake(b"SUB", FEATURES).send(ODD[name])
            peer.until_closed()
            told(pub, "a REPLAY that is malformed, or not in its place")
            assert numbers(sub, 6) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("value", [1, MOST])
@pytest.mark.parametrize("kind", [SEQ, LAST, SINCE, EARLIEST])
def test_any_number_is_within_what_there_is(tmp_path: Path, kind: int, value: int) -> None:
    """However large it is."""
    with published(tmp_path / "s", 6) as (spool, pub):
        peer = dialed(pub).shake(b"SUB")
        peer.send(replay(kind, value) + ALL + BEGIN)
        first = {(SEQ, MOST): 7, (LAST, 1): 6}.get((kind, value), 1)
        counted, begun = words(peer, 2)
        assert counted == count_of(spool)
        if (kind, value) != (SINCE, 1):
            assert begun == at(first)
        pub.send(b"7", topic="last")
        came = (words(peer, 1) for _ in range(WORDS_MAX))
        assert [(b"", b"last")] in came


@pytest.mark.parametrize("role", ["Pub", "XPub", "Pull", "Sub", "Rep"])
def test_to_whom_it_says_nothing_it_is_ignored(role: str) -> None:
    """Of a Pub without a spool, too; AT, COUNT and LOST likewise."""
    other = {"Pub": b"SUB", "XPub": b"SUB", "Pull": b"PUSH", "Sub": b"PUB", "Rep": b"REQ"}[role]
    with getattr(mm, role)(bind=UP) as mine:
        peer = dialed(mine).shake(other, FEATURES)
        odd = replay(EARLIEST) + BEGIN + ref.command(b"AT", b"\0") + ref.command(b"LOST", b"\x09")
        peer.send(odd + ref.command(b"REPLAY", b"x") + ref.ping(0, b"here"))
        came = (peer.frame(pings=True)[1] for _ in range(WORDS_MAX))
        assert b"\x04PONGhere" in came


@contextmanager
def publisher(**options: Any) -> Iterator[tuple[RawPeer, mm.Sub]]:
    """A Sub that asks for all, and its publisher, whose octets are the test's."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT_S)
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with mm.Sub(connect=url, topics="t", replay="earliest", linger=0, **options) as sub:
            peer = RawPeer.of(server.accept()[0])
            _open.append(peer)
            yield peer.shake(b"PUB", FEATURES), sub


LIFE = life(PRODUCER, 7)
COUNTED = ref.command(b"COUNT", struct.pack(">Q", 7) + PRODUCER)


def test_a_subscriber_asks_first_and_begins_behind_its_topics() -> None:
    """And numbers what comes as it is told."""
    with publisher() as (peer, sub):
        assert [peer.frame()[1] for _ in range(3)] == [
            replay(EARLIEST)[2:],
            b"\x09SUBSCRIBEt",
            b"\x06REPLAY",
        ]
        many = b"".join(ref.message(b"t", b"%d" % i) for i in range(300))
        peer.send(ref.message(b"t", b"no number") + COUNTED + ref.command(*at(10)) + many)
        peer.send(ref.command(*at(1000)) + ref.message(b"t", b"x"))
        peer.send(ref.command(b"LOST", struct.pack(">BQ", 1, 5)) + ref.message(b"t", b"y"))
        got = [sub.recv(timeout=WAIT_S) for _ in range(303)]
        assert got[0].seq is None
        assert [m.seq for m in got[1:301]] == [(LIFE, 10 + i) for i in range(300)]
        assert [m.seq for m in got[301:]] == [(LIFE, 1000), (LIFE, 1001)]
        [gone] = [e for e in sub.events() if e.kind is mm.EventKind.REPLAY_LOST]
        assert (gone.count, "harmed" in gone.detail) == (5, True)


def test_behind_the_last_number_nothing_is_numbered_and_others_are_asked_as_ever() -> None:
    """What no number is next to is not told to another publisher, which would refuse it."""
    with publisher() as (peer, sub), socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(WAIT_S)
        peer.send(COUNTED + ref.command(*at(MOST - 1)) + ref.message(b"t", b"x"))
        assert sub.recv(timeout=WAIT_S).seq == (LIFE, MOST - 1)
        peer.send(ref.message(b"t", b"x") * 2)
        assert [sub.recv(timeout=WAIT_S).seq for _ in range(2)] == [None, None]
        sub.connect(f"tcp://127.0.0.1:{other.getsockname()[1]}")
        second = RawPeer.of(other.accept()[0])
        _open.append(second)
        second.shake(b"PUB", FEATURES)
        assert second.frame()[1] == replay(EARLIEST, 0, (PRODUCER, MOST))[2:]


@contextmanager
def another(sub: mm.Sub) -> Iterator[RawPeer]:
    """One more publisher that a Sub connects to, behind its greeting."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT_S)
        sub.connect(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        _open.append(RawPeer.of(server.accept()[0]))
        yield _open[-1].shake(b"PUB", FEATURES)


def asked(peer: RawPeer) -> bytes:
    """Return what it was asked for."""
    return bytes(peer.frame()[1])


def test_who_says_it_is_another_moves_no_place_of_that_one() -> None:
    """As long as that one is there: where it goes on is what it said."""
    with publisher() as (peer, sub), another(sub) as liar:
        peer.send(COUNTED + ref.command(*at(10)) + ref.message(b"t", b"x"))
        assert sub.recv(timeout=WAIT_S).seq == (LIFE, 10)
        for number in (1000, 2000):
            liar.send(COUNTED + ref.command(*at(number)) + ref.message(b"t", b"y"))
            assert sub.recv(timeout=WAIT_S).seq == (LIFE, number)
        with another(sub) as third:
            assert asked(third) == replay(EARLIEST, 0, (PRODUCER, 11))[2:]


def test_a_publisher_that_moved_goes_on_where_it_was() -> None:
    """At another endpoint, once its connection is gone."""
    with publisher() as (peer, sub):
        peer.send(COUNTED + ref.command(*at(10)) + ref.message(b"t", b"x"))
        assert sub.recv(timeout=WAIT_S).seq == (LIFE, 10)
        peer.socket.close()
        wait_until(lambda: sub.peers() == [])
        with another(sub) as moved:
            assert asked(moved) == replay(EARLIEST, 0, (PRODUCER, 11))[2:]
            moved.send(COUNTED + ref.command(*at(11)) + ref.message(b"t", b"x"))
            assert sub.recv(timeout=WAIT_S).seq == (LIFE, 11)
            with another(sub) as third:
                assert asked(third) == replay(EARLIEST, 0, (PRODUCER, 12))[2:]


def counted(epoch: int) -> bytes:
    """Return a COUNT of that life of the spool."""
    return ref.command(b"COUNT", struct.pack(">Q", epoch) + PRODUCER)


def copies_told(sub: mm.Sub) -> list[str]:
    """Return what was told of copies."""
    kind = mm.EventKind.REPLAY_LOST
    return [e.detail for e in sub.events() if e.kind is kind and e.count == 0]


def test_a_copy_beside_its_original_is_told_once_and_keeps_its_numbers() -> None:
    """Also where its messages are of another life than those before them."""
    with publisher() as (peer, sub), another(sub) as copy:
        peer.send(COUNTED + ref.command(*at(10)) + ref.message(b"t", b"x"))
        assert sub.recv(timeout=WAIT_S).seq == (LIFE, 10)
        message = ref.message(b"t", b"y")
        copy.send(COUNTED + ref.command(*at(1)) + message + counted(9) + message + message)
        got = [sub.recv(timeout=WAIT_S).seq for _ in range(3)]
        assert got == [(LIFE, 1), (life(PRODUCER, 9), 2), (life(PRODUCER, 9), 3)]
        [why] = copies_told(sub)
        assert why.startswith("two publishers say they have this spool")


@pytest.mark.parametrize("epoch", [6, 7, 8])
def test_an_earlier_life_in_the_place_of_a_later_one_is_told(epoch: int) -> None:
    """A life that is the same, or later, is that spool's own."""
    with publisher() as (peer, sub):
        peer.send(COUNTED + ref.command(*at(10)) + ref.message(b"t", b"x"))
        assert sub.recv(timeout=WAIT_S).seq == (LIFE, 10)
        peer.socket.close()
        wait_until(lambda: sub.peers() == [])
        with another(sub) as moved:
            moved.send(counted(epoch) + ref.command(*at(11)) + ref.message(b"t", b"x"))
            assert sub.recv(timeout=WAIT_S).seq == (life(PRODUCER, epoch), 11)
            assert [why.split(",")[0] for why in copies_told(sub)] == (
                ["the spool goes on in an earlier life"] if epoch < 7 else []
            )


LIES = {
    "AT before COUNT": ref.command(*at(1)),
    "AT 0": COUNTED + ref.command(*at(0)),
    "AT over the most": COUNTED + ref.command(*at(MOST + 1)),
    "a cut AT": COUNTED + ref.command(b"AT", b"1234567"),
    "AT that goes back": COUNTED + ref.command(*at(5)) + ref.command(*at(4)),
    "a cut COUNT": ref.command(b"COUNT", b"123"),
    "a cut LOST": ref.command(b"LOST", b"\0"),
    "LOST for no reason": ref.command(b"LOST", struct.pack(">BQ", 3, 1)),
}


@pytest.mark.parametrize("name", LIES)
def test_a_publisher_that_lies_is_left(name: str) -> None:
    """The connection ends, and the event says what it was."""
    with publisher() as (peer, sub):
        peer.send(LIES[name])
        wait_until(lambda: any(e.reason is mm.Reason.COMMAND for e in sub.events()))


def test_many_publishers_over_one_connection_are_forgotten_in_turn() -> None:
    """Memory does not grow with what a publisher calls itself."""
    with publisher() as (peer, sub):
        for i in range(1000):
            peer.send(ref.command(b"COUNT", struct.pack(">QQQ", 1, i, i)) + ref.command(*at(i + 1)))
        peer.send(ref.message(b"t", b"x"))
        last = (life(struct.pack(">QQ", 999, 999), 1), 1000)
        assert sub.recv(timeout=WAIT_S).seq == last
