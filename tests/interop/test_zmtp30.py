"""Peers of ZMTP 3.0, as libzmq before 4.3.3 and many ports are: subscriptions as messages, no
heartbeats."""

from __future__ import annotations

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"


def test_a_subscriber_of_30_subscribes_by_message() -> None:
    """T: both forms are accepted on any version; a CANCEL in either form ends it."""
    with mm.Pub(bind=UP) as pub, RawPeer(pub.endpoint).shake(b"SUB", minor=0) as peer:
        peer.send(ref.subscription(True, b"fx.", minor=0))
        pub.wait_for_subscribers("fx.eur", timeout=WAIT_S)
        pub.send(b"1", topic="fx.eur")
        assert (peer.frame(), peer.frame()) == ((ref.MORE, b"fx.eur"), (0, b"1"))
        peer.send(ref.subscription(False, b"fx.", minor=0))
        while pub.subscribers("fx.eur"):
            pub.drain(timeout=0.01)
        peer.send(ref.subscription(True, b"t" * 300, minor=1))
        pub.wait_for_subscribers("t" * 300, timeout=WAIT_S)


def test_a_publisher_of_30_is_told_by_message_and_one_of_31_by_command() -> None:
    """T: a 3.1 command to a 3.0 publisher is ignored, and no data ever comes."""
    for minor in (0, 1):
        with mm.Sub(bind=UP, topics=["a", "b" * 300]) as sub:
            with RawPeer(sub.endpoint).shake(b"PUB", minor=minor) as peer:
                flags = 0 if minor == 0 else ref.COMMAND
                lead = b"\x01" if minor == 0 else b"\x09SUBSCRIBE"
                assert sorted([peer.frame(), peer.frame()]) == [
                    (flags, lead + b"a"),
                    (flags, lead + b"b" * 300),
                ]
                peer.send(ref.message(b"abc", b"1"))
                assert sub.recv(timeout=WAIT_S) == b"1"


def test_a_peer_of_30_is_never_pinged_and_cannot_confirm() -> None:
    """drain() says so instead of waiting for ever."""
    with (
        mm.Push(bind=UP, heartbeat_interval=0.02) as push,
        RawPeer(push.endpoint).shake(b"PULL", minor=0) as peer,
    ):
        for _ in range(5):
            push.send(b"x", timeout=WAIT_S)
        report = push.drain(timeout=WAIT_S)
        assert (report.unconfirmable, report.unconfirmed, report.queued) == (5, 0, 0)
        report.raise_for_loss()
        peer.send(ref.ping(0, b"mark"))
        assert [peer.frame() for _ in range(6)] == [(0, b"x")] * 5 + [
            (ref.COMMAND, b"\x04PONGmark")
        ]
        assert push.peers()[0].zmtp_minor == 0
