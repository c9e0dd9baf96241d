"""`Push(spool=)`: what becomes of messages that are not simply acknowledged: given back, too late,
tried too often, for peers that cannot acknowledge; and very many of them.

Not here: what retention, harm and limits take (test_push_spool_lost.py).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zmq

import meshmsg as mm
from tests.support.feeding import World, nothing, reason_of, settled, taken, told, up_to_end
from tests.support.later import Later
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT

BACKLOG = 200_000
FLAT = 16 * 1024 * 1024
"""Bytes that a socket may have of a backlog on the disk: its queues, not the backlog."""


@pytest.mark.parametrize("keeps", [True, False])
def test_a_message_that_is_tried_too_often_is_dead(
    world: World, tmp_path: Path, keeps: bool
) -> None:
    """It is done then: it goes where `dead_letter` says, and never again."""
    dead: list[bytes] = []
    where: Any = "keep" if keeps else lambda letter: dead.append(bytes(letter))
    with world.life(tmp_path / "s", push_max_attempts=2, push_dead_letter=where) as (_, push):
        receipt = push.send(b"bad", confirm=True)
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            for attempt in (1, 2):
                message = pull.recv(timeout=WAIT_S)
                assert (bytes(message), message.attempt) == (b"bad", attempt)
                message.nack()
            assert reason_of(world, receipt) == "attempts"
            report = settled(push)
            assert (report.delivered, report.dropped) == (0, 1)
        if keeps:
            letters = push.dead_letters()
            assert [(bytes(one), one.reason) for one in letters] == [(b"bad", "attempts")]
        else:
            wait_until(lambda: dead == [b"bad"])
    with world.life(tmp_path / "s") as (_, push):
        assert settled(push).delivered == 0


@pytest.mark.parametrize("queue", [1, 1_000])
def test_what_is_too_late_is_not_sent(world: World, tmp_path: Path, queue: int) -> None:
    """Though it waited in the files, or for another life; counted, told, its receipt says so."""
    with world.life(tmp_path / "s", push_send_queue_messages=queue, push_dead_letter="keep") as (
        _,
        push,
    ):
        receipts = push.send_many([b"old"] * 200, ttl=0.05, confirm=True)
        wait_until(lambda: receipts.tally()["expired"] == 200)
        push.send(b"fresh", ttl=3_600)
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, 1) == [b"fresh"]
            nothing(pull)
            settled(push)
        stats = push.stats()
        assert stats.dropped_expired + stats.dead_messages == 200
        assert all(one.reason == "expired" for one in push.dead_letters())
        push.send(b"for the next life", ttl=0.01)
    with world.life(tmp_path / "s") as (_, push):
        assert settled(push).delivered == 0
        assert push.stats().dropped_expired <= 1


def test_what_is_given_back_comes_again(world: World, tmp_path: Path) -> None:
    """At once or later; a worker that closes with it, or keeps it too long, is no end of it."""
    with world.life(tmp_path / "s", push_ack_timeout=1.0) as (_, push):
        push.send_many([b"a", b"b"])
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            pull.recv(timeout=WAIT_S).nack(delay=0.1)
            assert taken(pull, 1) == [b"b"]  # and it is not done with that, for too long
            again = {}
            for _ in range(2):
                message = pull.recv(timeout=WAIT_S)
                again[bytes(message)] = message.attempt
                if message == b"a":
                    assert message.ack()
                else:
                    message.nack(delay=3_600)
            assert again == {b"a": 2, b"b": 2}
            wait_until(lambda: push.drain(timeout=0).queued == 1)
    with world.life(tmp_path / "s") as (_, push):  # whoever opens it has it now
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, 1) == [b"b"]
            nothing(pull)
            settled(push)


@pytest.mark.parametrize("routing", ["hash", "least_loaded"])
def test_messages_go_to_the_peer_that_routing_says(
    world: World, tmp_path: Path, routing: str
) -> None:
    """A key stays with its peer, in order, from the files too; each message arrives once."""
    with world.life(tmp_path / "s", push_routing=routing) as (_, push):
        for number in range(300):
            push.send(b"%d" % number, key=b"%d" % (number % 7))
        with (
            world.socket("Pull", connect=push.endpoint, identity=b"1") as one,
            world.socket("Pull", connect=push.endpoint, identity=b"2") as two,
        ):
            push.wait_for_peers(2, timeout=WAIT_S)
            for number in range(300, 600):
                push.send(b"%d" % number, key=b"%d" % (number % 7))
            push.finish()
            both = [Later(partial(up_to_end, pull)) for pull in (one, two)]
            got = [list(map(int, each.result())) for each in both]
            assert sorted(got[0] + got[1]) == list(range(600))
            if routing == "hash":
                late = [{n % 7 for n in each if n >= 300} for each in got]
                assert not late[0] & late[1]
                for each in got:
                    for key in range(7):
                        of_key = [n for n in each if n % 7 == key and n >= 300]
                        assert of_key == sorted(of_key)
            settled(push)


def test_a_foreign_peer_leaves_it_unknown(world: World, tmp_path: Path) -> None:
    """libzmq acknowledges nothing: what it was sent is done, as unknown; `require` refuses it."""
    with (
        zmq.Context() as context,
        context.socket(zmq.PULL) as foreign,
        world.spool(tmp_path / "s") as spool,
    ):
        foreign.setsockopt(zmq.LINGER, 0)
        foreign.rcvtimeo = round(WAIT_S * 1000)
        with world.push(spool) as push:
            receipts = push.send_many([b"1", b"2"], confirm=True)
            foreign.connect(push.endpoint)
            assert [foreign.recv(), foreign.recv()] == [b"1", b"2"]
            told(push, mm.EventKind.PEER_UNACKED)
            assert reason_of(world, receipts) == "unknown"
            settled(push)
            foreign.disconnect(push.endpoint)
        with world.push(spool, require="acks") as push:
            push.send(b"3")
            foreign.connect(push.endpoint)
            told(push, mm.EventKind.HANDSHAKE_FAILED)
            assert push.drain(timeout=0.01).queued == 1
            foreign.disconnect(push.endpoint)
            with world.socket("Pull", connect=push.endpoint) as pull:
                assert taken(pull, 1) == [b"3"]
                nothing(pull)
                settled(push)


def test_frames_have_no_words_over_sp(world: World, tmp_path: Path) -> None:
    """They wait where only such peers are; the rest goes on."""
    with world.life(tmp_path / "s") as (_, push):
        receipts = [
            push.send(b"1", confirm=True),
            push.send_frames([b"2", b"2"], confirm=True),
            push.send(b"3", confirm=True),
        ]
        with world.socket("Pull", connect="sp+" + push.endpoint) as pull:
            assert taken(pull, 2) == [b"1", b"3"]
            assert [reason_of(world, one) for one in receipts[::2]] == ["unknown", "unknown"]
            assert receipts[1].outcome is None
            wait_until(lambda: push.drain(timeout=0).queued == 1)
        with world.socket("Pull", connect=push.endpoint) as pull:
            assert taken(pull, 1) == [b"2"]
            nothing(pull)
            settled(push)
            assert push.stats().dropped_unencodable == 0


def test_a_huge_backlog_takes_no_memory(world: World, tmp_path: Path) -> None:
    """A worker that does nothing holds up files, not memory; then all arrive, in order."""
    with world.life(tmp_path / "s", segment_bytes=64 * SEGMENT) as (_, push):
        with world.socket("Pull", connect=push.endpoint, ack="manual", prefetch=10) as pull:
            before = live_bytes()
            push.send_many(b"%d" % number for number in range(BACKLOG))
            wait_until(lambda: push.stats().unacked_messages == 10)
            assert push.drain(timeout=0).queued == BACKLOG - 10
            assert live_bytes() - before < FLAT
        with world.socket("Pull", connect=push.endpoint) as pull:
            got: list[bytes] = []
            while len(got) < BACKLOG:
                got += map(bytes, pull.recv_many(timeout=WAIT_S))
                assert len(got) % 50 or live_bytes() - before < 2 * FLAT
            assert got == [b"%d" % number for number in range(BACKLOG)]
            nothing(pull)
            settled(push)


def test_thousands_that_are_delayed_hold_up_nobody(world: World, tmp_path: Path) -> None:
    """Those of a day from now beside those of now; the next life has them all the same."""
    with world.life(tmp_path / "s") as (_, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            for number in range(2_000):
                push.send(b"far", delay=86_400 - number)
                if number % 100 == 0:
                    push.send(b"near", delay=0.01)
            push.send_many([b"now"] * 5_000)
            assert sorted(taken(pull, 5_020)) == [b"near"] * 20 + [b"now"] * 5_000
            nothing(pull)
            wait_until(lambda: push.drain(timeout=0).queued == 2_000)
    with world.life(tmp_path / "s") as (spool, push):
        with world.socket("Pull", connect=push.endpoint) as pull:
            push.send(b"again")
            assert taken(pull, 1) == [b"again"]
            nothing(pull)
        spool.trim(spool.info().last_seq)
        first = spool.info().first_seq
        wait_until(lambda: push.drain(timeout=0).queued <= spool.info().last_seq + 1 - first)
