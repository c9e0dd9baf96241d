"""Publishers with groups are killed by SIGKILL while members give messages back: each of those is a
dead letter in the end, and none is lost between the two spools.

Five rounds here; `make crash` has 1,000. Not here: groups without dead letters
(test_groups_kill.py), which messages are dead letters (tests/unit/test_groups_dead.py).
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.crash.crew import FEW_ROUNDS, SEED
from tests.support.forks import Forks
from tests.support.grouped import SHORT_S, until
from tests.support.pairs import free_endpoints
from tests.support.programs import lines_of

LINES_MAX = 100
"""Of what a publisher says, after which it is killed."""
BAD = 7
"""Each so manyth is given back, whoever has it."""
SOON: dict[str, Any] = {"reconnect_min": 0.005, "reconnect_max": 0.05}


def work(sub: mm.Sub, done: set[int]) -> None:
    """Take what there is: the bad ones are given back."""
    try:
        while True:
            message = sub.recv(timeout=SHORT_S)
            if int(message) % BAD == 0:
                message.nack()
            elif message.ack():
                done.add(int(message))
    except mm.TimedOutError:
        pass


@pytest.mark.parametrize("level", ["os", "disk"])
def test_what_is_given_back_is_a_dead_letter_whoever_is_killed(
    forks: Forks, tmp_path: Path, level: Any
) -> None:
    """At least once, with the group; all others are done by a member."""
    dice = random.Random(f"{SEED} {level} dead")
    (endpoint,) = free_endpoints(1)
    kept, done = 0, set[int]()
    options: dict[str, Any] = {"topics": "", "group": "w", "ack": "manual", **SOON}
    arguments = (tmp_path / "s", level, endpoint, tmp_path / "dead")
    for _ in range(FEW_ROUNDS):
        with mm.Sub(connect=endpoint, **options) as sub:
            with forks.running("tests.crash.publisher", *arguments, said=True) as process:
                lines = lines_of(process)
                for _ in range(1 + dice.randrange(LINES_MAX)):
                    kept = int(next(lines))
                    work(sub, done) if dice.randrange(10) == 0 else None
            work(sub, done)
    with (
        mm.Spool(tmp_path / "s") as spool,
        mm.Spool(tmp_path / "dead") as dead,
        mm.Pub(bind=endpoint, spool=spool, max_attempts=2, dead_letter=dead) as pub,
        mm.Sub(connect=endpoint, **options) as sub,
    ):
        last = spool.info().last_seq
        assert last >= kept

        def worked(one: mm.GroupInfo) -> bool:
            work(sub, done)
            return one.lag == 0

        until(pub, worked)
        with dead.reader() as reader:
            letters = [one for one in reader if isinstance(one, mm.SpoolMessage)]
        assert {int(one) for one in letters} == set(range(0, last, BAD))
        assert {one.headers["x-dead-group"] for one in letters} == {"w"}
        assert done >= {number for number in range(last) if number % BAD}
