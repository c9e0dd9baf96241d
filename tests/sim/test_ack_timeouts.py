"""Push(ack_timeout=) and message.extend(): who has a message for too long loses it to another one.

Not here: which messages those are (tests/c/test_overdue.c), all of it together (test_fates.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

TIMEOUT_S = 4.0
LATE_S = TIMEOUT_S / 8 + 0.1
"""Found so much later, at most."""


def workers(r: Room, count: int, prefetch: int = 1, **options: Any) -> tuple[Any, list[Any]]:
    """A Push and so many Pulls that acknowledge by hand."""
    push = r.open(
        "Push", engine=r.hub, bind=UP, delivery="at_least_once", ack_timeout=TIMEOUT_S, **options
    )
    pulls = [
        r.open("Pull", connect=push.endpoint, ack="manual", prefetch=prefetch) for _ in range(count)
    ]
    push.wait_for_peers(count, timeout=PATIENCE_S)
    return push, pulls


def holder(pulls: list[Any]) -> tuple[Any, Any, Any]:
    """Who got the one message, that message, and the other one."""
    for pull, other in ((pulls[0], pulls[1]), (pulls[1], pulls[0])):
        try:
            return pull, pull.recv(timeout=0.2), other
        except mm.TimedOutError:
            continue
    raise AssertionError("nobody got it")


def test_who_does_nothing_loses_it_to_another_one() -> None:
    """Once, as an attempt, and the event says how many and of whom."""
    with room() as r:
        push, pulls = workers(r, 2)
        receipt = push.send(b"x", confirm=True)
        stuck, message, other = holder(pulls)
        start = r.world.now
        again = other.recv(timeout=PATIENCE_S)
        assert (bytes(again), again.attempt, again.seq) == (b"x", 2, message.seq)
        assert TIMEOUT_S - 0.5 <= r.world.now - start <= TIMEOUT_S + LATE_S
        assert again.ack()
        receipt.wait(timeout=PATIENCE_S)
        assert message.ack()  # too late, and no harm
        r.world.run(3 * TIMEOUT_S)
        told = [event for event in push.events() if event.kind is mm.EventKind.ACK_TIMEOUT]
        assert [(event.count, event.peer) for event in told] == [(1, told[0].peer)]
        assert len(push.peers()) == 2
        stats = push.stats()
        assert (stats.redelivered_messages, stats.acked_messages) == (1, 1)
        assert stuck.peers()


def test_who_says_that_it_works_on_it_keeps_it() -> None:
    """As long as it says so in time, and then it loses it."""
    with room() as r:
        push, pulls = workers(r, 2)
        push.send(b"x")
        _, message, other = holder(pulls)
        for _ in range(5):
            r.world.run(TIMEOUT_S * 0.9)
            assert message.extend()
        assert push.stats().redelivered_messages == 0
        start = r.world.now
        again = other.recv(timeout=PATIENCE_S)
        assert TIMEOUT_S - 0.1 <= r.world.now - start <= TIMEOUT_S + LATE_S
        assert again.ack()
        assert again.attempt == 2


def test_what_is_done_or_given_back_is_not_extended() -> None:
    """Nor what was of a connection that has ended."""
    with room() as r:
        push, (pull,) = workers(r, 1)
        push.send(b"x")
        message = pull.recv(timeout=PATIENCE_S)
        assert message.nack()
        assert not message.extend()
        message = pull.recv(timeout=PATIENCE_S)
        assert message.ack()
        assert not message.extend()
        push.send(b"y")
        message = pull.recv(timeout=PATIENCE_S)
        push.close()
        r.world.run(5)
        assert not message.extend()


def test_two_workers_one_stuck_the_other_does_the_work() -> None:
    """The stuck one delays what it has, its prefetch, by one timeout, and nothing else."""
    with room() as r:
        push, (stuck, works) = workers(r, 2, prefetch=5)
        push.send_many([b"%d" % i for i in range(100)])
        assert len(stuck.recv_many(5, timeout=PATIENCE_S)) == 5
        start, done = r.world.now, []
        while len(done) < 95:
            message = works.recv(timeout=PATIENCE_S)
            done.append(bytes(message))
            message.ack()
        assert r.world.now - start < 1
        while len(done) < 100:
            message = works.recv(timeout=PATIENCE_S)
            assert message.attempt == 2
            done.append(bytes(message))
            message.ack()
        assert r.world.now - start < TIMEOUT_S + LATE_S
        assert len(set(done)) == 100


def test_the_last_attempt_that_takes_too_long_is_the_last() -> None:
    """Then it is a dead letter."""
    with room() as r:
        push, (pull,) = workers(r, 1, prefetch=3, max_attempts=2, dead_letter="keep")
        push.send(b"x")
        for attempt in (1, 2):
            assert pull.recv(timeout=PATIENCE_S).attempt == attempt
        r.world.run(2 * TIMEOUT_S)
        assert [letter.attempt for letter in push.dead_letters()] == [2]


def test_many_are_taken_back_in_steps_and_all_of_them() -> None:
    """More than one step takes, of segments and alone, some done, some given back."""
    with room() as r:
        push, (stuck, works) = workers(r, 2, prefetch=10_000, send_queue_messages=20_000)
        works.close()
        bodies = [b"%d" % i for i in range(4_000)]
        push.send_many(bodies, timeout=PATIENCE_S)
        push.send(bytes(50_000), timeout=PATIENCE_S)
        found: list[Any] = []
        while len(found) < 4_001:
            found += stuck.recv_many(5_000, timeout=PATIENCE_S)
        done = {bytes(message) for message in found[::7] if message.ack()}
        r.world.run(TIMEOUT_S + LATE_S + 1)
        stuck.close()
        other = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=10_000)
        again: list[Any] = []
        while len(again) < 4_001 - len(done):
            again += other.recv_many(5_000, timeout=PATIENCE_S)
        assert {bytes(message) for message in again} == {*bodies, bytes(50_000)} - done
        assert len(again) == 4_001 - len(done)


def test_with_auto_ack_the_time_is_that_until_the_next_is_asked_for() -> None:
    """A receiver that comes back in time keeps what it has."""
    with room() as r:
        push = r.open(
            "Push", engine=r.hub, bind=UP, delivery="at_least_once", ack_timeout=TIMEOUT_S
        )
        pull = r.open("Pull", connect=push.endpoint, prefetch=1)
        push.send_many([b"a", b"b", b"c"])
        for body in (b"a", b"b"):
            assert pull.recv(timeout=PATIENCE_S) == body
            r.world.run(TIMEOUT_S * 0.8)
        assert pull.recv(timeout=PATIENCE_S) == b"c"
        r.world.run(TIMEOUT_S + LATE_S)
        assert push.stats().redelivered_messages == 0  # nobody else is there
        other = r.open("Pull", connect=push.endpoint)
        assert other.recv(timeout=TIMEOUT_S) == b"c"
        assert push.stats().redelivered_messages == 1


def test_who_is_alone_and_takes_no_more_keeps_what_it_has() -> None:
    """However long it takes; its late acknowledgement counts, and nothing is done twice."""
    with room() as r:
        push, (pull,) = workers(r, 1, max_attempts=1)
        receipt = push.send(b"x", confirm=True)
        message = pull.recv(timeout=PATIENCE_S)
        r.world.run(10 * TIMEOUT_S)
        assert message.ack()
        receipt.wait(timeout=PATIENCE_S)
        assert push.stats().redelivered_messages == 0


def test_who_is_alone_and_takes_more_gets_it_again() -> None:
    """It may have forgotten it."""
    with room() as r:
        push, (pull,) = workers(r, 1, prefetch=2)
        push.send(b"x")
        assert pull.recv(timeout=PATIENCE_S).attempt == 1
        again = pull.recv(timeout=TIMEOUT_S + LATE_S)
        assert (bytes(again), again.attempt) == (b"x", 2)


@pytest.mark.parametrize("routing", ["round_robin", "least_loaded", "hash"])
def test_it_comes_back_whatever_the_routing_is(routing: str) -> None:
    """By its key to the same one, if that has credit."""
    with room() as r:
        push, pulls = workers(r, 2, prefetch=4, routing=routing)
        push.send(b"x", key="k")
        _, message, _ = holder(pulls)
        assert message.attempt == 1
        r.world.run(TIMEOUT_S + LATE_S)
        _, again, _ = holder(pulls)
        assert again.attempt == 2
        assert again.ack()


def keyed(r: Room, **options: Any) -> tuple[Any, Any, Any, dict[bytes, mm.Receipt]]:
    """A Push that goes by keys, a worker that hangs with one message, a good one, and receipts."""
    push, (hung, good) = workers(r, 2, routing="hash", **options)
    receipts = {b"%d" % i: push.send(b"%d" % i, key=b"%d" % i, confirm=True) for i in range(20)}
    return push, hung, good, receipts


def work_off(pull: Any, quiet_s: float) -> list[bytes]:
    """Do all that comes until it is quiet for so long."""
    done = []
    while True:
        try:
            message = pull.recv(timeout=quiet_s)
        except mm.TimedOutError:
            return done
        done.append(bytes(message))
        assert message.ack()


def test_the_keys_of_a_worker_that_hangs_go_to_others_until_it_is_back() -> None:
    """What waits for it, too; and then it has the keys that it had."""
    with room() as r:
        push, hung, good, receipts = keyed(r)
        stuck = hung.recv(timeout=PATIENCE_S)
        first = set(work_off(good, 1))
        done = [*first, *work_off(good, TIMEOUT_S + LATE_S)]
        assert done[len(first)] == stuck
        assert sorted(done, key=int) == list(receipts)
        assert {receipt.outcome for receipt in receipts.values()} == {"acked"}
        push.send(b"more", key=bytes(stuck), timeout=PATIENCE_S)
        assert work_off(good, 1) == [b"more"]
        assert stuck.ack()
        r.world.run(0.1)
        for body in receipts:
            push.send(body, key=body, timeout=PATIENCE_S)
        again = set(work_off(hung, 1)) | {bytes(stuck)}
        mine = set(work_off(good, 1))
        assert (again | mine, again & mine) == (set(receipts), set())
        assert first <= mine


def test_the_last_worker_keeps_its_keys_though_it_hangs() -> None:
    """Until somebody comes, who then has all of them."""
    with room() as r:
        push, hung, good, receipts = keyed(r)
        good.close()
        hung.recv(timeout=PATIENCE_S)
        r.world.run(1)
        before = push.stats().redelivered_messages
        r.world.run(3 * TIMEOUT_S)
        assert push.stats().redelivered_messages == before
        other = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        done = work_off(other, TIMEOUT_S + LATE_S)
        assert sorted(done, key=int) == list(receipts)
