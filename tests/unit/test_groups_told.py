"""All that a group drops is told, also where it ends soon after the first of them.

Not here: the same of other sockets (test_drops_closed.py), dead letters (test_groups_dead.py).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.feeding import World
from tests.support.grouped import joined, member, until
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing
from tests.unit.test_drops_closed import loud

LATE = 100
"""Messages that the group drops."""
TTL_S = 0.001


def dropped(events: list[Any]) -> int:
    """How many messages were dropped, as events say."""
    return sum(one.count for one in events if one.kind is mm.EventKind.DROPPED)


def expired(world: World, pub: Any) -> None:
    """Have a group drop messages whose time is over; nobody is in it behind that."""
    pub.seek_group("w", "earliest")
    for _ in range(LATE):
        pub.send(b"late", topic="t", ttl=TTL_S)
    over = time.time() + 2 * TTL_S
    pub.send(b"last", topic="t")
    wait_until(lambda: time.time() > over)
    with member(world, pub) as sub:
        assert sub.recv(timeout=WAIT_S) == b"last"
    until(pub, lambda one: one.expired == LATE and one.members == 0)


def spent(world: World, pub: Any) -> None:
    """Have a group drop messages that were handed out as often as may be."""
    with member(world, pub, ack="manual") as sub:
        joined(pub, 1)
        for _ in range(LATE):
            pub.send(b"bad", topic="t")
        for _ in range(LATE):
            assert sub.recv(timeout=WAIT_S).nack() is True
        until(pub, lambda one: one.attempts == LATE)
    until(pub, lambda one: one.members == 0)


@pytest.mark.parametrize("why", [expired, spent])
def test_all_that_a_group_dropped_is_told_as_its_publisher_closes(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture, why: Any
) -> None:
    """To `on_event` and to the log; the first is told at once, the others were to come later."""
    events: list[Any] = []
    own: dict[str, Any] = {"pub_on_event": events.append, "pub_max_attempts": 1}
    with publishing(world, tmp_path / "s", **own) as (_, pub):
        why(world, pub)
        stats = pub.stats()
        assert stats.dropped_expired == stats.dropped_attempts == 0, "that is of its groups"
        pub.close()
        wait_until(lambda: dropped(events) == LATE)
        wait_until(lambda: loud(caplog) == LATE)


@pytest.mark.parametrize("why", [expired, spent])
@pytest.mark.parametrize("ends", ["forget_group", "seek_group"])
def test_all_that_a_group_dropped_is_told_as_it_ends(
    world: World, tmp_path: Path, ends: str, why: Any
) -> None:
    """Before the call returns: no group of that name is there to tell it later."""
    with publishing(world, tmp_path / "s", pub_max_attempts=1) as (_, pub):
        why(world, pub)
        if ends == "seek_group":
            pub.seek_group("w", "latest")
        else:
            pub.forget_group("w")
        assert dropped(pub.events()) == LATE
