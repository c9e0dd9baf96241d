"""Writing by `format("meshmsg")` with real Spark: batch, stream, tasks that run again.

Not here: the sink without Spark (tests/unit/test_spark_sink.py).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.spark.killing import kill, workers_of
from tests.spark.older import limit
from tests.spark.test_source import Shown
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]
ROWS = 2_000


class Receiver:
    """Takes rows in a thread, and does each once."""

    def __init__(self) -> None:
        self.pull = mm.Pull(bind=of_its_own(), ack="manual")
        self.came: Counter[bytes] = Counter()
        self.done: list[bytes] = []
        self.named: dict[Any, set[bytes]] = {}
        """By the name of a row: what came under it."""
        self._window = mm.MemoryDedupeWindow(limit=100_000)
        self.at_first: Callable[[], None] | None = None
        """Called once some have come, and none is acknowledged."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while True:
                for message in self.pull.recv_many(timeout=WAIT_S):
                    self.came[bytes(message)] += 1
                    self.named.setdefault(message.seq, set()).add(bytes(message))
                    if self.at_first is not None:
                        first, self.at_first = self.at_first, None
                        first()
                    if self._window.add(message):
                        self.done.append(bytes(message))
                    message.ack()
        except (mm.ClosedError, mm.EndOfStreamError):
            pass

    def close(self) -> None:
        """End it."""
        self.pull.close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """One that is closed in the end."""
    made = Receiver()
    yield made
    made.close()


def writing(writer: Any, receiver: Receiver, **more: str) -> Any:
    """Return a writer to a receiver."""
    return writer.format("meshmsg").options(endpoints=receiver.pull.endpoint, **more)


def numbers(count: int = ROWS) -> list[bytes]:
    """Return what is to be done."""
    return sorted(b"%d" % number for number in range(count))


def before_arrow() -> Any:
    """Return the format `meshmsg_rows`: the sink with the writer of Spark 4.0."""
    from pyspark.sql.datasource import DataSource

    class BeforeArrow(DataSource):
        """The sink with the writer of Spark 4.0; made here, so that Spark pickles all of it."""

        @classmethod
        def name(cls) -> str:
            """Return the name of the format."""
            return "meshmsg_rows"

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:
            """Return the writer that takes rows."""
            from meshmsg.spark._sink.options import sink_options
            from meshmsg.spark._sink.rows import check_schema
            from meshmsg.spark._sink.writers import RowStreamWriter

            return RowStreamWriter(
                sink_options(self.options, overwrite=False, stream=True), check_schema(schema)
            )

    return BeforeArrow


def test_a_table_is_sent_and_each_row_has_come_when_it_returns(
    spark: Any, receiver: Receiver
) -> None:
    """By two tasks, with keys."""
    frame = spark.range(ROWS, numPartitions=2).selectExpr(
        "cast(id AS string) AS value", "cast(id % 7 AS string) AS key"
    )
    writing(frame.write, receiver).mode("append").save()
    assert sorted(receiver.done) == numbers()
    assert set(receiver.came.values()) == {1}


def test_a_task_that_is_killed_runs_again_and_each_row_is_done_once(
    spark: Any, receiver: Receiver
) -> None:
    """Rows have come, and none is acknowledged yet: it sends all again, under the same names."""
    jvm = spark.sparkContext._gateway.proc.pid
    killed: list[int] = []
    receiver.at_first = lambda: killed.append(kill(workers_of(jvm)))
    frame = spark.range(ROWS, numPartitions=1).selectExpr("cast(id AS string) AS value")
    writing(frame.write, receiver).mode("append").save()
    assert killed[0] > 0
    assert sorted(receiver.done) == numbers()
    assert max(receiver.came.values()) >= 2  # else nothing was sent before


def test_a_stream_is_sent_and_a_batch_that_runs_again_is_done_once(
    spark: Any, receiver: Receiver, tmp_path: Path
) -> None:
    """As after a driver that died between the last row and its commit log."""
    shown = Shown(tmp_path / "spool", ROWS)
    batch = ROWS // 2 if limit(1) else ROWS
    last = ROWS // batch - 1

    def run() -> list[int]:
        rows = (
            spark.readStream.format("meshmsg")
            .options(endpoints=shown.endpoint, startingOffsets="earliest")
            .options(columns="value", **limit(batch))
            .load()
        )
        query = (
            writing(rows.writeStream, receiver, checkpointLocation=str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)
        return [one.batchId for one in query.recentProgress if one.numInputRows]

    try:
        assert run() == list(range(last + 1))
        for name in (f"{last}", f".{last}.crc"):
            (tmp_path / "checkpoint" / "commits" / name).unlink()
        assert run() == [last]
    finally:
        shown.close()
    assert sorted(receiver.done) == sorted(b"%d" % number for number in range(1, ROWS + 1))
    assert Counter(receiver.came.values()) == Counter({1: ROWS - batch, 2: batch})


def test_a_stream_of_spark_before_its_arrow_writer_is_sent_by_rows(
    spark: Any, receiver: Receiver, tmp_path: Path
) -> None:
    """As Spark 4.0 has it: keys that are all null, and headers, come as they are."""
    spark.dataSource.register(before_arrow())
    shown = Shown(tmp_path / "spool", ROWS)
    try:
        query = (
            spark.readStream.format("meshmsg")
            .options(endpoints=shown.endpoint, startingOffsets="earliest", includeHeaders="true")
            .options(columns="value,key,headers")
            .load()
            .writeStream.format("meshmsg_rows")
            .options(endpoints=receiver.pull.endpoint)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)
    finally:
        shown.close()
    assert sorted(receiver.done) == sorted(b"%d" % number for number in range(1, ROWS + 1))
    assert set(receiver.came.values()) == {1}


@pytest.mark.parametrize(
    ("rows", "options", "why"),
    [
        ("SELECT 1 AS id", {}, "a column 'id'"),
        ("SELECT cast(NULL AS string) AS value", {}, "has no value"),
        ("SELECT 'x' AS value", {"sendTimout": "1s"}, "did you mean sendTimeout"),
        (
            "SELECT 'x' AS value",
            {"endpoints": "tcp://127.0.0.1:1", "sendTimeout": "100ms"},
            "1 rows of this task are not acknowledged by receivers at tcp://127.0.0.1:1",
        ),
    ],
)
def test_what_cannot_be_sent_is_told_in_words(
    spark: Any, receiver: Receiver, rows: str, options: dict[str, str], why: str
) -> None:
    """The job fails with them."""
    writer = writing(spark.sql(rows).write, receiver).options(**options)
    with pytest.raises(Exception, match=why):
        writer.mode("append").save()
    assert receiver.done == []
