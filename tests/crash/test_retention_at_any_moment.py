"""Retention removes what groups and replays of a Pub have not come to, over and over.

What a group was given and what it was told to be gone is all that was put; so it is for a replay;
nobody is stuck. Not here: one removal at a time (tests/unit/test_groups_odd.py,
tests/unit/test_replay_odd.py).
"""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import ROUNDS, SEED
from tests.support.feeding import World
from tests.support.grouped import info, joined, member, until
from tests.support.later import Later
from tests.support.pairs import WAIT_S, wait_until
from tests.support.replayed import publishing
from tests.support.spooled import SEGMENT

SLICE_S = 0.05
"""Seconds that a member is asked before it looks whether all is over."""
WORLD = World(None)
LIMITS: dict[str, dict[str, Any]] = {
    "max_bytes": {"max_bytes": 4 * SEGMENT, "overflow": "drop_oldest"},
    "max_messages": {"max_messages": 40, "overflow": "drop_oldest"},
    "max_age": {"max_age": 0.01, "segment_age": 0.005},
    "trim": {},
}


class Member:
    """Takes what it is given, some of it late, until it is told to end."""

    def __init__(self, sub: Any, dice: random.Random) -> None:
        self.got: list[int] = []
        self._sub, self._dice = sub, dice
        self._stop = threading.Event()
        self._running = Later(self._run)

    def _run(self) -> None:
        kept: list[Any] = []
        while not self._stop.is_set():
            try:
                message = self._sub.recv(timeout=SLICE_S)
            except mm.TimedOutError:
                message = None
            if message is not None:
                kept.append(message)
            if message is None or self._dice.randrange(4) == 0:
                for one in kept:
                    if one.ack():
                        self.got.append(one.seq[1])
                kept.clear()

    def end(self) -> None:
        """It gives no more."""
        self._stop.set()
        self._running.result()


class Replayed:
    """Reads a replay until it is told to end."""

    def __init__(self, sub: Any) -> None:
        self.got: list[int] = []
        self.lost = 0
        self._sub = sub
        self._stop = threading.Event()
        self._running = Later(self._run)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.got.append(self._sub.recv(timeout=SLICE_S).seq[1])
            except mm.TimedOutError:
                continue

    def told(self) -> int:
        """How many came, or were told to be gone."""
        kind = mm.EventKind.REPLAY_LOST
        self.lost += sum(event.count for event in self._sub.events() if event.kind is kind)
        return len(self.got) + self.lost

    def end(self) -> None:
        """It reads no more."""
        self._stop.set()
        self._running.result()


def put_all(pub: Any, spool: Any, count: int, dice: random.Random, trims: bool) -> None:
    """Publish so many, of all sizes."""
    for number in range(count):
        size = dice.choice((10, 500, 9000))
        pub.send(b"x" * size, topic=f"t{number % 5}", timeout=WAIT_S)
        if trims and dice.randrange(10) == 0:
            spool.trim(dice.randrange(spool.info().last_seq + 1))


def agree(pub: Any, spool: Any) -> bool:
    """Whether what nobody took is what went: between two looks more may become too old."""
    return bool(info(pub, "idle").removed == spool.info().first_seq - 1)


@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
@pytest.mark.parametrize("limit", LIMITS)
def test_what_came_and_what_went_is_what_was_put(tmp_path: Path, limit: str, level: Any) -> None:
    """For groups of one member and of several, for who asks for all, and for a group that nobody is
    in."""
    dice = random.Random(f"{SEED} {limit} {level}")
    for round_ in range(ROUNDS):
        count = dice.randrange(100, 400)
        options = {**LIMITS[limit], "durability": level}
        path = tmp_path / f"s{round_}"
        with publishing(WORLD, path, pub_send_queue_messages=4, **options) as (spool, pub):
            for name in ("one", "many", "idle"):
                pub.seek_group(name, "earliest")
            subs = [
                member(WORLD, pub, name, ack="manual", prefetch=dice.choice((1, 8, 100)))
                for name in ("one", "many", "many")
            ]
            tiny = {"recv_queue_messages": 1}
            all_ = WORLD.socket("Sub", connect=pub.endpoint, topics="", replay="seq:1", **tiny)
            joined(pub, 4)
            replayed = Replayed(all_)
            members = [Member(sub, random.Random(dice.random())) for sub in subs]
            put_all(pub, spool, count, dice, limit == "trim")
            put = count
            counts = {name: until(pub, lambda one: one.lag == 0, name) for name in ("one", "many")}
            wait_until(lambda r=replayed, put=put: r.told() >= put)
            for one in (replayed, *members):
                one.end()
            for name, got in (
                ("one", members[0].got),
                ("many", members[1].got + members[2].got),
            ):
                one = info(pub, name)
                assert (one.lag, one.unacked, one.harmed) == (0, 0, 0)
                assert one.acked + one.removed == put, (name, counts[name])
                assert len(set(got)) >= one.acked
            wait_until(lambda pub=pub, spool=spool: agree(pub, spool))
            idle = info(pub, "idle")
            assert idle.lag == spool.info().last_seq - idle.removed
            assert replayed.got == sorted(set(replayed.got))
            assert replayed.told() == put
            for sub in (*subs, all_):
                sub.close()
