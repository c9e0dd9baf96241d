"""delivery="at_most_once" of the Spark source, called as Spark calls it; Spark is not started.

Not here: that it loses what a killed worker had (tests/spark/test_kill.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.sparked import struct

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
from meshmsg.spark._source import schema_of, stream_reader_of  # noqa: E402
from meshmsg.spark._source.live import close_pulls, pull_of  # noqa: E402


@pytest.fixture(autouse=True)
def sockets() -> Iterator[None]:
    """Those of this process are closed."""
    yield
    close_pulls()


def reader_of(endpoint: str, **given: str) -> Any:
    """Return a reader."""
    options = {"endpoints": endpoint, "delivery": "at_most_once", "liveWindow": "200ms", **given}
    return stream_reader_of(options, struct(schema_of(options)))


def test_what_comes_within_the_window_is_given_in_the_columns_of_the_source() -> None:
    """What only a spool has is null."""
    with mm.Push(bind=of_its_own()) as push:
        reader = reader_of(push.endpoint, includeHeaders="true", topic="t", liveWindow="1s")
        pull_of(reader._options)
        push.wait_for_peers(1)
        push.send(b"a", key="k", headers={"x": "y"}, timestamp=1.5)
        push.send(b"b")
        push.drain(timeout=WAIT_S)
        (task,) = reader.partitions({"live": 0}, {"live": 1})
        first, second = pa.Table.from_batches(list(reader.read(task))).to_pylist()
    assert (first["value"], first["key"], first["topic"]) == (b"a", b"k", "t")
    assert first["headers"] == [{"key": "x", "value": b"y"}]
    assert first["timestamp"].microsecond == 500_000
    assert [first[name] for name in ("producer", "epoch", "offset")] == [None] * 3
    assert (second["value"], second["key"], second["timestamp"]) == (b"b", None, None)


def test_a_window_without_a_message_gives_nothing() -> None:
    """And ends."""
    with mm.Push(bind=of_its_own()) as push:
        reader = reader_of(push.endpoint)
        (task,) = reader.partitions({"live": 0}, {"live": 1})
        assert list(reader.read(task)) == []


def test_there_is_always_a_batch_and_its_tasks_are_as_many_as_is_said() -> None:
    """Its number goes on behind a restart; without a batch there is no task."""
    reader = reader_of("tcp://127.0.0.1:9", minPartitions="3")
    assert reader.initialOffset() == {"live": 0}
    assert [reader.latestOffset() for _ in range(2)] == [{"live": 1}, {"live": 2}]
    assert len(reader.partitions({"live": 6}, {"live": 2})) == 3
    assert reader.latestOffset() == {"live": 7}
    assert reader.partitions({"live": 7}, {"live": 7}) == []
