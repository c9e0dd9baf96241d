"""META from peers that mean no good: malformed, doubled, too large, of nothing. Each loses its
connection, and nobody else notices.

Not here: what it is for (tests/unit/test_headers.py).
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer
from tests.unit.test_notes import BAD

UP = "tcp://127.0.0.1:0"
KNOWS = (b"X-Meshmsg", b"1 meta")
GOOD = b"\x03\x00\x01k"
ENDS = {
    **{octets.hex(): ref.command(b"META", octets) for octets in BAD},
    "twice": ref.command(b"META", GOOD) * 2,
    "between frames": ref.frame(b"a", 1) + ref.command(b"META", GOOD) + ref.frame(b"b"),
    "too large": ref.command(b"META", b"\x09\x40\x00" + bytes(0x4000)),
}


@pytest.mark.parametrize("what", ENDS)
def test_a_peer_that_breaks_the_rules_is_let_go(what: str) -> None:
    """And told of; a good one beside it goes on."""
    with mm.Pull(bind=UP) as pull, mm.Push(connect=pull.endpoint) as good:
        good.wait_for_peers(timeout=WAIT_S)
        with RawPeer(pull.endpoint).shake(b"PUSH", KNOWS) as peer:
            peer.send(ENDS[what])
            peer.until_closed()
        downs: list[mm.Event] = []
        wait_until(
            lambda: bool(
                downs.extend(e for e in pull.events() if e.kind is mm.EventKind.PEER_DOWN) or downs
            )
        )
        assert downs[0].reason is mm.Reason.COMMAND
        assert "META" in downs[0].detail
        good.send(b"x", key=b"k", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S).key == b"k"


def test_a_command_between_meta_and_its_message_takes_nothing_from_it() -> None:
    """A PING, say, though ours never stands there."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint).shake(b"PUSH", KNOWS) as peer:
        peer.send(ref.command(b"META", GOOD) + ref.ping(0, b"") + ref.message(b"x"))
        assert pull.recv(timeout=WAIT_S).key == b"k"


def test_what_goes_with_what_is_never_sent_is_forgotten() -> None:
    """META after META's message, over many connections: no memory stays."""
    with mm.Pull(bind=UP) as pull:

        def once() -> None:
            with RawPeer(pull.endpoint).shake(b"PUSH", KNOWS) as peer:
                peer.send(
                    ref.message(b"y")
                    + ref.command(b"META", GOOD + b"\x05\x10\x00\x01n" + bytes(4094))
                )
                assert pull.recv(timeout=WAIT_S) == b"y"
            wait_until(lambda: not pull.peers())

        for _ in range(5):
            once()
        before = live_bytes()
        for _ in range(20):
            once()
        assert live_bytes() - before < 20 * 4096


def test_who_receives_nothing_drops_the_message_and_what_goes_with_it() -> None:
    """Counted as any other."""
    with mm.Push(bind=UP) as push, RawPeer(push.endpoint).shake(b"PULL", KNOWS) as peer:
        peer.send(ref.command(b"META", GOOD) + ref.message(b"x"))
        wait_until(lambda: push.stats().dropped_malformed == 1)


def test_who_never_said_that_it_knows_meta_may_send_it() -> None:
    """It says more than it knows of; nothing is lost by it."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint).shake(b"PUSH") as peer:
        peer.send(ref.command(b"META", GOOD) + ref.message(b"x"))
        assert pull.recv(timeout=WAIT_S).key == b"k"
        assert not pull.peers()[0].takes_meta
