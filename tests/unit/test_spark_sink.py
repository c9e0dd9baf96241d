"""The sink without Spark: its options, its rows, and what a task sends.

Not here: tasks of real Spark (tests/spark/test_sink.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark._sink import folders
from meshmsg.spark._sink.checks import RECORD_HEAD
from meshmsg.spark._sink.options import SPOOL_BYTES_MIN, SinkOptions, sink_options
from meshmsg.spark._sink.rows import check_schema
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.sparked import struct

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
HEADERS = "array<struct<key:string,value:binary>>"
NAME = b"n" * 16
SEND_TIMEOUTS_S = (0.5, 5.0, 25.0)
"""Tried in turn: the first one is enough to connect in, but on a slow machine."""


def test_options_are_read_and_have_defaults() -> None:
    """In any case; what Spark adds of its own is passed over."""
    given = {
        "ENDPOINTS": "tcp://a:1, tcp://b:2",
        "sendtimeout": "5s",
        "spoolBytes": "64m",
        "spoolFolder": "/rows",
        "security": "/keys.toml",
        "rowOrder": "Given",
        "checkpointLocation": "/c",
    }
    assert sink_options(given, overwrite=False) == SinkOptions(
        ("tcp://a:1", "tcp://b:2"), 5.0, "/keys.toml", "/rows", 2**26, "given"
    )
    unsaid = sink_options({"path": "tcp://a:1"}, overwrite=False)
    assert (unsaid.send_timeout, unsaid.row_order) == (120.0, "content")


@pytest.mark.parametrize(
    ("given", "overwrite", "words"),
    [
        ({}, False, "option endpoints is missing"),
        ({"path": "tcp://a:1"}, True, 'mode("append")'),
        ({"endpoint": "tcp://a:1"}, False, "did you mean endpoints?"),
        ({"path": "tcp://a:1", "sendTimeout": "soon"}, False, "sendTimeout is 'soon'"),
        ({"path": "tcp://a:1", "spoolBytes": "1k"}, False, "spoolBytes is '1k'"),
        ({"path": "tcp://a:1", "rowOrder": "any"}, False, "it is content or given"),
        ({"path": "tcp://a:1", "writeId": " "}, False, "option writeId is empty"),
        (
            {"path": "tcp://a:1", "writeId": "w", "rowOrder": "given"},
            False,
            "option writeId needs rowOrder=content",
        ),
        ({"path": "tcp://a:1,tcp://a:1"}, False, "names something twice"),
    ],
)
def test_what_is_no_option_is_refused(given: dict[str, str], overwrite: bool, words: str) -> None:
    """By its name, what it has and what it may have."""
    with pytest.raises(mm.UsageError) as failed:
        sink_options(given, overwrite=overwrite)
    assert words in str(failed.value)


@pytest.mark.parametrize(
    ("ddl", "words"),
    [
        ("value bigint", "value as bigint; it is binary or string"),
        ("key binary", "no column value"),
        ("value binary, topic string", "column 'topic'"),
        ("value string, headers string", f"headers as string; it is {HEADERS}"),
    ],
)
def test_other_columns_are_refused(ddl: str, words: str) -> None:
    """With what they are, and what they may be."""
    with pytest.raises(mm.UsageError) as failed:
        check_schema(struct(ddl))
    assert words in str(failed.value)


def test_a_stream_has_no_name_of_the_user() -> None:
    """Each of its batches has one."""
    given = {"path": "tcp://a:1", "writeId": "w"}
    assert sink_options(given, overwrite=False).write_id == "w"
    with pytest.raises(mm.UsageError, match="writeId is for df.write"):
        sink_options(given, overwrite=False, stream=True)


def test_columns_come_in_any_order() -> None:
    """Keys and headers may be there or not."""
    assert check_schema(struct("value string")) == ("value",)
    assert check_schema(struct(f"headers {HEADERS}, key binary, value binary")) == (
        *("headers", "key", "value"),
    )


class Receiver:
    """A Pull that acknowledges what it takes, as it takes it."""

    def __init__(self) -> None:
        self.pull = mm.Pull(bind=of_its_own(), ack="manual")
        self.window = mm.MemoryDedupeWindow(limit=100_000)

    def options(self, folder: Path, **more: Any) -> SinkOptions:
        """Return options of a sink that sends here."""
        return SinkOptions((self.pull.endpoint,), spool_folder=str(folder), **more)

    def take(self, count: int) -> list[mm.Message]:
        """Take so many, and be done with them."""
        got = []
        for _ in range(count):
            message = self.pull.recv(timeout=WAIT_S)
            message.ack()
            got.append(message)
        return got


@pytest.fixture
def receiver() -> Any:
    """One that is closed in the end."""
    made = Receiver()
    yield made
    made.pull.close()


def sending(batches: list[Any], options: SinkOptions, name: bytes = NAME) -> Any:
    """Send in a thread of its own, as a task does beside its receivers."""
    from meshmsg.spark._sink.sending import send

    pool = ThreadPoolExecutor(1)
    done = pool.submit(send, iter(batches), options, name)
    pool.shutdown(wait=False)
    return done


def refused_of(batches: list[Any], endpoints: tuple[str, ...], folder: Path) -> str:
    """What is said of rows that are not acknowledged though somebody is connected."""
    words = ""
    for seconds in SEND_TIMEOUTS_S:
        options = SinkOptions(endpoints, send_timeout=seconds, spool_folder=str(folder))
        with pytest.raises(mm.MeshError) as failed:
            sending(batches, options).result(WAIT_S)
        words = str(failed.value)
        if "1 connected" in words:
            break
    return words


def test_rows_become_messages_in_their_order(receiver: Receiver, tmp_path: Path) -> None:
    """Values, keys and headers, of binary and of strings; it ends once all are acknowledged. They
    are sent as they are given, if that is said."""
    headers = [[{"key": "h", "value": b"v"}], None, []]
    batches = [
        pa.record_batch({"value": [b"1", b"2"]}),
        pa.record_batch({"value": ["3", "4"], "key": pa.array(["k", None])}),
        pa.record_batch({"value": ["5", "6", "7"], "key": ["a", "b", "c"], "headers": headers}),
        pa.record_batch({"value": pa.array([], pa.binary())}),
    ]
    done = sending(batches, receiver.options(tmp_path, row_order="given"))
    got = receiver.take(7)
    assert done.result(WAIT_S)[0] == 7
    assert [bytes(m) for m in got] == [b"%d" % n for n in range(1, 8)]
    assert [m.key for m in got] == [None, None, b"k", None, b"a", b"b", b"c"]
    assert [dict(m.headers) for m in got[4:]] == [{"h": b"v"}, {}, {}]
    assert [m.seq[1] for m in got if m.seq] == list(range(1, 8))


def test_rows_of_spark_before_arrow_have_the_types_of_the_columns(
    receiver: Receiver, tmp_path: Path
) -> None:
    """Text, octets as Spark has them, and whole batches without any key or header."""
    from pyspark.sql import Row

    from meshmsg.spark._sink.writers import ROWS_AT_ONCE, RowStreamWriter

    header = [Row(key="h", value=bytearray(b"v")), Row(key="n", value=None)]
    rows = [Row(value=str(n), key=None, headers=None) for n in range(ROWS_AT_ONCE)]
    rows += [
        Row(value=bytearray(b"a"), key=bytearray(b"k"), headers=header),
        Row(value=bytearray(b"b"), key="\u00e9", headers=[]),
    ]
    writer = RowStreamWriter(receiver.options(tmp_path), ("value", "key", "headers"))
    batches = list(writer._batches(iter(rows)))
    assert [batch.num_rows for batch in batches] == [ROWS_AT_ONCE, 2]
    assert batches[0].schema == batches[1].schema
    assert batches[0].schema.field("key").type == pa.binary()
    done = sending(batches, receiver.options(tmp_path, row_order="given"))
    got = receiver.take(len(rows))
    assert done.result(WAIT_S)[0] == len(rows)
    assert [bytes(m) for m in got] == [b"%d" % n for n in range(ROWS_AT_ONCE)] + [b"a", b"b"]
    assert {m.key for m in got[:ROWS_AT_ONCE]} == {None}
    assert [m.key for m in got[ROWS_AT_ONCE:]] == [b"k", "\u00e9".encode()]
    assert [dict(m.headers) for m in got[ROWS_AT_ONCE:]] == [{"h": b"v", "n": b""}, {}]


def test_spark_before_its_arrow_writer_gets_the_one_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And with that writer the other one: told by what can be imported."""
    from pyspark.sql import datasource

    from meshmsg.spark._sink import stream_writer_of

    given = {"endpoints": "tcp://a:1"}
    made = stream_writer_of(given, struct("value string"), overwrite=True)
    assert type(made).__name__ == "StreamWriter"
    monkeypatch.delitem(sys.modules, "meshmsg.spark._sink.arrow_stream_writer")
    monkeypatch.delattr(datasource, "DataSourceStreamArrowWriter")
    made = stream_writer_of(given, struct("value string"), overwrite=True)
    assert type(made).__name__ == "RowStreamWriter"


