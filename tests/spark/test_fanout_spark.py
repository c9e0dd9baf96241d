"""FanOut, map_rows and executors_as_mesh in tasks of real Spark, whose workers are killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshmsg.spark import FanOut, ItemError, TaskNode, Topology, aio, executors_as_mesh, map_rows
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]
SPARK_S = 300.0
"""Seconds until a test gives up: a session takes long to begin on a busy machine."""


def deadly(folder: Path) -> Callable[[bytes], bytes]:
    """Return what kills its process at some items the first time, and at one each time.

    It is made here, so that Spark pickles all of it: tasks cannot import tests.
    """
    where = str(folder)

    def fn(item: bytes) -> bytes:
        import os
        import signal

        path = os.path.join(where, item.decode())
        first = not os.path.exists(path)
        if item == b"poison" or (int(item) % 40 == 17 and first):
            open(path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return item * 2

    return fn


def test_each_item_has_one_result_though_workers_are_killed(spark: Any, tmp_path: Path) -> None:
    """Those that kill are found out; no other is given up."""
    with FanOut(spark, deadly(tmp_path), workers=2) as fan:
        futures = [fan.submit(b"%d" % i) for i in range(60)]
        poison = fan.submit(b"poison")
        assert [f.result(SPARK_S) for f in futures] == [b"%d" % i * 2 for i in range(60)]
        with pytest.raises(ItemError, match="tried 4 times"):
            poison.result(SPARK_S)
        counts = fan.stats()
    assert counts.again > 0  # else nothing was killed in time
    assert (counts.done, counts.failed, counts.open) == (60, 1, 0)


def test_an_item_that_hangs_everywhere_is_given_up_and_others_are_done(spark: Any) -> None:
    """Its workers end, one after the other, and Spark begins others; closing waits for nobody."""

    def fn(item: bytes) -> bytes:
        import threading

        if item == b"hangs":
            threading.Event().wait()
        return item * 2

    with FanOut(spark, fn, workers=2, lease=1.0, max_attempts=2) as fan:
        hangs = fan.submit(b"hangs")
        with pytest.raises(ItemError, match="tried 2 times"):
            hangs.result(SPARK_S)
        futures = [fan.submit(b"%d" % i) for i in range(5)]
        assert [f.result(SPARK_S) for f in futures] == [b"%d" % i * 2 for i in range(5)]


def test_rows_are_worked_on_where_they_are(spark: Any) -> None:
    """Each once; what fails says which row; who stops asking ends the job."""

    def upper(body: bytes) -> bytes:
        return body.upper()

    def refuse(body: bytes) -> bytes:
        raise ValueError(f"not {body!r}")

    rows = spark.createDataFrame([(f"row {i}",) for i in range(500)], "value string")
    rows = rows.repartition(3)
    assert sorted(map_rows(rows, upper)) == sorted(b"ROW %d" % i for i in range(500))
    with pytest.raises(ItemError, match=r"(?s)row 0 of partition \d.*|not b'row"):
        list(map_rows(rows, refuse))
    results = map_rows(rows, upper)
    assert next(results).startswith(b"ROW")
    results.close()  # type: ignore[attr-defined]


def test_each_row_has_one_result_though_partitions_run_again(spark: Any, tmp_path: Path) -> None:
    """Their workers are killed in the middle, more rows than one message has into them."""
    where = str(tmp_path)

    def fn(row: bytes) -> bytes:
        import os
        import signal

        path = os.path.join(where, row.decode())
        if int(row) % 4000 == 2500 and not os.path.exists(path):
            open(path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return row + b"!"

    rows = spark.range(8000, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")
    results = list(map_rows(rows, fn))
    assert sorted(results) == sorted(b"%d!" % i for i in range(8000))
    assert len(list(tmp_path.iterdir())) == 2  # else nothing was killed


def test_rows_that_cannot_be_done_are_told_and_others_go_on(spark: Any) -> None:
    """By asyncio, too, which ends the job as it leaves the loop."""

    def fn(row: bytes) -> bytes:
        if row.endswith(b"7"):
            raise ValueError("no")
        return row

    async def main() -> list[Any]:
        found = [one async for one in aio.map_rows(rows, fn, errors="return", max_attempts=2)]
        with pytest.raises(ItemError, match="tried 4 times, and not done: row 7 of partition 0"):
            async for _ in aio.map_rows(rows, fn):
                pass
        return found

    rows = spark.range(20, numPartitions=1).selectExpr("CAST(id AS STRING) AS value")
    found = asyncio.run(main())
    assert [one.item if isinstance(one, ItemError) else one for one in found] == [
        b"%d" % i for i in range(20)
    ]
    errors = [one for one in found if isinstance(one, ItemError)]
    assert [(one.item, one.attempts) for one in errors] == [(b"7", 2), (b"17", 2)]


def test_a_stage_whose_task_died_is_run_again_whole(spark: Any, tmp_path: Path) -> None:
    """The tasks of the second time find each other, and hear nothing of the first."""
    where = str(tmp_path)

    def both(node: TaskNode) -> bytes:
        import os
        import signal

        lives = len(os.listdir(where))
        node.send(1 - node.rank, b"life", timeout=100.0)
        if node.rank == 1:
            open(os.path.join(where, f"life {lives}"), "w").close()
            if lives == 0:
                node.recv(timeout=100.0)
                os.kill(os.getpid(), signal.SIGKILL)
        return node.recv(timeout=100.0)[1]

    assert executors_as_mesh(spark, both, count=2, topology=[(0, 1), (1, 0)]) == [b"life", b"life"]
    assert len(list(tmp_path.iterdir())) == 2


def test_tasks_of_a_barrier_stage_reduce_among_themselves(spark: Any) -> None:
    """Around a ring."""

    def around(node: TaskNode) -> int:
        value = total = node.rank + 1
        for _ in range(node.count - 1):
            node.send(node.targets[0], b"%d" % value, timeout=100.0)
            value = int(node.recv(timeout=100.0)[1])
            total += value
        return total

    assert executors_as_mesh(spark, around, count=2, topology=Topology.RING) == [3, 3]
