"""Connections that CURVE protects, under attack: each ends with a counted reason, without a word,
and a well-behaved peer never notices.

Not here: each check by itself (tests/unit/test_curve_*.py).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from statistics import median

import pytest

import meshmsg as mm
from tests.hostile.test_hostile import check, closed_with
from tests.support import curvesides as sides
from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support import refsp
from tests.support.curved import protect
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
GREETING = ref.greeting(mechanism=b"CURVE")
PUSH = ref.metadata([(b"Socket-Type", b"PUSH")])
LOOKS = 1000
"""How often a test looks for what it waits for before it says that it did not come."""
IDLE_MAX, SECRET = 4096, 256
"""Bytes of an idle connection of a server, with those for its keys, which are counted by pages."""


@contextmanager
def served() -> Iterator[tuple[mm.Pull, mm.Push]]:
    """A Pull under attack, and a Push that goes on using it."""
    with mm.Pull() as pull, mm.Push() as push:
        protect(pull, sides.SERVER)
        protect(push, sides.CLIENT, server=curve.public_of(sides.SERVER))
        push.connect(pull.bind(UP))
        push.wait_for_peers(timeout=WAIT_S)
        check(pull, push)
        yield pull, push
        check(pull, push)
        assert push.stats().disconnects == 0


def client_of(metadata: bytes = PUSH) -> curve.Client:
    """A client of the reference, with keys of its own."""
    return curve.Client(
        secret=os.urandom(32),
        short_secret=os.urandom(32),
        metadata=metadata,
        server=curve.public_of(sides.SERVER),
    )


def welcomed(peer: RawPeer, client: curve.Client) -> curve.Client:
    """Come as far as WELCOME."""
    peer.send(GREETING + curve.framed(client.hello()))
    peer.greeted()
    client.welcomed(peer.frame()[1])
    return client


def let_in(peer: RawPeer) -> curve.Client:
    """Do the whole handshake."""
    client = welcomed(peer, client_of())
    peer.send(curve.framed(client.initiate()))
    client.accepted(peer.frame()[1])
    return client


def counted(pull: mm.Pull, push: mm.Push, *reasons: str) -> None:
    """It was closed for one of these."""
    for _ in range(LOOKS):
        if any(pull.stats().closed.get(mm.Reason[reason]) for reason in reasons):
            return
        check(pull, push)
    raise AssertionError(pull.stats().closed)


def flipped(octets: bytes) -> bytes:
    """Change the last bit: another octet in its place may be the one that was there."""
    return octets[:-1] + bytes([octets[-1] ^ 1])


HELLO = curve.framed(client_of().hello())
STRANGERS: list[tuple[bytes, str]] = [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "NOT_ZMTP"),
    (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1", "PLAINTEXT"),
    (b"\x01\x00", "OLD_ZMTP"),
    (b"\xff" + bytes(8) + b"\x7f\x01\x08", "OLD_ZMTP"),
    (refsp.hello(refsp.PUSH), "MECHANISM"),
    (ref.greeting() + ref.ready(b"PUSH") + ref.message(b"plain"), "MECHANISM"),
    (ref.greeting(mechanism=b"PLAIN") + ref.command(b"HELLO", b"\x01u\x01p"), "MECHANISM"),
    (GREETING + ref.ready(b"PUSH") + ref.message(b"plain"), "HANDSHAKE"),
    (GREETING + ref.message(b"plain"), "HANDSHAKE"),
    (GREETING + flipped(HELLO), "CRYPTO"),
    (GREETING + HELLO + HELLO, "HANDSHAKE"),
    (GREETING + HELLO + ref.message(b"plain"), "HANDSHAKE"),
    (GREETING + HELLO + ref.ready(b"PUSH"), "HANDSHAKE"),
    (GREETING + b"\x06" + struct.pack(">Q", 2**62), "HANDSHAKE"),
    (GREETING + b"\x06" + struct.pack(">Q", 2**63), "HANDSHAKE"),
    (GREETING + curve.framed(bytes(200)), "HANDSHAKE"),
]


@pytest.mark.parametrize(("data", "reason"), STRANGERS)
def test_a_stranger_is_closed_and_hears_no_more_than_a_greeting(data: bytes, reason: str) -> None:
    """Other wires, other mechanisms, commands that are not due: no words of why."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            heard = peer.send(data).until_closed()
        counted(pull, push, reason)
        closed_with(pull, mm.Reason[reason])
        assert len(pull.peers()) == 1
        assert b"ERROR" not in heard
        assert b"READY" not in heard


