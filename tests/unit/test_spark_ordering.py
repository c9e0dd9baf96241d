"""The order of rows of the sink: that of what they have, however they are given and cut.

Not here: what a receiver makes of it (test_spark_sink.py, tests/spark/test_sink_order.py).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg.spark._sink.ordering import GIVEN_BYTES, RUNS_MAX, in_order

pa = pytest.importorskip("pyarrow")

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema([("key", pa.binary()), ("headers", pa.list_(HEADER)), ("value", pa.binary())])
Row = tuple[Any, ...]
octets = st.sampled_from([b"", b"\0", b"a", b"a\0", b"ab", b"b", b"\xff"])
header = st.tuples(st.sampled_from(["a", "b", "ab", "\u00e9"]), st.none() | octets)
rows = st.tuples(st.none() | octets, st.none() | st.lists(header, max_size=3), octets)


def batches_of(some: list[Row], cuts: list[int]) -> list[Any]:
    """Return rows as record batches, cut at some places; some of them are empty."""
    places = [0, *sorted(cut % (len(some) + 1) for cut in cuts), len(some)]
    made = []
    for first, end in pairwise(places):
        key, headers, value = zip(*some[first:end], strict=True) if end > first else ([], [], [])
        made.append(pa.record_batch([list(key), list(headers), list(value)], schema=SCHEMA))
    return made


def ordered(batches: list[Any], limit: int) -> list[Row]:
    """Return all rows in the order of the sink, once no file is left of it."""
    with TemporaryDirectory() as folder:
        found = []
        for batch in in_order(iter(batches), Path(folder), limit):
            assert batch.schema.names == SCHEMA.names
            for one in batch.to_pylist():
                headers = one["headers"]
                plain = headers and [(each["key"], each["value"]) for each in headers]
                found.append((one["key"], plain, one["value"]))
        assert list(Path(folder).iterdir()) == []
    return found


@given(
    some=st.lists(rows, max_size=60),
    cuts=st.lists(st.integers(0, 1000), max_size=40),
    limit=st.sampled_from([1, 100, 1000, 2**20]),
    data=st.data(),
)
def test_the_same_rows_come_in_one_order_however_they_are_given(
    some: list[Row], cuts: list[int], limit: int, data: st.DataObject
) -> None:
    """By any permutation, cut anywhere, in memory or by files: a null, and nothing, differ."""
    others = data.draw(st.permutations(some))
    first = ordered(batches_of(some, []), 2**20)
    assert ordered(batches_of(others, cuts), limit) == first
    assert sorted(map(repr, first)) == sorted(map(repr, some))
    assert [row[2] for row in first] == sorted(row[2] for row in some)


def test_more_files_than_are_read_at_once_become_fewer_first() -> None:
    """Each batch is one; and what is given is in small batches again."""
    count = RUNS_MAX * RUNS_MAX + 3
    some: list[Row] = [(None, None, b"%d" % (n * 7919 % count)) for n in range(count)]
    found = ordered(batches_of(some, list(range(count))), 1)
    assert [row[2] for row in found] == sorted(b"%d" % n for n in range(count))


def test_a_batch_that_is_given_is_small_and_may_have_one_large_row(tmp_path: Path) -> None:
    """So that no receiver's share of memory is that of all rows."""
    values = [b"a" * 3 * GIVEN_BYTES, *(b"b%05d" % n + bytes(2**16) for n in range(40))]
    given_back = list(in_order([pa.record_batch({"value": values[::-1]})], tmp_path, 2**30))
    assert [one for batch in given_back for one in batch["value"].to_pylist()] == values
    assert [batch.num_rows for batch in given_back if batch.nbytes > GIVEN_BYTES + 100] == [1]


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary"])
@pytest.mark.parametrize("limit", [1, 2**20])
def test_text_and_octets_of_any_kind_are_put_in_order(
    tmp_path: Path, kind: str, limit: int
) -> None:
    """In that of their octets, without headers or keys that any row has."""
    words = ["z", "\u00e9", "", "\U0001f600", "a", "\uffff"]
    made = pa.array(words).cast(kind)
    batch = pa.record_batch({"value": made, "key": pa.nulls(len(words), made.type)})
    one_by_one = [batch.slice(at, 1) for at in range(len(words))]
    found = pa.Table.from_batches(list(in_order(one_by_one, tmp_path, limit)))["value"].cast(
        "binary"
    )
    assert found.to_pylist() == sorted(word.encode() for word in words)
