"""Peers that hang in the midst of a large message: what is closed here gives its memory back.

Not here: what they still read (tests/sim/test_parting.py), what a reader skips
(tests/c/test_reader.c).
"""

from __future__ import annotations

import struct

import pytest

import meshmsg as mm
from tests.support.mm import live_bytes
from tests.support.pairs import wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
HALF = bytes(16 << 20)
LITTLE = 2 << 20
"""Bytes: what a test may still hold besides."""


def begun(wire: str) -> bytes:
    """The head of a message of twice HALF."""
    return (b"\x02" if wire == "zmtp" else b"") + struct.pack(">Q", 2 * len(HALF))


@pytest.mark.parametrize("linger", [0.0, 60.0])
@pytest.mark.parametrize("wire", ["zmtp", "sp"])
def test_half_a_message_goes_when_the_socket_is_closed(wire: str, linger: float) -> None:
    """Though its connection stays until the peer ends it; and no other takes its place."""
    before = live_bytes()
    with mm.Pull(bind=UP, linger=linger) as pull:
        peer = RawPeer(pull.endpoint)
        if wire == "zmtp":
            peer.shake(b"PUSH")
        else:
            peer.send(b"\0SP\0\0\x50\0\0")
        with peer:
            peer.send(begun(wire) + HALF)
            wait_until(lambda: live_bytes() - before > len(HALF) - LITTLE)
            pull.close()
            wait_until(lambda: live_bytes() - before < LITTLE)
            peer.send(HALF + begun(wire) + HALF)
            assert live_bytes() - before < LITTLE


def test_half_a_message_goes_with_a_peer_that_is_replaced() -> None:
    """A Router hands its name over to the next, and keeps nothing of the old one's."""
    before = live_bytes()
    with mm.Router(bind=UP, handover=True) as router:
        name = (b"Identity", b"me")
        with RawPeer(router.endpoint).shake(b"DEALER", name) as peer:
            peer.send(begun("zmtp") + HALF)
            wait_until(lambda: live_bytes() - before > len(HALF) - LITTLE)
            with RawPeer(router.endpoint).shake(b"DEALER", name):
                wait_until(lambda: live_bytes() - before < LITTLE)
                assert len(router.peers()) == 1
