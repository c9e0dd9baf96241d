"""Tasks of the Spark source, called as Spark calls them: columns, losses, connections. Spools are
real, Spark is not started.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import of_its_own
from tests.support.sparked import A, filled, options, struct

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")
from pyspark.sql.datasource import InputPartition  # noqa: E402
from pyspark.sql.pandas.types import to_arrow_schema  # noqa: E402
from pyspark.sql.types import StructType  # noqa: E402

from meshmsg.spark._source import reader_of, schema_of, stream_reader_of  # noqa: E402
from meshmsg.spark._source.batches import record_batch  # noqa: E402
from meshmsg.spark._source.opening import remote_of  # noqa: E402
from meshmsg.spark._source.reading import CONNECTIONS, RangePartition, read_range  # noqa: E402


@pytest.fixture(autouse=True)
def connections() -> Iterator[None]:
    """Those of this process are closed."""
    yield
    CONNECTIONS.close()


def piece_of(spool: mm.Spool, server: mm.SpoolServer, first: int, end: int) -> RangePartition:
    """Return a task as the driver makes it, as an executor gets it."""
    info = spool.info()
    made = RangePartition(info.uuid, info.epoch, first, end, (server.endpoint,))
    found: RangePartition = pickle.loads(pickle.dumps(made))
    return found


def rows_of(piece: InputPartition, **given: object) -> list[dict[str, Any]]:
    """Return what a task gives."""
    read = read_range(piece, options(**given))
    return [row for batch in read for row in batch.to_pylist()]


MIXES: list[dict[str, str]] = [
    {},
    {"includeHeaders": "true"},
    {"includeMeta": "true"},
    {"includeHeaders": "true", "includeMeta": "true"},
    {"columns": "value"},
    {"columns": "offset,value,producer"},
    {"columns": "timestamp,headers,key,epoch,topic,endpoint"},
]


@pytest.mark.parametrize("mix", MIXES, ids=lambda mix: "-".join(mix.values()) or "default")
def test_batches_have_exactly_the_schema_that_spark_makes(
    mix: dict[str, str], tmp_path: Path
) -> None:
    """Order, types and nulls: Spark compares the first batch, and takes no other."""
    schema = struct(schema_of({"endpoints": "x", **mix}))
    with filled(tmp_path / "s", 5) as spool:
        spool.append(b"6", key="k", headers={"a": "b"})
        with mm.SpoolServer(spool, bind=of_its_own()) as server:
            reader = reader_of({"endpoints": server.endpoint, **mix}, schema)
            (task,) = reader.partitions()
            batches = list(pickle.loads(pickle.dumps(reader)).read(task))
            made = pa.Table.from_batches(batches)
    expected = to_arrow_schema(schema, timezone="UTC")
    for batch in batches:
        assert batch.schema.equals(expected), f"{batch.schema} is not {expected}"
    assert made.num_rows == 6
    assert all(field.nullable for field in batches[0].schema)


def test_a_row_has_what_the_message_has(tmp_path: Path) -> None:
    """Each column; a key that is not there is null, headers that are not there are none."""
    with mm.Spool(str(tmp_path / "s")) as spool:
        spool.append(b"body", key=b"\xff", headers={"a": "b", "c": b"\0"})
        spool.append(b"")
        with mm.SpoolServer(spool, bind=of_its_own()) as server:
            piece = piece_of(spool, server, 1, 3)
            first, second = rows_of(piece, includeHeaders=True, includeMeta=True, topic="t")
            info = spool.info()
    assert (first["key"], first["value"], first["topic"]) == (b"\xff", b"body", "t")
    assert (first["producer"], first["epoch"], first["offset"]) == (info.uuid, info.epoch, 1)
    assert first["headers"] == [{"key": "a", "value": b"b"}, {"key": "c", "value": b"\0"}]
    assert first["endpoint"] == server.endpoint
    assert first["timestamp"].year >= 2020
    assert (second["key"], second["value"], second["headers"]) == (None, b"", [])


def test_the_columns_of_a_task_are_the_memory_of_the_batch(tmp_path: Path) -> None:
    """What was read is not copied again on its way to Spark."""
    with (
        filled(tmp_path / "s", 1000) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
        mm.RemoteSpool(server.endpoint) as remote,
    ):
        (batch,) = remote.read(1, 1001)
    constants = dict.fromkeys(("producer", "topic", "endpoint"))
    made = record_batch(batch, options(includeHeaders="true"), constants)
    own = pa.record_batch(batch)

    def addresses(column: Any) -> list[int]:
        return [one.address for one in column.buffers() if one is not None]

    pairs = {"value": "data", "offset": "seq", "epoch": "epoch", "timestamp": "time"}
    for name, of_spool in (pairs | {"key": "key", "headers": "headers"}).items():
        assert addresses(made.column(name)) == addresses(own.column(of_spool)) != [], name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["orders", "orders.eu", "\ufffd", None]),
        ({"topic": "mine"}, ["mine"] * 4),
        ({"subscribe": "orders, nobody"}, ["orders"]),
        ({"subscribePattern": r"orders(\.\w+)?"}, ["orders", "orders.eu"]),
        ({"subscribePattern": "order"}, []),
    ],
)
def test_topics_are_those_of_the_publisher(
    given: dict[str, str], expected: list[str | None], tmp_path: Path
) -> None:
    """The body is not behind its topic; who subscribes has those topics, and no message without."""
    with (
        mm.Spool(str(tmp_path / "s")) as spool,
        mm.Pub(spool=spool, bind=of_its_own()) as pub,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        for topic in (b"orders", b"orders.eu", b"\xff"):
            pub.send(b"body", topic=topic)
        spool.append(b"body")
        rows = rows_of(piece_of(spool, server, 1, 5), **given)
    assert [row["topic"] for row in rows] == expected
    assert {row["value"] for row in rows} <= {b"body"}


def test_a_schema_of_the_user_chooses_columns() -> None:
    """As `columns` does; what is not there, or of another type, is refused before anything runs."""
    given = {"endpoints": "tcp://127.0.0.1:1"}
    reader = stream_reader_of(given, struct("value binary, offset bigint"))
    assert reader._options.columns == ("value", "offset")
    for ddl, why in [
        ("value string", "as string; it is binary: cast it later"),
        ("body binary", "has a column 'body'"),
        ("value binary not null", "all columns may be null"),
    ]:
        with pytest.raises(mm.UsageError, match=why):
            reader_of(given, struct(ddl))
    with pytest.raises(mm.UsageError, match="no column"):
        reader_of(given, StructType([]))


def test_ranges_of_a_spool_are_read_as_they_are_cut(tmp_path: Path) -> None:
    """Each number once, again and again: nothing of a reader is remembered."""
    with (
        filled(tmp_path / "s", 1000, segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        for first, end in [(1, 1001), (500, 501), (999, 1001), (1, 2)]:
            for _ in range(2):
                rows = rows_of(piece_of(spool, server, first, end), batchBytes=4096)
                assert [int(row["value"]) for row in rows] == list(range(first, end))
                assert [row["offset"] for row in rows] == list(range(first, end))
        assert len(server.peers()) == 1  # one connection for all tasks of a process


def test_two_attempts_at_once_read_the_same(tmp_path: Path) -> None:
    """A speculative copy, or an attempt that Spark has given up and that goes on: neither takes
    from the other, in one process or in two."""
    with (
        filled(tmp_path / "s", 1000, segment_bytes=65_536) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        given = options(batchBytes=4096)
        piece = piece_of(spool, server, 1, 1001)
        first, second = read_range(piece, given), read_range(piece, given)
        with remote_of(piece.endpoints, given, 30.0) as other:  # as an executor elsewhere has it
            third = other.read(1, 1001, max_bytes=4096)
            found = [(*rows, len(three)) for *rows, three in zip(first, second, third, strict=True)]
        assert all(one.equals(two) and one.num_rows == three for one, two, three in found)
        offsets = [offset for one, _, _ in found for offset in one.column("offset").to_pylist()]
        assert offsets == list(range(1, 1001))


def test_a_task_without_a_range_reads_nothing() -> None:
    """Spark makes one where a reader has no tasks."""
    assert rows_of(InputPartition(None)) == []


def trimmed(folder: Path) -> tuple[mm.Spool, int]:
    """Return a spool of 1,000 messages that lost the first of them."""
    spool = mm.Spool(str(folder / "s"), segment_bytes=65_536)
    spool.append_many([b"x" * 1000] * 1000)
    spool.trim(500)
    return spool, spool.info().first_seq


def test_what_was_trimmed_is_an_error_with_its_numbers(tmp_path: Path) -> None:
    """Or is left out, if the user says so."""
    spool, first = trimmed(tmp_path)
    assert 1 < first < 500
    with spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        piece = piece_of(spool, server, 1, 1001)
        with pytest.raises(mm.SpoolTrimmedError, match="failOnDataLoss=false goes on") as raised:
            rows_of(piece)
        assert (raised.value.seq, raised.value.first) == (1, first)
        rows = rows_of(piece, failOnDataLoss="false")
        assert [row["offset"] for row in rows] == list(range(first, 1001))
        assert rows_of(piece_of(spool, server, 1, first), failOnDataLoss="false") == []


def harmed(folder: Path) -> None:
    """Change octets in the middle of a spool of 1,000 messages, on the disk."""
    with mm.Spool(str(folder), segment_bytes=65_536) as spool:
        for _ in range(10):
            spool.append_many([b"x" * 1000] * 100)
    path = sorted(folder.glob("*.seg"))[2]
    octets = bytearray(path.read_bytes())
    octets[len(octets) // 2] ^= 0xFF
    path.write_bytes(octets)


def test_what_is_harmed_is_an_error_or_left_out(tmp_path: Path) -> None:
    """All else is there."""
    harmed(tmp_path / "s")
    with (
        mm.Spool(str(tmp_path / "s")) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        piece = piece_of(spool, server, 1, 1001)
        with pytest.raises(mm.SpoolCorruptError) as raised:
            rows_of(piece)
        found = [row["offset"] for row in rows_of(piece, failOnDataLoss="false")]
        gone = set(range(raised.value.first, raised.value.last + 1))
        assert gone
        assert found == [seq for seq in range(1, 1001) if seq not in gone]


class Count:
    """Stands in for an accumulator."""

    def __init__(self) -> None:
        self.value = 0

    def add(self, term: int) -> None:
        """Add to it."""
        self.value += term


def counts_of(piece: RangePartition, **given: str) -> dict[str, int]:
    """Return what a task that reads a range counts."""
    counts = {name: Count() for name in ("rows", "bytes", "retries", "skipped")}
    for _ in read_range(piece, options(columns="value", **given), counts):
        assert all(count.value == 0 for count in counts.values())  # it may fail yet
    return {name: count.value for name, count in counts.items()}


def test_what_a_task_reads_and_leaves_out_is_counted_as_it_ends_well(tmp_path: Path) -> None:
    """Trimmed and harmed alike; of what fails nothing is."""
    spool, first = trimmed(tmp_path)
    with spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        found = counts_of(piece_of(spool, server, 1, 1001), failOnDataLoss="false")
        assert found.pop("bytes") >= 1000 * (1001 - first)
        assert found == {"rows": 1001 - first, "retries": 0, "skipped": first - 1}
        found = counts_of(piece_of(spool, server, 1, first), failOnDataLoss="false")
        assert (found["rows"], found["skipped"]) == (0, first - 1)
    harmed(tmp_path / "t")
    with (
        mm.Spool(str(tmp_path / "t")) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        piece = piece_of(spool, server, 1, 1001)
        found = counts_of(piece, failOnDataLoss="false")
        assert found["skipped"] > 0
        assert found["rows"] + found["skipped"] == 1000
        with pytest.raises(mm.SpoolCorruptError):
            counts_of(piece)


def test_numbers_that_compaction_took_are_an_error_unless_it_is_expected(tmp_path: Path) -> None:
    """A count that is not that of the range is no batch."""
    with mm.Spool(str(tmp_path / "s"), segment_bytes=65_536) as spool:
        for at in range(300):
            spool.append(b"x" * 1000, key=f"{at % 7}", wait=False)
        spool.flush()
        assert spool.compact().messages > 0
        with mm.SpoolServer(spool, bind=of_its_own()) as server:
            piece = piece_of(spool, server, 1, 301)
            with pytest.raises(mm.SpoolError, match="say compacted=true"):
                rows_of(piece)
            rows = rows_of(piece, compacted="true")
    assert 0 < len(rows) < 300
    assert rows[-1]["offset"] == 300


def test_another_version_of_meshmsg_in_an_executor_is_said(tmp_path: Path) -> None:
    """Before anything is read by another rule."""
    piece = RangePartition(A, 1, 1, 2, ("tcp://127.0.0.1:1",))
    piece.version = "9.9"
    with pytest.raises(
        mm.UsageError, match=f"has meshmsg 9.9, and this executor has {mm.__version__}"
    ):
        rows_of(piece)


def test_another_spool_behind_the_endpoint_is_not_read(tmp_path: Path) -> None:
    """Its numbers mean nothing here; and the connection is not kept."""
    with filled(tmp_path / "s", 5) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        with pytest.raises(mm.SpoolChangedError):
            rows_of(RangePartition(A, 1, 1, 2, (server.endpoint,)))
        assert not CONNECTIONS._open
        assert len(rows_of(piece_of(spool, server, 1, 6))) == 5


@pytest.mark.parametrize("word", ["right", "wrong"])
def test_a_file_where_it_runs_protects_the_driver_and_the_tasks(tmp_path: Path, word: str) -> None:
    """By its path: what stands in it is in no option. A wrong word reads nothing."""
    (tmp_path / "word").write_text(word)
    (tmp_path / "word").chmod(0o600)
    (tmp_path / "ini").write_text("[connect]\nmechanism = plain\nuser = a\npassword = word\n")
    with (
        filled(tmp_path / "s", 5) as spool,
        mm.SpoolServer(spool, bind=of_its_own(), security=mm.Plain(allow={"a": "right"})) as server,
    ):
        given = {"endpoints": server.endpoint, "security": str(tmp_path / "ini")}
        given |= {"offsetTimeout": "300ms" if word == "wrong" else "60s"}
        reader = reader_of(given, struct(schema_of(given)))
        if word == "wrong":
            with pytest.raises(mm.TimedOutError):
                reader.partitions()
            return
        (task,) = reader.partitions()
        assert sum(batch.num_rows for batch in reader.read(task)) == 5
        assert "MESHMSG_SECURITY" not in os.environ


def test_a_spool_that_nobody_shows_is_an_error_in_time() -> None:
    """Spark tries the task again."""
    with pytest.raises(mm.TimedOutError):
        rows_of(RangePartition(A, 1, 1, 2, ("tcp://127.0.0.1:9",)), fetchTimeout="100ms")


@pytest.mark.parametrize("times", [0, 2])
def test_a_task_asks_anew_so_many_times_before_it_fails(
    times: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Each time is said, with what went wrong."""
    piece = RangePartition(A, 1, 1, 2, ("tcp://127.0.0.1:9",))
    with pytest.raises(mm.TimedOutError):
        rows_of(piece, fetchTimeout="20ms", fetchRetries=times, fetchRetryInterval="1ms")
    said = [one.message for one in caplog.records if one.message.startswith("asked anew")]
    assert [line.split(":")[0] for line in said] == [
        f"asked anew, and {left} times more" for left in reversed(range(times))
    ]
    assert not CONNECTIONS._open


