"""Which reader each version of Spark gets, and what it is told of limits; Spark is not started."""

from __future__ import annotations

import inspect
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import of_its_own
from tests.support.sparked import filled, nexts, struct

pytest.importorskip("pyspark")
from pyspark.sql.datasource import DataSource

import pyspark_meshmsg
from meshmsg.spark._source import schema_of, stream_reader_of

LIMITED = "meshmsg.spark._source.limited_reader"
URL = "tcp://127.0.0.1:9"


def reader_of(**given: object) -> Any:
    """Return a stream reader."""
    options = {"endpoints": URL, **{name: str(value) for name, value in given.items()}}
    return stream_reader_of(options, struct(schema_of(options)))


@pytest.fixture
def old_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Spark had no limits of a batch: 4.0 and 4.1."""
    monkeypatch.delitem(sys.modules, LIMITED, raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.datasource", None)


@pytest.mark.usefixtures("old_spark")
def test_spark_before_limits_gets_a_reader_without_them() -> None:
    """`latestOffset` without an argument is how Spark sees it; a limit would not be kept."""
    reader = reader_of()
    assert type(reader).__name__ == "PlainStreamReader"
    assert not inspect.signature(reader.latestOffset).parameters
    assert not hasattr(type(reader), "prepareForTriggerAvailableNow")
    for name in ("maxOffsetsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger"):
        with pytest.raises(mm.UsageError, match="need Spark 4.2"):
            reader_of(**{name: 5})


@pytest.mark.usefixtures("old_spark")
def test_spark_before_limits_reads_all_that_is_there(tmp_path: Path) -> None:
    """Called as Spark 4.0 calls it, in its order."""
    with filled(tmp_path / "s", 20) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        reader = reader_of(endpoints=server.endpoint, startingOffsets="earliest")
        start = reader.initialOffset()
        end = reader.latestOffset()
        assert (list(nexts(start).values()), list(nexts(end).values())) == ([1], [21])
        tasks = reader.partitions(start, end)
        assert [(task.first, task.end) for task in tasks] == [(1, 21)]
        spool.append(b"x")
        reader.commit(start)
        assert list(nexts(reader.latestOffset()).values()) == [22]
        reader.stop()


pytest.importorskip("pyspark.sql.streaming.datasource", reason="Spark before 4.2")


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, "ReadAllAvailable()"),
        ({"maxOffsetsPerTrigger": 5}, "ReadMaxRows(max_rows=5)"),
        ({"maxBytesPerTrigger": "1k"}, "ReadMaxBytes(max_bytes=1024)"),
        ({"minOffsetsPerTrigger": 3}, "ReadMinRows(min_rows=3)"),
        ({"minOffsetsPerTrigger": 3, "maxBytesPerTrigger": 9}, "ReadMaxBytes(max_bytes=9)"),
        ({"maxOffsetsPerTrigger": 5, "maxBytesPerTrigger": 9}, "ReadMaxRows(max_rows=5)"),
    ],
)
def test_spark_is_told_the_limit_that_it_hands_back(given: dict[str, object], limit: str) -> None:
    """Others of them are kept by the source."""
    assert repr(reader_of(**given).getDefaultReadLimit()) == limit


def test_all_limits_hold_in_a_batch_and_none_where_spark_wants_all(tmp_path: Path) -> None:
    """`ReadAllAvailable` is above the options."""
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

    with filled(tmp_path / "s", 100) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        reader = reader_of(
            endpoints=server.endpoint,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=50,
            minOffsetsPerTrigger=10,
        )
        start = reader.initialOffset()
        (end,) = nexts(reader.latestOffset(start, ReadMaxRows(50))).values()
        assert end == 51
        (end,) = nexts(reader.latestOffset(start, ReadAllAvailable())).values()
        assert end == 101
        (most,) = nexts(reader.reportLatestOffset()).values()
        assert most == 101
        later = reader.latestOffset(start, ReadAllAvailable())
        spool.append(b"x")
        assert reader.latestOffset(later, ReadMaxRows(50)) == later  # fewer than 10
        reader.prepareForTriggerAvailableNow()
        spool.append(b"y")
        (end,) = nexts(reader.latestOffset(later, ReadMaxRows(50))).values()
        assert end == 102
        reader.stop()


def test_a_reader_opens_nothing_before_it_plans() -> None:
    """Spark pickles it, and makes one where none of its ranges are read."""
    reader = reader_of()
    assert pickle.loads(pickle.dumps(reader))._made is None
    reader.stop()


def test_what_spark_finds_by_itself_is_a_source_of_that_name() -> None:
    """Its parameters are called as Spark calls them; what writes is not claimed."""
    kind = pyspark_meshmsg.DefaultSource
    assert issubclass(kind, DataSource)
    assert kind.name() == "meshmsg"
    for method in (kind.reader, kind.streamReader):
        assert list(inspect.signature(method).parameters) == ["self", "schema"]
    assert "simpleStreamReader" not in vars(kind)


def test_looking_for_any_source_does_not_import_meshmsg() -> None:
    """Spark imports the package for each query with a source of Python, also one of others."""
    import subprocess

    code = "import sys, pyspark_meshmsg; assert 'meshmsg' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("environment", "lines"),
    [
        ({"PYTHON_WORKER_FACTORY_PORT": "35091"}, 1),
        ({"PYTHON_WORKER_FACTORY_SOCK_PATH": "/tmp/x", "PYTHON_UNIX_DOMAIN_ENABLED": "True"}, 0),
        ({}, 0),
    ],
)
def test_a_stream_says_what_its_tasks_wait_for(
    environment: dict[str, str],
    lines: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once for a query, where Spark connected its runner by TCP, as Spark 4.3 tells it."""
    for name in ("PYTHON_WORKER_FACTORY_PORT", *environment):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with filled(tmp_path / "s", 2) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        reader = reader_of(endpoints=server.endpoint)
        reader.initialOffset()
        reader.initialOffset()
        reader.stop()
    said = [one.message for one in caplog.records if "waits some 40 ms" in one.message]
    assert len(said) == lines
