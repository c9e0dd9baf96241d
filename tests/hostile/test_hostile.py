"""Inputs to survive: raw octets, each closed with a counted reason; a well-behaved peer never
notices.

Items 1-20 and 31-38 of the hostile list, as far as they are ZMTP's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
HUGE = [2**64 - 1, 2**63, 2**63 - 1, 2**32, 2**31, *[2**64 - 1 - k for k in range(1, 65, 9)]]


@contextmanager
def served(**options: Any) -> Iterator[tuple[mm.Pull, mm.Push]]:
    """A Pull under attack, and a Push that goes on using it."""
    with mm.Pull(bind=UP, **options) as pull, mm.Push(connect=pull.endpoint) as push:
        push.wait_for_peers(timeout=WAIT_S)
        check(pull, push)
        yield pull, push
        check(pull, push)
        assert push.stats().disconnects == 0


def check(pull: mm.Pull, push: mm.Push) -> None:
    """The well-behaved peer is served."""
    push.send(b"legit", timeout=WAIT_S)
    while pull.recv(timeout=WAIT_S) != b"legit":
        continue


def closed_with(socket: Any, reason: mm.Reason, count: int = 1) -> None:
    """The reason was counted, and an event tells it."""
    assert socket.stats().closed.get(reason, 0) >= count
    assert reason in [event.reason for event in socket.events()]


AFTER_HANDSHAKE = [
    *[(b"\x02" + struct.pack(">Q", size), "MESSAGE_SIZE") for size in HUGE],
    (b"\x02" + struct.pack(">Q", (64 << 20) + 1), "MESSAGE_SIZE"),
    (ref.frame(b"x" * 600, 1) * 2 + b"\x02" + struct.pack(">Q", (64 << 20) - 1000), "MESSAGE_SIZE"),
    *[(bytes([1 << bit, 0]), "FRAME_FLAGS") for bit in range(3, 8)],
    (b"\x05\x00", "FRAME_FLAGS"),
    (b"\x04\x00", "COMMAND"),
    (b"\x04\x05\xffPING", "COMMAND"),
    (b"\x06" + struct.pack(">Q", 64 << 20), "COMMAND_SIZE"),
    (ref.frame(b"", 1) * 1100, "FRAME_COUNT"),
    (b"\x04\x05\x04PING", "COMMAND"),
    (b"\x04\x06\x04PING\x00", "COMMAND"),
    (ref.ping(1, b"x" * 17), "COMMAND"),
    (ref.ping(1, b"x" * 255), "COMMAND"),
    (ref.ping(1, b"x" * 60_000), "COMMAND"),
    (ref.ready(b"PUSH"), "HANDSHAKE"),
    (ref.error(b"\x00\x1b[31m"), "ERROR_COMMAND"),
    (ref.command(b"ERROR", b"\xffshort"), "COMMAND"),
    (ref.greeting(), "FRAME_FLAGS"),
]


@pytest.mark.parametrize(("data", "reason"), AFTER_HANDSHAKE)
def test_a_peer_that_breaks_the_protocol_is_closed(data: bytes, reason: str) -> None:
    """1-12: framing."""
    with served() as (pull, _):
        before = live_bytes()
        with RawPeer(pull.endpoint).shake(b"PUSH") as peer:
            peer.send(data)
            peer.until_closed()
        closed_with(pull, mm.Reason[reason])
        assert live_bytes() - before < 4 << 20


BEFORE_HANDSHAKE = [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "NOT_ZMTP"),
    (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1", "PLAINTEXT"),
    (b"\x01\x00", "OLD_ZMTP"),
    (b"\xff" + bytes(8) + b"\x7f\x01\x08", "OLD_ZMTP"),
    (ref.greeting(mechanism=b"CURVE"), "MECHANISM"),
    (ref.greeting(mechanism=b"\xff" * 20), "MECHANISM"),
    (ref.greeting() + ref.message(b"early"), "HANDSHAKE"),
    (ref.greeting() + ref.ready(b"SUB"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"push"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"P" * 255), "SOCKET_TYPE"),
    (ref.greeting() + ref.command(b"READY"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"PUSH", (b"Identity", b"x" * 256)), "IDENTITY"),
    (ref.greeting() + ref.ready(b"PUSH", (b"Identity", b"\x00x")), "IDENTITY"),
    (ref.greeting() + ref.ready(b"PUSH", (b"Socket-Type", b"PUSH")), "METADATA"),
    (ref.greeting() + ref.command(b"READY", b"\x0bSocket-Type\x7f\xff\xff\xff"), "METADATA"),
    (ref.greeting() + ref.ready(b"PUSH", *[(b"X-%d" % i, b"") for i in range(2000)]), "METADATA"),
    (ref.greeting() + b"\x06" + struct.pack(">Q", 1 << 40), "METADATA"),
]


@pytest.mark.parametrize(("data", "reason"), BEFORE_HANDSHAKE)
def test_a_stranger_that_does_not_shake_hands_is_closed(data: bytes, reason: str) -> None:
    """17-20: handshake."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(data).until_closed()
        for _ in range(1000):
            if pull.stats().closed.get(mm.Reason[reason]):
                break
            check(pull, push)
        closed_with(pull, mm.Reason[reason])
        assert len(pull.peers()) == 1