METADATA: list[tuple[bytes, str]] = [
    (b"", "SOCKET_TYPE"),
    (ref.metadata([(b"Socket-Type", b"SUB")]), "SOCKET_TYPE"),
    (PUSH + b"\x0bSocket-Type\x7f\xff\xff\xff", "METADATA"),
    (PUSH * 2, "METADATA"),
    (PUSH + ref.metadata([(b"Identity", b"\0x")]), "IDENTITY"),
    (PUSH + ref.metadata([(b"X-%d" % i, b"") for i in range(100)]), "METADATA"),
]


@pytest.mark.parametrize(("metadata", "reason"), METADATA)
def test_properties_are_checked_as_those_of_any_peer(metadata: bytes, reason: str) -> None:
    """Whoever is refused for them gets no READY, but where that tells it of our role."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            client = welcomed(peer, client_of(metadata))
            heard = peer.send(curve.framed(client.initiate())).until_closed()
        counted(pull, push, reason)
        assert (b"READY" in heard) == (reason == "SOCKET_TYPE")


ATTACKS: dict[str, tuple[Callable[[curve.Client], bytes], str]] = {
    "twice": (lambda c: ref.frame(c.seal(b"x")) * 2, "SEQUENCE"),
    "skipped": (lambda c: ref.frame(c.seal(b"x", number=5)), "SEQUENCE"),
    "2^63": (lambda c: ref.frame(c.seal(b"x", number=2**63)), "SEQUENCE"),
    "plain": (lambda c: ref.message(b"plain text of more than 33 octets, not in a box"), "CRYPTO"),
    "short": (lambda c: ref.message(b"plain"), "CRYPTO"),
    "ping": (lambda c: ref.ping(1), "CRYPTO"),
    "changed": (lambda c: ref.frame(flipped(c.seal(b"x"))), "CRYPTO"),
    "initiate": (lambda c: curve.framed(c.initiate()), "CRYPTO"),
    "flags": (lambda c: ref.frame(c.seal(b"x", 3)), "FRAME_FLAGS"),
    "large": (lambda c: b"\x02" + struct.pack(">Q", (64 << 20) + 34), "MESSAGE_SIZE"),
    "2^63 octets": (lambda c: b"\x02" + struct.pack(">Q", 2**63), "FRAME_FLAGS"),
    "a command": (lambda c: ref.frame(c.seal(b"\x05READY" + PUSH, 2)), "HANDSHAKE"),
    "many frames": (
        lambda c: b"".join(ref.frame(c.seal(b"", 1)) for _ in range(1100)),
        "FRAME_COUNT",
    ),
}


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_who_was_let_in_and_then_breaks_the_protocol_is_closed(name: str) -> None:
    """What came before is received; memory stays as it was."""
    attack, reason = ATTACKS[name]
    with served() as (pull, push):
        before = live_bytes()
        with RawPeer(pull.endpoint) as peer:
            client = let_in(peer)
            peer.send(ref.frame(client.seal(b"first")))
            assert pull.recv(timeout=WAIT_S) == b"first"
            peer.send(attack(client)).until_closed()
        counted(pull, push, reason)
        assert live_bytes() - before < 4 << 20


@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_what_came_with_an_attack_and_in_front_of_it_is_received(name: str) -> None:
    """All in one segment, so most likely in one read."""
    attack, reason = ATTACKS[name]
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            client = let_in(peer)
            right = [b"%d" % i for i in range(10)]
            said = b"".join(ref.frame(client.seal(body)) for body in right)
            peer.send(said + attack(client)).until_closed()
        got = list(pull.recv_many(len(right), timeout=WAIT_S))
        while len(got) < len(right):
            got.append(pull.recv(timeout=WAIT_S))
        assert got == right
        counted(pull, push, reason)


def test_a_session_of_single_octets_is_understood() -> None:
    """Handshake, messages, PING: and it is answered in a box."""
    with served() as (pull, _), RawPeer(pull.endpoint) as peer:
        client = client_of()
        for octet in GREETING + curve.framed(client.hello()):
            peer.send(bytes([octet]))
        peer.greeted()
        client.welcomed(peer.frame()[1])
        for octet in curve.framed(client.initiate()):
            peer.send(bytes([octet]))
        client.accepted(peer.frame()[1])
        for octet in ref.frame(client.seal(b"a", curve.MORE)) + ref.frame(client.seal(b"b")):
            peer.send(bytes([octet]))
        peer.send(ref.frame(client.seal(b"\x04PING\x00\x00context", curve.COMMAND)))
        assert pull.recv_frames(timeout=WAIT_S) == [b"a", b"b"]
        said = [client.open(peer.frame()[1])]
        while said[-1][1] != b"\x04PONGcontext":
            said.append(client.open(peer.frame()[1]))
        assert said[-1][0] == curve.COMMAND


def test_what_was_recorded_is_of_no_use_elsewhere() -> None:
    """A whole connection that is played back gets no further than WELCOME."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            client = client_of()
            recorded = [GREETING + curve.framed(client.hello())]
            peer.send(recorded[0])
            peer.greeted()
            client.welcomed(peer.frame()[1])
            recorded.append(curve.framed(client.initiate()))
            peer.send(recorded[1])
            client.accepted(peer.frame()[1])
            recorded.append(ref.frame(client.seal(b"once")))
            peer.send(recorded[2])
            assert pull.recv(timeout=WAIT_S) == b"once"
        with RawPeer(pull.endpoint) as again:
            heard = again.send(b"".join(recorded)).until_closed()
        counted(pull, push, "CRYPTO")
        assert b"READY" not in heard


