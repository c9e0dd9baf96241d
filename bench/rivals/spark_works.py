"""What Spark does beside reading what is there: rows that are put one by one as it reads, rows that
it writes, and work items of its tasks. Each beside pyzmq by hand.

Not here: who puts, takes and works (spark_putting.py, spark_taking.py, spark_items.py). Law: what
is measured has begun before; who sends or takes is a process of its own, but for items.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..base.task import PATIENCE, Task
from .spark_items import fanned_rate, handed_rate
from .spark_source import TASKS, SparkMesh, SparkPeer, begun

ROOT = Path(__file__).resolve().parents[2]
WARM_MESSAGES = 1000
"""That a stream reads before those that count."""
LOOK_SECONDS = 0.01
"""Until it is looked again how far a query is."""


class Program:
    """A program that does so many at a time as a line says."""

    def __init__(self, process: subprocess.Popen[str], where: str) -> None:
        self._process, self.where = process, where

    def begin(self, count: int) -> None:
        """Have it do so many."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()

    def wait(self) -> None:
        """Wait until it says that it has."""
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise BenchError("what takes rows ended without a word")


@contextmanager
def helping(program: str, *words: str) -> Iterator[Program]:
    """Start one; it is ended, too."""
    command = [sys.executable, "-m", f"{BENCH}.rivals.{program}", *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        try:
            where = process.stdout.readline().strip()
            if not where:
                raise BenchError(f"{program} ended without a word")
            yield Program(process, where)
        finally:
            process.terminate()


class SparkWork(SparkPeer):
    """One that is measured by a rate, and has no frame of what is there."""

    version = SparkMesh.version

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Nothing is there before."""
        raise BenchError(f"{self.name} reads nothing that is there")
        yield


class SparkMeshPut(SparkWork):
    """A stream of a spool into which a process puts messages, one call for each."""

    name = "meshmsg-spark-put"

    def source_rate(self, task: Task) -> float:
        """From the first call to the end of the batch that has the last."""
        with (
            tempfile.TemporaryDirectory(prefix="meshmsg-bench-") as folder,
            helping("spark_putting", f"{folder}/one.spool", str(task.size)) as putting,
        ):
            options = {"endpoints": putting.where, "columns": "value"}
            stream = begun().readStream.format("meshmsg").options(**options)
            stream = stream.option("startingOffsets", "earliest").option("minPartitions", TASKS)
            query = stream.load().writeStream.format("noop").start()
            try:
                putting.begin(WARM_MESSAGES)
                _wait_for(query, WARM_MESSAGES)
                start = time.monotonic()
                putting.begin(task.count)
                _wait_for(query, WARM_MESSAGES + task.count)
                return task.count / (time.monotonic() - start)
            finally:
                query.stop()


def _wait_for(query: Any, count: int) -> None:
    limit = time.monotonic() + PATIENCE
    while sum(one.numInputRows for one in query.recentProgress) < count:
        if query.exception() is not None or time.monotonic() > limit:
            raise BenchError(f"a stream came to no end: {query.exception() or 'out of time'}")
        time.sleep(LOOK_SECONDS)


class SparkSink(SparkWork):
    """Writes the same row, over and over, to a process that takes it."""

    kinds = ("sink",)
    taker = ""

    @abstractmethod
    def write(self, frame: Any, where: str) -> None:
        """Write all of it."""

    def source_rate(self, task: Task) -> float:
        """Until the process has all rows, and the writer is done."""
        from pyspark.sql import functions as f

        body = bytearray(task.body())
        rows = begun().range(task.count, numPartitions=TASKS).select(f.lit(body).alias("value"))
        with helping("spark_taking", self.taker) as taking:
            start = time.monotonic()
            taking.begin(task.count)
            self.write(rows, taking.where)
            taking.wait()
            return task.count / (time.monotonic() - start)


class SparkMeshSink(SparkSink):
    """`write.format("meshmsg")`: by Arrow, kept until it is acknowledged."""

    name, taker = "meshmsg-spark-sink", "meshmsg"

    def write(self, frame: Any, where: str) -> None:
        """To a Pull."""
        frame.write.format("meshmsg").option("endpoints", where).mode("append").save()


class SparkPyzmqRows(SparkSink):
    """A writer of rows, as one would write it by hand: nobody acknowledges."""

    name, taker = "pyzmq-spark-rows", "pyzmq"
    version = SparkPeer.version

    def write(self, frame: Any, where: str) -> None:
        """To a PULL."""
        from .spark_rows import RowsSink

        begun().dataSource.register(RowsSink)
        frame.write.format("bench_rows").option("endpoint", where).mode("append").save()


class SparkMeshItems(SparkWork):
    """`FanOut`: an item whose worker dies goes to another, and each has one result."""

    name, kinds = "meshmsg-spark-items", ("items",)

    def source_rate(self, task: Task) -> float:
        """Items a second, there and back."""
        return fanned_rate(begun(), TASKS, task.body(), task.count)


class SparkPyzmqItems(SparkWork):
    """PUSH and PULL by hand."""

    name, kinds = "pyzmq-spark-items", ("items",)
    version = SparkPeer.version

    def source_rate(self, task: Task) -> float:
        """Items a second, there and back."""
        context = begun().sparkContext

        def job(work: Callable[[Iterable[Any]], Iterator[int]]) -> int:
            counts: int = context.parallelize(range(TASKS), TASKS).mapPartitions(work).sum()
            return counts

        return handed_rate(job, TASKS, task.body(), task.count)
