"""The seed that a driver tells its tasks: in a session, with tasks of both kinds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.mesh import Mesh, SparkSeeds
from meshmsg.mesh._finding.spark import KEY
from meshmsg.spark import run_tasks
from tests.support.meshes import WAIT_S, node
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]


@pytest.fixture
def told(spark: Any) -> Iterator[Any]:
    """A session in which nothing is told before and after."""
    yield spark
    spark.sparkContext.setLocalProperty(KEY, None)
    spark.conf.unset(KEY)


def test_tasks_find_the_mesh_of_the_driver(told: Any) -> None:
    """By what it told; so does the driver itself."""
    wait_s = WAIT_S

    def joins(partition: int, attempt: int) -> bool:
        with Mesh(cluster="test", name=f"task-{partition}", seeds=SparkSeeds()) as task:
            there = task.wait_for(count=2, timeout=wait_s)
            return "driver" in {one.record.name for one in there}

    with node("driver") as mesh:
        SparkSeeds.tell(told, mesh.endpoint)
        assert run_tasks(told, joins, count=2) == [True, True]
        assert repr(SparkSeeds()) == f"SparkSeeds([{mesh.endpoint!r}])"
        names = {one.record.name for one in mesh.members()}
        assert names == {"driver", "task-0", "task-1"}


def test_tasks_of_a_dataframe_have_it_too(told: Any) -> None:
    """Also where it was set as an entry of the configuration."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas")
    told.conf.set(KEY, "h:1, g:2")

    def each(frames: Any) -> Any:
        import pandas as pd

        for _ in frames:
            yield pd.DataFrame({"said": [repr(SparkSeeds())]})

    rows = told.range(1, numPartitions=1).mapInPandas(each, "said string").collect()
    assert [row.said for row in rows] == ["SparkSeeds(['tcp://h:1', 'tcp://g:2'])"]


def test_what_was_not_told_is_said(told: Any) -> None:
    """And how to tell it."""
    with pytest.raises(mm.UsageError, match=r"is not set: on the driver say SparkSeeds\.tell"):
        SparkSeeds()
    with pytest.raises(mm.UsageError, match="no address is told"):
        SparkSeeds.tell(told)
    with pytest.raises(mm.UsageError, match="a seed is 'junk'"):
        SparkSeeds.tell(told, "junk")


def test_outside_of_spark_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor without pyspark."""
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(mm.UsageError, match="neither a task of Spark"):
        SparkSeeds()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(mm.ResourceError, match=r"pip install meshmsg\[spark\]"):
        SparkSeeds()
