"""Spools and Arrow: arrays that are put, and tables that are read; no object for each message.

Not here: without pyarrow nothing but `messages` (test_spool_batch.py).
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.aside import aside
from tests.support.feeding import World
from tests.support.pairs import WAIT_S, wait_until
from tests.support.spooled import SEGMENT, bodies, small

pa = pytest.importorskip("pyarrow")
BODIES = [b"one", b"", b"\xff" * 20, b"a body of more than twelve bytes"]
LARGE = b"x" * 20_000
TEXTS = ["one", "", "\u00fc" * 20, "a text of more than twelve bytes"]
KINDS: dict[str, tuple[Any, list[bytes]]] = {
    "binary": (lambda: pa.array(BODIES, pa.binary()), BODIES),
    "large": (lambda: pa.array(BODIES, pa.large_binary()), BODIES),
    "view": (lambda: pa.array(BODIES, pa.binary_view()), BODIES),
    "fixed": (lambda: pa.array([b"abcd", b"efgh"], pa.binary(4)), [b"abcd", b"efgh"]),
    "fixed, of 0": (lambda: pa.array([b"", b""], pa.binary(0)), [b"", b""]),
    "string": (lambda: pa.array(TEXTS), [text.encode() for text in TEXTS]),
    "large string": (
        lambda: pa.array(TEXTS, pa.large_string()),
        [text.encode() for text in TEXTS],
    ),
    "slice": (lambda: pa.array([b"not", *BODIES, b"nor"])[1:-1], BODIES),
    "chunks": (lambda: pa.chunked_array([BODIES[:1], [], BODIES[1:]], pa.binary()), BODIES),
    "none": (lambda: pa.array([], pa.binary()), []),
    "no chunks": (lambda: pa.chunked_array([], pa.binary()), []),
    "many": (
        lambda: pa.array([b"%d" % at for at in range(3000)]),
        [b"%d" % i for i in range(3000)],
    ),
    "table": (lambda: pa.table({"data": BODIES}), BODIES),
    "batch": (lambda: pa.record_batch({"data": TEXTS}), [text.encode() for text in TEXTS]),
    "struct": (lambda: pa.StructArray.from_arrays([pa.array(BODIES)], ["data"]), BODIES),
}
WRONG: dict[str, tuple[Any, type[BaseException], str, int]] = {
    "numbers": (lambda: pa.array([1, 2]), mm.UsageError, "element 0", 0),
    "null": (lambda: pa.array([b"a", None, b"b"]), mm.UsageError, "element 1", 1),
    "null, later": (
        lambda: pa.chunked_array([[b"a", b"b"], [b"c", None]]),
        *(mm.UsageError, "element 3", 3),
    ),
    "dictionary": (
        lambda: pa.array([b"a", b"a"]).dictionary_encode(),
        *(mm.UsageError, "element 0", 0),
    ),
    "list": (lambda: pa.array([[b"a"]]), mm.UsageError, "element 0", 0),
    "column": (lambda: pa.table({"data": [b"a"], "x": [1]}), mm.UsageError, "column 'x'", 0),
    "no data": (lambda: pa.table({"key": [b"a"]}), mm.UsageError, "no column data", 0),
    "twice": (
        lambda: pa.record_batch([pa.array([b"a"])] * 2, names=["data", "data"]),
        *(mm.UsageError, "element 0", 0),
    ),
    "null data": (lambda: pa.table({"data": [b"a", None]}), mm.UsageError, "element 1", 1),
    "null row": (
        lambda: pa.StructArray.from_arrays(
            [pa.array([b"a", b"b"])], ["data"], mask=pa.array([False, True])
        ),
        *(mm.UsageError, "element 0", 0),
    ),
    "key of numbers": (lambda: pa.table({"data": [b"a"], "key": [1]}), mm.UsageError, "a key", 0),
    "large key": (
        lambda: pa.table({"data": [b"a", b"b"], "key": [b"k", bytes(20_000)]}),
        *(mm.TooLargeError, "20,014 bytes; all .* 16,384", 1),
    ),
    "large body": (
        lambda: pa.array([b"a", b"b", bytes(70_000)]),
        *(mm.TooLargeError, "70,000", 2),
    ),
    "large row": (
        lambda: pa.table({"data": [b"a", bytes(70_000)]}).slice(0),
        *(mm.TooLargeError, "70,000", 1),
    ),
    "bytes": (lambda: [b"a"], TypeError, "append_many", 0),
    "nothing": (lambda: None, TypeError, "append_batch", 0),
}


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("level", ["buffered", "os", "disk"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_array_is_kept(tmp_path: Path, kind: str, level: Any, wait: bool) -> None:
    """By their numbers, waited for or not."""
    make, wanted = KINDS[kind]
    with small(tmp_path / "s", durability=level) as spool:
        spool.append(b"before")
        got = spool.append_batch(make(), wait=wait)
        assert got == (range(2, 2 + len(wanted)) if wanted else range(0))
        info = spool.info()
        assert not wait or level != "disk" or info.durable_seq == info.last_seq
        assert not wait or level != "os" or info.written_seq == info.last_seq
        spool.flush()
        assert bodies(spool) == [b"before", *wanted]


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_put_is_told(tmp_path: Path, kind: str) -> None:
    """With its place, and `sent`; what stands before it is kept."""
    make, error, words, sent = WRONG[kind]
    with small(tmp_path / "s") as spool:
        with pytest.raises(error, match=words) as caught:
            spool.append_batch(make())
        assert vars(caught.value)["sent"] == sent
        spool.flush()
        assert len(bodies(spool)) == sent


def test_what_was_dropped_was_not_sent(world: World, tmp_path: Path) -> None:
    """`overflow="drop_newest"`: what broke the call off says how many were put, not taken."""
    many = 50
    chunks = pa.chunked_array([[LARGE], [LARGE] * (many - 1) + [None]], pa.binary())
    own: dict[str, Any] = {"max_bytes": 2 * SEGMENT, "overflow": "drop_newest"}
    with world.spool(tmp_path / "s", **own) as spool:
        with pytest.raises(mm.UsageError, match=f"element {many}") as caught:
            spool.append_batch(chunks)
        info, sent = spool.info(), vars(caught.value)["sent"]
        assert 0 < sent == info.last_seq == many - info.dropped_newest < many


def test_keys_come_out_of_a_column(tmp_path: Path) -> None:
    """Null is none, an empty one is one; other options go with each; a slice has its own."""
    table = pa.record_batch({"key": [b"a", None, b"", b"d"], "data": [b"1", b"2", b"3", b"4"]})
    with small(tmp_path / "s") as spool:
        assert spool.append_batch(table) == range(1, 5)
        assert spool.append_batch(table.slice(2, 2), headers={"h": "x"}, ttl=60) == range(5, 7)
        assert spool.append_batch(pa.array([b"5"]), key="k") == range(7, 8)
        with pytest.raises(mm.UsageError, match="key= goes with none"):
            spool.append_batch(table, key=b"k")
        read = spool.read(1)
        assert [one.key for one in read.messages] == [b"a", None, b"", b"d", b"", b"d", b"k"]
        assert [dict(one.headers) for one in read.messages][3:6] == [{}, {"h": "x"}, {"h": "x"}]
        assert [one.expires is not None for one in read.messages][3:6] == [False, True, True]
        assert all(one.timestamp for one in read.messages)


def test_a_batch_of_a_socket_is_put(tmp_path: Path) -> None:
    """As it was received."""
    with mm.Pull() as pull, mm.Push() as push, small(tmp_path / "s") as spool:
        push.connect(pull.bind("inproc://into-a-spool"))
        push.send_many([b"a", b"b", b"c"])
        assert spool.append_batch(pull.recv_batch(3)) == range(1, 4)
        assert bodies(spool) == [b"a", b"b", b"c"]


def test_a_batch_that_has_no_room_says_how_many_had(tmp_path: Path) -> None:
    """As `append_many` does."""
    with small(tmp_path / "s", max_messages=700) as spool:
        with pytest.raises(mm.SpoolFullError) as caught:
            spool.append_batch(pa.array([b"x"] * 1000))
        assert vars(caught.value)["sent"] == 700


@pytest.mark.parametrize(("timeout", "error"), [(0, mm.WouldBlockError), (0.001, mm.TimedOutError)])
def test_a_batch_that_is_late_says_how_many_were_put(
    tmp_path: Path, timeout: float, error: type[mm.MeshError]
) -> None:
    """A share of them waits to be written, and that may take longer; there is room for all the
    same, and never for more."""
    with small(tmp_path / "s", max_messages=700, overflow="block") as spool:

        def full() -> bool:
            before = spool.info().last_seq
            with pytest.raises(error) as caught:
                spool.append_batch(pa.array([b"x"] * 1000), timeout=timeout)
            last = spool.info().last_seq
            assert last == before + vars(caught.value)["sent"]
            return last == 700

        wait_until(full)
        with pytest.raises(error) as caught:
            spool.append_batch(pa.array([b"x"]), timeout=timeout)
        assert vars(caught.value)["sent"] == 0
        assert spool.info().last_seq == 700


def test_a_table_has_what_the_messages_have(tmp_path: Path) -> None:
    """Its columns are those of the page, which Spark takes; pyarrow finds them sound."""
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append(b"one")
        spool.append(b"", key=b"k", headers={"a": "text", "b": b"\xff"})
        spool.append_many([b"3", b"4"], headers={"c": ""}, key=b"")
        table = pa.record_batch(spool.read(1))
        table.validate(full=True)
        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        assert table.schema == pa.schema(
            [
                *(("seq", pa.int64()), ("time", pa.timestamp("us", "UTC")), ("epoch", pa.int64())),
                *(("topic", pa.binary()), ("key", pa.binary())),
                *(("headers", pa.list_(pa.field("element", header))), ("data", pa.binary())),
                *((name, pa.timestamp("us", "UTC")) for name in ("timestamp", "expires")),
            ]
        )
        assert all(table.schema.field(name).nullable for name in table.schema.names)
        rows = table.to_pylist()
        assert [row["seq"] for row in rows] == [1, 2, 3, 4]
        assert [row["data"] for row in rows] == [b"one", b"", b"3", b"4"]
        assert [row["key"] for row in rows] == [None, b"k", b"", b""]
        assert [{one["key"]: one["value"] for one in row["headers"]} for row in rows] == [
            *({}, {"a": b"text", "b": b"\xff"}, {"c": b""}, {"c": b""})
        ]
        for row, one in zip(rows, spool.reader(), strict=True):
            assert isinstance(one, mm.SpoolMessage)
            assert row["epoch"] == one.epoch == 1
            assert row["time"].timestamp() == pytest.approx(one.stored, abs=1e-6)


def test_a_table_without_messages_has_its_columns(tmp_path: Path) -> None:
    """So it can be put together with others."""
    with small(tmp_path / "s") as spool:
        empty = pa.record_batch(spool.read(1))
        empty.validate(full=True)
        spool.append(b"x")
        assert pa.Table.from_batches([empty, pa.record_batch(spool.read(1))]).num_rows == 1


def test_arrays_outlive_their_batch(tmp_path: Path) -> None:
    """And their spool, and each other; what nobody took is freed with its capsule."""
    with small(tmp_path / "s") as spool:
        spool.append_many([b"%d" % at for at in range(1000)], headers={"a": "b"})
        batch = spool.read(1)
        for _ in range(3):
            batch.__arrow_c_array__()
            batch.__arrow_c_schema__()
        data = pa.record_batch(batch).column("data")
        headers = pa.record_batch(batch).column("headers")
        del batch
    gc.collect()
    assert data.to_pylist() == [b"%d" % at for at in range(1000)]
    del data
    assert headers[999].as_py() == [{"key": "a", "value": b"b"}]


def test_what_is_read_can_be_put_into_another(tmp_path: Path) -> None:
    """Its keys and bodies."""
    with small(tmp_path / "a") as one, small(tmp_path / "b") as other:
        one.append_many([b"1", b"2"], key=b"k")
        one.append(b"3")
        table = pa.record_batch(one.read(2)).select(["data", "key"])
        assert other.append_batch(table) == range(1, 3)
        assert [(m.key, m) for m in other.read(1).messages] == [(b"k", b"2"), (None, b"3")]


def test_what_the_error_of_a_strange_column_advises_works(tmp_path: Path) -> None:
    """Also for a batch of a spool, which has no `select` of its own."""
    with small(tmp_path / "s") as spool:
        spool.append(b"x", key=b"k", headers={"a": "b"})
        batch = spool.read(1)
        with pytest.raises(mm.UsageError, match=r"record_batch\(batch\).select\(\['data', 'key'"):
            spool.append_batch(batch)
        assert spool.append_batch(pa.record_batch(batch).select(["data", "key"])) == range(2, 3)
        [_, again] = spool.read(1).messages
        assert (bytes(again), again.key, again.headers) == (b"x", b"k", {})


def test_arrays_that_wait_for_room_are_told(world: World, tmp_path: Path) -> None:
    """As any call: `info()` counts it, until there is room for the rest."""
    with world.spool(tmp_path / "s", max_messages=2, overflow="block") as spool:
        batch = pa.array([b"a", b"b", b"c"])
        with aside(lambda: spool.append_batch(batch, timeout=WAIT_S)) as raised:
            wait_until(lambda: spool.info().waiting == 1)
            spool.trim(2)
        assert raised == []
        assert (spool.info().waiting, spool.info().last_seq) == (0, 3)
