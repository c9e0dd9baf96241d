"""At least once, in worlds that cut, lose and reorder: whatever becomes of its receivers, every
message that a Push took is received, or still there.

Not here: what is on the wire (tests/c/test_unacked.c), calls and words
(tests/unit/test_delivery.py).
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimFaults
from tests.sim.scenes import HEALED_WITHIN_S
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

SEEDS = range(60)
MESSAGES = 120
STEPS = 60
FAULTS = SimFaults(split=0.3, short_write=0.3, eagain=0.2, reset=0.003)


class Pool:
    """A Push, and receivers that come and go."""

    def __init__(self, r: Room, dice: random.Random, delivery: str, ack: str) -> None:
        self.room = r
        self.dice = dice
        self.ack = ack
        self.push = r.open("Push", engine=r.hub, bind=UP, delivery=delivery)
        self.pulls: list[Any] = []
        self.got: Counter[bytes] = Counter()
        self.in_hand: list[Any] = []
        """Messages that are not acknowledged yet."""
        for _ in range(3):
            self.join()

    def join(self) -> None:
        """Another receiver comes."""
        options: dict[str, Any] = {"ack": self.ack, "prefetch": self.dice.choice([1, 3, 50])}
        self.pulls.append(self.room.open("Pull", connect=self.push.endpoint, **options))

    def leave(self) -> None:
        """A receiver closes; what it has in hand it does not work on."""
        one = self.pulls.pop(self.dice.randrange(len(self.pulls)))
        self.in_hand = [held for held in self.in_hand if held[0] is not one]
        one.close()
        self.join()

    def take(self, pull: Any, most: int, timeout: float) -> int:
        """Receive a few; what is taken by hand is acknowledged later, in any order."""
        try:
            found = pull.recv_many(most, timeout=timeout)
        except (mm.TimedOutError, mm.WouldBlockError):
            return 0
        for message in found:
            if self.ack == "auto":
                self.got[bytes(message)] += 1  # it is worked on before the next is asked for
            else:
                self.in_hand.append((pull, message))
        return len(found)

    def settle(self, share: float) -> None:
        """Acknowledge some of what is in hand, and give some back."""
        self.dice.shuffle(self.in_hand)
        for _ in range(round(len(self.in_hand) * share)):
            _, message = self.in_hand.pop()
            if self.dice.random() < 0.2:
                message.nack()
            else:
                self.got[bytes(message)] += 1
                message.ack()

    def step(self) -> None:
        """One thing that happens."""
        draw = self.dice.random()
        if draw < 0.55:
            self.take(self.dice.choice(self.pulls), self.dice.choice([1, 10]), 0)
        elif draw < 0.75:
            self.settle(0.5)
        elif draw < 0.82:
            self.leave()
        elif draw < 0.88:
            self.room.world.reset_all()
        else:
            self.room.world.run(self.dice.choice([0.001, 0.1, 2.0]))

    def finish(self, wanted: set[bytes]) -> None:
        """Nothing goes wrong any more: receive until everything was there."""
        self.room.world.heal()
        for _ in range(round(HEALED_WITHIN_S)):
            self.settle(1.0)
            for pull in self.pulls:
                while self.take(pull, 1000, 0):
                    self.settle(1.0)
            self.room.world.run(1.0)
            stats = self.push.stats()
            if set(self.got) == wanted and stats.unacked_messages + stats.queued_out_messages == 0:
                break


def play(seed: int, delivery: str, ack: str) -> tuple[set[bytes], Pool]:
    """What was sent, and how it went."""
    dice = random.Random(seed)
    with room(seed, faults=FAULTS, buffer_size=dice.choice([512, 65536])) as r:
        pool = Pool(r, dice, delivery, ack)
        sent = {b"%d " % i + bytes(dice.choice([0, 10, 300])) for i in range(MESSAGES)}
        waiting = sorted(sent)
        dice.shuffle(waiting)
        for _ in range(STEPS):
            for body in [waiting.pop() for _ in range(min(len(waiting), dice.choice([0, 1, 9])))]:
                pool.push.send(body, timeout=PATIENCE_S * 20)
            pool.step()
        for body in waiting:
            pool.push.send(body, timeout=PATIENCE_S * 20)
        pool.finish(sent)
        if delivery == "at_least_once":
            stats = pool.push.stats()
            assert (stats.unacked_messages, stats.queued_out_messages, stats.dropped) == (0, 0, 0)
            assert stats.sent_messages == MESSAGES
        return sent, pool


@pytest.mark.parametrize("ack", ["auto", "manual"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_message_is_received_whatever_becomes_of_receivers(seed: int, ack: str) -> None:
    """Receivers close, connections are cut, messages are given back: nothing is missing."""
    sent, pool = play(seed, "at_least_once", ack)
    assert set(pool.got) == sent


def test_without_acknowledging_the_same_worlds_lose_some() -> None:
    """So the worlds are such that it takes something to lose nothing."""
    missing = 0
    for seed in SEEDS:
        sent, pool = play(seed, "at_most_once", "auto")
        missing += len(sent - set(pool.got))
    assert missing > 0


def test_nothing_is_handed_out_twice_while_connections_hold() -> None:
    """Without cuts each message is received once, and its attempt is the first."""
    with room(1) as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        pulls = [r.open("Pull", connect=push.endpoint, ack="manual", prefetch=7) for _ in range(3)]
        push.wait_for_peers(3, timeout=PATIENCE_S)
        got: Counter[bytes] = Counter()
        for i in range(MESSAGES):
            push.send(b"%d" % i, timeout=PATIENCE_S)
        for pull in pulls * 20:
            r.world.run(0.1)
            try:
                found = pull.recv_many(timeout=0)
            except mm.WouldBlockError:
                continue
            for message in found:
                got[bytes(message)] += 1
                assert message.attempt == 1
                assert message.ack()
        assert got == Counter(b"%d" % i for i in range(MESSAGES))
        r.world.run(1.0)
        assert push.stats().acked_messages == MESSAGES
        assert push.drain(timeout=0).unconfirmed == 0


def test_a_stuck_receiver_has_no_more_than_its_prefetch() -> None:
    """Two receivers, one never takes anything: the other one gets all the rest."""
    with room(1) as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
        stuck = r.open("Pull", connect=push.endpoint, prefetch=2)
        free = r.open("Pull", connect=push.endpoint, prefetch=2)
        push.wait_for_peers(2, timeout=PATIENCE_S)
        for i in range(50):
            push.send(b"%d" % i, timeout=PATIENCE_S)
        got = []
        for _ in range(48):
            got.append(free.recv(timeout=PATIENCE_S))
        with pytest.raises(mm.TimedOutError):
            free.recv(timeout=PATIENCE_S)
        assert len(set(got)) == 48
        stuck.close()
        rest = [free.recv(timeout=PATIENCE_S) for _ in range(2)]
        assert {int(body) for body in got + rest} == set(range(50))
