"""`format("meshmsg")` with real Spark: batch, stream, SQL, and what users are told.

Not here: processes that are killed (test_kill.py), readers without Spark
(tests/unit/test_spark_reading.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark import progress_listener, register
from tests.spark.older import LIMITS, since
from tests.support.pairs import WAIT_S, of_its_own, wait_until
from tests.support.sparked import filled, needs_spark, times_of

pytestmark = [needs_spark, pytest.mark.leaves_threads]

COUNT = 1000


class Shown:
    """A spool, and the endpoint where it is shown."""

    def __init__(self, folder: Path, count: int = COUNT, bind: str | None = None) -> None:
        self.spool = filled(folder, count)
        self.server = mm.SpoolServer(self.spool, bind=bind or of_its_own(), trim=True)
        self.endpoint = self.server.endpoint

    def close(self) -> None:
        """Close both."""
        self.server.close()
        self.spool.close()


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Shown]:
    """Show a spool of numbers."""
    one = Shown(tmp_path / "spool")
    yield one
    one.close()


def reading(reader: Any, endpoints: str, **given: object) -> Any:
    """Return a reader with options."""
    made = reader.format("meshmsg").option("endpoints", endpoints)
    for name, value in given.items():
        made = made.option(name, str(value))
    return made


class Stream:
    """A query of which each run ends by itself, and what it has written."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self._spark, self._folder = spark, folder

    def run(self, endpoints: str, **given: object) -> list[Any]:
        """Run it until all is read that is there as it begins, and return its progress."""
        query = (
            reading(self._spark.readStream, endpoints, **given)
            .load()
            .writeStream.format("parquet")
            .option("path", str(self._folder / "out"))
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)
        return [one for one in query.recentProgress if one.numInputRows]

    def offsets(self) -> list[tuple[str, int]]:
        """Return what it has written."""
        rows = self._spark.read.parquet(str(self._folder / "out")).select("producer", "offset")
        return sorted((row.producer, row.offset) for row in rows.collect())


def test_a_batch_has_each_message_once_in_so_many_tasks(spark: Any, shown: Shown) -> None:
    """All that is durable as it is planned."""
    frame = reading(spark.read, shown.endpoint, minPartitions=3).load()
    assert frame.rdd.getNumPartitions() == 3
    rows = frame.collect()
    assert sorted(int(row.value) for row in rows) == list(range(1, COUNT + 1))
    assert {row.producer for row in rows} == {shown.spool.info().uuid}


def test_a_batch_is_between_the_offsets_that_are_given(spark: Any, shown: Shown) -> None:
    """Half open, as those of Kafka are."""
    uuid = shown.spool.info().uuid
    ends = {"startingOffsets": f'{{"{uuid}": 10}}', "endingOffsets": f'{{"{uuid}": 20}}'}
    rows = reading(spark.read, shown.endpoint, columns="offset", **ends).load().collect()
    assert sorted(row.offset for row in rows) == list(range(10, 20))


def test_a_batch_is_between_the_times_that_are_given(spark: Any, shown: Shown) -> None:
    """As the column says them: the first is in it, the second is not."""
    for _ in range(3):
        shown.spool.append_many([b"x"] * 10)
    stored = times_of(shown.spool, COUNT + 30)
    times = [datetime.fromtimestamp(0, timezone.utc) + timedelta(microseconds=t) for t in stored]
    first, end = times[COUNT + 4], times[COUNT + 24]
    given = {"startingTimestamp": first.isoformat(), "endingTimestamp": end.isoformat()}
    rows = reading(spark.read, shown.endpoint, columns="offset", **given).load().collect()
    expected = [seq for seq, time in enumerate(times, 1) if first <= time < end]
    assert sorted(row.offset for row in rows) == expected != []


def test_an_empty_spool_is_an_empty_table(spark: Any, tmp_path: Path) -> None:
    """Of the same columns."""
    one = Shown(tmp_path / "empty", 0)
    try:
        frame = reading(spark.read, one.endpoint, includeHeaders="true").load()
        assert frame.count() == 0
        assert frame.columns[-1] == "headers"
    finally:
        one.close()


