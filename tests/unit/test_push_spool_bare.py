"""`Push(spool=)`: what its spool removes that the Push still has in memory is told, and sent.

Not here: what was removed before it was read (test_push_spool_lost.py).
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World, settled
from tests.support.pairs import wait_until
from tests.support.spooled import SEGMENT

REMOVED = mm.EventKind.SPOOL_REMOVED
DROPPED = mm.EventKind.DROPPED
BIG = b"x" * 10_000
READ = 20
"""Messages that the Push has before any is removed."""
PUT = 60


class Counted:
    """The events of a Push, added up."""

    def __init__(self, push: Any) -> None:
        self._push = push
        self.count = {REMOVED: 0, DROPPED: 0}
        self.details: set[str] = set()

    def look(self) -> dict[mm.EventKind, int]:
        """How many messages there were events of, so far."""
        for event in self._push.events():
            if event.kind in self.count:
                self.count[event.kind] += event.count
                if event.kind is REMOVED:
                    self.details.add(event.detail)
        return self.count


def overfull(push: Any, spool: Any, told: Counted) -> int:
    """Put more than there is room for, the first of it in memory; how many were removed."""
    for _ in range(READ):
        push.send(BIG)
    wait_until(lambda: push.stats().queued_out_messages == READ)
    assert told.look() == {REMOVED: 0, DROPPED: 0}
    for _ in range(PUT - READ):
        push.send(BIG)
    gone: int = spool.info().dropped_oldest
    assert gone == spool.info().first_seq - 1 >= READ
    wait_until(lambda: sum(told.look().values()) == gone)
    return gone


def test_it_is_told_once_and_sent_all_the_same(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An event and the log say so; no counter calls it dropped, as it arrives."""
    full: dict[str, Any] = {"max_bytes": 4 * SEGMENT, "overflow": "drop_oldest"}
    with caplog.at_level(logging.WARNING, "meshmsg"):
        with world.life(tmp_path / "s", **full) as (spool, push):
            told = Counted(push)
            overfull(push, spool, told)
            dropped = told.count[DROPPED]
            assert told.count[REMOVED] >= READ
            assert len(told.details) == 1
            assert "still sent, but lost if this process ends" in told.details.pop()
            assert push.stats().dropped == push.drain(timeout=0).dropped == dropped
            with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
                for _ in range(PUT - dropped):
                    pull.recv().ack()
                assert settled(push).delivered == PUT - dropped
            assert told.look()[DROPPED] == push.stats().dropped == dropped
    wait_until(lambda: "removed from its spool: not acknowledged" in caplog.text)


def test_what_is_never_sent_is_dropped_once(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As the Push closes: the next life has what is in the files, and no more."""
    with world.life(tmp_path / "s", max_bytes=4 * SEGMENT, overflow="drop_oldest") as (spool, push):
        told = Counted(push)
        gone = overfull(push, spool, told)
        had = told.count[REMOVED]
    wait_until(lambda: f"{had} messages dropped: removed from its spool" in caplog.text)
    with world.life(tmp_path / "s") as (_, push):
        told = Counted(push)
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            for _ in range(PUT - gone):
                pull.recv().ack()
            assert settled(push).delivered == PUT - gone
        assert told.look() == {REMOVED: 0, DROPPED: 0}


def test_what_is_acknowledged_is_removed_without_a_word(world: World, tmp_path: Path) -> None:
    """The usual life of a file."""
    with world.life(tmp_path / "s") as (spool, push):
        told = Counted(push)
        with world.socket("Pull", connect=push.endpoint, ack="manual") as pull:
            for _ in range(READ):
                push.send(BIG)
            for _ in range(READ):
                pull.recv().ack()
            settled(push)
        wait_until(lambda: spool.info().first_seq > 1)
        push.send(b"looked at again")
        wait_until(lambda: push.stats().queued_out_messages == 1)
        assert told.look() == {REMOVED: 0, DROPPED: 0}
