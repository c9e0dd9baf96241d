"""One query through many rounds of kills by SIGKILL: workers, the runner of the source, the driver,
producers, and pairs of them. In its table nothing is lost, and nothing is there twice.

Each of the four alone here; `make crash` has 60 rounds, with pairs. Not here: one kill a query, and
the PULL that loses something when it is killed likewise (test_kill.py).
"""

from __future__ import annotations

import os
from itertools import cycle, islice
from pathlib import Path
from random import Random

import pytest

from tests.crash.crew import SEED
from tests.spark.campaign import KINDS, campaign
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

ROUNDS = int(os.environ.get("MESHMSG_SPARK_ROUNDS", "4"))


def test_a_table_has_each_message_once_whoever_is_killed(short_path: Path) -> None:
    """And each round hit: somebody was killed while he waited for a read, which was asked again."""
    dice = Random(f"{SEED} kills")
    rounds = list(islice(cycle(KINDS), ROUNDS))
    with campaign(short_path, dice) as query:
        for who in rounds:
            query.round(who)
        again, count = query.again(), query.count
        assert again >= sum(who != ("runner",) for who in rounds)
        assert query.killed.keys() == {name for who in rounds for name in who}
        expected = [[uuid, count, count, 1, count, 0] for uuid in sorted(query.uuids)]
        assert query.table() == expected
    print(f"{len(rounds)} rounds, {dict(query.killed)} killed, {again} reads again")
