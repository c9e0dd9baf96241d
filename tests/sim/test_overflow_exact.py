"""Overflow x role x {messages, bytes}: what a full queue keeps, refuses and drops, to the message.

The peer is cut off in a simulated world, so nothing leaves the queue meanwhile.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import meshmsg as mm
from tests.support.stalled import FRAME_COST, SENDERS, Stalled, stalled

SIZE = 10_000
COST = SIZE + FRAME_COST
OFFERED = 20
HELD = 5
LIMITS: dict[str, dict[str, int]] = {
    "messages": {"send_queue_messages": HELD},
    "bytes": {"send_queue_bytes": HELD * COST},
    "bytes_but_one": {"send_queue_bytes": (HELD + 1) * COST - 1},
}
"""Three ways to say that five messages have room and a sixth has not."""
FAN_OUT = ("Pub", "XPub", "Router")


def body(number: int) -> bytes:
    """A message that knows its number."""
    return b"%08d" % number + bytes(SIZE - 8)


def numbers(bodies: list[bytes]) -> list[int]:
    """Which messages these are."""
    assert all(len(one) == SIZE for one in bodies)
    return [int(one[:8]) for one in bodies]


def offer(pair: Stalled) -> list[int]:
    """Offer twenty messages; which of them were taken."""
    assert pair.try_send(body(0))
    pair.settle()  # the front is on its way: partly written, no longer to be dropped
    return [0] + [i for i in range(1, OFFERED) if pair.try_send(body(i))]


def drop_events(socket: Any) -> int:
    """How many dropped messages the events tell of."""
    return sum(e.count for e in socket.events() if e.kind is mm.EventKind.DROPPED)


def check_identity(socket: Any) -> mm.Stats:
    """sent = written + dropped + queued_out, always."""
    stats: mm.Stats = socket.stats()
    assert stats.sent_messages == stats.written_messages + stats.dropped + stats.queued_out_messages
    return stats


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("policy", ["error", "block"])
@pytest.mark.parametrize("role", SENDERS)
def test_a_queue_that_refuses_keeps_what_it_took_and_drops_nothing(
    role: str, policy: str, limit: str
) -> None:
    """overflow="error", or "block" with timeout=0: five taken, fifteen refused, five delivered."""
    with stalled(role, overflow=policy, **LIMITS[limit]) as pair:
        assert offer(pair) == list(range(HELD))
        stats = check_identity(pair.sender)
        assert (stats.sent_messages, stats.queued_out_messages) == (HELD, HELD)
        assert stats.dropped == 0
        assert numbers(pair.receive_all()) == list(range(HELD))
        assert drop_events(pair.sender) == 0
        assert check_identity(pair.sender).written_messages == HELD


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("role", SENDERS)
def test_drop_newest_keeps_the_first_and_counts_the_rest(role: str, limit: str) -> None:
    """Twenty accepted, the first five delivered, fifteen counted, told, and laid to the peer."""
    with stalled(role, overflow="drop_newest", **LIMITS[limit]) as pair:
        assert offer(pair) == list(range(OFFERED))
        stats = check_identity(pair.sender)
        assert stats.dropped_overflow == stats.dropped == OFFERED - HELD
        assert stats.queued_out_messages == HELD
        assert numbers(pair.receive_all()) == list(range(HELD))
        assert drop_events(pair.sender) == OFFERED - HELD
        assert pair.sender.peers()[0].sent_messages == HELD


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("role", SENDERS)
def test_drop_oldest_keeps_the_last_and_what_is_on_its_way(role: str, limit: str) -> None:
    """The front is partly written and must go on; behind it stand the four newest."""
    with stalled(role, overflow="drop_oldest", **LIMITS[limit]) as pair:
        assert offer(pair) == list(range(OFFERED))
        stats = check_identity(pair.sender)
        assert stats.dropped_overflow == stats.dropped == OFFERED - HELD
        assert stats.queued_out_messages == HELD
        assert numbers(pair.receive_all()) == [0, *range(OFFERED - HELD + 1, OFFERED)]
        assert drop_events(pair.sender) == OFFERED - HELD


@pytest.mark.parametrize("limit", ["messages", "bytes"])
@pytest.mark.parametrize("role", SENDERS)
def test_a_blocked_send_gives_up_in_its_time_and_has_sent_nothing(role: str, limit: str) -> None:
    """TimedOutError after the virtual time asked for; afterwards everything taken arrives."""
    with stalled(role, overflow="block", **LIMITS[limit]) as pair:
        offer(pair)
        before = pair.world.now
        with pytest.raises(mm.TimedOutError, match=r"within 1\.5 s"):
            if role == "Router":
                pair.sender.send(body(99), to=b"it", timeout=1.5)
            else:
                pair.sender.send(body(99), timeout=1.5)
        assert pair.world.now - before == pytest.approx(1.5, abs=0.01)
        assert check_identity(pair.sender).sent_messages == HELD
        assert numbers(pair.receive_all()) == list(range(HELD))


@pytest.mark.parametrize("role", SENDERS)
def test_a_blocked_send_goes_on_when_the_peer_reads_again(role: str) -> None:
    """The stall ends after some seconds; the send that waited for it is delivered in its turn."""
    with stalled(role, overflow="block", **LIMITS["messages"]) as pair:
        offer(pair)
        if role == "Router":
            pair.sender.send(body(HELD), to=b"it", timeout=60)
        else:
            pair.sender.send(body(HELD), timeout=60)
        assert numbers(pair.receive_all()) == list(range(HELD + 1))
        assert check_identity(pair.sender).dropped == 0


@pytest.mark.parametrize("policy", ["error", "drop_newest", "drop_oldest"])
@pytest.mark.parametrize("role", SENDERS)
def test_an_empty_queue_takes_any_one_message(role: str, policy: str) -> None:
    """A limit of one byte, or of one message, is a queue of one; the second finds it full."""
    for limit in ({"send_queue_bytes": 1}, {"send_queue_messages": 1}):
        with stalled(role, overflow=policy, **limit) as pair:
            assert offer(pair) == ([0] if policy == "error" else list(range(OFFERED)))
            assert check_identity(pair.sender).queued_out_messages == 1
            assert numbers(pair.receive_all()) == [0]


class Model:
    """A bounded queue in ten lines: what the core must agree with. Its front is on its way."""

    def __init__(self, messages: int, size: int, policy: str) -> None:
        self.limits = messages, size
        self.policy = policy
        self.queue: list[bytes] = []
        self.refused = self.dropped = 0

    def fits(self, queue: list[bytes], new: bytes) -> bool:
        """Whether there is room for one more."""
        total = sum(len(one) + FRAME_COST for one in [*queue, new])
        return not queue or (len(queue) < self.limits[0] and total <= self.limits[1])

    def send(self, new: bytes) -> None:
        """Take it, refuse it, or drop one."""
        if not self.fits(self.queue, new) and self.policy == "drop_oldest":
            if self.fits(self.queue[:1], new):
                while not self.fits(self.queue, new):
                    del self.queue[1]
                    self.dropped += 1
        if self.fits(self.queue, new):
            self.queue.append(new)
        elif self.policy in ("error", "block"):
            self.refused += 1
        else:
            self.dropped += 1


@given(
    role=st.sampled_from(SENDERS),
    policy=st.sampled_from(["error", "block", "drop_newest", "drop_oldest"]),
    messages=st.integers(1, 8),
    size=st.integers(1, 60_000),
    sizes=st.lists(st.integers(0, 12_000), min_size=1, max_size=25),
)
@settings(max_examples=120, deadline=None)
def test_any_queue_agrees_with_a_plain_model_of_it(
    role: str, policy: str, messages: int, size: int, sizes: list[int]
) -> None:
    """Any limits, any sizes: the same messages are kept, the same number refused and dropped."""
    model = Model(messages, size, policy)
    limits = {"send_queue_messages": messages, "send_queue_bytes": size}
    with stalled(role, overflow=policy, **limits) as pair:
        plug = b"plug" + bytes(SIZE)
        assert pair.try_send(plug)
        model.send(plug)
        pair.settle()
        refused = 0
        for number, length in enumerate(sizes):
            one = b"%d" % number + bytes(length)
            refused += not pair.try_send(one)
            model.send(one)
            assert pair.sender.stats().queued_out_messages == len(model.queue)
        stats = check_identity(pair.sender)
        assert refused == model.refused
        assert stats.dropped_overflow == stats.dropped == model.dropped
        if role in FAN_OUT or policy == "drop_oldest":  # the others drop before they choose a peer
            assert pair.sender.peers()[0].dropped_messages == model.dropped
        cost = sum(len(one) + FRAME_COST for one in model.queue)
        assert stats.queued_out_bytes == cost
        assert pair.receive_all() == model.queue
        assert drop_events(pair.sender) == model.dropped