def test_a_task_that_asks_anew_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another connection: by then the server is there again, and nothing comes twice."""
    where, opened, servers = of_its_own(f"ipc://{tmp_path}/server"), CONNECTIONS.of, []
    with filled(tmp_path / "s", 1000, segment_bytes=65_536) as spool:

        def of(*words: Any) -> mm.RemoteSpool:
            """Open one; the third time somebody is there."""
            count[0] += 1
            if count[0] == 3:
                servers.append(mm.SpoolServer(spool, bind=where))
            return opened(*words)

        count = [0]
        monkeypatch.setattr(CONNECTIONS, "of", of)
        info = spool.info()
        piece = RangePartition(info.uuid, info.epoch, 1, 1001, (where,))
        given = {"fetchTimeout": "100ms", "fetchRetries": 1000, "fetchRetryInterval": "1ms"}
        rows = rows_of(piece, batchBytes=4096, **given)
        for server in servers:
            server.close()
    assert [row["offset"] for row in rows] == list(range(1, 1001))
    assert count[0] >= 3


def test_the_child_of_a_fork_has_a_connection_of_its_own(tmp_path: Path) -> None:
    """Workers of Spark are forked; one that inherits a connection opens another."""
    with filled(tmp_path / "s", 5) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        piece = piece_of(spool, server, 1, 6)
        assert len(rows_of(piece)) == 5
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if len(rows_of(piece, fetchTimeout="30s")) == 5 else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(rows_of(piece)) == 5
