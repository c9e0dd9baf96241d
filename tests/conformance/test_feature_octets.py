"""Every octet that a peer is sent, by what it showed: of features it did not show, nothing; and
where none is asked for, the octets of ZMTP alone.

The peer is a test (tests/support/rawpeer.py), which keeps all it reads. Not here: the same by
sockets of meshmsg (test_features.py). Law: what is expected is made by the reference of
docs/wire.md, never by the core.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.featured import SHOWN_ON_THE_WIRE as SHOWN
from tests.support.featured import acks, saying, takes_meta
from tests.support.noted import BODIES, NAMES
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
UP = "tcp://127.0.0.1:0"
NOTE: dict[str, Any] = {"key": "k-7", "headers": {"h": "v"}, "timestamp": 1_700_000_000.0}
META = ref.command(
    b"META",
    b"\x01\x00\x08" + struct.pack(">Q", 1_700_000_000 * 10**9)
    + b"\x03\x00\x03k-7" + b"\x04\x00\x03\x01hv",
)  # fmt: skip
"""NOTE, as docs/wire.md has it."""
CREDIT = ref.command(b"ACK", struct.pack(">BQQ", 0, 0, 10_000))
DONE = ref.command(b"ACK", struct.pack(">BQQ", 0, 2 * len(BODIES), 10_000))
WHO_BINDS = pytest.mark.parametrize("we_bind", [True, False], ids=["we-bind", "they-bind"])


@contextmanager
def met(ours: Any, we_bind: bool, ready: bytes) -> Iterator[RawPeer]:
    """A peer that has said who it is, and has read nothing yet."""
    with ExitStack() as stack:
        if we_bind:
            ours.bind(UP)
            peer = stack.enter_context(RawPeer(ours.endpoint))
        else:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            ours.connect(f"tcp://127.0.0.1:{listener.getsockname()[1]}")
            listener.settimeout(WAIT_S)
            peer = stack.enter_context(RawPeer.of(listener.accept()[0]))
        yield peer.send(ref.greeting() + ready)


def kept(peer: RawPeer, messages: int) -> bytes:
    """All octets up to the last of so many messages, and what else comes until a PING behind them
    is answered."""
    octets = b""

    def read_until(true: Callable[[], bool]) -> None:
        nonlocal octets
        while not true():
            more = peer.socket.recv(1 << 20)
            assert more, "the connection was closed"
            octets += more

    def come() -> int:
        return len([kind for kind, _ in ref.parse_all(octets[64:]) if kind == "message"])

    read_until(lambda: come() >= messages)
    peer.send(ref.ping(0, b"all?"))
    read_until(lambda: octets.endswith(ref.pong(b"all?")))
    return octets.removesuffix(ref.pong(b"all?"))


def shows(role: bytes, features: str, *more: tuple[bytes, bytes]) -> bytes:
    """READY of a peer that shows them."""
    own = [(b"X-Meshmsg", features.encode())] if features else []
    return ref.ready(role, *more, *own)


@WHO_BINDS
@pytest.mark.parametrize("noted", [True, False], ids=["noted", "bare"])
@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
@pytest.mark.parametrize("ours", ["all", "foreign"])
@pytest.mark.parametrize("shown", SHOWN)
def test_a_push_says_what_its_peer_showed_and_no_more(
    shown: str, ours: str, delivery: Any, noted: bool, we_bind: bool
) -> None:
    """All octets, from the greeting on; COUNT's numbers are random."""
    features = SHOWN[shown]
    counted = delivery == "at_least_once" and acks(features)
    note = NOTE if noted else {}
    with saying(SHOWN[ours]) as engine:
        options: dict[str, Any] = {"engine": engine, "heartbeat_interval": None, "linger": 0}
        with mm.Push(delivery=delivery, **options) as push:
            with met(push, we_bind, shows(b"PULL", features)) as peer:
                if counted:
                    peer.send(CREDIT)
                push.wait_for_peers(timeout=WAIT_S)
                for body in BODIES:
                    push.send(body, timeout=WAIT_S)
                    push.send_frames([body, b"end"], timeout=WAIT_S, **note)
                octets = kept(peer, 2 * len(BODIES))
                if counted:
                    peer.send(DONE)
                    push.drain(timeout=WAIT_S).raise_for_loss()
    expected = ref.greeting() + shows(b"PUSH", SHOWN[ours])
    before = META if noted and takes_meta(features) else b""
    messages = b"".join(ref.message(b) + before + ref.message(b, b"end") for b in BODIES)
    if counted:
        assert octets.startswith(expected + b"\x04\x1e\x05COUNT")
        expected = octets[: len(expected) + 32]
    assert octets == expected + messages


def test_without_a_feature_the_octets_are_the_recorded_ones() -> None:
    """Those of tests/golden: greeting, READY, and messages, as any ZMTP 3.1."""
    with saying("") as engine, mm.Push(engine=engine, heartbeat_interval=None, linger=0) as push:
        with met(push, True, ref.ready(b"PULL")) as peer:
            push.wait_for_peers(timeout=WAIT_S)
            push.send(b"one", timeout=WAIT_S)
            push.send_frames([b"two", b"", b"frames" * 50], timeout=WAIT_S)
            push.send(b"", timeout=WAIT_S)
            assert kept(peer, 3) == (GOLDEN / "plain_push.bin").read_bytes()


