"""Dead letters and spools: a spool that they go to, and when a message that a spool kept is done.

Not here: which messages are dead letters (test_dead_letters.py).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World, reason_of, settled, told
from tests.support.pairs import WAIT_S, told_all, wait_until
from tests.support.spooled import SEGMENT

LATE: dict[str, Any] = {"ttl": 0.05}


def test_a_spool_keeps_them_with_their_history(world: World, tmp_path: Path) -> None:
    """Body, key and headers, and why, after how many attempts, which message it was."""
    with mm.Spool(tmp_path / "dead", durability="os") as dead:
        with world.socket(
            "Push",
            bind="tcp://127.0.0.1:0",
            delivery="at_least_once",
            max_attempts=1,
            dead_letter=dead,
        ) as push:
            push.send(b"late", key="k", headers={"own": "1"}, **LATE)
            assert dead.read(1, timeout=WAIT_S).last_seq == 1
            with mm.Pull(connect=push.endpoint, ack="manual") as pull:
                push.send_frames([b"a", b"bad one"], key="l")
                pull.recv(timeout=WAIT_S).nack()
                assert dead.read(2, timeout=WAIT_S).last_seq == 2
        with dead.reader() as reader:
            late, bad = (one for one in reader if isinstance(one, mm.SpoolMessage))
        assert (late, late.key) == (b"late", b"k")
        assert late.headers == {"own": "1", "x-dead-reason": "expired", "x-dead-attempts": "0"}
        assert bad.endswith(b"bad one")
        assert (bad.headers["x-dead-reason"], bad.headers["x-dead-attempts"]) == ("attempts", "1")
        assert "x-dead-seq" in bad.headers


@pytest.mark.parametrize("overflow", ["error", "block", "drop_newest"])
def test_a_full_one_holds_them_up_and_loses_none(tmp_path: Path, overflow: Any) -> None:
    """They go on when it has room; a letter is not what it may drop."""
    options: dict[str, Any] = {"durability": "os", "segment_bytes": SEGMENT, "overflow": overflow}
    with (
        mm.Spool(tmp_path / "dead", max_messages=10, **options) as dead,
        mm.Push(bind="tcp://127.0.0.1:0", delivery="at_least_once", dead_letter=dead) as push,
    ):
        for i in range(30):
            push.send(b"%d" % i, **LATE)
        came: list[bytes] = []
        while len(came) < 30:
            batch = dead.read(len(came) + 1, timeout=WAIT_S)
            assert batch, "no more letters come"
            came += map(bytes, batch.messages)
            dead.trim(len(came))
        assert came == [b"%d" % i for i in range(30)]


@pytest.mark.parametrize("wrong", ["closed"])
def test_a_closed_one_is_refused(tmp_path: Path, wrong: str) -> None:
    """As any other place that cannot take them."""
    dead = mm.Spool(tmp_path / wrong)
    dead.close()
    with pytest.raises(mm.ClosedError):
        mm.Push(delivery="at_least_once", dead_letter=dead)


def test_a_message_in_a_spool_is_done_once_its_letter_was_taken(
    world: World, tmp_path: Path
) -> None:
    """Letters that nobody took are letters again in the next life; drain does not wait for them."""
    with world.life(tmp_path / "s", push_dead_letter="keep") as (_, push):
        receipts = [push.send(b"%d" % i, confirm=True, **LATE) for i in range(3)]
        assert [reason_of(world, one) for one in receipts] == ["expired"] * 3
        first = push.dead_letters(1)
        assert [bytes(one) for one in first] == [b"0"]
        settled(push)
    with world.life(tmp_path / "s", push_dead_letter="keep") as (spool, push):
        left: list[bytes] = []

        def both() -> bool:
            left.extend(bytes(one) for one in push.dead_letters())
            return len(left) == 2

        wait_until(both)
        assert left == [b"1", b"2"]
        settled(push)
        assert [one.lag for one in spool.cursors()] == [0]


def test_a_function_that_is_not_done_has_not_had_it(tmp_path: Path) -> None:
    """What it works on as the process ends comes again."""
    begun, ends = threading.Event(), threading.Event()

    def slow(letter: mm.DeadLetter) -> None:
        begun.set()
        assert ends.wait(WAIT_S)

    with World(None).life(tmp_path / "s", push_dead_letter=slow) as (spool, push):
        push.send(b"x", **LATE)
        assert begun.wait(WAIT_S)
        assert [one.lag for one in spool.cursors()] == [1]
        ends.set()
        wait_until(lambda: [one.lag for one in spool.cursors()] == [0])


def test_without_a_place_they_are_done_at_once(tmp_path: Path) -> None:
    """They are dropped, counted and told."""
    with World(None).life(tmp_path / "s") as (spool, push):
        push.send(b"x", **LATE)
        assert told(push, mm.EventKind.DROPPED).count == push.stats().dropped_expired == 1
        wait_until(lambda: [one.lag for one in spool.cursors()] == [0])


TOLD = "2 messages are with receivers and not acknowledged"


@pytest.mark.parametrize("spooled", [False, True])
def test_what_is_not_acknowledged_at_the_end_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spooled: bool
) -> None:
    """By the log; what a spool has is not lost, and so not told of."""
    caplog.set_level("INFO", logger="meshmsg")
    with mm.Spool(tmp_path / "s", durability="os") as spool:
        own: dict[str, Any] = {"spool": spool} if spooled else {"delivery": "at_least_once"}
        with (
            mm.Push(bind="tcp://127.0.0.1:0", **own) as push,
            mm.Pull(connect=push.endpoint, ack="manual") as pull,
        ):
            push.send_many([b"1", b"2"])
            pull.recv(timeout=WAIT_S)
            pull.recv(timeout=WAIT_S)
            push.close()
    told_all()
    assert (TOLD in caplog.text) is not spooled


@pytest.mark.parametrize("work", [False, True])
def test_what_a_full_spool_does_not_keep_is_told(world: World, tmp_path: Path, work: bool) -> None:
    """As of a full queue: counted, an event, in the report; with a worker that hangs, too."""
    options: dict[str, Any] = {"max_messages": 10, "overflow": "drop_newest"}
    with world.life(tmp_path / "s", **options) as (spool, push):
        if work:
            with mm.Pull(connect=push.endpoint, ack="manual"):
                push.wait_for_peers(timeout=WAIT_S)
                push.send_many([b"x"] * 30)
        else:
            push.send_many([b"x"] * 30)
        lost = spool.info().dropped_newest
        assert lost >= 20 - (1 if work else 0)
        wait_until(lambda: push.stats().dropped_overflow == lost)
        assert push.drain(timeout=0).dropped == lost
        assert "the spool is full" in told(push, mm.EventKind.DROPPED).detail
