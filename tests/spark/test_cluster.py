"""Executors that are processes of their own, and are killed while they read: a local cluster.

Not here: what is killed in a session with one process of Java (test_kill.py).
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.crash.crew import SEED
from tests.spark.campaign import CLUSTER_KINDS, campaign
from tests.spark.killing import connected_from, executors_of, kill, shown, workers_of
from tests.support.programs import running
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

ROUNDS = int(os.environ.get("MESHMSG_CLUSTER_ROUNDS", "1"))
CLUSTER = "local-cluster[2,1,1024]"
COUNT = 2000
LIMIT = 700
"""Rows of a batch: three batches."""
READS = 10
"""Of some fourteen that the query does."""
SPARK_S = 300
"""Seconds until a query on a busy machine is given up."""


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_an_executor_that_is_killed_is_replaced_and_nothing_is_lost_or_twice(
    tmp_path: Path, round_: int
) -> None:
    """One of two, at a read: together with a Python worker of the other, or, in rounds that are not
    the first, by itself every second time."""
    dice, with_worker = random.Random(f"{SEED} cluster {round_}"), round_ % 2 == 0
    with ExitStack() as stack:
        endpoint, reads = shown(stack, tmp_path, COUNT)
        command = [sys.executable, "-m", "tests.spark.driving", tmp_path, endpoint, LIMIT]
        driver = stack.enter_context(running([*command, CLUSTER], stdout=-1))

        def hit() -> int:
            """The executor whose worker asks: what another one has read is read."""
            found = executors_of(driver.pid)
            reading = [pid for pid in found if connected_from(reads.address, workers_of(pid))]
            others = [pid for one in found if one not in reading for pid in workers_of(one)[:1]]
            return kill([*reading, *(others if with_worker else [])]) if reading else 0

        reads.at(dice.randrange(1, READS), hit)
        *_, last = driver.communicate(timeout=SPARK_S)[0].splitlines()
    assert reads.done > 0
    assert reads.again() > 0
    assert json.loads(last) == [COUNT, COUNT, 1, COUNT]


@pytest.mark.skipif("MESHMSG_CLUSTER_ROUNDS" not in os.environ, reason="long: see make crash-spark")
def test_pairs_that_are_killed_in_a_cluster_leave_each_message_once(tmp_path: Path) -> None:
    """An executor and a producer; an executor and the driver, whose other executor goes on for a
    while beside the next driver; all workers and a producer: while one of them waits for a read."""
    dice, rounds = random.Random(f"{SEED} pairs"), list(islice(cycle(CLUSTER_KINDS), ROUNDS))
    with campaign(tmp_path, dice, CLUSTER) as query:
        for who in rounds:
            query.round(who)
        again, count = query.again(), query.count
        assert again >= len(rounds)
        assert query.killed.keys() == {name for who in rounds for name in who}
        expected = [[uuid, count, count, 1, count, 0] for uuid in sorted(query.uuids)]
        assert query.table() == expected
    print(f"{Counter(rounds)}, {dict(query.killed)} killed, {again} reads again")
