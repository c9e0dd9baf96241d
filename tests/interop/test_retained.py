"""What a Pub retains, to subscribers of other libraries: they get it as any message."""

from __future__ import annotations

import zmq

import meshmsg as mm
from tests.interop.zmqside import zmq_socket
from tests.support.pairs import WAIT_S

UP = "tcp://127.0.0.1:0"
MANY = 500


def test_a_libzmq_sub_gets_the_last_of_each_topic_and_then_what_comes() -> None:
    """Each time that it subscribes; overlapping topics give it once."""
    with mm.Pub(bind=UP, retain="last") as pub, zmq_socket(zmq.SUB) as theirs:
        for number in range(3):
            pub.send(b"%d" % number, topic="a")
        pub.send_frames([b"f", b"g"], topic="ab")
        pub.send(b"no", topic="b")
        theirs.setsockopt(zmq.SUBSCRIBE, b"ab")
        theirs.setsockopt(zmq.SUBSCRIBE, b"a")
        theirs.connect(pub.endpoint)
        got = sorted(theirs.recv_multipart() for _ in range(2))
        assert got == [[b"a", b"2"], [b"ab", b"f", b"g"]]
        pub.send(b"3", topic="a")
        assert theirs.recv_multipart() == [b"a", b"3"]
        theirs.setsockopt(zmq.SUBSCRIBE, b"b")
        assert theirs.recv_multipart() == [b"b", b"no"]
        assert pub.stats().retained_sent == 3


def test_more_topics_than_queues_hold_all_come_to_a_libzmq_sub() -> None:
    """Its receive queue and ours are small; nothing is dropped."""
    with (
        mm.Pub(bind=UP, retain="last", send_queue_messages=2) as pub,
        zmq_socket(zmq.SUB, RCVHWM=1) as theirs,
    ):
        for number in range(MANY):
            pub.send(b"x" * 1000, topic=f"{number}")
        theirs.setsockopt(zmq.SUBSCRIBE, b"")
        theirs.connect(pub.endpoint)
        got = {theirs.recv_multipart()[0] for _ in range(MANY)}
        assert got == {b"%d" % number for number in range(MANY)}
        assert pub.stats().dropped == 0


def test_a_peer_of_sp_gets_all_that_it_has_words_for() -> None:
    """It is sent everything; a message of three frames is dropped for it, counted and told."""
    with mm.Pub(bind=UP, retain="last") as pub:
        pub.send(b"1", topic="a")
        pub.send_frames([b"f", b"g"], topic="b")
        with mm.Sub(connect=f"sp+{pub.endpoint}", topics="a") as sub:
            assert sub.recv(timeout=WAIT_S) == b"a1"
            pub.wait_for_subscribers(timeout=WAIT_S)
            assert pub.stats().dropped_unencodable == 1
            pub.send(b"2", topic="a")
            assert sub.recv(timeout=WAIT_S) == b"a2"
