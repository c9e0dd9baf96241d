"""Publishers under `Sub(replay=)` are killed by SIGKILL, again and again: a subscriber goes on with
the next life where it was, without a gap and without anything twice.

Twenty rounds here; `make crash` has 1,000. Not here: members of a group (test_groups_kill.py), what
a replay is (tests/unit/test_replay.py).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import PLAIN_ROUNDS, SEED
from tests.support.forks import Forks
from tests.support.pairs import WAIT_S, free_endpoints
from tests.support.programs import lines_of

LINES_MAX = 100
"""Of what a publisher says, after which it is killed."""
READS_MAX = 150
"""Messages that a subscriber takes of a life, at most, while it is there or afterwards."""
SOON: dict[str, Any] = {"reconnect_min": 0.005, "reconnect_max": 0.05}


class Follower:
    """A subscriber, and which number comes next; whatever else comes is a gap, or twice."""

    def __init__(self, sub: mm.Sub) -> None:
        self._sub = sub
        self.last = 0

    def take(self, timeout: float) -> bool:
        """Receive one; False: there is none in time."""
        try:
            message = self._sub.recv(timeout=timeout)
        except mm.TimedOutError:
            return False
        assert message.seq is not None
        assert (message.seq[1], int(message)) == (self.last + 1, self.last)
        self.last += 1
        return True


@pytest.mark.parametrize("level", ["os", "disk"])
def test_a_subscriber_goes_on_where_it_was(forks: Forks, tmp_path: Path, level: str) -> None:
    """One that reads along, and one that reads little and is behind for all of the lives."""
    dice = random.Random(f"{SEED} {level} replay")
    (endpoint,) = free_endpoints(1)
    options: dict[str, Any] = {"connect": endpoint, "topics": "", "replay": "earliest", **SOON}
    kept = 0
    with mm.Sub(**options) as one, mm.Sub(**options, recv_queue_messages=10) as other:
        quick, slow = Follower(one), Follower(other)
        for _ in range(PLAIN_ROUNDS):
            arguments = (tmp_path / "s", level, endpoint)
            with forks.running("tests.crash.publisher", *arguments, said=True) as process:
                lines = lines_of(process)
                for _ in range(1 + dice.randrange(LINES_MAX)):
                    kept = int(next(lines))
                assert quick.take(WAIT_S)
                for _ in range(dice.randrange(READS_MAX)):
                    if not quick.take(0.01):
                        break
                slow.take(0.01)
            for _ in range(dice.randrange(READS_MAX)):  # what it had received is there as well
                if not quick.take(0.001):
                    break
        with mm.Spool(tmp_path / "s") as spool, mm.Pub(bind=endpoint, spool=spool):
            last = spool.info().last_seq
            assert last >= kept
            for follower in (quick, slow):
                while follower.last < last:
                    assert follower.take(WAIT_S)
                assert not follower.take(0.05)
        for sub in (one, other):
            kinds = {event.kind for event in sub.events()}
            assert mm.EventKind.REPLAY_LOST not in kinds
