"""What users of Spark import from meshmsg.spark.  With real Spark it runs in tests/test_demo.py."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import patterns, spark
from meshmsg.patterns import aio as patterns_aio
from meshmsg.spark import aio as spark_aio
from tests.support.pairs import WAIT_S


@pytest.mark.parametrize("name", ["WorkBatch", "WorkQueue", "WorkStats", "Worker", "work"])
def test_the_work_queue_is_the_one_of_the_patterns(name: str) -> None:
    """The same objects, so what is made by one name is known by the other."""
    assert getattr(spark, name) is getattr(patterns, name)
    assert getattr(spark_aio, name) is getattr(patterns_aio, name)


def test_importing_it_does_not_import_pyspark() -> None:
    """Whoever has no Spark can import it, and whoever has waits for nothing."""
    code = "import sys, meshmsg.spark; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class Context:
    """As much of a SparkContext, and of its RDD, as is used; it runs in this process."""

    def parallelize(self, numbers: Iterable[int], count: int) -> Context:
        """Cut into so many partitions."""
        self._numbers, self._count = list(numbers), count
        return self

    def mapPartitionsWithIndex(self, task: Callable[..., Iterator[Any]]) -> Context:
        """Note what is to be run."""
        self._task = task
        return self

    def collect(self) -> list[Any]:
        """Run it once a partition."""
        return [one for i in range(self._count) for one in self._task(i, self._numbers[i : i + 1])]


class Session:
    """A SparkSession that is none."""

    sparkContext = Context()


def test_each_task_has_its_partition_and_attempt_and_gives_back_its_answer() -> None:
    """Here they are workers of a queue, one after the other: the first does all there is."""
    pytest.importorskip("pyspark")
    with patterns.WorkQueue(batch_messages=2) as queue:
        queue.put_many([b"a", b"b", b"c"], timeout=WAIT_S)
        queue.finish()

        def task(partition: int, attempt: int) -> tuple[int, int, list[bytes]]:
            return (
                partition,
                attempt,
                [one for batch in spark.work(queue.endpoint) for one in batch],
            )

        done = spark.run_tasks(Session(), task, count=2)  # type: ignore[arg-type]
        queue.join(workers=2, timeout=WAIT_S)
    assert done == [(0, 0, [b"a", b"b", b"c"]), (1, 0, [])]


def test_a_task_is_protected_by_a_file_that_is_where_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only while it runs: the next one in that process may be another's."""
    pytest.importorskip("pyspark")

    def task(partition: int, attempt: int) -> str | None:
        if partition == 1:
            raise LookupError
        return os.environ.get("MESHMSG_SECURITY")

    monkeypatch.delenv("MESHMSG_SECURITY", raising=False)
    for before in (None, "/of/the/executor"):
        if before:
            monkeypatch.setenv("MESHMSG_SECURITY", before)
        found = spark.run_tasks(Session(), task, count=1, security="/of/the/job")  # type: ignore[arg-type]
        assert found == ["/of/the/job"]
        assert spark.run_tasks(Session(), task, count=1) == [before]  # type: ignore[arg-type]
        with pytest.raises(LookupError):
            spark.run_tasks(Session(), task, count=2, security="/x")  # type: ignore[arg-type]
        assert os.environ.get("MESHMSG_SECURITY") == before


def test_keys_are_not_sent_to_executors() -> None:
    """A policy has them; a path has none."""
    with pytest.raises(TypeError, match="keys are not sent to executors"):
        spark.run_tasks(Session(), print, count=1, security=mm.NONE)  # type: ignore[arg-type]


def test_no_tasks_are_a_mistake() -> None:
    """Before Spark is asked for anything."""
    with pytest.raises(mm.UsageError, match="count is 0; it must be 1 or more"):
        spark.run_tasks(Session(), lambda *_: None, count=0)  # type: ignore[arg-type]


class Sources:
    """What a session registers sources with: a Spark that says no."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def register(self, source: type) -> None:
        """Say it."""
        raise self.error


class Refusing:
    """A session whose Spark has found the source by itself."""

    def __init__(self, error: Exception) -> None:
        self.dataSource, self.sparkContext = Sources(error), self

    def accumulator(self, start: int) -> int:
        """Return what is none."""
        return start


def test_a_spark_that_has_found_the_source_may_keep_it() -> None:
    """Spark 4.0: `register` is done then, and `count_reads` says why it cannot count."""
    pytest.importorskip("pyspark")
    session: Any = Refusing(ValueError("[DATA_SOURCE_ALREADY_EXISTS] 'meshmsg' already exists"))
    spark.register(session)
    with pytest.raises(mm.UsageError, match="needs Spark 4.1 or later"):
        spark.count_reads(session)


def test_what_else_spark_refuses_is_told() -> None:
    """In its own words."""
    pytest.importorskip("pyspark")
    session: Any = Refusing(ValueError("the session was stopped"))
    for call in (spark.register, spark.count_reads):
        with pytest.raises(ValueError, match="the session was stopped"):
            call(session)


def test_a_spark_without_sources_in_python_is_said_to_be_too_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark 3: no error of an import, which would name a module that nobody can install."""
    pytest.importorskip("pyspark")
    monkeypatch.delitem(sys.modules, "pyspark_meshmsg", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql.datasource", None)
    session: Any = Refusing(ValueError("nobody asks it"))
    for call in (spark.register, spark.count_reads):
        with pytest.raises(mm.UsageError, match=r"needs Spark 4\.0 or later; this is \d"):
            call(session)