def test_the_name_of_rows_has_their_order_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a version that has another one sends under another name. What is given has none."""
    from types import SimpleNamespace

    from meshmsg.spark._sink import writers

    names: list[bytes] = []

    def send(_batches: Any, _options: Any, name: bytes) -> tuple[int, int]:
        names.append(name)
        return 0, 0

    monkeypatch.setattr(writers, "of_task", lambda: SimpleNamespace(partitionId=lambda: 3))
    monkeypatch.setattr(writers, "send", send)
    for order in (writers.ORDER, writers.ORDER, "another"):
        monkeypatch.setattr(writers, "ORDER", order)
        for given in ("content", "given"):
            writers.sent([], SinkOptions(("tcp://a:1",), row_order=given), "job")
    content, as_given = names[::2], names[1::2]
    assert content[0] == content[1] != content[2]
    assert len({*as_given}) == 1
    assert as_given[0] not in content


def test_who_sends_again_uses_the_same_names(receiver: Receiver, tmp_path: Path) -> None:
    """A window takes rows of a partition once; those of another have other names."""
    batches = [pa.record_batch({"value": ["1", "2", "3"]})]
    new = []
    for name in (NAME, NAME, b"m" * 16):
        done = sending(batches, receiver.options(tmp_path), name)
        new.append([receiver.window.add(message) for message in receiver.take(3)])
        done.result(WAIT_S)
    assert new == [[True] * 3, [False] * 3, [True] * 3]


@pytest.mark.parametrize("order", ["content", "given"])
@pytest.mark.parametrize("done", [0, 1, 3])
def test_rows_that_are_others_the_second_time_are_all_done(
    receiver: Receiver, tmp_path: Path, order: str, done: int
) -> None:
    """As of a query with rand(), whose task is killed once some are acknowledged: none of its rows
    is taken for one of before. As they are given, so many are."""
    first = [pa.record_batch({"value": ["a1", "b1", "c1"]})]
    sent = sending(first, receiver.options(tmp_path, row_order=order))
    for message in receiver.take(3)[:done]:
        receiver.window.add(message)
    sent.result(WAIT_S)
    again = [pa.record_batch({"value": ["a1", "b2", "c2"]})]
    sent = sending(again, receiver.options(tmp_path, row_order=order))
    new = [bytes(message) for message in receiver.take(3) if receiver.window.add(message)]
    sent.result(WAIT_S)
    wanted = [b"a1", b"b2", b"c2"]
    assert sorted(new) == (wanted if order == "content" else wanted[done:])


@pytest.mark.parametrize("said", ["same", "other", None])
def test_a_write_of_the_user_s_name_is_known_again(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    """In `foreachBatch`, say, when a batch runs again. Without a name each is another one."""
    from types import SimpleNamespace

    from meshmsg.spark._sink import writers

    monkeypatch.setattr(writers, "of_task", lambda: SimpleNamespace(partitionId=lambda: 3))
    new = []
    for write_id, values in (("same", "ab"), (said, "ba"), ("same", "ac")):
        options = receiver.options(tmp_path, write_id=write_id)
        writer = writers.BatchWriter(options, ("value",))
        pool = ThreadPoolExecutor(1)
        sent = pool.submit(writer.write, iter([pa.record_batch({"value": list(values)})]))
        new.append([receiver.window.add(message) for message in receiver.take(2)])
        sent.result(WAIT_S)
        pool.shutdown()
    assert new == [[True] * 2, [said != "same"] * 2, [True] * 2]


@pytest.mark.parametrize("order", ["content", "given"])
def test_rows_in_another_order_have_the_same_names(
    receiver: Receiver, tmp_path: Path, order: str
) -> None:
    """As behind a shuffle, when a batch is sent again. As they are given, others have their names:
    of a batch that was half acknowledged a window would take some twice, and others not at all."""
    called = []
    for batches in (["c", "a", "b", "d"],), (["d", "b"], ["a", "c"]):
        rows = [pa.record_batch({"value": batch}) for batch in batches]
        sent = sending(rows, receiver.options(tmp_path, row_order=order))
        called.append({message.seq: bytes(message) for message in receiver.take(4)})
        assert sent.result(WAIT_S)[0] == 4
    assert all(len(names) == 4 for names in called)
    assert (called[0] == called[1]) is (order == "content")


NOTE_BYTES = 64
"""More than goes with a row of these tests."""
HEADER = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.mark.parametrize(
    ("column", "good", "bad", "words"),
    [
        ("headers", [("h", b"v")], [("h", b""), None], "has a null among its headers"),
        ("headers", None, [(None, b"v")], "has a header whose key is null"),
        ("headers", [], [("", b"v")], "whose key is '', of 0 bytes; it has 1 to 255"),
        ("headers", [("h", None)], [("h" * 256, b"")], "of 256 bytes; it has 1 to 255"),
        ("headers", [("h", b"v"), ("g", b"v")], [("h", b"v"), ("h", b"w")], "header 'h' twice"),
        ("headers", None, [("h", b"v" * 16_369)], "key and headers, with the time, of 16,385"),
        ("key", b"k" * 16_370, b"k" * 16_371, "key and headers, with the time, of 16,385 bytes"),
    ],
)
def test_what_cannot_go_along_is_refused_with_its_row(
    receiver: Receiver, tmp_path: Path, column: str, good: Any, bad: Any, words: str
) -> None:
    """Counted as the rows are given; what is just right is sent, a null header as no octets."""
    kind = HEADER if column == "headers" else pa.binary()
    batches = [
        pa.record_batch({"value": ["z", "y"], column: pa.array([good, None], kind)}),
        pa.record_batch({"value": ["x", "a"], column: pa.array([None, bad], kind)}),
    ]
    with pytest.raises(mm.MeshError) as failed:
        sending(batches, receiver.options(tmp_path)).result(WAIT_S)
    assert "row 3 of the task" in str(failed.value)
    assert words in str(failed.value)
    done = sending(batches[:1], receiver.options(tmp_path), b"m" * 16)
    assert {bytes(one) for one in receiver.take(2)} == {b"y", b"z"}
    assert done.result(WAIT_S)[0] == 2


@pytest.mark.parametrize("rows", ["values", "keys", "headers"])
def test_a_row_that_no_file_has_room_for_is_refused_with_its_number(
    receiver: Receiver, tmp_path: Path, rows: str
) -> None:
    """Before anything is sent, with its size and the limit; what has just that is sent."""
    beside = {
        "values": {},
        "keys": {"key": [None, b"key"]},
        "headers": {"key": [b"k", b"key"], "headers": pa.array([[], [("h", b"v")]], HEADER)},
    }[rows]
    options = receiver.options(tmp_path, spool_bytes=SPOOL_BYTES_MIN)
    made = pa.record_batch({"value": ["1", "x" * SPOOL_BYTES_MIN], **beside})
    with pytest.raises(mm.TooLargeError, match="row 3 of the task: a value of 16,777,216") as told:
        sending([made.slice(0, 1), made.slice(0, 1), made], options).result(WAIT_S)
    limit = told.value.limit
    assert limit is not None
    assert f"at most {limit:,}, which is what a file" in str(told.value)
    assert told.value.size == SPOOL_BYTES_MIN
    with mm.Spool(tmp_path / "s", segment_bytes=options.file_bytes) as spool:
        with pytest.raises(mm.TooLargeError) as by_spool:
            spool.append(b"x" * SPOOL_BYTES_MIN)
        assert 0 <= (by_spool.value.limit or 0) - limit < RECORD_HEAD + NOTE_BYTES
    for size in (limit + 1, limit):
        fits = pa.record_batch({"value": ["1", "x" * size], **beside})
        done = sending([fits], options)
        if size > limit:
            with pytest.raises(mm.TooLargeError, match="row 1 of the task"):
                done.result(WAIT_S)
    assert {len(one) for one in receiver.take(2)} == {1, limit}
    assert done.result(WAIT_S)[0] == 2


def test_a_header_that_is_null_is_refused_of_rows_as_well(
    receiver: Receiver, tmp_path: Path
) -> None:
    """Before Spark 4.1 they come one by one."""
    from pyspark.sql import Row

    from meshmsg.spark._sink.writers import RowStreamWriter

    writer = RowStreamWriter(receiver.options(tmp_path), ("value", "headers"))
    batches = list(writer._batches(iter([Row(value="v", headers=[None])])))
    with pytest.raises(mm.UsageError, match="row 0 of the task has a null among its headers"):
        sending(batches, receiver.options(tmp_path)).result(WAIT_S)


def test_a_row_that_is_too_large_for_its_receiver_is_the_reason_that_is_told(
    tmp_path: Path,
) -> None:
    """And not only that the receiver does not acknowledge."""
    with mm.Pull(bind=of_its_own(), ack="manual", message_size_max=10_000) as pull:
        batches = [pa.record_batch({"value": ["ok", "x" * 50_000]})]
        words = refused_of(batches, (pull.endpoint,), tmp_path)
    assert "1 connected; the last event: UNSENDABLE" in words
    assert "of 50000 bytes in 1 frame; the peers say they take 10000" in words
    assert "connected now take up to 10,000 bytes" in words


def test_a_value_that_is_null_is_refused_with_its_row(receiver: Receiver, tmp_path: Path) -> None:
    """Counted from the task's first one."""
    batches = [pa.record_batch({"value": ["1", "2"]}), pa.record_batch({"value": ["3", None]})]
    with pytest.raises(mm.UsageError, match="row 3 of the task has no value"):
        sending(batches, receiver.options(tmp_path)).result(WAIT_S)
    assert list(folders._home(str(tmp_path)).iterdir()) == []


