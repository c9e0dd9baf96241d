"""FanOut, map_rows and executors_as_mesh in tasks of real Spark, whose workers are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from meshmsg.spark import FanOut, ItemError, TaskNode, Topology, executors_as_mesh, map_rows
from tests.support.sparked import needs_spark

pytestmark = needs_spark
SPARK_S = 300.0
"""Seconds until a test gives up: a session takes long to begin on a busy machine."""


class Deadly:
    """Works; kills its process at some items the first time, at one each time."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def __call__(self, item: bytes) -> bytes:
        """Double it, or die."""
        if item == b"poison" or (int(item) % 40 == 17 and not self._was(item)):
            os.kill(os.getpid(), signal.SIGKILL)
        return item * 2

    def _was(self, item: bytes) -> bool:
        path = Path(self.folder, item.decode())
        was = path.exists()
        path.touch()
        return was


def test_each_item_has_one_result_though_workers_are_killed(spark: Any, tmp_path: Path) -> None:
    """Those that kill are found out; no other is given up."""
    with FanOut(spark, Deadly(tmp_path), workers=2, restarts=20) as fan:
        futures = [fan.submit(b"%d" % i) for i in range(60)]
        poison = fan.submit(b"poison")
        assert [f.result(SPARK_S) for f in futures] == [b"%d" % i * 2 for i in range(60)]
        with pytest.raises(ItemError, match="tried 4 times"):
            poison.result(SPARK_S)
        counts = fan.stats()
    assert counts.again > 0  # else nothing was killed in time
    assert (counts.done, counts.failed, counts.open) == (60, 1, 0)


def _upper(body: bytes) -> bytes:
    return body.upper()


def _refuse(body: bytes) -> bytes:
    raise ValueError(f"not {body!r}")


def test_rows_are_worked_on_where_they_are(spark: Any) -> None:
    """Each once; what fails says which row; who stops asking ends the job."""
    rows = spark.createDataFrame([(f"row {i}",) for i in range(500)], "value string")
    rows = rows.repartition(3)
    assert sorted(map_rows(rows, _upper)) == sorted(b"ROW %d" % i for i in range(500))
    with pytest.raises(ItemError, match=r"(?s)row 0 of partition \d.*|not b'row"):
        list(map_rows(rows, _refuse))
    results = map_rows(rows, _upper)
    assert next(results).startswith(b"ROW")
    results.close()  # type: ignore[attr-defined]


def _around(node: TaskNode) -> int:
    value = total = node.rank + 1
    for _ in range(node.count - 1):
        node.send(node.targets[0], b"%d" % value, timeout=SPARK_S)
        value = int(node.recv(timeout=SPARK_S)[1])
        total += value
    return total


def test_tasks_of_a_barrier_stage_reduce_among_themselves(spark: Any) -> None:
    """Around a ring."""
    assert executors_as_mesh(spark, _around, count=2, topology=Topology.RING) == [3, 3]
