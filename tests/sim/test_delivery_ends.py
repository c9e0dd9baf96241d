"""At least once, where something ends or says nothing: sockets that close, peers that are left,
receivers that look before they ask, peers that hang.

Not here: worlds with everything at once (test_delivery_worlds.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S

COUNT = 20


def counted(r: Room, pulls: int, **options: Any) -> tuple[Any, list[Any]]:
    """A Push whose messages are acknowledged, and so many that receive."""
    push = r.open("Push", engine=r.hub, bind=UP, delivery="at_least_once")
    found = [r.open("Pull", connect=push.endpoint, **options) for _ in range(pulls)]
    push.wait_for_peers(pulls, timeout=PATIENCE_S)
    return push, found


def left_with_one(r: Room, linger: float) -> tuple[Any, Any]:
    """A Push that has disconnected from its receiver, and the message that one has in hand."""
    pull = r.open("Pull", bind=UP, ack="manual")
    push = r.open(
        "Push", engine=r.hub, connect=pull.endpoint, delivery="at_least_once", linger=linger
    )
    push.wait_for_peers(timeout=PATIENCE_S)
    push.send(b"one", timeout=PATIENCE_S)
    message = pull.recv(timeout=PATIENCE_S)
    push.disconnect(pull.endpoint)
    return push, message


def send_all(push: Any) -> None:
    """Send the messages of a scene."""
    for i in range(COUNT):
        push.send(b"%d" % i, timeout=PATIENCE_S)


def test_what_waits_for_credit_has_the_linger_to_go_out() -> None:
    """The Push is closed; its receiver takes one at a time, and gets all of it."""
    with room() as r:
        push, [pull] = counted(r, 1, prefetch=1)
        send_all(push)
        push.close()
        got = [int(pull.recv(timeout=PATIENCE_S)) for _ in range(COUNT)]
        assert got == list(range(COUNT))


def test_two_receivers_of_a_closed_push_share_what_is_left_once() -> None:
    """What one has and did not acknowledge is not given to the other one."""
    with room() as r:
        push, pulls = counted(r, 2, ack="manual", prefetch=4)
        send_all(push)
        first = [pull.recv(timeout=PATIENCE_S) for pull in pulls]
        push.close()
        r.world.run(3)
        got = list(first)
        for pull in pulls:
            while True:
                try:
                    got.append(pull.recv(timeout=0))
                except mm.WouldBlockError:
                    break
        assert len(got) == len({int(message) for message in got}) == 8
        assert {message.attempt for message in got} == {1}


def test_who_looks_before_it_asks_is_sent_all() -> None:
    """One receive for each time that there is something: it never asks in vain."""
    with room() as r:
        push = r.open(
            "Push", engine=r.hub, bind=UP, delivery="at_least_once", send_queue_bytes=4096
        )
        pull = r.open("Pull", connect=push.endpoint)
        push.wait_for_peers(timeout=PATIENCE_S)
        sent, got = 0, 0
        for _ in range(400):
            try:
                push.send(bytes(1000), timeout=0)
                sent += 1
            except mm.WouldBlockError:
                pass
            r.world.run(0.01)
            if pull.stats().queued_in_messages:
                pull.recv(timeout=0)
                got += 1
        assert sent > 100
        assert got >= sent - 10


def test_a_receiver_that_is_left_is_waited_for() -> None:
    """disconnect(): what it has it may acknowledge within the linger, and gets nothing more."""
    with room() as r:
        push, message = left_with_one(r, 5.0)
        r.world.run(1)
        assert push.stats().unacked_messages == 1
        assert message.ack()
        r.world.run(1)
        stats = push.stats()
        assert (stats.unacked_messages, stats.redelivered_messages, stats.peers) == (0, 0, 0)


def test_without_an_answer_what_a_left_receiver_had_is_for_others() -> None:
    """Once the linger is over."""
    with room() as r:
        other = r.open("Pull", bind=UP, ack="manual")
        push, held = left_with_one(r, 2.0)
        push.connect(other.endpoint)
        again = other.recv(timeout=PATIENCE_S)
        assert (bytes(again), again.attempt, again.seq) == (b"one", 2, held.seq)


def test_a_receiver_that_is_cut_off_is_found_and_its_messages_go_to_another() -> None:
    """Though it had read all that it was sent, and never says that it is done."""
    with room() as r:
        push, [gone] = counted(r, 1, ack="manual", prefetch=2)
        push.send(b"a", timeout=PATIENCE_S)
        gone.recv(timeout=PATIENCE_S)
        r.world.run(6)
        r.world.partition(r.hub, gone._engine, 120)
        other = r.open("Pull", connect=push.endpoint, ack="manual", prefetch=2)
        again = other.recv(timeout=60)
        assert (bytes(again), again.attempt) == (b"a", 2)
        assert again.ack()


@pytest.mark.parametrize("call", ["recv_batch", "recv_frames"])
def test_what_gives_no_message_to_acknowledge_is_refused(call: str) -> None:
    """With what to take instead; nothing is taken."""
    with room() as r:
        push, [pull] = counted(r, 1, ack="manual")
        push.send(b"a", timeout=PATIENCE_S)
        with pytest.raises(mm.UsageError, match="recv_many"):
            getattr(pull, call)(timeout=PATIENCE_S)
        assert pull.recv(timeout=PATIENCE_S).ack()
