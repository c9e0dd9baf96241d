"""An acknowledgement that comes after `ack_timeout`: while the message waits for somebody else it
counts, and nobody does it again; once somebody else has it, it counts for nothing.

Not here: which messages are taken back (test_ack_timeouts.py), threads and loops
(tests/unit/test_late_acks.py), what is remembered of them (tests/c/test_late.c).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.sim.test_ack_timeouts import LATE_S, TIMEOUT_S, work_off, workers
from tests.support.room import Room, room
from tests.support.stalled import PATIENCE_S

COUNT = 20
WAYS: dict[str, dict[str, Any]] = {
    "in turn": {},
    "least loaded": {"routing": "least_loaded"},
    "by keys": {"routing": "hash"},
    "levels": {"priorities": 3},
    "attempts": {"max_attempts": 5, "dead_letter": "keep"},
}


def whole(push: Any) -> bool:
    """Whether each message is somewhere, and once (docs/semantics.md, what is counted)."""
    stats = push.stats()
    left = stats.sent_messages + stats.redelivered_messages
    return bool(left == stats.written_messages + stats.queued_out_messages + stats.dropped)


def taken_back(r: Room, **options: Any) -> tuple[Any, list[Any], list[Any], dict[bytes, Any]]:
    """Two workers who have had one message each for too long, those, and all receipts."""
    push, pulls = workers(r, 2, **options)
    levels = options.get("priorities", 1)
    receipts: dict[bytes, Any] = {}
    for i in range(COUNT):
        body = b"%d" % i
        receipts[body] = push.send(body, key=body, priority=i % levels, confirm=True)
    had = [pull.recv(timeout=PATIENCE_S) for pull in pulls]
    r.world.run(TIMEOUT_S + LATE_S)
    stats = push.stats()
    assert (stats.redelivered_messages, stats.queued_out_messages) == (2, COUNT)
    assert whole(push)
    return push, pulls, had, receipts


@pytest.mark.parametrize("way", WAYS)
def test_it_counts_while_the_message_waits(way: str) -> None:
    """Who was late does not get it again, and nobody does; its receipt says that it is done."""
    with room() as r:
        push, pulls, had, receipts = taken_back(r, **WAYS[way])
        assert had[0].ack()
        receipts[had[0]].wait(timeout=PATIENCE_S)
        stats = push.stats()
        assert (stats.acked_messages, stats.redelivered_messages) == (1, 1)
        assert whole(push)
        done = [*work_off(pulls[0], 1), bytes(had[0])]
        assert had[1].ack()
        done += [*work_off(pulls[1], 1), *work_off(pulls[0], 1)]
        assert sorted(done, key=int) == sorted(receipts, key=int)
        assert {receipt.outcome for receipt in receipts.values()} == {"acked"}
        stats = push.stats()
        assert (stats.acked_messages, stats.redelivered_messages) == (COUNT, 1)
        assert (stats.queued_out_messages, stats.unacked_messages) == (0, 0)
        assert stats.stale_acks == 1  # of had[1], which the first worker did
        assert push.drain(timeout=PATIENCE_S).unconfirmed == 0
        assert whole(push)


def test_asking_for_the_next_counts_as_well() -> None:
    """With `ack="auto"`: the next one is another one."""
    with room() as r:
        options: dict[str, Any] = {"delivery": "at_least_once", "ack_timeout": TIMEOUT_S}
        push = r.open("Push", engine=r.hub, bind="tcp://127.0.0.1:0", **options)
        pulls = [r.open("Pull", connect=push.endpoint, prefetch=1) for _ in range(2)]
        push.wait_for_peers(2, timeout=PATIENCE_S)
        push.send_many([b"0", b"1"])
        had = [pull.recv(timeout=PATIENCE_S) for pull in pulls]
        r.world.run(TIMEOUT_S + LATE_S)
        assert push.stats().redelivered_messages == 2
        again = pulls[0].recv(timeout=PATIENCE_S)
        assert again == had[1]
        with pytest.raises(mm.TimedOutError):
            pulls[0].recv(timeout=1)
        assert push.stats().acked_messages == 2


def test_what_is_given_back_late_is_not_done() -> None:
    """It was to go to somebody else, and it does."""
    with room() as r:
        push, pulls, had, receipts = taken_back(r)
        assert had[0].nack()
        done = work_off(pulls[0], 1)
        assert had[1].ack()
        done += [*work_off(pulls[1], 1), *work_off(pulls[0], 1)]
        assert sorted(done, key=int) == sorted(receipts, key=int)
        assert push.stats().redelivered_messages == 2
        assert push.stats().stale_acks == 1  # what was given back is no acknowledgement
        assert whole(push)


def test_it_counts_for_nothing_once_somebody_else_has_the_message() -> None:
    """Who has it does it, and that is what counts."""
    with room() as r:
        push, pulls, had, receipts = taken_back(r)
        assert had[0].ack()
        r.world.run(0.1)
        again = pulls[0].recv(timeout=PATIENCE_S)
        assert (again, again.attempt) == (had[1], 2)
        assert had[1].ack()
        r.world.run(0.1)
        assert receipts[again].outcome is None
        assert push.stats().stale_acks == 1
        assert again.ack()
        receipts[again].wait(timeout=PATIENCE_S)
        stats = push.stats()
        assert (stats.redelivered_messages, stats.stale_acks) == (1, 1)


def test_the_last_attempt_that_is_late_stays_a_dead_letter() -> None:
    """It does not wait, it was given up."""
    with room() as r:
        push, pulls = workers(r, 2, max_attempts=1, dead_letter="keep")
        receipts = [push.send(b"x", confirm=True) for _ in pulls]
        had = [pull.recv(timeout=PATIENCE_S) for pull in pulls]
        r.world.run(TIMEOUT_S + LATE_S)
        assert all(message.ack() for message in had)
        r.world.run(1)
        assert [receipt.outcome for receipt in receipts] == ["attempts", "attempts"]
        assert len(push.dead_letters()) == 2
        stats = push.stats()
        assert (stats.acked_messages, stats.stale_acks) == (0, 2)


def test_a_late_one_makes_room_for_who_sends() -> None:
    """For itself, and for the one that its receiver gets next."""
    with room() as r:
        push, _, had, _ = taken_back(r, send_queue_messages=COUNT, overflow="error")
        with pytest.raises(mm.WouldBlockError):
            push.send(b"more", timeout=0)
        assert had[0].ack()
        r.world.run(0.1)
        for _ in range(2):
            push.send(b"more", timeout=0)
        with pytest.raises(mm.WouldBlockError):
            push.send(b"more", timeout=0)
