"""Batches and Arrow: no copy on the way out, every layout on the way in."""

from __future__ import annotations

import ctypes
import gc
import importlib
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn

import pytest

import meshmsg as mm
from meshmsg._binding import arrow
from tests.support.mm import ffi
from tests.support.pairs import WAIT_S

pa = pytest.importorskip("pyarrow", reason="pyarrow is an extra")
BODIES = [b"a", b"", b"x" * 300, b"thirteen byte"] * 50
LONG = [b"%04d" % i + b"y" * 90 for i in range(400)]


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
    """The array's buffers are the batch's memory: the offsets and the bodies."""
    batch = batch_through(pair, BODIES)
    array = pa.array(Handed(batch))
    assert array.type == pa.binary()
    assert array.to_pylist() == BODIES
    offsets = int(ffi.cast("uintptr_t", batch._batch.body_offset))
    assert [b.address for b in array.buffers()[1:]] == [offsets, address_of(batch)]
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


@pytest.mark.parametrize("step", [1, -1, 7])
def test_views_may_stand_in_any_order(pair: tuple[mm.Push, mm.Pull], step: int) -> None:
    """Elements that lie end to end go together, but only forwards."""
    size, count = 20, 100  # octets; longer than what a view holds itself
    bodies = [bytes([i]) * size for i in range(count)]
    order = [i * step % count for i in range(count)]
    views = b"".join(struct.pack("=i4sii", size, bodies[i][:4], 0, i * size) for i in order)
    buffers = [None, pa.py_buffer(views), pa.py_buffer(b"".join(bodies))]
    push, pull = pair
    array = pa.Array.from_buffers(pa.binary_view(), count, buffers)
    assert push.send_batch(array, timeout=WAIT_S) == count
    found: list[bytes] = []
    while len(found) < count:
        found += pull.recv_many(timeout=WAIT_S)
    assert found == [bodies[i] for i in order]


@pytest.mark.parametrize("width", [0, 1, 3, 40_000])
def test_binary_of_fixed_size_is_sent(pair: tuple[mm.Push, mm.Pull], width: int) -> None:
    """Of no size, small and large; sliced, and in chunks."""
    bodies = [bytes([i]) * width for i in range(60)]
    array = pa.array(bodies, pa.binary(width))
    push, pull = pair
    assert push.send_batch(array.slice(7, 40), timeout=WAIT_S) == 40
    assert push.send_batch(pa.chunked_array([array[:2], array[50:]]), timeout=WAIT_S) == 12
    wanted = bodies[7:47] + bodies[:2] + bodies[50:]
    found: list[bytes] = []
    while len(found) < len(wanted):
        found += pull.recv_many(timeout=WAIT_S)
    assert found == wanted


@pytest.mark.parametrize("width", [0, 4])
def test_a_null_of_fixed_size_is_refused_with_its_place(
    pair: tuple[mm.Push, mm.Pull], width: int
) -> None:
    """As in other layouts; counted from the first element of a slice."""
    push, pull = pair
    body = b"x" * width
    array = pa.array([None, body, body, None, body], pa.binary(width))
    with pytest.raises(mm.UsageError, match="element 2 cannot be sent") as failed:
        push.send_batch(array[1:], timeout=WAIT_S)
    assert vars(failed.value)["sent"] == 2
    assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [body, body]


class Relabelled:
    """An array whose schema says something else of it."""

    def __init__(self, array: Any, label: bytes) -> None:
        self.array = array
        self.label = ctypes.create_string_buffer(label)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Hand over the capsules, with another format: the first member of a schema."""
        capsules = self.array.__arrow_c_array__()
        schema = arrow._pointer(capsules[0], b"arrow_schema")
        ctypes.c_void_p.from_address(schema).value = ctypes.addressof(self.label)
        return capsules


@pytest.mark.parametrize(
    "label", [b"", b"w", b"w:", b"w:-3", b"w:3x", b"w:x", b"w:2147483648", b"+w:3", b"\xff:3"]
)
def test_a_schema_that_lies_is_refused(pair: tuple[mm.Push, mm.Pull], label: bytes) -> None:
    """And nothing is sent; what is no width is not guessed."""
    array = Relabelled(pa.array([b"abc"], pa.binary(3)), label)
    with pytest.raises(mm.UsageError, match="element 0 cannot be sent: send_batch takes arrays"):
        pair[0].send_batch(array, timeout=WAIT_S)
    assert pair[0].stats().sent_messages == 0


def test_too_wide_elements_say_how_wide(pair: tuple[mm.Push, mm.Pull]) -> None:
    """At the limit they are sent."""
    with (
        mm.Push(bind="tcp://127.0.0.1:0", message_size_max=10) as push,
        mm.Pull(connect=push.endpoint) as pull,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        assert push.send_batch(pa.array([b"x" * 10], pa.binary(10)), timeout=WAIT_S) == 1
        assert pull.recv(timeout=WAIT_S) == b"x" * 10
        with pytest.raises(mm.TooLargeError, match="11 bytes"):
            push.send_batch(pa.array([b"x" * 11], pa.binary(11)), timeout=WAIT_S)


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


@pytest.mark.leaves_threads
def test_a_table_is_told_to_be_sent_a_column_at_a_time(pair: tuple[mm.Push, mm.Pull]) -> None:
    """Of pyarrow, polars and pandas; nothing of it is sent."""
    table = pa.table({"body": [b"a"], "n": [1]})
    wrong = [table, table.to_batches()[0]]
    for name in ("polars", "pandas"):
        if find_spec(name) is not None:
            wrong.append(importlib.import_module(name).DataFrame({"body": [b"a"], "n": [1]}))
    for each in wrong:
        with pytest.raises(mm.UsageError, match=r"pass one column, for example table\['body'\]"):
            pair[0].send_batch(each)
    assert pair[0].stats().sent_messages == 0
    assert pair[0].send_batch(table["body"]) == 1


def test_too_large_an_element_says_how_large(pair: tuple[mm.Push, mm.Pull]) -> None:
    """As send does."""
    with (
        mm.Push(bind="tcp://127.0.0.1:0", message_size_max=10) as push,
        mm.Pull(connect=push.endpoint),
    ):
        push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.TooLargeError, match="11 bytes"):
            push.send_batch(pa.array([b"x" * 10, b"x" * 11]))


class Handed(mm.MessageBatch):
    """A batch that must be taken through its capsules, and notes the address of the bodies."""

    __slots__ = ("addresses",)

    def __init__(self, batch: mm.MessageBatch) -> None:
        super().__init__(batch._batch, batch._first, batch._count)
        self.addresses: list[int] = []

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Hand over the capsules, whose third buffer holds the bodies."""
        capsules = super().__arrow_c_array__(requested_schema)
        array = _Array.from_address(arrow._pointer(capsules[1], b"arrow_array"))
        self.addresses.append(array.buffers[2])
        return capsules

    def __getitem__(self, index: object) -> NoReturn:
        """Fail: this makes Python objects."""
        raise AssertionError("a message was asked for")

    def to_list(self) -> NoReturn:
        """Fail: so does this, and with it iteration and everything built on it."""
        raise AssertionError("all messages were asked for")


