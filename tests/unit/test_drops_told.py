"""Why messages were dropped is told: in the event, and so in the log, each cause for itself.

Not here: how often (tests/c/test_events.c), how many (tests/sim/test_overflow_exact).
"""

from __future__ import annotations

import logging
from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, room
from tests.support.stalled import PATIENCE_S, stalled

ALONE = "no peer to send to (no_peer, overflow)"
FULL = "queue full (send_queue_messages, send_queue_bytes, overflow)"


def causes(socket: Any) -> dict[str, int]:
    """How many were dropped for each cause, as the events tell."""
    told: dict[str, int] = {}
    for event in socket.events():
        if event.kind is mm.EventKind.DROPPED:
            told[event.detail] = told.get(event.detail, 0) + event.count
    return told


def test_what_finds_no_peer_is_told_with_the_options_that_decide_it() -> None:
    """Dropped by no_peer or by overflow."""
    with room() as r:
        push = r.open("Push", bind=UP, no_peer="drop")
        push.send(b"x")
        assert causes(push) == {ALONE: 1}


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
@pytest.mark.parametrize("role", ["Push", "Pub", "Router"])
def test_what_finds_a_queue_full_is_told_with_the_options_that_decide_it(
    role: str, overflow: str
) -> None:
    """Whoever drops, and whichever message goes."""
    with stalled(role, overflow=overflow, send_queue_messages=2) as pair:
        while not pair.sender.stats().dropped_overflow:
            pair.send(bytes(100_000))
        assert set(causes(pair.sender)) == {FULL}


def test_what_a_sub_gave_up_is_told_with_the_options_of_its_queue() -> None:
    """Of those that keep the newest message of each topic: one topic too many."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        options: dict[str, Any] = {"conflate": "topic", "recv_queue_messages": 1}
        sub = r.open("Sub", connect=pub.endpoint, topics="", **options)
        pub.wait_for_subscribers("", timeout=PATIENCE_S)
        for topic in ("a", "b"):
            pub.send(b"x", topic=topic)
        pub.drain(timeout=PATIENCE_S)
        assert causes(sub) == {"receive queue full (recv_queue_messages, recv_queue_bytes)": 1}


def test_what_was_received_and_unsubscribed_is_told_so() -> None:
    """No option matters to that."""
    with room() as r:
        pub = r.open("Pub", engine=r.hub, bind=UP)
        sub = r.open("Sub", connect=pub.endpoint, topics="a")
        pub.wait_for_subscribers("a", timeout=PATIENCE_S)
        pub.send(b"x", topic="a")
        pub.drain(timeout=PATIENCE_S)
        sub.unsubscribe("a")
        with pytest.raises(mm.WouldBlockError):
            sub.recv(timeout=0)
        assert causes(sub) == {"not subscribed any more": 1}


def test_drops_of_two_causes_are_two_events() -> None:
    """A second one of another cause is not hidden in the number of the first."""
    with stalled("Push", overflow="drop_newest", no_peer="drop", send_queue_messages=2) as pair:
        while not pair.sender.stats().dropped_overflow:
            pair.send(bytes(100_000))
        pair.receiver.close()
        pair.world.heal()
        while pair.sender.peers():
            pair.world.run(1)
        for _ in range(3):
            pair.sender.send(b"x")
        pair.world.run(2)
        told, stats = causes(pair.sender), pair.sender.stats()
        assert told[FULL] == stats.dropped_overflow > 0
        assert told[ALONE] == stats.dropped_no_peer >= 3
        assert sum(told.values()) == stats.dropped


def test_drops_of_the_last_second_are_told_when_the_socket_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They wait for their second, which does not come any more."""
    with room() as r:
        push = r.open("Push", bind=UP, no_peer="drop")
        endpoint = push.endpoint
        for _ in range(5):
            push.send(b"x")
        push.close()
    loud = [record for record in caplog.records if record.levelno == logging.WARNING]
    told = [record.message for record in loud if "DROPPED" in record.message]
    assert told == [
        f"Push {endpoint} DROPPED: 1 message dropped: {ALONE}",
        f"Push {endpoint} DROPPED: 4 messages dropped: {ALONE}",
    ]
