"""The columns `timestamp` and `expires` of a table of a spool, and of what is written from it.

Not here: its other columns (test_spool_arrow.py), what Spark makes of a table
(test_spark_reading.py).
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.codes import Code
from tests.support.pairs import WAIT_S
from tests.support.spooled import SEGMENT, small
from tests.unit.test_cli_spool import run

pa = pytest.importorskip("pyarrow")
COLUMNS = ["seq", "time", "epoch", "topic", "key", "headers", "data", "timestamp", "expires"]
UTC = datetime.timezone.utc
Told = pytest.CaptureFixture[str]


def at(seconds: float) -> datetime.datetime:
    """Return a time."""
    return datetime.datetime.fromtimestamp(seconds, UTC)


def put(spool: Any) -> None:
    """Put a message of each kind."""
    spool.append(b"nothing goes with it")
    spool.append(b"made", timestamp=1_000_000_000.25)
    spool.append(b"both", timestamp=1_000_000_001.0, expires=2_000_000_000.5, key="k")
    spool.append(b"headers", headers={"a": "b"}, timestamp=1_000_000_002.000001)


WANTED = [
    (None, None),
    (at(1_000_000_000.25), None),
    (at(1_000_000_001), at(2_000_000_000.5)),
    (at(1_000_000_002.000001), None),
]


def times(table: Any) -> list[tuple[Any, Any]]:
    """Return both columns, row by row."""
    rows = table.select(["timestamp", "expires"]).to_pylist()
    return [(row["timestamp"], row["expires"]) for row in rows]


def test_they_have_the_type_of_a_time_in_utc(tmp_path: Path) -> None:
    """At the end of the others, which stay where they are; also of a batch of no message."""
    with small(tmp_path / "s") as spool:
        for batch in (spool.read(1), put(spool) or spool.read(1)):
            table = pa.record_batch(batch)
            assert table.schema.names == COLUMNS
            for name in ("time", "timestamp", "expires"):
                assert table.schema.field(name).type == pa.timestamp("us", tz="UTC")
                assert table.schema.field(name).nullable
            table.validate(full=True)


def test_they_are_what_was_said(tmp_path: Path) -> None:
    """Null where nothing was; the same as of its messages, and in any part of a table."""
    with small(tmp_path / "s") as spool:
        put(spool)
        batch = spool.read(1)
        table = pa.record_batch(batch)
        assert times(table) == WANTED
        assert (table.column("timestamp").null_count, table.column("expires").null_count) == (1, 3)
        for first in range(1, 5):
            part = pa.record_batch(spool.read(first, max_messages=2))
            assert times(part) == WANTED[first - 1 : first + 1]
        for one, (made, expires) in zip(batch.messages, WANTED, strict=True):
            assert one.timestamp == (made and made.timestamp())
            assert one.expires == (expires and expires.timestamp())


@pytest.mark.parametrize("count", [7, 8, 9, 255, 256, 257, 1000])
def test_a_bit_of_each_row_says_whether_there_is_one(tmp_path: Path, count: int) -> None:
    """Around the borders of octets, and of what there is room for at first."""
    with small(tmp_path / "s") as spool:
        for row in range(count):
            options = {"timestamp": 1.0 + row} if row % 3 else {}
            spool.append(b"x", wait=False, **options)
        spool.flush()
        table = pa.record_batch(spool.read(1))
        table.validate(full=True)
        assert table.column("timestamp").to_pylist() == [
            at(1.0 + row) if row % 3 else None for row in range(count)
        ]
        assert table.column("expires").null_count == count
        assert table.column("timestamp").null_count == (count + 2) // 3


def test_a_time_near_the_end_of_time(tmp_path: Path) -> None:
    """272 years after 1970 is the limit."""
    late = 2.0**33 - 2**20
    with small(tmp_path / "s") as spool:
        spool.append(b"x", timestamp=late, expires=late)
        [(made, expires)] = times(pa.record_batch(spool.read(1)))
        assert made == expires == at(late)


def test_a_range_over_the_wire_has_them(tmp_path: Path) -> None:
    """It is the same table."""
    with (
        mm.Spool(tmp_path / "s", segment_bytes=SEGMENT) as spool,
        mm.SpoolServer(spool, bind="tcp://127.0.0.1:0") as server,
        mm.RemoteSpool(server.endpoint, timeout=WAIT_S) as remote,
    ):
        put(spool)
        assert [row for batch in remote.read(1, 5) for row in times(pa.record_batch(batch))] == (
            WANTED
        )


@pytest.mark.leaves_threads
def test_a_parquet_file_has_them(tmp_path: Path, capsys: Told) -> None:
    """With their type, so that other programs know them as times."""
    parquet = pytest.importorskip("pyarrow.parquet")
    with small(tmp_path / "s") as spool:
        put(spool)
    to = tmp_path / "out.parquet"
    assert run(capsys, "export", tmp_path / "s", to)[0] == Code.OK
    table = parquet.read_table(to)
    assert table.schema.names == COLUMNS
    assert str(table.schema.field("expires").type) == "timestamp[us, tz=UTC]"
    assert times(table) == WANTED
