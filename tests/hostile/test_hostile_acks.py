"""COUNT, AGAIN, ACK, NACK and EXTEND from peers that mean no good: of what was never sent,
backwards, beyond all credit, malformed, for ever. Each loses its connection, and nobody
loses a message.

Not here: what they are for (tests/sim/test_delivery_worlds.py), their octets
(tests/c/test_command.c).
"""

from __future__ import annotations

import struct
from typing import Any

import pytest

import meshmsg as mm
from tests.hostile.test_hostile_roles import pong
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
KNOWS = (b"X-Meshmsg", b"1 ack")
PRODUCER = bytes(16)
COUNT = ref.command(b"COUNT", struct.pack(">Q", 1) + PRODUCER)


def ack(floor: int, limit: int, bits: bytes = b"", flags: int = 0) -> bytes:
    """An ACK."""
    return ref.command(b"ACK", struct.pack(">BQQ", flags, floor, limit) + bits)


def nack(*numbers: int, delay: int = 0) -> bytes:
    """A NACK, for after so many milliseconds."""
    named = b"".join(struct.pack(">Q", number) for number in numbers)
    return ref.command(b"NACK", struct.pack(">I", delay) + named)


def extend(*numbers: int) -> bytes:
    """An EXTEND."""
    return ref.command(b"EXTEND", b"".join(struct.pack(">Q", number) for number in numbers))


def pull_of(push: mm.Push) -> RawPeer:
    """A peer of this Push that acknowledges, and has read its COUNT."""
    peer = RawPeer(push.endpoint).shake(b"PULL", KNOWS)
    flags, body = peer.frame()
    assert (flags, body[:6], len(body)) == (4, b"\x05COUNT", 30)
    return peer


def test_nothing_comes_before_the_first_credit_nor_beyond_it() -> None:
    """Then as much as it said."""
    with mm.Push(bind=UP, delivery="at_least_once") as push, pull_of(push) as peer:
        push.send_many([b"a", b"b", b"c"], timeout=WAIT_S)
        pong(peer)
        assert push.stats().written_messages == 0
        peer.send(ack(0, 2))
        assert [peer.frame()[1] for _ in range(2)] == [b"a", b"b"]
        pong(peer)
        assert push.peers()[0].unacked_messages == 2
        peer.send(ack(1, 3))
        assert peer.frame()[1] == b"c"


BAD = {
    "floor never sent": ack(3, 9),
    "bit never sent": ack(0, 9, b"\x04"),
    "less credit": ack(0, 1),
    "limit below floor": ack(2, 1),
    "short": ref.command(b"ACK", bytes(16)),
    "bitmap too long": ack(0, 9, bytes(8193)),
    "nack never sent": nack(3),
    "nack of 0": nack(0),
    "nack of nothing": nack(),
    "nack of too many": nack(*[1] * 65),
    "nack of half a number": ref.command(b"NACK", bytes(8)),
    "nack without a delay": ref.command(b"NACK", bytes(3)),
    "extend never sent": extend(3),
    "extend of 0": extend(0),
    "extend of nothing": extend(),
    "extend of too many": extend(*[1] * 65),
    "extend of half a number": ref.command(b"EXTEND", bytes(12)),
    "backwards": ack(2, 9) + ack(1, 9),
    "floor of 2^64 - 1": ack(2**64 - 1, 2**64 - 1),
}


@pytest.mark.parametrize("what", BAD)
def test_who_says_what_cannot_be_loses_its_connection_and_nothing_else_is_lost(what: str) -> None:
    """What it had goes to a good peer, but for what it acknowledged before."""
    with mm.Push(bind=UP, delivery="at_least_once") as push:
        with pull_of(push) as peer:
            peer.send(ack(0, 2))
            push.send_many([b"a", b"b"], timeout=WAIT_S)
            assert [peer.frame()[1] for _ in range(2)] == [b"a", b"b"]
            peer.send(BAD[what])
            peer.until_closed()
        wait_until(lambda: not push.peers())
        assert mm.Reason.COMMAND in push.stats().closed
        if what == "backwards":
            return
        with mm.Pull(connect=push.endpoint) as pull:
            assert {bytes(pull.recv(timeout=WAIT_S)) for _ in range(2)} == {b"a", b"b"}


def test_credit_beyond_all_bounds_is_that_of_a_window() -> None:
    """So what is kept for it is bounded, too."""
    options: dict[str, Any] = {"delivery": "at_least_once", "overflow": "error"}
    with mm.Push(bind=UP, send_queue_messages=1 << 20, **options) as push, pull_of(push) as peer:
        peer.send(ack(0, 2**64 - 1))
        pong(peer)
        with pytest.raises(mm.WouldBlockError) as failed:
            push.send_many([b"x"] * (1 << 22), timeout=0)
        wait_until(lambda: push.stats().queued_out_bytes + push.stats().unacked_messages > 0)
        assert push.stats().unacked_messages <= 65536
        assert failed.value.sent <= (1 << 20) + 65536 + 1


