"""`Push(spool=)`: many small messages at once, which go out together: each is still a message of
its own, to be acknowledged, given back and known again.

Not here: the octets (tests/c/test_again_runs.c), what is kept of them (tests/c/test_unacked_*.c).
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.support.feeding import World, nothing, settled, taken, up_to_end
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until

MANY = 3_000
"""Messages: several segments of the smallest."""


def bodies_of(count: int, seed: int = 1) -> list[bytes]:
    """Bodies, each another one: most are small, some go by themselves."""
    dice = random.Random(seed)
    sizes = [dice.choice([0, 1, 30, 30, 200, 200, 1_500, 40_000]) for _ in range(count)]
    return [b"%d:" % i + b"x" * size for i, size in enumerate(sizes)]


def begun(world: World, push: Any, pull: Any) -> None:
    """Somebody has acknowledged one: what comes now goes out many at once."""
    push.send(b"first")
    assert taken(pull, 1) == [b"first"]


@pytest.mark.parametrize("bind", ["tcp://127.0.0.1:0", "ipc://*", "inproc://push-spool-runs"])
def test_all_arrive_in_order_over(world: World, tmp_path: Path, bind: str) -> None:
    """Of all sizes, each once; the next life has none of them."""
    bodies = bodies_of(MANY)
    with world.life(tmp_path / "s", push_bind=bind) as (_, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            begun(world, push, pull)
            push.send_many(bodies)
            push.finish()
            assert up_to_end(pull) == bodies
        assert settled(push).delivered == MANY + 1
    with world.life(tmp_path / "s") as (_, push):
        assert settled(push).delivered == 0


def test_each_receipt_is_told_as_its_message_is_acknowledged(world: World, tmp_path: Path) -> None:
    """In whatever order that is: the others are open until then."""
    order = list(range(MANY))
    random.Random(2).shuffle(order)
    with (
        world.life(tmp_path / "s") as (spool, push),
        world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=MANY) as pull,
    ):
        push.send(b"first")
        assert pull.recv(timeout=WAIT_S).ack()
        receipts = push.send_many([b"%d" % i for i in range(MANY)], confirm=True)
        had = [pull.recv(timeout=WAIT_S) for _ in range(MANY)]
        assert [bytes(one) for one in had] == [b"%d" % i for i in range(MANY)]
        for count, number in enumerate(order[: MANY // 2], 1):
            assert had[number].ack()
            if count in (1, 10, MANY // 2):
                wait_until(lambda count=count: receipts.tally()["acked"] == count)
        done = set(order[: MANY // 2])
        assert all((receipts[i].outcome == "acked") == (i in done) for i in range(MANY))
        for number in order[MANY // 2 :]:
            had[number].ack()
        world.wait(receipts)
        settled(push)
        assert [one.lag for one in spool.cursors()] == [0]


def test_what_is_given_back_comes_again_and_the_rest_does_not(world: World, tmp_path: Path) -> None:
    """With its attempt; a dead letter of a run is that one message."""
    bad = {7, 8, 500, MANY - 1}
    with world.life(tmp_path / "s", push_max_attempts=3, push_dead_letter="keep") as (_, push):
        with world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=MANY) as pull:
            push.send(b"first")
            assert pull.recv(timeout=WAIT_S).ack()
            push.send_many([b"%d" % i for i in range(MANY)])
            seen: Counter[int] = Counter()
            for _ in range(MANY + 2 * len(bad)):
                message = pull.recv(timeout=WAIT_S)
                number = int(message)
                seen[number] += 1
                assert message.attempt == seen[number]
                if number in bad:
                    message.nack()
                else:
                    assert message.ack()
            wait_until(lambda: push.stats().dead_messages == len(bad))
            letters = push.dead_letters()
            assert sorted(map(int, letters)) == sorted(bad)
            assert {one.attempt for one in letters} == {3}
            settled(push)
        assert {number for number, times in seen.items() if times > 1} == bad
    with world.life(tmp_path / "s") as (_, push):
        assert settled(push).delivered == 0


@pytest.mark.parametrize("prefetch", [1, 10, 1_000])
def test_workers_come_and_go_and_nothing_is_lost(
    world: World, tmp_path: Path, prefetch: int
) -> None:
    """What a worker had and did not acknowledge goes to the next one: a segment's middle, too."""
    dice = random.Random(prefetch)
    bodies = bodies_of(400, seed=3)
    done: Counter[bytes] = Counter()
    with world.life(tmp_path / "s") as (_, push):
        receipts = push.send_many(bodies, confirm=True)
        while len(done) < len(bodies):
            workers = dice.choice([1, 1, 1, 2])
            pulls = [
                world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=prefetch)
                for _ in range(workers)
            ]
            for _ in range(dice.randrange(1, 200)):
                pull = dice.choice(pulls)
                try:
                    message = pull.recv(timeout=0.02)
                except mm.TimedOutError:
                    break  # they keep what they have, until they close
                if dice.random() < 0.9 and message.ack():
                    done[bytes(message)] += 1
                elif dice.random() < 0.5:
                    message.nack()
            for pull in pulls:
                pull.close()
        with world.socket("Pull", connect=push.endpoint) as pull:
            push.finish()
            left = up_to_end(pull)
        world.wait(receipts)
        assert set(done) == set(bodies)
        assert set(left) <= set(bodies)
        settled(push)