def test_an_idle_connection_takes_little_memory() -> None:
    """Of one that has beaten, as all do: there may be thousands."""
    with served() as (pull, push), ExitStack() as peers:
        marks = []
        for count in range(60):
            peer = peers.enter_context(RawPeer(pull.endpoint))
            client = let_in(peer)
            peer.send(ref.frame(client.seal(b"\x04PING\x00\x00context", curve.COMMAND)))
            while client.open(peer.frame()[1])[1] != b"\x04PONGcontext":
                pass
            if count % 10 == 9:
                check(pull, push)
                marks.append(live_bytes())
        # The middle one of five: a list that all share grows now and then.
        each = median(later - before for before, later in pairwise(marks)) / 10 + SECRET
        print(f"{each:.0f} bytes a connection, {SECRET} of them for keys")
        assert each <= IDLE_MAX


def test_many_that_come_and_break_off_leave_nothing_behind() -> None:
    """At every stage; descriptors and memory are as before."""
    with served() as (pull, push):
        before, files = 0, 0
        for round_ in range(60):
            with RawPeer(pull.endpoint) as peer:
                stage = round_ % 4
                if stage == 1:
                    peer.send(GREETING + curve.framed(client_of().hello())[:100])
                elif stage == 2:
                    welcomed(peer, client_of())
                elif stage == 3:
                    client = let_in(peer)
                    peer.send(ref.frame(client.seal(bytes(1000)))[:500])
            check(pull, push)
            if round_ == 20:
                before, files = live_bytes(), len(os.listdir("/proc/self/fd"))
        for _ in range(LOOKS):
            if len(pull.peers()) == 1 and pull.stats().half_open == 0:
                break
            check(pull, push)
        assert live_bytes() - before < 1 << 17  # the list of events grows once meanwhile
        assert len(os.listdir("/proc/self/fd")) <= files + 1