def test_who_gives_everything_back_for_ever_holds_nobody_up() -> None:
    """Another receiver gets all, and no memory is lost to the one who does not want them."""
    with mm.Push(bind=UP, delivery="at_least_once") as push, pull_of(push) as peer:
        peer.send(ack(0, 1))
        push.send_many([b"%d" % i for i in range(20)], timeout=WAIT_S)
        before = live_bytes()
        for number in range(1, 2000):
            while peer.frame()[0] == 4:
                pass  # AGAIN
            peer.send(nack(number) + ack(number, number + 1))
        assert live_bytes() - before < 1 << 20
        with mm.Pull(connect=push.endpoint, ack="manual", prefetch=64) as pull:
            got: set[bytes] = set()
            peer.socket.close()
            while len(got) < 20:
                message: Any = pull.recv(timeout=WAIT_S)
                got.add(bytes(message))
                message.ack()


def test_who_gives_everything_back_for_later_holds_up_the_sender_and_no_more() -> None:
    """What waits so is bounded by the limits of a queue, and of the default one: then nothing new
    is taken."""
    options: dict[str, Any] = {"delivery": "at_least_once", "overflow": "error"}
    with mm.Push(bind=UP, send_queue_messages=50, **options) as push, pull_of(push) as peer:
        peer.send(ack(0, 2**32))
        for first in range(1, 1001, 50):
            for _ in range(50):
                push.send(b"x", timeout=WAIT_S)
                assert peer.frame()[1] == b"x"
            peer.send(nack(*range(first, first + 50), delay=2**32 - 1))
            pong(peer)
        assert push.stats().delayed_messages == 1000
        with pytest.raises(mm.WouldBlockError):
            push.send(b"x", timeout=0)
        assert push.stats().queued_out_messages == 0


def test_who_extends_for_ever_costs_no_memory_and_keeps_what_it_has() -> None:
    """Also what it has said is done, and what it names again and again."""
    with (
        mm.Push(bind=UP, delivery="at_least_once", ack_timeout=3600) as push,
        pull_of(push) as peer,
    ):
        peer.send(ack(0, 3))
        push.send_many([b"a", b"b", b"c"], timeout=WAIT_S)
        assert [peer.frame()[1] for _ in range(3)] == [b"a", b"b", b"c"]
        peer.send(ack(1, 4))
        pong(peer)
        before = live_bytes()
        for _ in range(200):
            peer.send(extend(*[1, 2, 3] * 20))
        pong(peer)
        assert live_bytes() - before < 16 * 1024
        assert (push.stats().unacked_messages, push.stats().redelivered_messages) == (2, 0)


@pytest.mark.parametrize(
    "octets",
    [
        COUNT + COUNT,
        ref.message(b"first") + COUNT,
        ref.command(b"COUNT", bytes(23)),
        COUNT + ref.command(b"AGAIN", bytes(20)),
        COUNT + ref.command(b"AGAIN", bytes(3)),
        COUNT + ref.message(b"without credit") * 70_000,
    ],
    ids=["twice", "late", "short", "again-0", "again-short", "over-credit"],
)
def test_a_sender_that_breaks_a_rule_loses_its_connection(octets: bytes) -> None:
    """And is told which."""
    with mm.Pull(bind=UP, prefetch=3) as pull, RawPeer(pull.endpoint).shake(b"PUSH", KNOWS) as peer:
        peer.send(octets)
        peer.until_closed()
        wait_until(lambda: not pull.peers())
        assert mm.Reason.COMMAND in pull.stats().closed


def test_a_peer_without_the_words_is_not_answered_by_them() -> None:
    """ZMTP 3.0 has no ACK, whatever its peer asks for: what it sends is plain."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint).shake(b"PUSH", KNOWS, minor=0) as peer:
        peer.send(COUNT + ref.message(b"plain"))
        assert pull.recv(timeout=WAIT_S) == b"plain"
        assert [peer.acks for peer in pull.peers()] == [False]


@pytest.mark.parametrize("role", [(b"PULL", "Push"), (b"PUSH", "Pull"), (b"DEALER", "Dealer")])
def test_from_who_has_no_use_for_them_they_are_ignored(role: tuple[bytes, str]) -> None:
    """By the thousand, and by roles that never acknowledge."""
    with getattr(mm, role[1])(bind=UP) as ours, RawPeer(ours.endpoint).shake(role[0]) as peer:
        more = ref.command(b"AGAIN", bytes(20)) + ack(9, 1) + nack(7) + ack(1, 1, bytes(9000))
        more += extend(9)
        before = live_bytes()
        for _ in range(300):
            peer.send(more)
            pong(peer)
        assert len(ours.peers()) == 1
        assert live_bytes() - before < 64 * 1024
