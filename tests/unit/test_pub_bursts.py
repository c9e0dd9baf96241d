"""A publisher in full flow to several subscribers, whose fan-out may be deferred.

Not here: the queues alone (tests/c/test_fan_out_deferred.c). Law: whoever looks, at any moment,
finds every message in exactly one place; no sleeps.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until

SUBSCRIBERS = 4
COUNT = 20_000
LOOKS = 200
BURST = 100


@dataclass
class Flow:
    """A publisher, its engine, and subscribers with engines of their own."""

    engine: mm.Engine
    pub: mm.Pub
    subs: list[mm.Sub]


@contextmanager
def flowing(bind: str, *, topics: str = "", count: int = SUBSCRIBERS) -> Iterator[Flow]:
    """Connect them."""
    with ExitStack() as stack:
        engine, *engines = [stack.enter_context(mm.Engine()) for _ in range(1 + count)]
        pub = stack.enter_context(mm.Pub(bind=bind, overflow="block", engine=engine))
        subs = []
        for own in engines:
            sub = mm.Sub(connect=pub.endpoint, topics=topics, engine=own)
            subs.append(stack.enter_context(sub))
        pub.wait_for_subscribers(topics or "", count=count, timeout=WAIT_S)
        yield Flow(engine, pub, subs)


def number(i: int) -> bytes:
    """One message."""
    return b"%06d" % i


@contextmanager
def reading(subs: list[mm.Sub], count: int) -> Iterator[list[list[bytes]]]:
    """Read so many messages of each, in threads; all are there when the block is over."""
    came: list[list[bytes]] = [[] for _ in subs]

    def read(i: int) -> None:
        came[i] += [bytes(message) for message in islice(subs[i], count)]

    threads = [threading.Thread(target=read, args=(i,), daemon=True) for i in range(len(subs))]
    for thread in threads:
        thread.start()
    yield came
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


@pytest.mark.parametrize("count", [1, SUBSCRIBERS])
@pytest.mark.parametrize("bind", ["tcp://127.0.0.1:0", "ipc://@", "inproc://bursts"])
def test_all_get_all_in_order_and_drain_tells_when(bind: str, count: int, tmp_path: Path) -> None:
    """The last messages of a burst, too, with nobody sending any more."""
    bind = bind.replace("@", f"{tmp_path}/s")
    with flowing(bind, count=count) as flow, reading(flow.subs, COUNT) as came:
        for i in range(COUNT):
            flow.pub.send(number(i))
        flow.pub.drain(timeout=WAIT_S)
        stats = flow.pub.stats()
        assert stats.sent_messages == COUNT
        assert stats.written_messages == COUNT * count
        assert stats.queued_out_messages == 0
    wanted = [number(i) for i in range(COUNT)]
    assert all(numbers == wanted for numbers in came)


@pytest.mark.parametrize("count", [1, SUBSCRIBERS])
def test_a_look_right_after_a_burst_finds_every_message(count: int) -> None:
    """Sent to so many: written, or queued; in the counters of the socket and of each peer."""
    with flowing("tcp://127.0.0.1:0", count=count) as flow:
        for sent in range(BURST, BURST * LOOKS, BURST):
            for i in range(BURST):
                flow.pub.send(number(i))
            if sent % (2 * BURST) == 0:
                stats = flow.pub.stats()
                assert stats.sent_messages == sent
                assert stats.written_messages + stats.queued_out_messages == sent * count
            else:
                for peer in flow.pub.peers():
                    assert peer.sent_messages + peer.queued_out_messages == sent
            for sub in flow.subs:
                assert len(list(islice(sub, BURST))) == BURST


def test_every_look_beside_a_sender_finds_every_message() -> None:
    """The same, at any moment."""
    stop = threading.Event()

    def send(pub: mm.Pub) -> None:
        while not stop.is_set():
            pub.send(b"x" * 30)
        pub.send(b"end")

    def read(sub: mm.Sub) -> None:
        for message in sub:
            if message == b"end":
                return

    with flowing("tcp://127.0.0.1:0") as flow:
        threads = [threading.Thread(target=read, args=(sub,), daemon=True) for sub in flow.subs]
        threads.append(threading.Thread(target=send, args=(flow.pub,), daemon=True))
        for thread in threads:
            thread.start()
        for _ in range(LOOKS):
            stats = flow.pub.stats()
            placed = stats.written_messages + stats.queued_out_messages
            assert placed == stats.sent_messages * SUBSCRIBERS
            for peer in flow.pub.peers():
                assert peer.sent_messages + peer.queued_out_messages >= stats.sent_messages
        stop.set()
        for thread in threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()


def test_who_comes_late_gets_what_is_sent_from_then_on() -> None:
    """A subscription ends what is deferred: it gets nothing of before, and all of after."""
    with flowing("tcp://127.0.0.1:0") as flow, ExitStack() as late:
        for i in range(500):
            flow.pub.send(number(i))
        sub = late.enter_context(mm.Sub(connect=flow.pub.endpoint, topics=""))
        flow.pub.wait_for_subscribers("", count=SUBSCRIBERS + 1, timeout=WAIT_S)
        for i in range(500, 700):
            flow.pub.send(number(i))
        assert [bytes(m) for m in islice(sub, 200)] == [number(i) for i in range(500, 700)]
        for each in flow.subs:
            assert [bytes(m) for m in islice(each, 700)] == [number(i) for i in range(700)]


def test_who_goes_away_takes_its_share_and_no_more() -> None:
    """What was queued for it is counted as lost with it; the others get theirs."""
    with flowing("tcp://127.0.0.1:0") as flow:
        gone, *rest = flow.subs
        with reading([gone], 100), reading(rest, COUNT) as came:
            for i in range(COUNT):
                if i == COUNT // 2:
                    gone.close()
                    wait_until(lambda: len(flow.pub.peers()) == len(rest))
                flow.pub.send(number(i))
        flow.pub.drain(timeout=WAIT_S)
        stats = flow.pub.stats()
        to_it = stats.written_messages + stats.dropped_peer_gone - COUNT * len(rest)
        assert 100 <= to_it <= COUNT // 2
        assert stats.dropped_overflow == stats.queued_out_messages == 0
    assert all(numbers == [number(i) for i in range(COUNT)] for numbers in came)


@pytest.mark.parametrize("count", [1, SUBSCRIBERS])
@pytest.mark.parametrize("closed", ["pub", "engine"])
def test_closing_right_after_a_burst_sends_it_all(closed: str, count: int) -> None:
    """The linger is for what lagged as well."""
    with flowing("tcp://127.0.0.1:0", count=count) as flow, reading(flow.subs, 300) as came:
        for i in range(300):
            flow.pub.send(number(i))
        getattr(flow, closed).close()
    assert all(numbers == [number(i) for i in range(300)] for numbers in came)


def test_topics_that_take_turns_reach_whom_they_are_for() -> None:
    """A message for others ends what is deferred."""
    with flowing("tcp://127.0.0.1:0", topics="a") as flow:
        flow.subs[0].subscribe("b")
        flow.pub.wait_for_subscribers("b", count=1, timeout=WAIT_S)
        sent = [b"a%d" % i if i % 7 < 5 else b"b%d" % i for i in range(700)]
        for message in sent:
            flow.pub.send(message)
        assert [bytes(m) for m in islice(flow.subs[0], len(sent))] == sent
        only = [message for message in sent if message[:1] == b"a"]
        for sub in flow.subs[1:]:
            assert [bytes(m) for m in islice(sub, len(only))] == only
