"""One Push, and at once consumers of meshmsg that acknowledge, one of pyzmq and one of NNG: what
each has, what a killed one had, and what of that is known.

Not here: a Push with pyzmq alone (test_delivery.py), workers that die many times (tests/crash).
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.spside import NngSide
from tests.interop.zmqside import zmq_socket
from tests.support import refsp as ref
from tests.support.pairs import WAIT_S, wait_until
from tests.support.programs import running

pytestmark = pytest.mark.leaves_threads
UP = "tcp://127.0.0.1:0"
ROUTING = pytest.mark.parametrize("routing", ["round_robin", "least_loaded", "hash"])
COUNT = 300
KEYS = 60
SENT_MAX = 200_000
"""Messages after which a worker that should have died is stuck."""


class Others:
    """A Pull that acknowledges by hand, a PULL of pyzmq and one of NNG, who take what there is."""

    def __init__(self, push: mm.Push, pull: Any, zmq_pull: Any, nng_pull: Any) -> None:
        self.push, self.pull, self.zmq, self.nng = push, pull, zmq_pull, nng_pull
        self.pynng = pytest.importorskip("pynng", reason="pynng is not installed")
        self.got: dict[str, list[int]] = {"meshmsg": [], "zmq": [], "nng": []}
        self.keys: dict[str, set[bytes]] = {name: set() for name in self.got}

    def take(self) -> None:
        """What is there now."""
        self.take_acked()
        while self.zmq.poll(0):
            self.note("zmq", self.zmq.recv())
        try:
            while True:
                self.note("nng", self.nng._socket.recv(block=False))
        except self.pynng.TryAgain:
            return

    def take_acked(self) -> None:
        """What the one of meshmsg has; the other two read nothing."""
        try:
            found: list[Any] = list(self.pull.recv_many(timeout=0))
        except mm.WouldBlockError:
            found = []
        for message in found:
            self.note("meshmsg", message)
            assert message.ack()

    def note(self, who: str, body: bytes) -> None:
        """It has that message."""
        self.got[who].append(int(body))
        self.keys[who].add(key_of(int(body)).encode())

    @property
    def all(self) -> list[int]:
        """What they have."""
        return [number for numbers in self.got.values() for number in numbers]

    @property
    def count(self) -> int:
        """How many they have."""
        return sum(len(bodies) for bodies in self.got.values())

    def until(self, true: Callable[[], bool], take: Callable[[], None] | None = None) -> None:
        """Take what comes until something is so."""

        def look() -> bool:
            (take or self.take)()
            return true()

        wait_until(look)


def key_of(number: int) -> str:
    """The key of a message, where they go by keys."""
    return f"k{number % KEYS}"


def send(push: mm.Push, number: int) -> None:
    """The next message."""
    push.send(b"%d" % number, key=key_of(number), timeout=WAIT_S)


@contextmanager
def consumers(routing: Any, more: int = 0) -> Iterator[Others]:
    """The Push and those three, and so many others to wait for as well."""
    options: dict[str, Any] = {"delivery": "at_least_once", "heartbeat_interval": None}
    with mm.Push(bind=UP, routing=routing, **options) as push, zmq_socket(zmq.PULL) as other:
        other.connect(push.endpoint)
        nng = NngSide(ref.PULL, push.endpoint)
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=7, identity=b"stays") as pull:
            push.wait_for_peers(3 + more, timeout=WAIT_S)
            wait_until(lambda: sum(peer.acks for peer in push.peers()) == 1 + more)
            try:
                yield Others(push, pull, other, nng)
            finally:
                nng.close()


def check_told(push: mm.Push, acking: int) -> None:
    """Of the two that cannot acknowledge, once each; peers() says the same."""
    told = [one.peer for one in push.events() if one.kind is mm.EventKind.PEER_UNACKED]
    cannot = [peer for peer in push.peers() if not peer.acks]
    assert sorted(told) == sorted(peer.id for peer in cannot)
    assert sorted(peer.wire for peer in cannot) == ["sp", "zmtp"]
    assert [peer.takes_meta for peer in cannot] == [False, False]
    assert len(push.peers()) == len(cannot) + acking


@ROUTING
def test_each_message_arrives_once_at_one_of_them(routing: Any) -> None:
    """Whoever that is; and everybody has some. By keys, each key is one consumer's."""
    with consumers(routing) as others:
        push = others.push
        for number in range(COUNT):
            send(push, number)
            others.take()
        others.until(lambda: others.count >= COUNT)
        assert sorted(others.all) == list(range(COUNT))
        assert all(others.got.values())
        if routing == "hash":
            assert sum(len(keys) for keys in others.keys.values()) == KEYS
            for numbers in others.got.values():
                assert numbers == sorted(numbers)
        others.until(lambda: push.stats().unacked_messages == 0)
        stats = push.stats()
        assert stats.acked_messages == len(others.got["meshmsg"])
        assert (stats.redelivered_messages, stats.in_doubt_messages, stats.dropped) == (0, 0, 0)
        check_told(push, 1)
        report = push.drain(timeout=WAIT_S)
        assert report.unconfirmable == len(others.got["nng"])


