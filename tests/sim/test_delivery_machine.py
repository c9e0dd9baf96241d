"""Messages that are acknowledged, by any order of calls, against a plain model: each is with its
sender, with a receiver, or done, and nobody's hand holds more than its prefetch.

Not here: seeds of whole worlds (test_delivery_worlds.py).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.accepted import accepted
from tests.support.stalled import PATIENCE_S

UP = "tcp://127.0.0.1:0"
PREFETCH = 3
ROUNDS_MAX = 200
"""Of receiving what is left, until everything is done: each takes a message at least."""


class Delivery(RuleBasedStateMachine):
    """Pushes that keep what was sent, and Pulls that acknowledge by hand, in any order.

    The model: a message that a Push took is given out until somebody said that it is done; always
    with the same number, and with an attempt that counts who had it. While no connection ends,
    each is done once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pushes: list[mm.Push] = []
        self.pulls: list[mm.Pull] = []
        self.sent: Counter[mm.Push] = Counter()
        self.bodies: set[bytes] = set()
        self.in_hand: dict[mm.Pull, list[Any]] = {}
        self.done: Counter[bytes] = Counter()
        self.refused: Counter[bytes] = Counter()
        self.seqs: dict[bytes, Any] = {}
        self.ended = 0
        """How many times connections may have ended under messages."""

    @initialize(seed=st.integers(0, 2**32), size=st.sampled_from([256, 2048, 65536]))
    def open_world(self, seed: int, size: int) -> None:
        """A world with two Pushes, and a Pull of both."""
        self.world = SimWorld(seed, buffer_size=size)
        for _ in range(2):
            self.pushes.append(
                mm.Push(
                    bind=UP,
                    engine=self.world.engine(),
                    delivery="at_least_once",
                    send_queue_messages=8,
                    reconnect_max=0.1,
                )
            )
        self.open_pull()

    @rule()
    @precondition(lambda self: len(self.pulls) < 3)
    def open_pull(self) -> None:
        """Another receiver, of both."""
        pull = mm.Pull(
            connect=[push.endpoint for push in self.pushes],
            engine=self.world.engine(),
            ack="manual",
            prefetch=PREFETCH,
            reconnect_max=0.1,
        )
        self.pulls.append(pull)
        self.in_hand[pull] = []

    @rule(a=st.integers(0, 1), size=st.sampled_from([0, 100, 5000]), many=st.booleans())
    def send(self, a: int, size: int, many: bool) -> None:
        """Send as many as there is room for."""
        push = self.pushes[a]
        bodies = [b"%d %d " % (a, self.sent[push] + i) + bytes(size) for i in range(1 + 2 * many)]
        went, _ = accepted(push, bodies)
        self.sent[push] += went
        self.bodies.update(bodies[:went])

    @rule(
        b=st.integers(0, 2),
        way=st.sampled_from(["recv", "recv_many"]),
        timeout=st.sampled_from([0, 0.2]),
    )
    @precondition(lambda self: self.pulls)
    def receive(self, b: int, way: str, timeout: float) -> None:
        """Take one or a few."""
        self.take(self.pulls[b % len(self.pulls)], way, timeout)

    def take(self, pull: mm.Pull, way: str, timeout: float) -> int:
        """Receive, and enter it into the model; how many."""
        try:
            if way == "recv":
                found: list[Any] = [pull.recv(timeout=timeout)]
            else:
                found = list(pull.recv_many(2, timeout=timeout))
        except (mm.WouldBlockError, mm.TimedOutError):
            return 0
        for message in found:
            body = bytes(message)
            assert self.seqs.setdefault(body, message.seq) == message.seq
            assert 1 <= message.attempt <= 1 + self.refused[body] + self.ended
            if self.ended == 0:
                assert message.attempt == 1 + self.refused[body]
        self.in_hand[pull] += found
        return len(found)

    @rule(b=st.integers(0, 2), which=st.integers(0, 20), back=st.booleans())
    @precondition(lambda self: any(self.in_hand.values()))
    def settle(self, b: int, which: int, back: bool) -> None:
        """Say of one that it is done, or give it back; in any order."""
        holders = [pull for pull in self.pulls if self.in_hand[pull]]
        held = self.in_hand[holders[b % len(holders)]]
        message = held.pop(which % len(held))
        body = bytes(message)
        if back:
            settled = message.nack()
            self.refused[body] += settled
        else:
            settled = message.ack()
            self.done[body] += 1
        assert settled or self.ended, "only of a connection that ended it is too late"
        assert not message.ack()

    @rule(seconds=st.sampled_from([0.01, 0.5, 7.0]))
    def run(self, seconds: float) -> None:
        """Let the world go on."""
        self.world.run(seconds)

    @rule(b=st.integers(0, 2))
    @precondition(lambda self: self.pulls)
    def close_pull(self, b: int) -> None:
        """What it had in hand goes to somebody else."""
        pull = self.pulls.pop(b % len(self.pulls))
        del self.in_hand[pull]
        self.ended += 1
        pull.close()

    @rule(b=st.integers(0, 2), a=st.integers(0, 1))
    @precondition(lambda self: self.pulls)
    def go_and_come(self, b: int, a: int) -> None:
        """A receiver ends a connection, and makes another."""
        pull = self.pulls[b % len(self.pulls)]
        self.ended += 1
        pull.disconnect(self.pushes[a].endpoint)
        pull.connect(self.pushes[a].endpoint)

    @rule()
    def cut(self) -> None:
        """All connections are reset."""
        self.ended += 1
        self.world.reset_all()

    @invariant()
    def each_message_is_in_one_place(self) -> None:
        """Of a Push: all are acknowledged, at a receiver, or queued."""
        for push in self.pushes:
            stats = push.stats()
            assert stats.sent_messages == self.sent[push]
            assert stats.dropped == 0
            assert stats.sent_messages == (
                stats.acked_messages + stats.unacked_messages + stats.queued_out_messages
            )
        if self.ended == 0:
            for pull in self.pulls:
                held = len(self.in_hand[pull]) + pull.stats().queued_in_messages
                assert held <= PREFETCH * len(self.pushes)

    def left(self) -> int:
        """Messages that are not done."""
        every = [push.stats() for push in self.pushes]
        return sum(stats.unacked_messages + stats.queued_out_messages for stats in every)

    def teardown(self) -> None:
        """Receive all there is, and say that it is done: nothing is left, nothing is missing."""
        if not self.pulls:
            self.open_pull()
        for _ in range(ROUNDS_MAX):
            for pull in self.pulls:
                for message in self.in_hand[pull]:
                    self.done[bytes(message)] += 1
                    message.ack()
                self.in_hand[pull] = []
                while self.take(pull, "recv_many", 0.2):
                    continue
            if not any(self.in_hand.values()) and self.left() == 0:
                break
            self.world.run(PATIENCE_S / 10)
        assert self.left() == 0
        assert set(self.done) == self.bodies
        if self.ended == 0:
            assert max(self.done.values(), default=1) == 1, "a message was done twice"
        for socket in (*self.pulls, *self.pushes):
            socket.close()
        self.world.close()


TestDelivery = Delivery.TestCase
TestDelivery.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
