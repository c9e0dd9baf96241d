"""Processes of Spark, and producers, that are killed by SIGKILL while they read: the table has each
message once. A PULL in a task, which is killed likewise, loses some: so the kills hit.

One kill a query. Not here: many rounds of them (test_campaign.py), what is read without a kill
(test_source.py).
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._ranges.form import Op, request_of
from tests.crash.crew import SEED
from tests.spark.campaign import Child
from tests.spark.killing import Reads, children_of, kill, runners_of, shown, workers_of
from tests.spark.older import limit
from tests.spark.showing import body
from tests.support.pairs import of_its_own
from tests.support.programs import running
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

ROUNDS = int(os.environ.get("MESHMSG_CRASH_ROUNDS", "1"))
COUNT = 2000
LIMIT = 700
"""Rows of a batch where Spark has limits: three batches, else one."""
SPARK_S = 300
"""Seconds until a query on a busy machine is given up."""


class Scene:
    """A spool that this process shows, and a query that is tried again until it ends."""

    def __init__(self, spark: Any, stack: ExitStack, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.jvm = spark.sparkContext._gateway.proc.pid
        self.spool = stack.enter_context(mm.Spool(str(folder / "spool"), segment_bytes=2**20))
        self.spool.append_many(body(number) for number in range(1, COUNT + 1))
        server = stack.enter_context(mm.SpoolServer(self.spool, bind=of_its_own(), trim=True))
        self.endpoint, self.reads = server.endpoint, Reads(server)
        self.failures = 0

    def query(self) -> None:
        """Run it; what a user does when it fails is to start it again."""
        for _ in range(3):
            query = start(self.spark, self.folder, self.endpoint).trigger(availableNow=True).start()
            try:
                assert query.awaitTermination(SPARK_S)
                return
            except AssertionError:
                raise
            except Exception:
                self.failures += 1
        raise AssertionError("the query failed three times")


def start(spark: Any, folder: Path, endpoint: str, **more: str) -> Any:
    """Return the writer of a query."""
    return (
        spark.readStream.format("meshmsg")
        .options(endpoints=endpoint, startingOffsets="earliest", batchBytes="64k")
        .options(offsetTimeout="60s")
        .options(minPartitions="2", groupId="kill", **limit(LIMIT), **more)
        .load()
        .writeStream.format("parquet")
        .options(path=f"{folder}/out", checkpointLocation=f"{folder}/checkpoint")
    )


def is_whole(spark: Any, folder: Path, count: int) -> None:
    """Nothing is lost, nothing is there twice, and each number has its message."""
    table = spark.read.parquet(f"{folder}/out").selectExpr(
        "offset", "CAST(trim(CAST(value AS STRING)) AS BIGINT) AS number"
    )
    rows = table.collect()
    assert sorted(row.offset for row in rows) == list(range(1, count + 1))
    assert all(row.offset == row.number for row in rows)


@pytest.fixture(params=range(ROUNDS))
def scene(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Iterator[Scene]:
    """A scene of one round."""
    with ExitStack() as stack:
        yield Scene(spark, stack, tmp_path)


def dice(request: pytest.FixtureRequest) -> random.Random:
    """Return dice of a round, the same each time."""
    return random.Random(f"{SEED} {request.node.name}")


def test_workers_that_are_killed_read_again_and_lose_nothing(
    scene: Scene, request: pytest.FixtureRequest
) -> None:
    """At any read of a batch: Spark tries the tasks again, with the same ranges."""
    scene.reads.at(dice(request).randrange(1, 20), lambda: kill(workers_of(scene.jvm)))
    scene.query()
    assert scene.reads.done > 0
    assert scene.reads.again() > 0
    assert scene.failures == 0
    is_whole(scene.spark, scene.folder, COUNT)


def test_a_runner_that_is_killed_ends_the_query_and_the_next_one_goes_on(
    scene: Scene, request: pytest.FixtureRequest
) -> None:
    """From the checkpoint, and with nothing twice in the table."""
    scene.reads.at(dice(request).randrange(1, 20), lambda: kill(runners_of(scene.jvm)))
    scene.query()
    assert scene.reads.done == 1
    assert scene.failures == 1
    is_whole(scene.spark, scene.folder, COUNT)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_producer_that_is_killed_is_read_on_in_its_next_life(
    spark: Any, tmp_path: Path, request: pytest.FixtureRequest, round_: int
) -> None:
    """While it puts and shows: what was never durable was never offered."""
    endpoint = of_its_own(f"ipc://{tmp_path}/spool.sock")
    command = [sys.executable, "-m", "tests.spark.showing", tmp_path / "spool", endpoint, COUNT]
    query = start(spark, tmp_path, endpoint, fetchTimeout="120s").start()
    try:
        with running([*command, dice(request).randrange(1, 15)], stdout=-1) as first:
            died = lines_of(first, b"dies")
            assert first.wait(SPARK_S) == -signal.SIGKILL
        with running([*command, 0], stdout=-1) as second:
            until_there(query, COUNT)
            second.kill()
            later = lines_of(second, b"read")
    finally:
        query.stop()
    assert died[0] in later  # what was being read when it died is read again
    is_whole(spark, tmp_path, COUNT)


def lines_of(process: subprocess.Popen[bytes], word: bytes) -> list[bytes]:
    """Return the numbers behind a word that it printed, once it has ended."""
    return re.findall(
        rb"^" + word + rb" (\d+)$", process.communicate(timeout=SPARK_S)[0], re.MULTILINE
    )


def until_there(query: Any, count: int) -> None:
    """Wait until a query has had so many rows."""
    for _ in range(SPARK_S * 5):
        if sum(one.numInputRows for one in query.recentProgress) >= count:
            return
        assert query.isActive, query.exception()
        query.awaitTermination(0.2)
    raise AssertionError(f"it has not {count} rows: {query.lastProgress}")


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_driver_that_is_killed_goes_on_from_its_checkpoint(
    spark: Any, tmp_path: Path, request: pytest.FixtureRequest, round_: int
) -> None:
    """With all that it had started: the next one reads the batch again that was not done."""
    with ExitStack() as stack:
        endpoint, reads = shown(stack, tmp_path, COUNT)
        command = [sys.executable, "-m", "tests.spark.driving", tmp_path, endpoint, LIMIT]
        first = stack.enter_context(running(command, stdout=-1))
        reads.at(
            dice(request).randrange(1, 20),
            lambda: kill([*children_of(first.pid), first.pid]),
        )
        assert first.communicate(timeout=SPARK_S)[0] == b""
        assert first.wait(SPARK_S) == -signal.SIGKILL
        second = stack.enter_context(running(command, stdout=-1))
        *_, last = second.communicate(timeout=SPARK_S)[0].splitlines()
    assert reads.again() > 0
    assert json.loads(last) == [COUNT, COUNT, 1, COUNT]
    is_whole(spark, tmp_path, COUNT)


GROWTHS, GROWTH = 20, 40
"""Questions of the driver before each of which something is put; and how many messages."""


class Growing:
    """A spool in which something is put before a question is answered: `latest` grows."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.spool = stack.enter_context(mm.Spool(str(folder / "spool"), segment_bytes=2**20))
        self._put()
        server = stack.enter_context(mm.SpoolServer(self.spool, bind=of_its_own(), trim=True))
        self.endpoint, self.reads = server.endpoint, Reads(server)
        self._answer, self._lock = server._answers.answer, threading.Lock()
        server._answers.answer = self._answering  # type: ignore[method-assign]
        self._left = GROWTHS

    def is_told(self, driver: Child) -> bool:
        """Whether all is put, and a driver has said that it is read."""
        said = driver.said("at")
        ends = [place["next"] for place in json.loads(said[-1])["p"].values()] if said else []
        return self._left == 0 and ends == [self.spool.info().last_seq + 1]

    def _put(self) -> None:
        last = self.spool.info().last_seq
        self.spool.append_many(body(number) for number in range(last + 1, last + 1 + GROWTH))

    def _answering(self, data: bytes, load: Any) -> bytes:
        with self._lock:
            if self._left and request_of(data).op == Op.INFO:
                self._left -= 1
                self._put()
        answered: bytes = self._answer(data, load)
        return answered