def test_sql_finds_the_source_without_register(spark: Any, shown: Shown) -> None:
    """By its name alone; and columns of each type come through."""
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW orders USING meshmsg "
        f"OPTIONS (endpoints '{shown.endpoint}', includeHeaders 'true', includeMeta 'true')"
    )
    row = spark.sql(
        "SELECT count(*) AS n, max(offset) AS last, max(timestamp) > '2020-01-01' AS now, "
        "count(key) AS keys, max(size(headers)) AS headers, max(endpoint) AS endpoint FROM orders"
    ).collect()[0]
    assert (row.n, row.last, row.now, row.keys, row.headers) == (COUNT, COUNT, True, 0, 0)
    assert row.endpoint == shown.endpoint


def test_register_makes_it_known_by_hand(spark: Any, shown: Shown) -> None:
    """Again and again."""
    register(spark)
    register(spark)
    assert reading(spark.read, shown.endpoint, columns="value").load().count() == COUNT


def test_a_schema_of_the_user_chooses_columns(spark: Any, shown: Shown) -> None:
    """As Spark prunes none of a source in Python."""
    frame = reading(spark.read.schema("value binary, offset bigint"), shown.endpoint).load()
    assert frame.columns == ["value", "offset"]
    assert frame.count() == COUNT


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"maxOffsetPerTrigger": 5}, "did you mean maxOffsetsPerTrigger"),
        ({"startingOffsets": "newest"}, "it is earliest, latest, or JSON"),
    ],
)
def test_a_wrong_option_is_said_by_spark(
    spark: Any, shown: Shown, given: dict[str, object], why: str
) -> None:
    """With the words of meshmsg."""
    with pytest.raises(Exception, match=why):
        reading(spark.read, shown.endpoint, **given).load().count()


@since(*LIMITS, "a stream has no limits of a batch, and no latestOffset in its progress")
def test_available_now_keeps_its_limit_and_ends(spark: Any, shown: Shown, tmp_path: Path) -> None:
    """Batches of so many rows; the next run has what came since, and nothing twice."""
    stream = Stream(spark, tmp_path)
    lines: list[str] = []
    listener = progress_listener(lines.append)
    spark.streams.addListener(listener)
    batches = stream.run(shown.endpoint, startingOffsets="earliest", maxOffsetsPerTrigger=400)
    assert [one.numInputRows for one in batches] == [400, 400, 200]
    shown.spool.append_many([b"x"] * 10)
    batches = stream.run(shown.endpoint, startingOffsets="earliest", maxOffsetsPerTrigger=400)
    assert [one.numInputRows for one in batches] == [10]
    uuid = shown.spool.info().uuid
    assert stream.offsets() == [(uuid, seq) for seq in range(1, COUNT + 11)]
    told = "behind by 600: " + uuid[:8]  # the listener is called when Spark comes to it
    wait_until(lambda: any(told in line for line in lines))
    spark.streams.removeListener(listener)


