"""Handshakes of CURVE that end at every octet, go on for too long, or meet somebody else: each is
counted, and nothing is left behind.

Not here: wrong commands (test_curve_hostile.py), the checks by themselves
(tests/unit/test_curve_*.py). tests/hostile/README.md says which test shows what.
"""

from __future__ import annotations

import os
import socket

import pytest

import meshmsg as mm
from tests.hostile.test_curve_hostile import (
    GREETING,
    LOOKS,
    PUSH,
    client_of,
    counted,
    served,
    welcomed,
)
from tests.hostile.test_hostile import check
from tests.support import curvesides as sides
from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support import refsp
from tests.support.curved import protect
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

STEP = 3
"""Every so many octets: each, in three tests, one after the other."""
FLAT = 1 << 18
"""Octets that some hundred connections may leave: 256 events are remembered, with their words."""


def descriptors() -> int:
    """How many this process has."""
    return len(os.listdir("/proc/self/fd"))


def gone(pull: mm.Pull, push: mm.Push) -> None:
    """All strangers are."""
    for _ in range(LOOKS):
        if pull.stats().half_open == 0 and len(pull.peers()) == 1:
            return
        check(pull, push)
    raise AssertionError(pull.stats())


@pytest.mark.parametrize("first", range(STEP))
def test_a_handshake_that_is_cut_at_any_octet_is_counted_and_leaves_nothing(first: int) -> None:
    """The greeting, HELLO and INITIATE; then MESSAGE, whose beginning nobody gets."""
    opening = len(GREETING) + len(curve.framed(client_of().hello()))
    proof = len(curve.framed(bytes(curve.INITIATE_SIZE + len(PUSH))))
    with served() as (pull, push):
        before, files = 0, 0
        for count, cut in enumerate(range(first, opening + proof, STEP)):
            client = client_of()
            with RawPeer(pull.endpoint) as peer:
                if cut <= opening:
                    peer.send((GREETING + curve.framed(client.hello()))[:cut])
                else:
                    welcomed(peer, client)
                    peer.send(curve.framed(client.initiate())[: cut - opening])
            if count == 20:
                gone(pull, push)
                before, files = live_bytes(), descriptors()
        gone(pull, push)
        stats = pull.stats()
        ends = sum(stats.closed.get(r, 0) for r in (mm.Reason.HANDSHAKE_EOF, mm.Reason.RESET))
        assert ends == stats.handshakes_failed == count + 1
        assert descriptors() <= files
        assert live_bytes() - before < FLAT


def test_one_octet_now_and_then_does_not_prolong_a_handshake() -> None:
    """Its time is that of all of it."""
    with mm.Pull(handshake_timeout=0.3) as pull, mm.Push() as push:
        protect(pull, sides.SERVER)
        protect(push, sides.CLIENT, server=curve.public_of(sides.SERVER))
        push.connect(pull.bind("tcp://127.0.0.1:0"))
        push.wait_for_peers(timeout=WAIT_S)
        said = iter(GREETING + curve.framed(client_of().hello())[:-1])
        with RawPeer(pull.endpoint) as peer:
            while not pull.stats().closed.get(mm.Reason.HANDSHAKE_TIMEOUT):
                octet = next(said, None)
                if octet is not None:
                    peer.send(bytes([octet]))
                check(pull, push)
            peer.until_closed()
        assert len(pull.peers()) == 1


STRANGERS: list[tuple[bytes, set[str]]] = [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", {"NOT_ZMTP"}),
    (b"\x15\x03\x01\x00\x02\x02\x28", {"PLAINTEXT"}),
    (b"\x01\x00", {"OLD_ZMTP"}),
    (b"\xff" + bytes(8) + b"\x7f\x01\x08", {"OLD_ZMTP"}),
    (refsp.hello(refsp.PUSH), {"NOT_ZMTP", "MECHANISM"}),
    (ref.greeting() + ref.ready(b"PULL"), {"MECHANISM"}),
    (ref.greeting(mechanism=b"PLAIN", server=1) + ref.command(b"WELCOME"), {"MECHANISM"}),
    (GREETING + ref.ready(b"PULL") + ref.message(b"plain"), {"HANDSHAKE"}),
    (GREETING + curve.framed(curve.welcome(bytes(16), bytes(144))), {"CRYPTO"}),
    (GREETING + curve.framed(b"\x05ERROR\x03400"), {"ERROR_COMMAND"}),
    (GREETING + curve.framed(client_of().hello()), {"HANDSHAKE"}),
]


@pytest.mark.parametrize(("data", "reasons"), STRANGERS)
def test_our_client_says_nothing_but_hello_to_who_is_not_its_server(
    data: bytes, reasons: set[str]
) -> None:
    """Other wires, other mechanisms, another server: no message goes out."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        mm.Push(reconnect_min=60, reconnect_max=60) as push,
    ):
        listening.settimeout(WAIT_S)
        protect(push, sides.CLIENT, server=curve.public_of(sides.SERVER))
        push.connect(f"tcp://127.0.0.1:{listening.getsockname()[1]}")
        with RawPeer.of(listening.accept()[0]) as peer:
            heard = peer.send(data).until_closed()
        wait_until(lambda: any(push.stats().closed.get(mm.Reason[name]) for name in reasons))
        assert len(heard) <= len(GREETING) + len(curve.framed(bytes(curve.HELLO_SIZE)))
        assert b"READY" not in heard
        assert not push.peers()


def commands() -> dict[str, bytes]:
    """A whole handshake, of both sides, by the reference."""
    client, server = client_of(), curve.Server(secret=sides.SERVER, short_secret=os.urandom(32))
    said = {"HELLO": client.hello()}
    server.greeted(said["HELLO"])
    said["WELCOME"] = server.welcome()
    client.welcomed(said["WELCOME"])
    said["INITIATE"] = client.initiate()
    server.initiated(said["INITIATE"])
    said["READY"] = server.ready()
    said["MESSAGE"] = client.seal(b"early")
    return said


ORDERS = [
    (first, second)
    for first in commands()
    for second in commands()
    if (first, second) != ("HELLO", "INITIATE")
]


@pytest.mark.parametrize(("first", "second"), ORDERS)
def test_commands_in_another_order_are_refused(first: str, second: str) -> None:
    """Each of its own connection, or of another one; nobody becomes a peer."""
    said = commands()
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            data = GREETING + curve.framed(said[first]) + curve.framed(said[second])
            heard = peer.send(data).until_closed()
        counted(pull, push, "HANDSHAKE", "CRYPTO")
        assert b"READY" not in heard
        assert len(pull.peers()) == 1