def test_who_is_not_there_is_told_of(tmp_path: Path) -> None:
    """With how many rows wait, for whom, and why."""
    options = SinkOptions(("tcp://127.0.0.1:1",), send_timeout=0.2, spool_folder=str(tmp_path))
    batches = [pa.record_batch({"value": ["1", "2"]})]
    with pytest.raises(mm.MeshError) as failed:
        sending(batches, options).result(WAIT_S)
    assert "2 rows of this task are not acknowledged" in str(failed.value)
    assert "tcp://127.0.0.1:1" in str(failed.value)
    assert "sendTimeout=0.2 s: none is connected" in str(failed.value)


def test_who_takes_and_never_acknowledges_is_told_of(receiver: Receiver, tmp_path: Path) -> None:
    """It is connected, and that is said."""
    words = refused_of([pa.record_batch({"value": ["1"]})], (receiver.pull.endpoint,), tmp_path)
    assert "1 connected, which take no more or do not acknowledge" in words
    assert receiver.pull.recv(timeout=WAIT_S) == b"1"


def test_folders_of_killed_tasks_go_and_those_of_others_stay(tmp_path: Path) -> None:
    """Who has a folder holds its lock, for as long as its process lives."""
    code = (
        "import os, signal, sys\n"
        "from meshmsg.spark._sink.folders import own_folder\n"
        "with own_folder(sys.argv[1]) as folder:\n"
        "    (folder / 'rows').mkdir()\n"
        "    print(folder, flush=True)\n"
        "    sys.stdin.read(1)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        with folders.own_folder(str(tmp_path)) as mine:
            assert left.exists()
            assert mine.exists()
        assert not mine.exists()
        other.stdin.write("x")
    with folders.own_folder(str(tmp_path)):
        assert not left.exists()
    assert list(folders._home(str(tmp_path)).iterdir()) == []


def test_a_folder_that_cannot_be_is_told_by_its_option(tmp_path: Path) -> None:
    """And which one it is."""
    place = tmp_path / "file"
    place.write_text("")
    with (
        pytest.raises(NotADirectoryError, match="option spoolFolder: no folder can be made there"),
        folders.own_folder(str(place)),
    ):
        pass


def test_folders_are_where_spark_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """YARN's places first, then Spark's, then that of temporary files; an option above all."""
    user = f"meshmsg-sink-{os.getuid()}"
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/s1,/s2")
    assert folders._home(None) == Path("/s1") / user
    monkeypatch.setenv("LOCAL_DIRS", "/y1,/y2")
    assert folders._home(None) == Path("/y1") / user
    assert folders._home("/mine") == Path("/mine") / user