@pytest.mark.parametrize(
    "data",
    [ref.greeting() + ref.ready(b"PUSH") + ref.message(b"a", b"b") + ref.message(b"dribble")],
)
def test_a_session_of_single_octets_is_understood(data: bytes) -> None:
    """3: every split."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        for i in range(len(data)):
            peer.send(data[i : i + 1])
        assert pull.recv_frames(timeout=WAIT_S) == [b"a", b"b"]
        assert pull.recv(timeout=WAIT_S) == b"dribble"


def test_odd_but_legal_frames_are_accepted() -> None:
    """5, 6, 10, 11: LONG with a small size, unknown commands, unasked PONG, commands inside a
    message."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint).shake(b"PUSH") as peer:
        peer.send(
            ref.frame(b"x", ref.LONG) + ref.command(b"WHAT") + ref.pong(b"wrong") + ref.pong()
        )
        assert pull.recv(timeout=WAIT_S) == b"x"
        peer.send(ref.frame(b"a", 1) + ref.ping(0, b"x" * 16) + ref.frame(b"b"))
        assert pull.recv_frames(timeout=WAIT_S) == [b"a", b"b"]
        assert peer.frame() == (ref.COMMAND, b"\x04PONG" + b"x" * 16)
        for ttl in (1, 655, 656, 65535):
            peer.send(ref.ping(ttl, b"%d" % ttl))
            assert peer.frame()[1] == b"\x04PONG%d" % ttl


def test_the_size_limit_holds_at_its_edge() -> None:
    """2: exactly, and one more in two frames."""
    with served(message_size_max=1000) as (pull, _):
        with RawPeer(pull.endpoint).shake(b"PUSH") as peer:
            peer.send(ref.message(b"x" * 1000))
            assert len(pull.recv(timeout=WAIT_S)) == 1000
            peer.send(ref.message(b"x" * 500, b"x" * 501)).until_closed()
        closed_with(pull, mm.Reason.MESSAGE_SIZE)


