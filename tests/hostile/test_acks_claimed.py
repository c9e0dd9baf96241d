"""Peers of a Push that claim at random what they did: whatever it is, no more is done than they
were sent, and who is beside them has no part in it.

Not here: which claims end a connection (test_hostile_acks.py).
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.hostile.test_hostile_acks import COUNT, ack, extend, nack, pull_of
from tests.hostile.test_hostile_roles import pong
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
SENT = 40
CREDIT = 8
CLAIMS = 12
KNOWS = (b"X-Meshmsg", b"1 ack")

Number = Callable[[], int]


def claim(dice: random.Random) -> bytes:
    """An ACK, NACK or EXTEND of anything: mostly of what may be, as else the first one ends it."""

    def number(most: int = CREDIT) -> int:
        return dice.choice([dice.randrange(most + 3)] * 9 + [2**64 - 1 - dice.randrange(2)])

    which = dice.randrange(4)
    if which == 0:
        return nack(*[number() for _ in range(1 + dice.randrange(3))])
    if which == 1:
        return extend(*[number() for _ in range(1 + dice.randrange(3))])
    floor = number()
    limit = dice.choice([CREDIT, floor + CREDIT, number(2 * CREDIT)])
    bits = dice.randbytes(dice.choice([0, 0, 1, 2]))
    return ack(floor, min(limit, 2**64 - 1), bits, flags=dice.choice([0] * 9 + [1]))


class Liar:
    """A peer that reads what it is sent, and says what it likes."""

    def __init__(self, push: mm.Push) -> None:
        self.peer = pull_of(push)
        self.had: list[bytes] = []
        self.over = False

    def say(self, octets: bytes) -> None:
        """Say it, and read all that comes until it was read, or the connection is ended."""
        self.peer.send(octets + ref.ping(0, b"mark"))
        try:
            while True:
                flags, body = self.peer.frame()
                if body == b"\x04PONGmark":
                    return
                if not flags & ref.COMMAND:
                    self.had.append(body)
        except (EOFError, OSError):
            self.over = True


@pytest.mark.parametrize("spooled", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_whatever_is_claimed_no_more_is_done_than_was_sent(
    seed: int, spooled: bool, tmp_path: Path
) -> None:
    """Each message was at the liar, or is done by the other one; their sum is what was sent."""
    dice = random.Random(seed)
    with ExitStack() as stack:
        more: dict[str, Any] = {"delivery": "at_least_once"}
        if spooled:
            more = {"spool": stack.enter_context(mm.Spool(tmp_path / "s", durability="os"))}
        push = stack.enter_context(mm.Push(bind=UP, **more))
        liar = Liar(push)
        stack.enter_context(liar.peer)
        liar.say(ack(0, CREDIT))
        receipts = push.send_many([b"%d" % i for i in range(SENT)], confirm=True)
        for _ in range(CLAIMS):
            liar.say(claim(dice))
            assert push.stats().acked_messages <= len(liar.had)
            if liar.over:
                break
        claimed = push.stats().acked_messages
        liar.peer.socket.close()
        wait_until(lambda: not push.peers())
        assert receipts.tally()["acked"] == claimed == push.stats().acked_messages
        with mm.Pull(connect=push.endpoint, ack="manual") as pull:
            rest = [pull.recv(timeout=WAIT_S) for _ in range(SENT - claimed)]
            assert all(message.ack() for message in rest)
            receipts.wait(timeout=WAIT_S)
        assert len({bytes(message) for message in rest}) == len(rest)
        assert {bytes(message) for message in rest} | set(liar.had) >= {
            b"%d" % i for i in range(SENT)
        }
        assert push.stats().acked_messages == SENT


@pytest.mark.parametrize("seed", range(10))
def test_a_sender_that_claims_to_be_another_one_takes_nothing_from_it(seed: int) -> None:
    """It says COUNT and AGAIN with any producer, epoch and number: what it says of its messages
    is of them alone, and what the other one sent is acknowledged to that."""
    dice = random.Random(seed)
    with (
        mm.Pull(bind=UP, ack="manual") as pull,
        mm.Push(connect=pull.endpoint, delivery="at_least_once") as push,
    ):
        push.send(b"good", timeout=WAIT_S)
        first = pull.recv(timeout=WAIT_S)
        assert first.seq is not None
        count = ref.command(b"COUNT", struct.pack(">Q", first.seq[0]) + dice.randbytes(16))
        again = struct.pack(">QQI", first.seq[0], dice.randrange(1, 4), dice.randrange(1, 2**32))
        with RawPeer(pull.endpoint).shake(b"PUSH", KNOWS) as peer:
            peer.send(dice.choice([COUNT, count]) + ref.command(b"AGAIN", again))
            pong(peer)  # it has its credit by then
            peer.send(ref.message(b"bad"))
            message = pull.recv(timeout=WAIT_S)
            assert message == b"bad"
            assert message.ack() is True
            pong(peer)
            assert push.stats().acked_messages == 0
        assert first.ack() is True
        push.drain(timeout=WAIT_S).raise_for_loss()
        assert push.stats().acked_messages == 1
