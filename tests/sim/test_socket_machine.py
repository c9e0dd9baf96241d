"""Sockets in any order of calls against a plain model: hypothesis draws the calls, a simulated
world runs them, and every call does what the model says or raises what the model says.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.accepted import accepted
from tests.support.stalled import PATIENCE_S

UP = "tcp://127.0.0.1:0"
WAYS = ["recv", "recv_many", "recv_frames", "iterate"]


class Pipeline(RuleBasedStateMachine):
    """Pushes and Pulls that come, go, connect, part, send and receive in any order.

    The model: a message sent is received at most once, by one Pull; per pair in order; and it is
    received unless a connection ended under it, or the Pull that had it was closed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pushes: list[mm.Push] = []
        self.pulls: list[mm.Pull] = []
        self.next_number: dict[mm.Push, int] = {}
        self.names: dict[mm.Push, int] = {}
        self.links: set[tuple[mm.Push, mm.Pull]] = set()
        self.got: dict[mm.Pull, list[tuple[int, int]]] = {}
        self.sent = 0
        self.excused = 0
        """Messages that may be lost: those a closed socket or an ended connection had."""
        self.unsent = True
        """Whether the last error of a send_many gave back exactly what was not sent."""

    @initialize(seed=st.integers(0, 2**32))
    def open_world(self, seed: int) -> None:
        """A world whose kernel holds little; two of each, all connected, to begin with."""
        self.world = SimWorld(seed, buffer_size=2048)
        for _ in range(2):
            self.open_push()
            self.open_pull()
        for a in range(2):
            for b in range(2):
                self.connect(a, b)

    @rule()
    @precondition(lambda self: len(self.pushes) < 3)
    def open_push(self) -> None:
        """A Push in an engine of its own."""
        push = mm.Push(engine=self.world.engine(), send_queue_messages=4)
        self.names[push] = len(self.names)
        self.next_number[push] = 0
        self.pushes.append(push)

    @rule()
    @precondition(lambda self: len(self.pulls) < 3)
    def open_pull(self) -> None:
        """A Pull, bound."""
        pull = mm.Pull(bind=UP, engine=self.world.engine(), recv_queue_messages=3)
        self.pulls.append(pull)
        self.got[pull] = []

    @rule(a=st.integers(0, 2), b=st.integers(0, 2))
    @precondition(lambda self: self.pushes and self.pulls)
    def connect(self, a: int, b: int) -> None:
        """Make a connection that is not there yet."""
        pair = self.pushes[a % len(self.pushes)], self.pulls[b % len(self.pulls)]
        if pair in self.links:
            return
        pair[0].connect(pair[1].endpoint)
        self.links.add(pair)
        count = sum(push is pair[0] for push, _ in self.links)
        pair[0].wait_for_peers(count, timeout=PATIENCE_S)

    @rule(which=st.integers(0, 8))
    @precondition(lambda self: self.links)
    def disconnect(self, which: int) -> None:
        """End a connection: what was written to it is in doubt."""
        pair = sorted(self.links, key=lambda p: (self.names[p[0]], p[1].endpoint))[
            which % len(self.links)
        ]
        pair[0].disconnect(pair[1].endpoint)
        self.links.discard(pair)

    @rule(a=st.integers(0, 2), size=st.sampled_from([0, 100, 5000]), many=st.booleans())
    @precondition(lambda self: self.pushes)
    def send(self, a: int, size: int, many: bool) -> None:
        """Send, and take it back into the model when there was no room."""
        push = self.pushes[a % len(self.pushes)]
        bodies = [
            b"%d %d " % (self.names[push], self.next_number[push] + i) + bytes(size)
            for i in range(3 if many else 1)
        ]
        went, unsent = accepted(push, bodies)
        self.unsent = unsent == bodies[went:]
        self.next_number[push] += went
        self.sent += went

    @rule(b=st.integers(0, 2), way=st.sampled_from(WAYS))
    @precondition(lambda self: self.pulls)
    def receive(self, b: int, way: str) -> None:
        """Receive in one of the ways there are; nothing there is WouldBlockError."""
        pull = self.pulls[b % len(self.pulls)]
        try:
            if way == "recv_many":
                found = list(map(bytes, pull.recv_many(2, timeout=0)))
            elif way == "recv_frames":
                found = pull.recv_frames(timeout=0)
            elif way == "iterate" and pull.stats().queued_in_messages:
                found = [bytes(next(iter(pull)))]
            else:
                found = [bytes(pull.recv(timeout=0))]
        except mm.WouldBlockError:
            assert way == "iterate" or pull.stats().queued_in_messages == 0
            return
        self.note(pull, found)

    def note(self, pull: mm.Pull, found: list[bytes]) -> None:
        """Enter what came into the model."""
        for body in found:
            who, number = body.split()[:2]
            self.got[pull].append((int(who), int(number)))

    @rule(seconds=st.sampled_from([0.01, 0.5, 7.0]))
    def run(self, seconds: float) -> None:
        """Let the world go on."""
        self.world.run(seconds)

    @rule(b=st.integers(0, 2))
    @precondition(lambda self: self.pulls)
    def close_pull(self, b: int) -> None:
        """What it had received and not given out goes with it."""
        pull = self.pulls.pop(b % len(self.pulls))
        for push, other in sorted(self.links, key=lambda p: (self.names[p[0]], p[1].endpoint)):
            if other is pull:
                push.disconnect(pull.endpoint)
                self.links.discard((push, other))
        stats = pull.stats()
        self.excused += stats.parsed_messages - stats.received_messages
        pull.close()

    @rule(a=st.integers(0, 2))
    @precondition(lambda self: self.pushes)
    def close_push(self, a: int) -> None:
        """What it had not been told to have arrived may be lost."""
        push = self.pushes.pop(a % len(self.pushes))
        self.links = {pair for pair in self.links if pair[0] is not push}
        stats = push.stats()
        self.excused += stats.sent_messages - stats.confirmed_messages
        push.close()

    @invariant()
    def the_books_are_right(self) -> None:
        """Both identities, whatever was called before."""
        assert self.unsent
        for push in self.pushes:
            stats = push.stats()
            assert stats.sent_messages == self.next_number[push]
            assert stats.sent_messages == (
                stats.written_messages + stats.dropped + stats.queued_out_messages
            )
            assert stats.confirmed_messages + stats.in_doubt_messages <= stats.written_messages
            assert stats.dialers == sum(pair[0] is push for pair in self.links)
        for pull in self.pulls:
            stats = pull.stats()
            assert stats.received_messages == len(self.got[pull])
            assert stats.parsed_messages == (
                stats.received_messages + stats.dropped + stats.queued_in_messages
            )

    def teardown(self) -> None:
        """Let everything arrive that can; then compare with the model."""
        self.world.run(60)
        for _ in range(3):
            for pull in self.pulls:
                while True:
                    try:
                        self.note(pull, list(map(bytes, pull.recv_many(timeout=5))))
                    except mm.TimedOutError:
                        break
        for push in self.pushes:
            stats = push.stats()
            self.excused += stats.in_doubt_messages + stats.dropped + stats.queued_out_messages
        everything = Counter(one for got in self.got.values() for one in got)
        assert max(everything.values(), default=0) <= 1, "a message came twice"
        assert self.sent - len(everything) <= self.excused, "a message is lost uncounted"
        for socket in (*self.pushes, *self.pulls):
            socket.close()
        self.world.close()


TestPipeline = Pipeline.TestCase
TestPipeline.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