def test_a_foreign_peer_has_them_too(world: World, tmp_path: Path) -> None:
    """Also those that were to go together, to somebody who is gone."""
    bodies = bodies_of(600, seed=4)
    with (
        zmq.Context() as context,
        context.socket(zmq.PULL) as foreign,
        world.life(tmp_path / "s") as (_, push),
    ):
        foreign.setsockopt(zmq.LINGER, 0)
        foreign.rcvtimeo = round(WAIT_S * 1000)
        with world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=5) as pull:
            push.send(b"first")
            assert pull.recv(timeout=WAIT_S).ack()
            push.send_many(bodies)
            assert bytes(pull.recv(timeout=WAIT_S)) == bodies[0]
        foreign.connect(push.endpoint)
        assert sorted(foreign.recv() for _ in bodies) == sorted(bodies)
        settled(push)


def test_an_effect_is_once_though_they_come_again(world: World, tmp_path: Path) -> None:
    """Each is known by its number in the spool, whoever sends it, and in whatever company."""
    window: Any = mm.MemoryDedupeWindow(limit=10 * MANY)
    bodies = [b"%d" % i for i in range(MANY)]
    effects: list[bytes] = []
    for life in range(3):
        with world.life(tmp_path / "s") as (_, push):
            if life == 0:
                push.send_many(bodies)
            with world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=MANY) as pull:
                for _ in range(MANY if life < 2 else 0):
                    message = pull.recv(timeout=WAIT_S)
                    if window.add(message):
                        effects.append(bytes(message))
                    if life == 1:
                        assert message.ack()
                nothing(pull)
    assert effects == bodies


def test_a_queue_of_a_few_messages_has_no_more(world: World, tmp_path: Path) -> None:
    """Limits are of messages, in whatever company they go."""
    bodies = [b"%d" % i for i in range(500)]
    with (
        world.life(tmp_path / "s", push_send_queue_messages=10) as (_, push),
        world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=3) as pull,
    ):
        push.send_many(bodies)
        for body in bodies:
            assert push.stats().queued_out_messages <= 10 + 3  # and what the peer takes
            message = pull.recv(timeout=WAIT_S)
            assert bytes(message) == body
            assert message.ack()
        settled(push)


def test_a_few_that_may_go_together_take_no_room_for_many(world: World, tmp_path: Path) -> None:
    """Those between others that go by themselves: memory is about what it is charged for."""
    with (
        world.life(tmp_path / "s") as (_, push),
        world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=MANY) as pull,
    ):
        push.send(b"first")
        assert pull.recv(timeout=WAIT_S).ack()
        before = live_bytes()
        for i in range(1_000):
            push.send(b"x" * 100, key=b"k" if i % 2 else None)
        wait_until(lambda: push.stats().unacked_messages == 1_000)
        assert live_bytes() - before < 1_000 * 4_096
