"""A spool of dead letters that has no room: what is spent waits for it, and nobody works on it.

Not here: spools of dead letters that have room (test_dead_spools.py).
"""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.pairs import WAIT_S, told_all, wait_until
from tests.support.spooled import small

JOBS = 12
"""More than the spool of dead letters, and the queue in front of it, have room for."""
ATTEMPTS = 2
NEVER_S = 1e9
"""Seconds: longer than any test."""
OPTIONS: dict[str, Any] = {"max_attempts": ATTEMPTS, "send_queue_messages": 3}


def failed(pull: Any, count: int) -> Counter[bytes]:
    """Give back each that comes until so many were handed out; how often each was."""
    came: Counter[bytes] = Counter()
    while came.total() < count:
        message = pull.recv(timeout=WAIT_S)
        came[bytes(message)] += 1
        message.nack()
    return came


def quiet(pull: Any) -> None:
    """Nothing is handed out for longer than what finds no room waits to be looked at again."""
    with pytest.raises(mm.TimedOutError):
        pull.recv(timeout=1.5)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log was told of the spool of dead letters."""
    return [
        one.getMessage()
        for one in caplog.records
        if one.levelno == logging.WARNING and "no room for dead letters" in one.getMessage()
    ]


def pair(role: str, world: World, spool: Any, dead: mm.Spool) -> tuple[Any, Any]:
    """A sender with a spool, and who works for it."""
    own = {"spool": spool, "bind": "tcp://127.0.0.1:0", "dead_letter": dead, **OPTIONS}
    sender = world.socket(role, **own)
    if role == "Push":
        return sender, mm.Pull(connect=sender.endpoint, ack="manual", prefetch=1)
    sender.seek_group("g", "earliest")
    member: dict[str, Any] = {"topics": "", "group": "g", "ack": "manual", "prefetch": 1}
    return sender, mm.Sub(connect=sender.endpoint, **member)


@pytest.mark.parametrize("role", ["Push", "Pub"])
def test_what_finds_no_room_is_not_handed_out_again(
    world: World,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    role: str,
) -> None:
    """It waits, which is told once, and is a letter as soon as there is room; each once."""
    monkeypatch.setattr("meshmsg._spool.full.TOLD_AGAIN_S", NEVER_S)
    with (
        small(tmp_path / "dead", max_messages=2) as dead,
        world.spool(tmp_path / "jobs") as spool,
    ):
        sender, worker = pair(role, world, spool, dead)
        with sender, worker:
            spool.append_many([b"%d" % i for i in range(JOBS)], topic="t")
            came = failed(worker, JOBS * ATTEMPTS)
            quiet(worker)
            assert len(came) == JOBS
            assert set(came.values()) == {ATTEMPTS}
            letters: list[Any] = []
            while len(letters) < JOBS:
                batch = dead.read(len(letters) + 1, timeout=WAIT_S)
                assert batch, "no more letters come"
                letters += batch.messages
                dead.trim(len(letters))
            assert sorted(map(bytes, letters)) == sorted(came)
            assert {one.headers["x-dead-attempts"] for one in letters} == {str(ATTEMPTS)}
            assert {one.headers["x-dead-reason"] for one in letters} == {"attempts"}
            wait_until(lambda: [one.lag for one in spool.cursors()] == [0])
            assert sender.stats().dead_messages == JOBS
            assert sender.stats().dropped_attempts == 0
            quiet(worker)
    told_all()
    said = warnings(caplog)
    assert len(said) == 1
    assert f"dead_letter= of a {role}: the spool {tmp_path / 'dead'} has no room" in said[0]
    assert "it had 2 of 2 messages (max_messages); they wait, and stay in the spool" in said[0]


def test_others_go_on_meanwhile(tmp_path: Path) -> None:
    """What is spent holds up nobody, and `drain` has it among what is not done."""
    with (
        small(tmp_path / "dead", max_messages=1) as dead,
        small(tmp_path / "jobs") as spool,
        mm.Push(spool=spool, bind="tcp://127.0.0.1:0", dead_letter=dead, **OPTIONS) as push,
        mm.Pull(connect=push.endpoint, ack="manual", prefetch=1) as pull,
    ):
        dead.append(b"the only one")
        push.send_many([b"bad"] * JOBS)
        failed(pull, JOBS * ATTEMPTS)
        push.send_many([b"good"] * JOBS)
        for _ in range(JOBS):
            message = pull.recv(timeout=WAIT_S)
            assert message == b"good"
            message.ack()
        quiet(pull)
        wait_until(lambda: [one.lag for one in spool.cursors()] == [JOBS])
