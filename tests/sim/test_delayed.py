"""Messages that go later: `delay=`, `at=` and `nack(delay=)`, by the clock of a simulated world.

Not here: what becomes of them among everything else (test_fates.py), the arguments
(tests/unit/test_pushing.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

MS = 0.001
QUEUE = 1000  # messages of a queue, by default
DELIVERIES = ("at_most_once", "at_least_once")


def connected(r: Room, delivery: str = "at_least_once", **options: Any) -> tuple[Any, Any]:
    """A Push and a Pull that see each other."""
    push = r.open("Push", engine=r.hub, bind=UP, delivery=delivery, **options)
    manual = {"ack": "manual"} if delivery == "at_least_once" else {}
    pull = r.open("Pull", connect=push.endpoint, **manual)
    push.wait_for_peers(timeout=PATIENCE_S)
    return push, pull


def arrivals(r: Room, pull: Any, count: int) -> list[tuple[bytes, float]]:
    """What comes, and when."""
    found = []
    for _ in range(count):
        message = pull.recv(timeout=PATIENCE_S)
        found.append((bytes(message), r.world.now))
        message.ack()
    return found


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_they_come_when_they_are_due_and_not_before(delivery: str) -> None:
    """In the order of their times, and of one time in the order in which they were sent."""
    with room() as r:
        push, pull = connected(r, delivery)
        start = r.world.now
        for body, delay in ((b"c", 2.0), (b"a", 0.5), (b"d", 2.0), (b"b", 1.0), (b"now", 0.0)):
            push.send(body, delay=delay)
        assert push.stats().delayed_messages == 4
        got = arrivals(r, pull, 5)
        assert [body for body, _ in got] == [b"now", b"a", b"b", b"c", b"d"]
        for (_, when), delay in zip(got, (0.0, 0.5, 1.0, 2.0, 2.0), strict=True):
            assert start + delay - MS <= when <= start + delay + 0.05
        assert push.stats().delayed_messages == 0


def test_a_time_of_the_clock_is_the_same() -> None:
    """One that is over is now."""
    with room() as r:
        push, pull = connected(r)
        first = push.send(b"stamp", headers={}, confirm=True)
        now = pull.recv(timeout=PATIENCE_S)
        assert now.ack()
        first.wait(timeout=PATIENCE_S)
        start = r.world.now
        push.send(b"later", at=now.timestamp + 3)
        push.send(b"past", at=now.timestamp - 1000)
        got = arrivals(r, pull, 2)
        assert [body for body, _ in got] == [b"past", b"later"]
        assert got[0][1] - start < 0.1
        assert 2.5 < got[1][1] - start < 3.1


def test_what_is_given_back_for_later_comes_then() -> None:
    """Also to the same receiver, counted as an attempt; others are not held up by it."""
    with room() as r:
        push, pull = connected(r)
        push.send_many([b"a", b"b"])
        message = pull.recv(timeout=PATIENCE_S)
        given, start = bytes(message), r.world.now
        assert message.nack(delay=1.5)
        assert not message.nack(delay=1.5)
        assert arrivals(r, pull, 1)[0][0] == b"b"
        again = pull.recv(timeout=PATIENCE_S)
        assert (bytes(again), again.attempt) == (given, 2)
        assert start + 1.5 <= r.world.now < start + 1.6
        assert again.ack()
        assert push.drain(timeout=PATIENCE_S).delivered == 2


def test_attempts_are_counted_also_of_what_goes_later() -> None:
    """With the last one it is a dead letter at once."""
    with room() as r:
        push, pull = connected(r, max_attempts=2, dead_letter="keep")
        push.send(b"x")
        for _ in range(2):
            assert pull.recv(timeout=PATIENCE_S).nack(delay=1)
        r.world.run(0.1)
        letters = push.dead_letters()
        assert [(bytes(letter), letter.reason) for letter in letters] == [(b"x", "attempts")]
        assert push.stats().delayed_messages == 0


def test_what_expires_while_it_waits_is_told_when_it_does() -> None:
    """Not when it would have gone."""
    with room() as r:
        push, pull = connected(r, dead_letter="keep")
        receipt = push.send(b"x", ttl=1, confirm=True)
        assert pull.recv(timeout=PATIENCE_S).nack(delay=1000)
        with pytest.raises(mm.UndeliveredError) as failed:
            receipt.wait(timeout=2)
        assert failed.value.reason == "expired"
        assert [letter.reason for letter in push.dead_letters()] == ["expired"]


def test_more_than_a_queue_of_them_is_refused_whatever_the_timeout_is() -> None:
    """In messages and in bytes; what goes at once is not held up."""
    with room() as r:
        push, pull = connected(r, send_queue_messages=3, send_queue_bytes=20_000)
        for _ in range(3):
            push.send(b"later", delay=5)
        for timeout in (None, 0, 1):
            with pytest.raises(mm.WouldBlockError, match="3 messages wait to go later"):
                push.send(b"later", delay=5, timeout=timeout)
        push.send(b"now", timeout=PATIENCE_S)
        assert arrivals(r, pull, 4)[0][0] == b"now"
        push.send(bytes(30_000), delay=1)  # alone it may be larger
        with pytest.raises(mm.WouldBlockError):
            push.send(b"x", delay=1)
        push.send(bytes(100), timeout=PATIENCE_S)


@pytest.mark.parametrize("overflow", ["block", "error", "drop_newest", "drop_oldest"])
def test_who_was_given_back_too_much_for_later_takes_nothing_new(overflow: str) -> None:
    """Until some of it is due. What waits was accepted, so it is never dropped for that.

    A queue that is smaller than the default one stops no sooner than that.
    """
    with room() as r:
        push, pull = connected(r, send_queue_messages=4, overflow=overflow)
        for i in range(QUEUE):
            push.send(b"%d" % i, timeout=PATIENCE_S if overflow == "block" else None)
            assert pull.recv(timeout=PATIENCE_S).nack(delay=QUEUE)
            r.world.run(0.1)
        assert push.stats().delayed_messages == QUEUE
        with pytest.raises((mm.WouldBlockError, mm.TimedOutError)):
            push.send(b"new", timeout=0 if overflow != "block" else 1)
        start = r.world.now
        if overflow == "block":
            push.send(b"new", timeout=QUEUE)
            assert r.world.now - start > 2
        r.world.run(QUEUE)
        sent = [b"%d" % i for i in range(QUEUE)] + [b"new"] * (overflow == "block")
        assert sorted(body for body, _ in arrivals(r, pull, len(sent))) == sorted(sent)


def test_a_drain_waits_for_them_and_a_close_does_not() -> None:
    """What is not due by then is lost, counted, and told."""
    with room() as r:
        push, pull = connected(r)
        push.send(b"soon", delay=1)
        report = push.drain(timeout=0)
        assert report.queued == 1
        push.send(b"never", delay=3600)
        assert arrivals(r, pull, 1)[0][0] == b"soon"
        assert push.drain(timeout=1).queued == 1
        push.close()
        r.world.run(3)


def test_with_nobody_there_it_waits_for_somebody() -> None:
    """As what was sent at once does."""
    for delivery in DELIVERIES:
        with room() as r:
            push = r.open("Push", engine=r.hub, bind=UP, delivery=delivery)
            push.send(b"x", delay=0.2)
            r.world.run(1)
            pull = r.open("Pull", connect=push.endpoint)
            assert pull.recv(timeout=PATIENCE_S) == b"x"


def test_a_key_that_comes_later_goes_to_who_has_it_then() -> None:
    """Its worker of that moment."""
    with room() as r:
        push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once", routing="hash")
        pulls = [r.open("Pull", connect=push.endpoint) for _ in range(3)]
        push.wait_for_peers(3, timeout=PATIENCE_S)
        push.send(b"now", key="k", timeout=PATIENCE_S)
        push.send(b"later", key="k", delay=1)
        r.world.run(2)
        got = []
        for pull in pulls:
            try:
                got.append([bytes(m) for m in pull.recv_many(timeout=0)])
            except mm.WouldBlockError:
                got.append([])
        assert sorted(got) == [[], [], [b"now", b"later"]]