def test_an_unfinished_message_never_arrives() -> None:
    """9: FIN inside a multipart message is counted, and what was there is freed."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint).shake(b"PUSH") as peer:
            peer.send(ref.frame(b"half", 1))
        while not pull.stats().closed.get(mm.Reason.EOF_MID_MESSAGE):
            check(pull, push)
        closed_with(pull, mm.Reason.EOF_MID_MESSAGE)


def test_a_flood_of_pings_costs_one_pong_at_a_time() -> None:
    """11: nobody reads the answers; memory stays where it was."""
    with served() as (pull, push), RawPeer(pull.endpoint).shake(b"PUSH") as peer:
        before = live_bytes()
        flood = ref.ping(0, b"c" * 16) * 20_000
        for _ in range(5):
            peer.send(flood)
            check(pull, push)
        assert live_bytes() - before < 8 << 20


def test_a_slow_handshake_ends_in_time_whatever_it_dribbles() -> None:
    """14: the deadline is for all of it."""
    with served(handshake_timeout=0.3) as (pull, push), RawPeer(pull.endpoint) as peer:
        data = ref.greeting()
        for i in range(len(data)):
            peer.send(data[i : i + 1])
            check(pull, push)
        peer.until_closed()
        closed_with(pull, mm.Reason.HANDSHAKE_TIMEOUT)


def test_silent_connections_evict_each_other_and_lock_nobody_out() -> None:
    """13, 15: the oldest half-open handshake goes first; a newcomer that speaks gets in."""
    with served(half_open_max=8) as (pull, push), ExitStack() as stack:
        silent = [stack.enter_context(RawPeer(pull.endpoint)) for _ in range(200)]
        silent[0].until_closed()
        with mm.Push(connect=pull.endpoint) as late:
            late.wait_for_peers(timeout=WAIT_S)
        check(pull, push)
        closed_with(pull, mm.Reason.EVICTED, 190)
        assert pull.stats().half_open <= 8


def test_a_storm_of_connections_leaves_nothing() -> None:
    """16: connect and disconnect, 2,000 times."""
    with served() as (pull, push):
        for _ in range(20):
            for _ in range(100):
                RawPeer(pull.endpoint).socket.close()
            check(pull, push)
        while pull.stats().half_open:
            check(pull, push)
        assert len(pull.peers()) == 1


def test_a_topic_over_the_limit_closes_the_subscriber_only() -> None:
    """31: 16 MiB of topic, and one octet too much."""
    with (
        mm.Pub(bind=UP, topic_size_max=100) as pub,
        mm.Sub(connect=pub.endpoint, topics="a") as sub,
    ):
        pub.wait_for_subscribers("a", timeout=WAIT_S)
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            peer.send(ref.subscription(True, b"x" * 101)).until_closed()
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            peer.send(ref.subscription(True, b"x" * (16 << 20))).until_closed()
        closed = pub.stats().closed
        assert closed.get(mm.Reason.TOPIC_SIZE, 0) == 1
        assert closed.get(mm.Reason.COMMAND_SIZE, 0) == 1
        pub.send(b"still", topic="a")
        assert sub.recv(timeout=WAIT_S) == b"still"


def test_too_many_subscriptions_close_the_subscriber() -> None:
    """32: distinct ones; a CANCEL of what was never asked is ignored."""
    with mm.Pub(bind=UP, subscriptions_max=10) as pub, RawPeer(pub.endpoint).shake(b"SUB") as peer:
        peer.send(ref.subscription(False, b"never"))
        topics = [b"t%d" % i for i in range(20)]
        peer.send(b"".join(ref.subscription(True, t) for t in topics)).until_closed()
        closed_with(pub, mm.Reason.SUBSCRIPTIONS)


def test_the_same_subscription_again_and_again_is_one() -> None:
    """32: a peer has a set of topics; repeating one takes no room, and one CANCEL ends it."""
    with mm.Pub(bind=UP, subscriptions_max=10) as pub, RawPeer(pub.endpoint).shake(b"SUB") as peer:
        peer.send(ref.subscription(True, b"same") * 100_000 + ref.ping(1, b"there"))
        assert peer.frame()[1] == b"\x04PONGthere"
        assert pub.subscribers("same") == 1
        assert pub.peers()[0].subscriptions == 1
        peer.send(ref.subscription(False, b"same") + ref.ping(1, b"gone"))
        assert peer.frame()[1] == b"\x04PONGgone"
        assert pub.subscribers("same") == 0


def test_messages_to_roles_that_take_none_are_counted_and_dropped() -> None:
    """33: a SUB sends data to a PUB, a PULL to a PUSH."""
    with mm.Pub(bind=UP) as pub, RawPeer(pub.endpoint).shake(b"SUB") as peer:
        peer.send(ref.message(b"\x07data", b"more") + ref.subscription(True, b"") + ref.ping(1))
        assert peer.frame()[1] == b"\x04PONG"
        assert pub.stats().dropped_malformed == 1
    with mm.Push(bind=UP) as push, RawPeer(push.endpoint).shake(b"PULL") as peer:
        peer.send(ref.message(b"data") * 3000 + ref.ping(1, b"end"))
        assert peer.frame()[1] == b"\x04PONGend"
        assert push.stats().dropped_malformed == 3000


def test_wrong_and_doubled_replies_are_dropped() -> None:
    """33: unknown id, too short, twice, unsolicited."""
    import threading

    with mm.Req(bind=UP) as req, RawPeer(req.endpoint).shake(b"REP") as peer:
        answers: list[bytes] = []
        asking = threading.Thread(target=lambda: answers.append(req.request(b"q", timeout=WAIT_S)))
        asking.start()
        flags, number = peer.frame()
        assert (flags, len(number)) == (ref.MORE, 4)
        assert peer.frame() == (ref.MORE, b"")
        assert peer.frame() == (0, b"q")
        wrong = bytes([number[0] ^ 0xFF]) + number[1:]
        peer.send(ref.message(wrong, b"", b"no") + ref.message(b"x") + ref.message(b"", b"no"))
        peer.send(ref.message(number, b"", b"yes") * 2 + ref.ping(1))
        asking.join(WAIT_S)
        assert answers == [b"yes"]
        assert peer.frame()[1] == b"\x04PONG"
        stats = req.stats()
        assert stats.dropped_late + stats.dropped_malformed == 4


def test_a_request_without_an_envelope_is_dropped() -> None:
    """33: a DEALER that forgot the empty frame; two requests at once are fine."""
    with mm.Rep(bind=UP) as rep, RawPeer(rep.endpoint).shake(b"DEALER") as peer:
        peer.send(ref.message(b"no delimiter") + ref.message(b"", b"1") + ref.message(b"", b"2"))
        for wanted in (b"1", b"2"):
            request = rep.recv(timeout=WAIT_S)
            assert request == wanted
            assert request.reply(b"ok")
        assert rep.stats().dropped_malformed == 1


def test_a_subscriber_that_does_not_read_costs_a_bounded_queue() -> None:
    """37: others get everything; its drops are counted; memory stays under its limit."""
    with (
        mm.Pub(bind=UP, send_queue_bytes=1 << 20) as pub,
        mm.Sub(connect=pub.endpoint, topics="") as sub,
    ):
        pub.wait_for_subscribers("x", timeout=WAIT_S)
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            peer.send(ref.subscription(True, b""))
            pub.wait_for_subscribers("x", 2, timeout=WAIT_S)
            before = live_bytes()
            for _ in range(400):
                pub.send(b"x" * 50_000)
                assert len(sub.recv(timeout=WAIT_S)) == 50_000
            dropped = [p.dropped_messages for p in pub.peers()]
            assert sorted(dropped)[0] == 0
            assert sorted(dropped)[1] > 0
            assert live_bytes() - before < 8 << 20


def test_closing_to_a_peer_that_never_reads_is_bounded() -> None:
    """38: close() returns at once, and the engine gives up after its linger."""
    with mm.Engine() as engine:
        push = mm.Push(bind=UP, engine=engine, linger=0.1)
        with RawPeer(push.endpoint).shake(b"PULL"):
            push.wait_for_peers(timeout=WAIT_S)
            for _ in range(200):
                try:
                    push.send(b"x" * 100_000, timeout=0.001)
                except mm.TimedOutError:
                    break
            push.close()
            assert engine.close(timeout=0.2) > 0
