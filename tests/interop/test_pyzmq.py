"""Against libzmq, by way of pyzmq: every legal pair, either side binding, over tcp and ipc."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S, endpoint_for, of_its_own, wait_until

SIZES = [0, 1, 255, 256, 65_536, 1 << 20]
Exchange = Callable[[Any, Any], None]


def to_zmq(ours: Any, theirs: Any) -> None:
    """We send, in several sizes and as several frames."""
    for size in SIZES:
        ours.send(b"x" * size, timeout=WAIT_S)
        assert theirs.recv() == b"x" * size
    ours.send_frames([b"a", b"", b"c" * 300], timeout=WAIT_S)
    assert theirs.recv_multipart() == [b"a", b"", b"c" * 300]


def from_zmq(ours: Any, theirs: Any) -> None:
    """They send."""
    for size in SIZES:
        theirs.send(b"y" * size)
        assert ours.recv(timeout=WAIT_S) == b"y" * size
    theirs.send_multipart([b"a", b"", b"c" * 300])
    assert ours.recv_frames(timeout=WAIT_S) == [b"a", b"", b"c" * 300]


def both(ours: Any, theirs: Any) -> None:
    """Both do."""
    to_zmq(ours, theirs)
    from_zmq(ours, theirs)


def subscribed(ours: Any, theirs: Any, topic: str) -> None:
    """Wait for a subscription; libzmq only notices a new connection inside a call of its
    application."""
    for _ in range(2000):
        if ours.subscribers(topic):
            return
        theirs.poll(10)
    raise AssertionError(f"nobody subscribed to {topic}")


def we_publish(ours: Any, theirs: Any) -> None:
    """They subscribe by option or by message."""
    if theirs.type == zmq.SUB:
        theirs.setsockopt(zmq.SUBSCRIBE, b"fx.")
    else:
        theirs.send(b"\x01fx.")
    subscribed(ours, theirs, "fx.eur")
    ours.send(b"no", topic="bonds")
    ours.send(b"yes", topic="fx.eur")
    assert theirs.recv_multipart() == [b"fx.eur", b"yes"]


def they_publish(ours: Any, theirs: Any) -> None:
    """We subscribe; an XPUB is told."""
    if isinstance(ours, mm.Sub):
        ours.subscribe("fx.")
    else:
        ours.send(b"\x01fx.", timeout=WAIT_S)
    if theirs.type == zmq.XPUB:
        assert theirs.recv() == b"\x01fx."
        theirs.send_multipart([b"bonds", b"no"])
        theirs.send_multipart([b"fx.eur", b"yes"])
    else:
        while not ours.stats().parsed_messages:
            theirs.send_multipart([b"fx.eur", b"yes"])
    assert ours.recv_frames(timeout=WAIT_S) == [b"fx.eur", b"yes"]


def we_ask(ours: Any, theirs: Any) -> None:
    """A REP, or a ROUTER that keeps the envelope, answers."""
    import threading

    answers: list[bytes] = []
    asking = threading.Thread(
        target=lambda: answers.extend(ours.request(b"%d" % i, timeout=WAIT_S) for i in range(20))
    )
    asking.start()
    for _ in range(20):
        *envelope, body = theirs.recv_multipart()
        theirs.send_multipart([*envelope, body + b"!"])
    asking.join(WAIT_S)
    assert answers == [b"%d!" % i for i in range(20)]


def they_ask(ours: Any, theirs: Any) -> None:
    """A REQ, or a DEALER with an envelope, asks."""
    lead = [b"mark", b""] if theirs.type == zmq.DEALER else []
    for i in range(20):
        theirs.send_multipart([*lead, b"%d" % i])
        assert ours.recv(timeout=WAIT_S).reply(b"%d!" % i)
        assert theirs.recv_multipart() == [*lead, b"%d!" % i]


def we_route(ours: Any, theirs: Any) -> None:
    """A DEALER, REQ or ROUTER named "them" talks to our Router."""
    if theirs.type == zmq.ROUTER:
        ours.send(b"hello", to=b"them", timeout=WAIT_S)
        name, body = theirs.recv_multipart()
        assert body == b"hello"
        theirs.send_multipart([name, b"back"])
        assert ours.recv(timeout=WAIT_S) == b"back"
        return
    theirs.send(b"q")
    identity, *rest = ours.recv_frames(timeout=WAIT_S)
    assert identity == b"them"
    assert rest[-1] == b"q"
    ours.send_frames([identity, *rest[:-1], b"a"], timeout=WAIT_S)
    assert theirs.recv() == b"a"


def they_route(ours: Any, theirs: Any) -> None:
    """Our Dealer talks to their ROUTER."""
    ours.send(b"q", timeout=WAIT_S)
    name, body = theirs.recv_multipart()
    assert (name, body) == (b"us", b"q")
    theirs.send_multipart([name, b"a"])
    assert ours.recv(timeout=WAIT_S) == b"a"


def dealt(ours: Any, theirs: Any) -> None:
    """Our Dealer makes the envelope a REP needs."""
    ours.send_frames([b"", b"q"], timeout=WAIT_S)
    assert theirs.recv() == b"q"
    theirs.send(b"a")
    assert ours.recv_frames(timeout=WAIT_S) == [b"", b"a"]


PAIRS: list[tuple[type[Any], int, Exchange]] = [
    (mm.Push, zmq.PULL, to_zmq),
    (mm.Pull, zmq.PUSH, from_zmq),
    (mm.Pub, zmq.SUB, we_publish),
    (mm.Pub, zmq.XSUB, we_publish),
    (mm.XPub, zmq.SUB, we_publish),
    (mm.XPub, zmq.XSUB, we_publish),
    (mm.Sub, zmq.PUB, they_publish),
    (mm.Sub, zmq.XPUB, they_publish),
    (mm.XSub, zmq.PUB, they_publish),
    (mm.XSub, zmq.XPUB, they_publish),
    (mm.Req, zmq.REP, we_ask),
    (mm.Req, zmq.ROUTER, we_ask),
    (mm.Rep, zmq.REQ, they_ask),
    (mm.Rep, zmq.DEALER, they_ask),
    (mm.Dealer, zmq.DEALER, both),
    (mm.Dealer, zmq.ROUTER, they_route),
    (mm.Dealer, zmq.REP, dealt),
    (mm.Router, zmq.DEALER, we_route),
    (mm.Router, zmq.REQ, we_route),
    (mm.Router, zmq.ROUTER, we_route),
    (mm.Pair, zmq.PAIR, both),
]


def name(value: object) -> str:
    """Test ids."""
    if isinstance(value, type):
        return value.__name__
    return str(zmq.SocketType(value).name) if isinstance(value, int) else ""


@contextmanager
def linked(
    role: type[Any], kind: int, url: str, we_bind: bool, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """One of ours and one of theirs, connected."""
    named = {"identity": b"us"} if role in (mm.Dealer, mm.Req) else {}
    routing = {"ROUTING_ID": b"them"} if kind in (zmq.DEALER, zmq.REQ, zmq.ROUTER) else {}
    with zmq_socket(kind, **routing) as theirs, role(**named, **options) as ours:
        if we_bind:
            theirs.connect(ours.bind(url))
        else:
            ours.connect(bind(theirs, url))
        ours.wait_for_peers(timeout=WAIT_S)
        yield ours, theirs


@pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])
@pytest.mark.parametrize("transport", ["tcp", "tcp6", "ipc"])
@pytest.mark.parametrize(("role", "kind", "exchange"), PAIRS, ids=name)
def test_a_pair(
    role: type[Any], kind: int, exchange: Exchange, transport: str, we_bind: bool, short_path: Path
) -> None:
    """The exchange works."""
    with linked(role, kind, endpoint_for(transport, short_path), we_bind) as (ours, theirs):
        exchange(ours, theirs)


@pytest.mark.leaves_threads  # pyzmq keeps a context for messages it sends without a copy
@pytest.mark.parametrize("size", [70 << 20, 300_000_000])
def test_large_messages_both_ways(size: int) -> None:
    """With the limit raised."""
    body = bytes(1 << 20) * (size >> 20) + b"z" * (size % (1 << 20))
    for role, kind in ((mm.Push, zmq.PULL), (mm.Pull, zmq.PUSH)):
        with linked(role, kind, "tcp://127.0.0.1:0", True, message_size_max=1 << 30) as (
            ours,
            theirs,
        ):
            if role is mm.Push:
                ours.send(body, timeout=WAIT_S)
                assert len(theirs.recv()) == size
            else:
                theirs.send(body, copy=False)
                assert ours.recv(timeout=WAIT_S) == body


def test_libzmq_confirms_what_it_read() -> None:
    """drain() means "the peer has received", with libzmq too; and its own heartbeats are
    answered."""
    with zmq_socket(zmq.PULL, HEARTBEAT_IVL=50, HEARTBEAT_TIMEOUT=500) as theirs, mm.Push() as push:
        push.connect(bind(theirs, "tcp://127.0.0.1:0"))
        push.send_many([b"x"] * 500, timeout=WAIT_S)
        report = push.drain(timeout=WAIT_S)
        report.raise_for_loss()
        assert report.delivered == 500
        for _ in range(20):
            assert theirs.recv() == b"x"
        assert push.stats().disconnects == 0


def test_a_restarted_libzmq_publisher_gets_the_subscriptions_again() -> None:
    """Without a word from the user."""
    with mm.Sub(topics=["a"], reconnect_max=0.1) as sub:
        with zmq_socket(zmq.XPUB) as first:
            endpoint = bind(first, of_its_own())
            sub.connect(endpoint)
            assert first.recv() == b"\x01a"
        with zmq_socket(zmq.XPUB) as second:
            second.bind(endpoint)
            assert second.recv() == b"\x01a"
            second.send_multipart([b"abc", b"1"])
            assert sub.recv(timeout=WAIT_S) == b"1"


def test_we_restart_and_libzmq_subscribes_again() -> None:
    """libzmq reconnects to the same endpoint."""
    with zmq_socket(zmq.SUB, RECONNECT_IVL=20) as theirs:
        theirs.setsockopt(zmq.SUBSCRIBE, b"a")
        with mm.Pub(bind=of_its_own()) as first:
            endpoint = first.endpoint
            theirs.connect(endpoint)
            subscribed(first, theirs, "abc")
        with mm.Pub(bind=endpoint) as second:
            subscribed(second, theirs, "abc")
            second.send(b"2", topic="abc")
            assert theirs.recv_multipart() == [b"abc", b"2"]


def test_a_restarted_libzmq_worker_gets_what_was_queued() -> None:
    """Queued while nobody was there... nothing is: Push blocks; then it goes on."""
    with mm.Push(reconnect_max=0.1) as push:
        with zmq_socket(zmq.PULL) as first:
            endpoint = bind(first, of_its_own())
            push.connect(endpoint)
            push.send(b"1", timeout=WAIT_S)
            assert first.recv() == b"1"
        with zmq_socket(zmq.PULL) as second:
            second.bind(endpoint)
            push.wait_for_peers(timeout=WAIT_S)
            while second.poll(10) == 0:
                push.send(b"2", timeout=WAIT_S)
            assert second.recv() == b"2"


@pytest.mark.parametrize(
    ("role", "kind"),
    [(mm.Push, zmq.SUB), (mm.Req, zmq.DEALER), (mm.Rep, zmq.ROUTER), (mm.Pub, zmq.PULL)],
)
def test_an_illegal_pair_is_an_event_and_not_silence(role: type[Any], kind: int) -> None:
    """HANDSHAKE_FAILED with SOCKET_TYPE."""
    with role(bind="tcp://127.0.0.1:0") as ours, zmq_socket(kind, RECONNECT_IVL=20) as theirs:
        theirs.connect(ours.endpoint)
        wait_until(lambda: mm.Reason.SOCKET_TYPE in ours.stats().closed)
        failed = [e for e in ours.events() if e.kind is mm.EventKind.HANDSHAKE_FAILED]
        assert failed[0].reason is mm.Reason.SOCKET_TYPE
        with pytest.raises(mm.TimedOutError, match="cannot talk to"):
            ours.wait_for_peers(timeout=0.01)