@ROUTING
def test_what_a_killed_consumer_did_not_acknowledge_goes_to_the_others(
    routing: Any, tmp_path: Path
) -> None:
    """At once, also to those that cannot acknowledge. Only what it may have done comes twice."""
    notes = tmp_path / "notes"
    with consumers(routing) as others:
        push, sent = others.push, 0
        command = [sys.executable, "-m", "tests.crash.worker", push.endpoint, str(notes)]
        with running([*command, "manual", "between", "5"]) as worker:
            push.wait_for_peers(4, timeout=WAIT_S)
            wait_until(lambda: sum(peer.acks for peer in push.peers()) == 2)
            while worker.poll() is None:
                send(push, sent)
                sent += 1
                others.take()
                assert sent < SENT_MAX
            assert worker.returncode == -signal.SIGKILL
        for _ in range(COUNT):
            send(push, sent)
            sent += 1
        others.until(lambda: len(push.peers()) == 3)

        def nothing_waits() -> bool:
            stats = push.stats()
            return (stats.queued_out_messages, stats.unacked_messages) == (0, 0)

        others.until(nothing_waits)
        done_there = push.stats().acked_messages - len(others.got["meshmsg"])
        others.until(lambda: others.count >= sent - done_there)
        noted = [int(line) for line in notes.read_bytes().split()]
        assert (len(noted), 0 <= done_there <= 4) == (5, True)
        times = Counter(others.all)
        assert set(times.values()) == {1}
        assert set(times) | set(noted[:done_there]) == set(range(sent))
        assert set(times) & set(noted) == set(noted[done_there:])
        assert push.stats().redelivered_messages >= 1
        assert push.stats().in_doubt_messages == 0
        check_told(push, 1)


@ROUTING
def test_what_others_had_is_counted_and_goes_to_nobody_else(routing: Any) -> None:
    """Of pyzmq in doubt, as its connection ends; of NNG as what cannot be confirmed."""
    with consumers(routing) as others:
        push = others.push
        for number in range(COUNT):
            send(push, number)
            others.take_acked()
        others.until(lambda: push.stats().queued_out_messages == 0, others.take_acked)
        had = {peer.wire: peer.sent_messages for peer in push.peers() if not peer.acks}
        assert min(had.values()) > 0
        others.zmq.close()
        others.nng.close()
        others.until(lambda: len(push.peers()) == 1, others.take_acked)
        others.until(lambda: push.stats().unacked_messages == 0, others.take_acked)
        stats = push.stats()
        assert stats.in_doubt_messages == had["zmtp"]
        assert stats.written_messages == COUNT
        assert stats.acked_messages == COUNT - sum(had.values()) == len(others.got["meshmsg"])
        assert (stats.redelivered_messages, stats.dropped) == (0, 0)
        report = push.drain(timeout=WAIT_S)
        assert (report.unconfirmable, report.in_doubt) == (had["sp"], had["zmtp"])