@pytest.mark.skipif("MESHMSG_CRASH_ROUNDS" not in os.environ, reason="long: see make crash-spark")
@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_driver_that_is_killed_in_its_first_batch_leaves_it_to_the_next_one(
    tmp_path: Path, round_: int
) -> None:
    """With `latest`, which is further by then: the checkpoint says where that batch began. Each of
    its four tasks has asked for its part, of which one read gives all. Without a kill it is in
    test_replay.py."""
    with ExitStack() as stack:
        growing = Growing(stack, tmp_path)
        where = (growing.endpoint, GROWTHS * GROWTH, "local[2,4]", "latest")
        driver = Child("driving_on", tmp_path, *where)
        stack.callback(driver.close)
        assert driver.process is not None
        root = driver.process.pid
        growing.reads.at(4, lambda: kill([*children_of(root), root]))
        assert driver.process.wait(SPARK_S) == -signal.SIGKILL
        first = min(growing.reads.noted)
        assert not list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
        driver.begin()
        driver.until(lambda: growing.is_told(driver))
        driver.process.stdin.close()
        (row,) = json.loads(driver.until(lambda: driver.said("table"))[0])
        last = growing.spool.info().last_seq
    assert row[1:] == [last + 1 - first, last + 1 - first, first, last, 0]


def test_a_pull_in_a_task_loses_what_the_killed_worker_had(spark: Any, tmp_path: Path) -> None:
    """The negative control: what the source would be without ranges, and what at_most_once is."""
    jvm, sent = spark.sparkContext._gateway.proc.pid, 0
    with mm.Push(bind=of_its_own()) as push:
        query = (
            spark.readStream.format("meshmsg")
            .options(endpoints=push.endpoint, delivery="at_most_once", liveWindow="6s")
            .options(columns="value")
            .load()
            .writeStream.format("parquet")
            .options(path=f"{tmp_path}/out", checkpointLocation=f"{tmp_path}/checkpoint")
            .start()
        )
        try:
            sent += send_run(push, sent)
            (victim,) = {peer.id for peer in push.peers()}
            assert kill(workers_of(jvm)) > 0
            while victim in {peer.id for peer in push.peers()}:
                assert not query.awaitTermination(0.1)
            sent += send_run(push, sent)
            until_batch(query)
            until_batch(query)
        finally:
            query.stop()
    table = spark.read.schema("value binary").parquet(f"{tmp_path}/out")
    found = [int(row.value) for row in table.collect()]
    assert RUN <= len(set(found)) < sent
    assert len(set(found)) == len(found)


RUN = 500
"""Messages that are sent to one worker."""


def send_run(push: mm.Push, first: int) -> int:
    """Send to the worker that is there, until it has them; return how many."""
    push.wait_for_peers(1, timeout=SPARK_S)
    push.send_many([b"%d" % number for number in range(first, first + RUN)])
    push.drain(timeout=SPARK_S)
    return RUN


def until_batch(query: Any) -> None:
    """Wait until a query has done another batch."""
    before = query.lastProgress.batchId if query.lastProgress else -1
    for _ in range(SPARK_S * 5):
        if query.lastProgress and query.lastProgress.batchId > before:
            return
        assert query.isActive, query.exception()
        query.awaitTermination(0.2)
    raise AssertionError("it has no batch any more")
