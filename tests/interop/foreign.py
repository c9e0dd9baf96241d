"""What meshmsg and a peer program must do together, whatever the program is made of.

A test file derives a class from ``PeerTests`` and has a fixture ``command``, how to run its
program; the class's ``transports`` and ``zmtp_minors`` say what the program can do.
Not here: the fixtures that run it (conftest.py), how it is found or built, what only one does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.test_pyzmq import (
    PAIRS,
    both,
    from_zmq,
    name,
    subscribed,
    they_ask,
    they_route,
    to_zmq,
    we_ask,
    we_route,
)
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.peerproc import Peer

MANY = 1000
LARGE = [0, 255, 256, 70_001, 5 << 20]
LONG_TOPIC = "t" * 300
marks = itertools.count()
TURNS = int(WAIT_S * 100)


def new_ours(role: type[Any], **options: Any) -> Any:
    """Open a socket of ours: a Sub with a topic, a Dealer with a name.

    A Req has none: a REP of libzmq that has not noticed yet that the first peer of a name went
    ignores the second for ever.
    """
    if role is mm.Sub:
        options["topics"] = ["fx."]
    elif role is mm.Dealer:
        options["identity"] = b"us"
    return role(reconnect_max=0.1, **options)


def new_theirs(theirs: Peer, kind: int) -> None:
    """Open a socket of theirs: a SUB with a topic, others with a name."""
    theirs.open(kind, b"them")
    if kind == zmq.SUB:
        theirs.setsockopt(zmq.SUBSCRIBE, b"fx.")


def until_noticed(theirs: Peer, they_bind: bool, there: bool) -> None:
    """Wait until they noticed that we went, or that we are there again.

    libzmq notices in calls of its application only. Until then it sends to the one that went, and
    a PAIR refuses to take another in its place, which then has to connect once more.
    """
    if they_bind and theirs.type in (zmq.PUSH, zmq.PAIR, zmq.DEALER, zmq.REQ):
        wait_until(lambda: theirs.writable() == there)


def we_publish(ours: Any, theirs: Peer) -> None:
    """To one who subscribed at some time before."""
    subscribed(ours, theirs, "fx.eur")
    ours.send(b"no", topic="bonds")
    ours.send(b"yes", topic="fx.eur")
    assert theirs.recv_multipart() == [b"fx.eur", b"yes"]


def they_publish(ours: Any, theirs: Peer) -> None:
    """Until we got it: a PUB does not tell when it knows of our subscription."""
    mark = b"%d" % next(marks)
    for _ in range(TURNS):
        theirs.send_multipart([b"bonds", b"no"])
        theirs.send_multipart([b"fx.eur", mark])
        try:
            while (got := ours.recv_frames(timeout=0.01)) != [b"fx.eur", mark]:
                assert got[0] == b"fx.eur"  # of the exchange before
        except mm.TimedOutError:
            continue
        return
    raise AssertionError("nothing came")


RESTARTED: list[tuple[type[Any], int, Callable[[Any, Any], None]]] = [
    (mm.Push, zmq.PULL, to_zmq),
    (mm.Pull, zmq.PUSH, from_zmq),
    (mm.Pub, zmq.SUB, we_publish),
    (mm.Sub, zmq.PUB, they_publish),
    (mm.Req, zmq.REP, we_ask),
    (mm.Rep, zmq.REQ, they_ask),
    (mm.Dealer, zmq.ROUTER, they_route),
    (mm.Router, zmq.DEALER, we_route),
    (mm.Pair, zmq.PAIR, both),
]

either_binds = pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])


class PeerTests:
    """The tests."""

    transports: tuple[str, ...] = ("tcp", "ipc")
    zmtp_minors: tuple[int, ...] = (0,)

    def join(self, ours: Any, theirs: Peer, url: str, we_bind: bool) -> str:
        """Connect the two, and return where."""
        if we_bind:
            url = ours.bind(url)
            theirs.connect(url)
        else:
            url = theirs.bind(url)
            ours.connect(url)
        self.meet(ours, we_bind)
        return url

    def meet(self, ours: Any, they_connect: bool) -> None:
        """Wait until we have a peer."""
        ours.wait_for_peers(timeout=WAIT_S)

    @either_binds
    @pytest.mark.parametrize(("role", "kind", "exchange"), PAIRS, ids=name)
    def test_a_pair(
        self,
        role: type[Any],
        kind: int,
        exchange: Callable[[Any, Any], None],
        url: str,
        we_bind: bool,
        theirs: Peer,
    ) -> None:
        """Each legal pair does what it is for."""
        named = {"identity": b"us"} if role in (mm.Dealer, mm.Req) else {}
        theirs.open(kind, b"them")
        with role(**named) as ours:
            self.join(ours, theirs, url, we_bind)
            exchange(ours, theirs)
            (peer,) = ours.peers()
            assert peer.zmtp_minor in self.zmtp_minors

    @either_binds
    def test_many_and_large_messages_both_ways(self, url: str, we_bind: bool, theirs: Peer) -> None:
        """In order, and each what was sent."""
        pairs: list[tuple[type[Any], int]] = [(mm.Push, zmq.PULL), (mm.Pull, zmq.PUSH)]
        for role, kind in pairs:
            theirs.open(kind)
            bodies = [b"%d" % i for i in range(MANY)]
            bodies += [bytes(range(256)) * (size // 256) + b"z" * (size % 256) for size in LARGE]
            with role() as ours:
                self.join(ours, theirs, url, we_bind)
                if role is mm.Push:
                    ours.send_many(bodies[:MANY], timeout=WAIT_S)
                    for body in bodies[MANY:]:
                        ours.send(body, timeout=WAIT_S)
                    assert [theirs.recv() for _ in bodies] == bodies
                else:
                    for body in bodies:
                        theirs.send(body)
                    assert [ours.recv(timeout=WAIT_S) for _ in bodies] == bodies

    @either_binds
    @pytest.mark.parametrize("role", [mm.Pub, mm.XPub])
    def test_they_unsubscribe(self, role: Any, url: str, we_bind: bool, theirs: Peer) -> None:
        """One topic of several; a long one too; then none is left."""
        topics = ["fx.", LONG_TOPIC, "keep"]
        theirs.open(zmq.SUB)
        for topic in topics:
            theirs.setsockopt(zmq.SUBSCRIBE, topic.encode())
        with role() as ours:
            self.join(ours, theirs, url, we_bind)
            for topic in topics:
                subscribed(ours, theirs, topic)
            for topic in topics[:2]:
                theirs.setsockopt(zmq.UNSUBSCRIBE, topic.encode())
                wait_until(lambda topic=topic: not ours.subscribers(topic))  # type: ignore[misc]
                ours.send(b"no", topic=topic)
            ours.send(b"yes", topic="keep")
            assert theirs.recv_multipart() == [b"keep", b"yes"]
            theirs.setsockopt(zmq.UNSUBSCRIBE, b"keep")
            wait_until(lambda: not ours.subscribers("keep"))

    @either_binds
    def test_we_unsubscribe(self, url: str, we_bind: bool, theirs: Peer) -> None:
        """Their XPUB tells of each topic that came and went, and sends what is left."""
        topics = ["fx.", LONG_TOPIC, "keep"]
        theirs.open(zmq.XPUB)
        with mm.Sub(topics=topics) as sub:
            self.join(sub, theirs, url, we_bind)
            came = sorted(theirs.recv() for _ in topics)
            assert came == sorted(b"\x01" + topic.encode() for topic in topics)
            for topic in topics[:2]:
                sub.unsubscribe(topic)
                assert theirs.recv() == b"\x00" + topic.encode()
                theirs.send_multipart([topic.encode(), b"no"])
            theirs.send_multipart([b"keep", b"yes"])
            assert sub.recv(timeout=WAIT_S) == b"yes"

    @either_binds
    @pytest.mark.parametrize("restarts", ["we-restart", "they-are-killed"])
    @pytest.mark.parametrize(("role", "kind", "exchange"), RESTARTED, ids=name)
    def test_a_restart(
        self,
        role: type[Any],
        kind: int,
        exchange: Callable[[Any, Any], None],
        restarts: str,
        url: str,
        we_bind: bool,
        theirs: Peer,
        command: list[str],
    ) -> None:
        """The one that stays finds the other again at the same endpoint, subscriptions and all."""
        with ExitStack() as stack:
            ours = stack.enter_context(closing(new_ours(role)))
            if restarts == "they-are-killed":
                theirs = stack.enter_context(Peer(command))
            new_theirs(theirs, kind)
            url = self.join(ours, theirs, of_its_own(url), we_bind)
            exchange(ours, theirs)
            if restarts == "we-restart":
                ours.close()
                until_noticed(theirs, not we_bind, False)
                ours = stack.enter_context(closing(new_ours(role)))
                ours.bind(url) if we_bind else ours.connect(url)
            else:
                theirs.kill()
                wait_until(lambda: not ours.peers())
                theirs = stack.enter_context(Peer(command))
                new_theirs(theirs, kind)
                theirs.connect(url) if we_bind else theirs.bind(url)
            self.meet(ours, we_bind)
            until_noticed(theirs, not we_bind, True)
            exchange(ours, theirs)

    @either_binds
    def test_a_publisher_hears_what_we_want_after_a_restart(
        self, url: str, we_bind: bool, theirs: Peer
    ) -> None:
        """T: libzmq keeps the subscriptions of a peer it has connected to, for the next one there;
        what they bring is not for our application."""
        theirs.open(zmq.XPUB)
        with mm.Sub(topics=["old"]) as first:
            url = self.join(first, theirs, of_its_own(url), we_bind)
            assert theirs.recv() == b"\x01old"
        with mm.Sub(topics=["new"]) as second:
            second.bind(url) if we_bind else second.connect(url)
            self.meet(second, we_bind)
            expected = [b"\x01new"] if we_bind else [b"\x00old", b"\x01new"]
            assert sorted(theirs.recv() for _ in expected) == expected
            theirs.send_multipart([b"old", b"no"])
            theirs.send_multipart([b"new", b"yes"])
            assert second.recv_frames(timeout=WAIT_S) == [b"new", b"yes"]

    @pytest.mark.parametrize(
        ("role", "kind"),
        [(mm.Push, zmq.SUB), (mm.Req, zmq.DEALER), (mm.Rep, zmq.ROUTER), (mm.Pub, zmq.PULL)],
        ids=name,
    )
    def test_an_illegal_pair_is_an_event_and_not_silence(
        self, role: type[Any], kind: int, theirs: Peer
    ) -> None:
        """HANDSHAKE_FAILED with SOCKET_TYPE."""
        theirs.open(kind)
        with role(connect=theirs.bind("tcp://127.0.0.1:0")) as ours:
            reasons: list[mm.Reason] = []

            def refused() -> bool:
                events = ours.events()
                reasons.extend(e.reason for e in events if e.kind is mm.EventKind.HANDSHAKE_FAILED)
                return mm.Reason.SOCKET_TYPE in reasons

            wait_until(refused)
            assert ours.peers() == []
