"""What tasks of the source have read, tried again and left out, as the driver is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark import SourceCounts, count_reads, progress_listener, register
from tests.spark.killing import Reads, kill, workers_of
from tests.spark.older import since
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.sparked import filled, needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]
registers = since(4, 1, "nobody registers anew what Spark has found: test_older.py")


@pytest.fixture
def counts(spark: Any) -> Iterator[SourceCounts]:
    """Count what this test reads."""
    yield count_reads(spark)
    register(spark)


def reading(reader: Any, endpoint: str, **given: str) -> Any:
    """Return what is read of one column."""
    return reader.format("meshmsg").options(endpoints=endpoint, columns="value", **given).load()


@registers
def test_rows_and_bytes_of_a_batch_are_counted(
    spark: Any, counts: SourceCounts, tmp_path: Path
) -> None:
    """Of each task once, however many there are."""
    with (
        filled(tmp_path / "s", 1000) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        assert len(reading(spark.read, server.endpoint, minPartitions="3").collect()) == 1000
    assert (counts.rows, counts.retries, counts.skipped) == (1000, 0, 0)
    assert counts.bytes >= sum(len(str(number)) for number in range(1, 1001))
    assert repr(counts).startswith("<meshmsg.spark.SourceCounts rows=1,000, bytes=")


@registers
def test_what_a_stream_left_out_is_counted_and_said(
    spark: Any, counts: SourceCounts, tmp_path: Path
) -> None:
    """By the numbers that were trimmed; the listener has it in its line."""
    functions = pytest.importorskip("pyspark.sql.functions")
    lines: Queue[str] = Queue()
    listener = progress_listener(lines.put, counts=counts)
    spark.streams.addListener(listener)
    with (
        mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        spool.append_many([b"x" * 1000] * 1000)
        uuid = spool.info().uuid
        spool.trim(900)
        first = spool.info().first_seq
        query = (
            reading(
                spark.readStream,
                server.endpoint,
                startingOffsets=f'{{"{uuid}": 5}}',
                failOnDataLoss="false",
            )
            .observe("read", functions.sum(functions.octet_length("value")).alias("bytes"))
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)
        assert query.lastProgress.observedMetrics["read"].bytes == 1000 * (1001 - first)
    line = lines.get(timeout=WAIT_S)
    spark.streams.removeListener(listener)
    assert 5 < first
    assert (counts.rows, counts.skipped) == (1001 - first, first - 5)
    assert line.endswith(f"0 attempts again, {first - 5:,} messages left out")


@registers
def test_attempts_of_tasks_whose_workers_were_killed_are_counted(
    spark: Any, counts: SourceCounts, tmp_path: Path
) -> None:
    """And their rows are, once: what a killed worker had read is in no count."""
    with (
        filled(tmp_path / "s", 1000) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        reads = Reads(server)
        reads.at(1, lambda: kill(workers_of(spark.sparkContext._gateway.proc.pid)))
        assert len(reading(spark.read, server.endpoint, minPartitions="2").collect()) == 1000
        assert reads.done > 0
    assert counts.retries > 0
    assert (counts.rows, counts.skipped) == (1000, 0)