class _Array(ctypes.Structure):
    """The head of Arrow's C struct."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("length", "nulls", "offset", "n", "children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    )


def address_of(batch: mm.MessageBatch) -> int:
    """Where the bodies of a batch lie."""
    return int(pa.py_buffer(batch.data).address)


def polars_data(polars: ModuleType, series: Any) -> list[Any]:
    """Return the buffers behind a series' views, which are those that polars itself refers to."""
    array = series.to_arrow(compat_level=polars.CompatLevel.newest())
    assert array.type == pa.binary_view()
    return list(array.buffers()[2:])


@pytest.mark.leaves_threads
@pytest.mark.parametrize("make", ["Series", "from_arrow", "DataFrame"])
def test_polars_refers_to_the_bodies_where_they_are(
    pair: tuple[mm.Push, mm.Pull], make: str
) -> None:
    """Views are its own, 16 bytes each; the bodies they point to are the batch's, and kept."""
    polars = pytest.importorskip("polars", reason="polars is an extra")
    batch = Handed(batch_through(pair, LONG))
    address, size = address_of(batch), batch.nbytes
    if make == "DataFrame":
        series = polars.DataFrame({"body": batch})["body"]
    else:
        series = getattr(polars, make)(batch)
    del batch
    gc.collect()
    assert [(b.address, b.size) for b in polars_data(polars, series)] == [(address, size)]
    assert series.to_list() == LONG


@pytest.mark.leaves_threads
def test_polars_takes_short_bodies_and_gives_a_series_back(pair: tuple[mm.Push, mm.Pull]) -> None:
    """A series of binary, which can be sent."""
    polars = pytest.importorskip("polars", reason="polars is an extra")
    batch = batch_through(pair, BODIES)
    series = polars.Series(batch)
    assert series.dtype == polars.Binary
    assert series.to_list() == BODIES
    assert polars.Series(batch[7:20]).to_list() == BODIES[7:20]
    assert pair[0].send_batch(series, timeout=WAIT_S) == len(BODIES)
    assert pair[1].recv_batch(len(BODIES), max_wait=WAIT_S, timeout=WAIT_S) == BODIES


@pytest.mark.leaves_threads
def test_duckdb_reads_a_batch_from_where_it_is(pair: tuple[mm.Push, mm.Pull]) -> None:
    """It is handed the batch's memory, and makes no Python object; what it does with it is its own
    affair."""
    duckdb = pytest.importorskip("duckdb", "2", reason="duckdb is an extra")
    bodies = Handed(batch_through(pair, LONG))
    address = address_of(bodies)
    found = duckdb.sql("select count(*), sum(octet_length(value)) from bodies").fetchall()
    assert found == [(len(LONG), sum(map(len, LONG)))]
    assert set(bodies.addresses) == {address}
    assert duckdb.sql("select value from bodies").fetchall() == [(body,) for body in LONG]


@pytest.mark.leaves_threads
def test_duckdb_reads_a_table_over_a_batch(pair: tuple[mm.Push, mm.Pull]) -> None:
    """By way of pyarrow, whose table is the batch's memory."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is an extra")
    batch = batch_through(pair, LONG)
    bodies = pa.table({"body": pa.array(batch)})
    assert bodies["body"].chunk(0).buffers()[2].address == address_of(batch)
    found = duckdb.sql("select sum(octet_length(body)) from bodies").fetchall()
    assert found == [(sum(map(len, LONG)),)]