@WHO_BINDS
@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("ack", ["auto", "manual"])
def test_a_pull_says_nothing_to_a_push_that_never_counted(
    ack: Any, shown: str, we_bind: bool
) -> None:
    """No ACK, no NACK, whatever that showed and its program tries."""
    with mm.Pull(ack=ack, heartbeat_interval=None) as pull:
        with met(pull, we_bind, shows(b"PUSH", SHOWN[shown])) as peer:
            peer.send(b"".join(ref.message(body) for body in BODIES))
            for body in BODIES:
                message = pull.recv(timeout=WAIT_S)
                assert message == body
                if ack == "manual":
                    assert (message.ack(), message.nack()) == (False, False)
            assert kept(peer, 0) == ref.greeting() + shows(b"PULL", SHOWN["all"])


def sends(ours: Any, peer: RawPeer) -> None:
    """One message, with a note."""
    ours.wait_for_peers(timeout=WAIT_S)
    ours.send(b"x", timeout=WAIT_S, **NOTE)


def publishes(ours: Any, peer: RawPeer) -> None:
    """To who subscribed to all."""
    peer.send(ref.subscription(True, b""))
    ours.wait_for_subscribers(timeout=WAIT_S)
    ours.send(b"x", **NOTE)


def routes(ours: Any, peer: RawPeer) -> None:
    """To a name."""
    ours.wait_for_peers(timeout=WAIT_S)
    ours.send(b"x", to=NAMES[1], timeout=WAIT_S, **NOTE)


def replies(ours: Any, peer: RawPeer) -> None:
    """To a request, or a survey."""
    peer.send(ref.survey(0x80000001, b"q"))
    assert ours.recv(timeout=WAIT_S).reply(b"a", **NOTE)


def surveys(ours: Any, peer: RawPeer) -> None:
    """Whoever is there."""
    ours.wait_for_peers(timeout=WAIT_S)
    ours.survey(b"q", deadline=WAIT_S, **NOTE)


SENDS: list[tuple[str, bytes, Callable[[Any, RawPeer], None]]] = [
    ("Push", b"PULL", sends),
    ("Pair", b"PAIR", sends),
    ("Dealer", b"DEALER", sends),
    ("Dealer", b"ROUTER", sends),
    ("Dealer", b"REP", sends),
    ("Bus", b"BUS", sends),
    ("XSub", b"PUB", sends),
    ("XSub", b"XPUB", sends),
    ("Pub", b"SUB", publishes),
    ("Pub", b"XSUB", publishes),
    ("XPub", b"SUB", publishes),
    ("XPub", b"XSUB", publishes),
    ("Router", b"DEALER", routes),
    ("Router", b"REQ", routes),
    ("Router", b"ROUTER", routes),
    ("Rep", b"REQ", replies),
    ("Rep", b"DEALER", replies),
    ("Respondent", b"SURVEYOR", replies),
    ("Surveyor", b"RESPONDENT", surveys),
]


def commands(octets: bytes) -> list[bytes]:
    """The names of all commands."""
    found = ref.parse_all(octets[64:])
    return [body[1 : 1 + body[0]] for kind, (body, *_) in found if kind == "command"]


def check_meta(octets: bytes, shown: str) -> None:
    """One META if it was shown, in front of the message, and else READY alone."""
    metas = [b"META"] if takes_meta(SHOWN[shown]) else []
    assert commands(octets) == [b"READY", *metas]
    assert octets.count(META) == len(metas)


@WHO_BINDS
@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize(("role", "other", "say"), SENDS, ids=lambda v: getattr(v, "__name__", v))
def test_what_goes_with_a_message_is_said_to_who_showed_that_it_takes_it(
    role: str, other: bytes, say: Callable[[Any, RawPeer], None], shown: str, we_bind: bool
) -> None:
    """By each role that sends, to each it may send to."""
    name = [(b"Identity", NAMES[1])] if role == "Router" else []
    with getattr(mm, role)(heartbeat_interval=None, linger=0) as ours:
        with met(ours, we_bind, shows(other, SHOWN[shown], *name)) as peer:
            say(ours, peer)
            check_meta(kept(peer, 1), shown)


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("other", [b"REP", b"ROUTER"])
def test_a_request_has_no_more_with_it_than_its_server_takes(other: bytes, shown: str) -> None:
    """Which never answers: the end of the socket ends the call."""
    with mm.Req(heartbeat_interval=None, linger=0) as req, ThreadPoolExecutor(1) as threads:
        with met(req, True, shows(other, SHOWN[shown])) as peer:
            req.wait_for_peers(timeout=WAIT_S)
            asking = threads.submit(req.request, b"q", timeout=WAIT_S, **NOTE)
            octets = kept(peer, 1)
            req.close()
            with pytest.raises(mm.ClosedError):
                asking.result(WAIT_S)
    check_meta(octets, shown)
