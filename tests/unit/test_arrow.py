"""Batches and Arrow: no copy on the way out, every layout on the way in."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import meshmsg as mm
from tests.support.pairs import WAIT_S

pa = pytest.importorskip("pyarrow", reason="pyarrow is an extra")
BODIES = [b"a", b"", b"x" * 300, b"thirteen byte"] * 50


@pytest.fixture
def pair() -> Iterator[tuple[mm.Push, mm.Pull]]:
    """A connected pair."""
    with mm.Push(bind="tcp://127.0.0.1:0") as push, mm.Pull(connect=push.endpoint) as pull:
        push.wait_for_peers(timeout=WAIT_S)
        yield push, pull


def batch_through(pair: tuple[mm.Push, mm.Pull], bodies: list[bytes]) -> mm.MessageBatch:
    """Send, and receive as one batch."""
    pair[0].send_many(bodies)
    count = len(bodies)
    return pair[1].recv_batch(count, max_wait=WAIT_S, timeout=WAIT_S)


def test_pyarrow_takes_a_batch_without_a_copy(pair: tuple[mm.Push, mm.Pull]) -> None:
    """The array's data buffer is the batch's memory."""
    batch = batch_through(pair, BODIES)
    array = pa.array(batch)
    assert array.type == pa.binary()
    assert array.to_pylist() == BODIES
    view = pa.py_buffer(batch.data)
    assert array.buffers()[2].address <= view.address < array.buffers()[2].address + 1 + len(view)
    assert pa.array(batch[7:20]).to_pylist() == BODIES[7:20]
    assert pa.array(batch[7:20]).buffers()[2].address == array.buffers()[2].address


def test_an_array_outlives_its_batch(pair: tuple[mm.Push, mm.Pull]) -> None:
    """And a capsule that nobody takes releases what it holds."""
    batch = batch_through(pair, BODIES)
    array = pa.array(batch)
    batch.__arrow_c_array__()
    batch.__arrow_c_schema__()
    del batch
    gc.collect()
    assert array.to_pylist() == BODIES
    array.validate(full=True)


@pytest.mark.parametrize(
    "kind", ["binary", "large_binary", "string", "large_string", "binary_view", "string_view"]
)
def test_every_layout_is_sent(pair: tuple[mm.Push, mm.Pull], kind: str) -> None:
    """Offsets of 32 and 64 bits, views; sliced, too."""
    values = [f"value {i} " + "y" * (i % 40) for i in range(600)]
    array = pa.array(values, pa.string()).cast(getattr(pa, kind)()).slice(50)
    push, pull = pair
    assert push.send_batch(array, timeout=WAIT_S) == 550
    found: list[bytes] = []
    while len(found) < 550:
        found += pull.recv_many(timeout=WAIT_S)
    assert found == [value.encode() for value in values[50:]]


def test_chunked_arrays_are_sent_chunk_by_chunk(pair: tuple[mm.Push, mm.Pull]) -> None:
    """Through the stream interface."""
    chunks = pa.chunked_array([[b"a", b"b"], [], [b"c"]], pa.binary())
    push, pull = pair
    assert push.send_batch(chunks, timeout=WAIT_S) == 3
    assert [pull.recv(timeout=WAIT_S) for _ in range(3)] == [b"a", b"b", b"c"]


def test_what_is_no_message_is_refused_with_its_place(pair: tuple[mm.Push, mm.Pull]) -> None:
    """Nulls, numbers, dictionaries; what stood before them was sent, and is told."""
    push, pull = pair
    with pytest.raises(mm.UsageError, match="element 2 cannot be sent") as failed:
        push.send_batch(pa.array([b"a", b"b", None, b"d"], pa.binary()))
    assert vars(failed.value)["sent"] == 2
    assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"a", b"b"]
    for wrong in (pa.array([1, 2]), pa.array(["a", "a"]).dictionary_encode()):
        with pytest.raises(mm.UsageError, match="element 0"):
            push.send_batch(wrong)


def test_too_large_an_element_says_how_large(pair: tuple[mm.Push, mm.Pull]) -> None:
    """As send does."""
    with (
        mm.Push(bind="tcp://127.0.0.1:0", message_size_max=10) as push,
        mm.Pull(connect=push.endpoint),
    ):
        push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match="11 bytes"):
            push.send_batch(pa.array([b"x" * 10, b"x" * 11]))


@pytest.mark.leaves_threads
def test_polars_takes_a_batch(pair: tuple[mm.Push, mm.Pull]) -> None:
    """As a series of binary, and gives one back."""
    polars = pytest.importorskip("polars", reason="polars is an extra")
    batch = batch_through(pair, BODIES)
    series = polars.Series(batch)
    assert series.to_list() == BODIES
    assert pair[0].send_batch(series, timeout=WAIT_S) == len(BODIES)
    assert pair[1].recv_batch(len(BODIES), max_wait=WAIT_S, timeout=WAIT_S) == BODIES


@pytest.mark.leaves_threads
def test_duckdb_reads_a_batch(pair: tuple[mm.Push, mm.Pull]) -> None:
    """By way of a table over the same memory."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is an extra")
    bodies = pa.table({"body": pa.array(batch_through(pair, BODIES))})
    assert bodies.num_rows == len(BODIES)
    found = duckdb.sql("select sum(octet_length(body)) from bodies").fetchall()
    assert found == [(sum(map(len, BODIES)),)]
