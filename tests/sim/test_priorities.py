"""Push(priorities=): what waits goes by its priority, and nobody waits for ever.

Not here: which queue is next (tests/c/test_levels.c).
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

RUN = 16
"""Messages of a level that go in front of one of those below."""


def stuck(r: Room, levels: int = 3, **options: Any) -> tuple[Any, Any, Any]:
    """A Push whose only receiver has one message and no credit, that receiver, and the message."""
    push = r.open(
        "Push", engine=r.hub, bind=UP, delivery="at_least_once", priorities=levels, **options
    )
    pull = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
    push.send(b"first", timeout=PATIENCE_S)
    return push, pull, pull.recv(timeout=PATIENCE_S)


def rest(message: Any, pull: Any, count: int) -> list[bytes]:
    """What comes once that message is done."""
    found = []
    assert message.ack()
    for _ in range(count):
        message = pull.recv(timeout=PATIENCE_S)
        found.append(bytes(message))
        assert message.ack()
    return found


def test_the_highest_goes_first_and_each_level_in_order() -> None:
    """Whatever was sent before."""
    with room() as r:
        push, pull, first = stuck(r)
        for i in range(4):
            for priority in (0, 2, 1):
                push.send(b"%d.%d" % (priority, i), priority=priority)
        wanted = [b"%d.%d" % (priority, i) for priority in (2, 1, 0) for i in range(4)]
        assert rest(first, pull, 12) == wanted


def test_nobody_waits_for_ever() -> None:
    """Of 17 one is of a level below, and those take turns."""
    with room() as r:
        push, pull, first = stuck(r, send_queue_messages=500)
        for i in range(200):
            push.send(b"2.%d" % i, priority=2)
        for priority in (0, 1):
            for i in range(3):
                push.send(b"%d.%d" % (priority, i), priority=priority)
        got = rest(first, pull, 206)
        for priority in (0, 1, 2):
            of = [body for body in got if body.startswith(b"%d." % priority)]
            assert of == [b"%d.%d" % (priority, i) for i in range(len(of))]
        places = [i for i, body in enumerate(got) if not body.startswith(b"2.")]
        assert places == [(RUN + 1) * k + RUN for k in range(6)]
        assert [got[i][:1] for i in places] == [b"1", b"0"] * 3


def test_what_comes_back_keeps_its_priority_and_is_first_of_it() -> None:
    """Given back, and with a receiver that is lost."""
    with room() as r:
        push, pull, first = stuck(r)
        push.send(b"high", priority=2)
        push.send(b"high too", priority=2)
        push.send(b"low")
        assert first.ack()
        message = pull.recv(timeout=PATIENCE_S)
        assert bytes(message) == b"high"
        assert message.nack()
        message = pull.recv(timeout=PATIENCE_S)
        assert (bytes(message), message.attempt) == (b"high", 2)
        pull.close()
        other = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=1)
        message = other.recv(timeout=PATIENCE_S)
        assert (bytes(message), message.attempt) == (b"high", 2)  # it closed in order
        assert rest(message, other, 2) == [b"high too", b"low"]


def test_each_level_has_the_room_of_a_queue() -> None:
    """So what is urgent finds room where the rest has to wait."""
    with room() as r:
        push, pull, first = stuck(r, send_queue_messages=4)
        sent = 0
        with pytest.raises(mm.WouldBlockError):
            while True:
                push.send(b"low", timeout=0)
                sent += 1
        for i in range(4):
            push.send(b"%d" % i, priority=1, timeout=0)
        with pytest.raises(mm.WouldBlockError):
            push.send(b"5", priority=1, timeout=0)
        assert rest(first, pull, sent + 4).count(b"low") == sent


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
def test_what_is_dropped_is_of_the_lowest(overflow: str) -> None:
    """The newest is what is sent; the oldest is that of the lowest level that waits."""
    with room() as r:
        push, pull, first = stuck(r, overflow=overflow, send_queue_messages=3)
        for i in range(6):
            push.send(b"low %d" % i)
        for i in range(6):
            push.send(b"high %d" % i, priority=2)
        dropped = push.stats().dropped_overflow
        got = rest(first, pull, 12 - dropped)
        assert push.stats().dropped_overflow == dropped > 0
        high = [body for body in got if body.startswith(b"high")]
        if overflow == "drop_newest":
            assert high == [b"high %d" % i for i in range(3)]
        else:
            assert high[-1] == b"high 5"


def test_a_world_of_them_loses_nothing_and_keeps_the_order_of_each_level() -> None:
    """One receiver that stays; large and small, with and without receipts."""
    for seed in range(50):
        dice = random.Random(seed)
        with room(seed, latency=(0.0, 0.01)) as r:
            levels = dice.choice([2, 5, 10])
            push, pull, first = stuck(r, levels, send_queue_messages=1000)
            sent: dict[int, list[bytes]] = {level: [] for level in range(levels)}
            for i in range(100):
                level = dice.randrange(levels)
                body = b"%d.%d." % (level, i) + bytes(dice.choice([0, 50, 40_000]))
                confirm = dice.random() < 0.3
                push.send(body, priority=level, confirm=confirm, timeout=PATIENCE_S)
                sent[level].append(body)
            got = rest(first, pull, 100)
            for level, bodies in sent.items():
                of = [body for body in got if body.startswith(b"%d." % level)]
                assert of == bodies
