"""Topics by the million: from one subscriber that may, from one that may not, and again after a
reconnect.

Items 31, 32 and 36 of the hostile list, the last with its full million (a tenth of it under a
sanitizer).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import meshmsg as mm
from tests.hostile.test_hostile import closed_with
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
TOPICS = 100_000 if "san" in os.environ.get("LD_PRELOAD", "") else 1_000_000
BYTES_A_TOPIC_MAX = 400
"""Memory a subscription may cost on either side, the topic of some 12 bytes included."""


@contextmanager
def published(**options: int) -> Iterator[tuple[mm.Pub, mm.Sub]]:
    """A Pub under attack, and a Sub that goes on being served."""
    with mm.Pub(bind=UP, **options) as pub, mm.Sub(connect=pub.endpoint, topics="legit") as sub:
        pub.wait_for_subscribers("legit", timeout=WAIT_S)
        yield pub, sub
        check(pub, sub)
        assert sub.stats().disconnects == 0


def check(pub: mm.Pub, sub: mm.Sub) -> None:
    """The well-behaved subscriber is served."""
    pub.send(b"x", topic="legit")
    assert sub.recv(timeout=WAIT_S) == b"x"


def marked(peer: RawPeer) -> None:
    """Everything this peer sent before has been read."""
    peer.send(ref.ping(0, b"mark"))
    while peer.frame()[1] != b"\x04PONGmark":
        continue


def topic_of(number: int) -> str:
    """One of many topics; none is a prefix of another."""
    return f"topic.{number:07}"


def test_a_million_topics_come_back_after_a_reconnect() -> None:
    """36: not one is dropped, nothing stalls, memory is bounded, no queue limit applies."""
    sub = mm.Sub(send_queue_messages=1, send_queue_bytes=1, reconnect_max=0.05)
    for number in range(TOPICS):
        sub.subscribe(topic_of(number))
    with mm.Pub(bind=of_its_own(), subscriptions_max=TOPICS) as first:
        endpoint = first.endpoint
        sub.connect(endpoint)
        before = live_bytes()
        first.wait_for_subscribers(topic_of(TOPICS - 1), timeout=WAIT_S * 3)
        everything_is_there(first, sub)
        assert live_bytes() - before < 2 * TOPICS * BYTES_A_TOPIC_MAX
    for round_number in range(2):
        with mm.Pub(bind=endpoint, subscriptions_max=TOPICS) as pub:
            pub.wait_for_subscribers(topic_of(TOPICS - 1), timeout=WAIT_S * 3)
            everything_is_there(pub, sub)
        if round_number == 0:
            before = live_bytes()
    assert live_bytes() - before < 8 << 20  # a further reconnect costs nothing that stays
    sub.close()


def everything_is_there(pub: mm.Pub, sub: mm.Sub) -> None:
    """All topics are known, and messages under some of them arrive."""
    while pub.peers()[0].subscriptions < TOPICS:
        pub.drain(timeout=0.01)
    for number in (0, 1, TOPICS // 2, TOPICS - 1):
        pub.send(b"%d" % number, topic=topic_of(number))
        message = sub.recv(timeout=WAIT_S)
        assert (message.topic, message) == (topic_of(number), b"%d" % number)
    assert pub.subscribers("topic.x") == 0


def test_a_subscriber_over_its_number_of_topics_is_closed_and_its_topics_forgotten() -> None:
    """32: the default is 10,000; the ten-thousandth is fine, the next one ends it."""
    with published() as (pub, sub):
        topics = [b"flood %d" % number for number in range(10_000)]
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            peer.send(b"".join(ref.subscription(True, topic) for topic in topics))
            pub.wait_for_subscribers("flood 9999", timeout=WAIT_S)
            check(pub, sub)
            peer.send(ref.subscription(True, b"one more")).until_closed()
        closed_with(pub, mm.Reason.SUBSCRIPTIONS)
        assert pub.subscribers("flood 9999") == 0
        assert len(pub.peers()) == 1


def test_a_subscriber_over_its_bytes_of_topics_is_closed() -> None:
    """32: 16 MiB of topics a peer, however few and however many are allowed."""
    with published(subscriptions_max=1_000_000) as (pub, _):
        before = live_bytes()
        size = 64 * 1024
        fitting = (16 << 20) // size
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            for number in range(fitting - 1):
                peer.send(ref.subscription(True, (b"%08d" % number).ljust(size, b"x")))
            marked(peer)
            assert pub.stats().closed == {}
            for number in range(fitting, fitting + 3):
                peer.send(ref.subscription(True, (b"%08d" % number).ljust(size, b"x")))
            peer.until_closed()
        closed_with(pub, mm.Reason.SUBSCRIPTIONS)
        assert live_bytes() - before < 64 << 20


def test_the_same_topic_a_thousand_times_is_one_and_needs_one_cancel() -> None:
    """32: a peer has a topic or not, as in libzmq; cancels of what is not there change nothing."""
    with published() as (pub, _), RawPeer(pub.endpoint).shake(b"SUB") as peer:
        peer.send(ref.subscription(False, b"never") * 1000)
        peer.send(ref.subscription(True, b"t") * 20_000)
        marked(peer)
        assert pub.subscribers("t") == 1
        assert sorted(peer.subscriptions for peer in pub.peers()) == [1, 1]
        pub.send(b"once", topic="t")
        assert (peer.frame(), peer.frame()) == ((ref.MORE, b"t"), (0, b"once"))
        peer.send(ref.subscription(False, b"t") + ref.subscription(False, b"t"))
        marked(peer)
        assert pub.subscribers("t") == 0


@pytest.mark.parametrize("order", ["downwards", "upwards", "gone"])
def test_topics_that_are_prefixes_of_each_other_need_no_stack(order: str) -> None:
    """31: a chain of 5,000 prefixes, then cancelled from either end, or by the peer's leaving."""
    chain = [b"p" * length for length in range(1, 5001)]
    with published() as (pub, sub), RawPeer(pub.endpoint).shake(b"SUB") as peer:
        peer.send(b"".join(ref.subscription(True, topic) for topic in chain))
        pub.wait_for_subscribers("p" * 5000, timeout=WAIT_S)
        marked(peer)
        pub.send(b"deep", topic="p" * 60_000)
        assert (peer.frame()[1], peer.frame()[1]) == (b"p" * 60_000, b"deep")
        if order == "gone":
            peer.socket.close()
        else:
            back = chain if order == "upwards" else chain[::-1]
            peer.send(b"".join(ref.subscription(False, topic) for topic in back))
            marked(peer)
        while pub.subscribers("p" * 5000):
            check(pub, sub)