@since(*LIMITS, "all endpoints have to answer as a query begins")
def test_a_producer_that_comes_while_a_query_runs_is_read_from_its_beginning(
    spark: Any, shown: Shown, tmp_path: Path
) -> None:
    """Its endpoint was there, and nobody answered at it."""
    later = of_its_own(f"ipc://{tmp_path}/later")
    query = (
        reading(
            spark.readStream,
            f"{shown.endpoint},{later}",
            startingOffsets="earliest",
            offsetTimeout="500ms",
        )
        .load()
        .writeStream.format("memory")
        .queryName("later")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        _until(query, COUNT)
        two = Shown(tmp_path / "later.spool", 50, bind=later)
        try:
            shown.spool.append_many([b"x"] * 5)
            _until(query, COUNT + 55)
        finally:
            two.close()
    finally:
        query.stop()
    rows = spark.sql("SELECT producer, offset FROM later").collect()
    expected = [(shown.spool, COUNT + 5), (two.spool, 50)]
    assert sorted((row.producer, row.offset) for row in rows) == sorted(
        (spool.info().uuid if spool is shown.spool else uuid, seq)
        for spool, count in expected
        for uuid in [
            {row.producer for row in rows if row.producer != shown.spool.info().uuid}.pop()
        ]
        for seq in range(1, count + 1)
    )


def _until(query: Any, count: int) -> None:
    """Wait until a query that writes to memory has so many rows."""
    for _ in range(int(WAIT_S * 10)):
        query.processAllAvailable()
        if sum(one.numInputRows for one in query.recentProgress) >= count:
            return
        query.awaitTermination(0.1)
    raise AssertionError(f"it has not {count} rows: {query.lastProgress}, {query.exception()}")


def test_a_loss_ends_the_query_and_says_what_is_lost(spark: Any, tmp_path: Path) -> None:
    """Unless it is to go on behind it."""
    with (
        mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        spool.append_many([b"x" * 1000] * 500)
        stream = Stream(spark, tmp_path)
        stream.run(server.endpoint, startingOffsets="earliest")
        spool.append_many([b"x" * 1000] * 500)
        spool.trim(900)
        first, uuid = spool.info().first_seq, spool.info().uuid
        assert 501 < first
        with pytest.raises(Exception, match=f"messages 501 to {first - 1} .*{uuid}"):
            stream.run(server.endpoint)
        stream.run(server.endpoint, failOnDataLoss="false")
        read = [*range(1, 501), *range(first, 1001)]
        assert stream.offsets() == [(uuid, seq) for seq in read]


@since(*LIMITS, "a batch does not say where it begins")
def test_a_producer_that_is_taken_out_of_the_list_is_told_once(spark: Any, tmp_path: Path) -> None:
    """One run goes on without it; later ones need not be told, and read it on if it is back."""
    one, two = Shown(tmp_path / "one", 10), Shown(tmp_path / "two", 10)
    both = f"{one.endpoint},{two.endpoint}"
    stream = Stream(spark, tmp_path)
    try:
        stream.run(both, startingOffsets="earliest")
        with pytest.raises(Exception, match="or its endpoint taken out of the list"):
            stream.run(one.endpoint)
        stream.run(one.endpoint, failOnDataLoss="false")
        for spool in (one.spool, two.spool):
            spool.append(b"11")
        stream.run(one.endpoint)
        stream.run(both)
        ends = [(one.spool.info().uuid, 11), (two.spool.info().uuid, 11)]
    finally:
        one.close()
        two.close()
    assert stream.offsets() == sorted((uuid, seq) for uuid, n in ends for seq in range(1, n + 1))


@since(*LIMITS, "a stream has no limits of a batch")
def test_commits_trim_behind_the_query(spark: Any, tmp_path: Path) -> None:
    """What is left is what the last batches had: those are committed last, or by the next run."""
    with (
        mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own(), trim=True) as server,
    ):
        spool.append_many([b"x" * 1000] * 1000)
        stream = Stream(spark, tmp_path)
        group = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 250, "groupId": "g"}
        stream.run(server.endpoint, **group)
        first = spool.info().first_seq
        assert 1 < first <= 501  # of four batches, the last two are not committed, and one is kept
        stream.run(server.endpoint, **group)
        assert len(stream.offsets()) == 1000


@since(*LIMITS, "a run does not know what the one before has done")
def test_runs_of_one_batch_trim_what_earlier_runs_have_done(spark: Any, tmp_path: Path) -> None:
    """Of each run the last batch is never committed; the next but one trims it as it begins."""
    with (
        mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own(), trim=True) as server,
    ):
        stream, firsts = Stream(spark, tmp_path), []
        clock = server._answers._clock
        for run in range(4):
            spool.append_many([b"x" * 1000] * 200)
            # the lease of the run before is over, as of one that began a minute ago
            server._answers._clock = lambda run=run: clock() + 60.0 * run
            batches = stream.run(server.endpoint, startingOffsets="earliest", groupId="g")
            assert [one.numInputRows for one in batches] == [200]
            firsts.append(spool.info().first_seq)
        assert firsts[:2] == [1, 1]
        assert 1 < firsts[2] <= 201 < firsts[3] <= 401
        assert stream.offsets() == [(spool.info().uuid, seq) for seq in range(1, 801)]
