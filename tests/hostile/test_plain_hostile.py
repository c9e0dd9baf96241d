"""Connections of PLAIN under attack: each ends with a counted reason, and a well-behaved peer never
notices.

Not here: each check by itself (tests/unit/test_plain_handshake.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import meshmsg as mm
from tests.hostile.test_curve_hostile import LOOKS, UP, counted
from tests.hostile.test_hostile import check, closed_with
from tests.support import refcodec as ref
from tests.support import refplain as plain
from tests.support import refsp
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

GREETING = ref.greeting(mechanism=b"PLAIN")
PUSH = ref.metadata([(b"Socket-Type", b"PUSH")])
HELLO = plain.framed(plain.hello(b"alice", b"correct horse"))
INITIATE = plain.framed(plain.initiate(PUSH))
WELCOME = plain.framed(plain.WELCOME)


@contextmanager
def served() -> Iterator[tuple[mm.Pull, mm.Push]]:
    """A Pull under attack, and a Push that goes on using it."""
    server = mm.Plain(allow={"alice": "correct horse"})
    client = mm.Plain(user="alice", password="correct horse")
    with mm.Pull(security=server) as pull, mm.Push(security=client) as push:
        push.connect(pull.bind(UP))
        push.wait_for_peers(timeout=WAIT_S)
        check(pull, push)
        yield pull, push
        check(pull, push)
        assert push.stats().disconnects == 0


STRANGERS: list[tuple[bytes, str]] = [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "NOT_ZMTP"),
    (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1", "PLAINTEXT"),
    (b"\x01\x00", "OLD_ZMTP"),
    (b"\xff" + bytes(8) + b"\x7f\x01\x08", "OLD_ZMTP"),
    (refsp.hello(refsp.PUSH), "MECHANISM"),
    (ref.greeting() + ref.ready(b"PUSH") + ref.message(b"plain"), "MECHANISM"),
    (ref.greeting(mechanism=b"CURVE") + ref.command(b"HELLO", bytes(194)), "MECHANISM"),
    (GREETING + ref.ready(b"PUSH") + ref.message(b"early"), "HANDSHAKE"),
    (GREETING + ref.message(b"early"), "HANDSHAKE"),
    (GREETING + INITIATE, "HANDSHAKE"),
    (GREETING + HELLO + HELLO, "HANDSHAKE"),
    (GREETING + HELLO + ref.message(b"early"), "HANDSHAKE"),
    (GREETING + HELLO + ref.ready(b"PUSH"), "HANDSHAKE"),
    (GREETING + plain.framed(b"\x05HELLO\xff" + b"u" * 20), "HANDSHAKE"),
    (GREETING + plain.framed(plain.hello(b"alice", b"correct horse") + b"x"), "HANDSHAKE"),
    (GREETING + b"\x06" + struct.pack(">Q", 2**62), "HANDSHAKE"),
    (GREETING + b"\x06" + struct.pack(">Q", 2**63), "HANDSHAKE"),
    (GREETING + HELLO + b"\x06" + struct.pack(">Q", 2**14 + 1), "HANDSHAKE"),
    (GREETING + plain.framed(plain.hello(b"alice", b"horse")) + INITIATE, "NOT_ALLOWED"),
    (GREETING + plain.framed(plain.hello(b"", b"")) + INITIATE, "NOT_ALLOWED"),
    (GREETING + HELLO + plain.framed(plain.initiate(b"")), "SOCKET_TYPE"),
    (GREETING + HELLO + plain.framed(plain.initiate(PUSH * 2)), "METADATA"),
    (GREETING + HELLO + plain.framed(plain.initiate(PUSH + b"\x01")), "METADATA"),
]


@pytest.mark.parametrize(("data", "reason"), STRANGERS)
def test_a_stranger_is_closed_and_counted(data: bytes, reason: str) -> None:
    """Who is not let in hears no more than ERROR with a number, and READY only of our role."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            heard = peer.send(data).until_closed()
        counted(pull, push, reason)
        closed_with(pull, mm.Reason[reason])
        assert len(pull.peers()) == 1
        assert (b"ERROR" in heard) == (reason == "NOT_ALLOWED")
        assert (b"READY" in heard) == (reason == "SOCKET_TYPE")
        assert b"horse" not in heard


def test_a_session_of_single_octets_is_understood() -> None:
    """Handshake and messages."""
    with served() as (pull, _), RawPeer(pull.endpoint) as peer:
        for octet in GREETING + HELLO:
            peer.send(bytes([octet]))
        peer.greeted()
        assert peer.frame()[1] == plain.WELCOME
        for octet in INITIATE + ref.message(b"a", b"b"):
            peer.send(bytes([octet]))
        assert peer.frame()[1].startswith(b"\x05READY")
        assert pull.recv_frames(timeout=WAIT_S) == [b"a", b"b"]


def test_many_that_come_and_break_off_leave_nothing_behind() -> None:
    """At every octet of the handshake; memory is as before."""
    whole = GREETING + HELLO + INITIATE
    with served() as (pull, push):
        before = 0
        for cut in range(0, len(whole), 2):
            with RawPeer(pull.endpoint) as peer:
                peer.send(whole[:cut])
            check(pull, push)
            if cut == 20:
                before = live_bytes()
        for _ in range(LOOKS):
            if len(pull.peers()) == 1 and pull.stats().half_open == 0:
                break
            check(pull, push)
        assert live_bytes() - before < 1 << 16