def test_one_topic_as_long_as_may_be_comes_and_goes() -> None:
    """31: 64 KiB is the default's edge: accepted, matched, cancelled; one octet more is not."""
    edge = b"e" * (64 * 1024)
    with published() as (pub, _):
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            peer.send(ref.subscription(True, edge))
            pub.wait_for_subscribers(edge, timeout=WAIT_S)
            peer.send(ref.subscription(False, edge))
            marked(peer)
            assert pub.subscribers(edge) == 0
            peer.send(ref.subscription(True, edge + b"e")).until_closed()
        assert set(pub.stats().closed) <= {mm.Reason.TOPIC_SIZE, mm.Reason.COMMAND_SIZE}
        assert sum(pub.stats().closed.values()) == 1


def test_notices_an_xpub_never_takes_are_one_a_topic() -> None:
    """32 for XPub: none is dropped, however many; a topic that flaps takes no more than another."""
    with mm.XPub(bind=UP, subscriptions_max=200_000) as xpub:
        with RawPeer(xpub.endpoint).shake(b"SUB") as peer:
            count = 70_000
            topics = [b"n%06d" % number for number in range(count)]
            peer.send(b"".join(ref.subscription(True, topic) for topic in topics))
            flap = ref.subscription(False, topics[0]) + ref.subscription(True, topics[0])
            for _ in range(100):
                peer.send(flap * 1000)
            marked(peer)
            assert xpub.subscribers(f"n{count - 1:06}") == 1
            taken: list[mm.Message] = []
            with pytest.raises(mm.WouldBlockError):
                while True:
                    taken += xpub.recv_many(10_000, timeout=0)
            assert taken == [b"\x01" + topic for topic in topics]
            stats = xpub.stats()
            assert (stats.dropped, stats.parsed_messages) == (0, stats.received_messages)
