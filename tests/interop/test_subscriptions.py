"""Subscriptions against libzmq: a peer has a topic or not, however often it says so.

libzmq sends every SUBSCRIBE, and the CANCEL of the last one only; its XPUB holds a set per peer.
"""

from __future__ import annotations

import zmq

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S, of_its_own, wait_until

UP = "tcp://127.0.0.1:0"


def wait_for_no_subscriber(pub: mm.Pub | mm.XPub, *theirs: zmq.Socket[bytes]) -> None:
    """The topic is gone; libzmq works inside the calls of its application."""

    def gone() -> bool:
        for socket in theirs:
            socket.poll(1)
        return pub.subscribers("t") == 0

    wait_until(gone)


def test_a_libzmq_sub_that_subscribed_twice_gets_rid_of_it() -> None:
    """Two SUBSCRIBE, and one CANCEL for both: nothing of it is left, and nothing more is sent."""
    with mm.Pub(bind=UP) as pub, zmq_socket(zmq.SUB) as theirs:
        for topic in (b"t", b"t", b"still"):
            theirs.setsockopt(zmq.SUBSCRIBE, topic)
        theirs.connect(pub.endpoint)
        pub.wait_for_subscribers("t", timeout=WAIT_S)
        pub.wait_for_subscribers("still", timeout=WAIT_S)
        theirs.setsockopt(zmq.UNSUBSCRIBE, b"t")
        theirs.setsockopt(zmq.UNSUBSCRIBE, b"t")
        wait_for_no_subscriber(pub, theirs)
        pub.send(b"no", topic="t")
        pub.send(b"yes", topic="still")
        assert theirs.recv_multipart() == [b"still", b"yes"]
        assert pub.stats().written_messages == 1


def test_a_subscription_behind_a_verboser_proxy_ends_with_its_last_subscriber() -> None:
    """The proxy's XSUB sends a SUBSCRIBE for each of two, and a CANCEL for the last."""
    with (
        mm.Pub(bind=UP) as pub,
        zmq_socket(zmq.XSUB) as front,
        zmq_socket(zmq.XPUB, XPUB_VERBOSER=1) as back,
        zmq_socket(zmq.SUB) as one,
        zmq_socket(zmq.SUB) as two,
    ):
        front.connect(pub.endpoint)
        endpoint = bind(back, of_its_own())
        for sub in (one, two):
            sub.setsockopt(zmq.SUBSCRIBE, b"t")
            sub.connect(endpoint)
            notice = back.recv()
            assert notice == b"\x01t"
            front.send(notice)
        pub.wait_for_subscribers("t", timeout=WAIT_S)
        for sub in (one, two):
            sub.setsockopt(zmq.UNSUBSCRIBE, b"t")
            sub.poll(1)
            notice = back.recv()
            assert notice == b"\x00t"
            front.send(notice)
        wait_for_no_subscriber(pub, front)


def test_our_sub_tells_libzmq_the_first_subscription_and_the_last_cancel() -> None:
    """Counted here: what is said over there is what a set holds, also of an XSub."""
    for role in (mm.Sub, mm.XSub):
        with zmq_socket(zmq.XPUB, XPUB_VERBOSER=1) as theirs, role() as sub:
            sub.connect(bind(theirs, UP))
            sub.wait_for_peers(timeout=WAIT_S)
            for topic in ("t", "t", "u"):
                sub.subscribe(topic)
            sub.unsubscribe("t")
            sub.subscribe("v")
            sub.unsubscribe("t")
            sub.subscribe("end")
            told = [theirs.recv() for _ in range(5)]
            assert told == [b"\x01t", b"\x01u", b"\x01v", b"\x00t", b"\x01end"]


def test_our_xpub_tells_of_a_libzmq_peer_s_topic_once() -> None:
    """Also when it is verbose: the second SUBSCRIBE of the same peer says nothing new."""
    for verbose in (False, True):
        with mm.XPub(bind=UP, verbose=verbose) as xpub, zmq_socket(zmq.SUB) as theirs:
            for topic in (b"t", b"t", b"u"):
                theirs.setsockopt(zmq.SUBSCRIBE, topic)
            theirs.connect(xpub.endpoint)
            assert sorted(xpub.recv(timeout=WAIT_S) for _ in range(2)) == [b"\x01t", b"\x01u"]
            for _ in range(2):
                theirs.setsockopt(zmq.UNSUBSCRIBE, b"t")
            theirs.poll(1)
            assert xpub.recv(timeout=WAIT_S) == b"\x00t"
            assert xpub.subscribers("t") == 0


def test_libzmq_answers_for_its_subscriptions_and_is_not_taken_for_certain() -> None:
    """It answers the PING behind the SUBSCRIBE, all 16 octets of it, before its socket has it."""
    with zmq_socket(zmq.XPUB) as theirs, mm.Sub(topics="t") as sub:
        sub.connect(bind(theirs, UP))
        for topic in ("u", "v", "w"):
            sub.subscribe(topic)
            known = sub.wait_for_subscribed(timeout=WAIT_S)
            assert known == 0
            assert known.certain == ()
            assert [peer.address for peer in known.probable] == [sub.peers()[0].address]
            assert not known.probable[0].meshmsg
            assert repr(known).startswith("<0 certain; probable: tcp://")
        assert sorted(theirs.recv() for _ in range(4)) == [
            b"\x01t", b"\x01u", b"\x01v", b"\x01w"
        ]  # fmt: skip
        theirs.send_multipart([b"w", b"x"])
        assert sub.recv(timeout=WAIT_S) == b"x"
