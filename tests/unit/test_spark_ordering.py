"""The order of rows of the sink: that of their digests, however they are given and cut.

Not here: what a receiver makes of it (test_spark_sink.py, tests/spark/test_sink_order.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import pack
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg import UsageError
from meshmsg.spark._sink.ordering import GIVEN_BYTES, RUNS_MAX, in_order
from tests.support.sip import siphash

pa = pytest.importorskip("pyarrow")

HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema([("key", pa.binary()), ("headers", pa.list_(HEADER)), ("value", pa.binary())])
LARGE = pa.schema(
    [("key", pa.large_binary()), ("headers", pa.list_(HEADER)), ("value", pa.large_binary())]
)
Row = tuple[Any, ...]
SECRET = b"meshmsg/order/1\0"
NONE = b"\xff" * 8
BESIDE: list[Row] = [(b"beside", [("n", b"v"), ("m", None)], b"it"), (None, None, b"")]
"""Rows of a batch that the part of it has not which is given."""
octets = st.sampled_from([b"", b"\0", b"a", b"a\0", b"ab", b"b", b"\xff"])
header = st.tuples(st.sampled_from(["a", "b", "ab", "\u00e9"]), st.none() | octets)
rows = st.tuples(st.none() | octets, st.none() | st.lists(header, max_size=3), octets)


def item(octets: bytes | None) -> bytes:
    """Return what is hashed of octets, or of none."""
    return NONE if octets is None else pack("<Q", len(octets)) + octets + bytes(-len(octets) % 8)


def digest(row: Row) -> tuple[int, int]:
    """Return that of a row, as csrc/order/digest.h says."""
    key, headers, value = row
    text = NONE if headers is None else pack("<Q", len(headers))
    for name, one in headers or ():
        text += pack("<Q", 1) + item(name.encode()) + item(one)
    return siphash(SECRET, item(value) + item(key) + text, 1, 3)


def batches_of(some: list[Row], cuts: list[int], schema: Any = SCHEMA) -> list[Any]:
    """Return rows as record batches, cut at some places; some of them are empty, and some are
    parts of a larger one."""
    places = [0, *sorted(cut % (len(some) + 1) for cut in cuts), len(some)]
    made = []
    for first, end in pairwise(places):
        more = BESIDE[: end % 3]
        key, headers, value = zip(*BESIDE, *some[first:end], *more, strict=True)
        batch = pa.record_batch([list(key), list(headers), list(value)], schema=schema)
        made.append(batch.slice(len(BESIDE), end - first))
    return made


def ordered(batches: list[Any], limit: int) -> tuple[bytes, list[Row]]:
    """Return what all rows are, and they in the order of the sink, once no file is left of it."""
    with TemporaryDirectory() as folder:
        found = []
        content, given_back = in_order(iter(batches), Path(folder), SECRET, limit)
        for batch in given_back:
            assert batch.schema.names == SCHEMA.names
            for one in batch.to_pylist():
                headers = one["headers"]
                plain = headers and [(each["key"], each["value"]) for each in headers]
                found.append((one["key"], plain, one["value"]))
        assert list(Path(folder).iterdir()) == []
    return content, found


@given(
    some=st.lists(rows, max_size=60),
    cuts=st.lists(st.integers(0, 1000), max_size=40),
    limit=st.sampled_from([1, 12_000, 40_000, 2**20]),
    schema=st.sampled_from([SCHEMA, LARGE]),
    data=st.data(),
)
def test_the_same_rows_come_in_one_order_however_they_are_given(
    some: list[Row], cuts: list[int], limit: int, schema: Any, data: st.DataObject
) -> None:
    """By any permutation, cut anywhere, with offsets of either size, in memory or by files: a null,
    and nothing, differ."""
    others = data.draw(st.permutations(some))
    first = ordered(batches_of(some, []), 2**20)
    assert ordered(batches_of(others, cuts, schema), limit) == first
    total = sum(high << 64 | low for high, low in map(digest, some)) % 2**128
    assert first == (b"%d %x" % (len(some), total), sorted(some, key=digest))


def test_other_rows_are_another_content() -> None:
    """One more, one less, one twice, none, or another one in place of one."""
    words = ["ab", "abb", "a", "ac", "aa", "b", ""]
    several: list[list[Row]] = [[(None, None, one.encode()) for one in word] for word in words]
    contents = [ordered(batches_of(some, []), 2**20)[0] for some in several]
    assert len({*contents}) == len(several)


def test_the_digest_is_a_known_function() -> None:
    """That of the test: by a vector of its authors. What the core has is by that of the test."""
    known = pack("<QQ", *siphash(bytes(range(16)), b"", 2, 4))
    assert known.hex() == "a3817f04ba25a8e66df67214c7550293"


def test_rows_whose_octets_are_the_same_end_to_end_differ() -> None:
    """Sizes stand between columns, and what is null has none."""
    some: list[Row] = [
        (b"c", None, b"ab"),
        (b"bc", None, b"a"),
        (b"", None, b"abc"),
        (None, None, b"abc"),
        (None, [], b"abc"),
        (None, [("", b"")], b"abc"),
        (None, [("", None)], b"abc"),
    ]
    assert len({digest(row) for row in some}) == len(some)
    assert ordered(batches_of(some * 3, []), 2**20)[1] == sorted(some * 3, key=digest)


def test_more_files_than_are_read_at_once_become_fewer_first() -> None:
    """Each batch is one; and what is given is in small batches again."""
    count = RUNS_MAX * RUNS_MAX + 3
    some: list[Row] = [(None, None, b"%d" % (n * 7919 % count)) for n in range(count)]
    _, found = ordered(batches_of(some, list(range(count))), 1)
    assert found == sorted(some, key=digest)


def test_a_batch_that_is_given_is_small_and_may_have_one_large_row(tmp_path: Path) -> None:
    """So that no receiver's share of memory is that of all rows."""
    values = [b"a" * 3 * GIVEN_BYTES, *(b"b%05d" % n + bytes(2**16) for n in range(40))]
    given_back = list(
        in_order([pa.record_batch({"value": values})], tmp_path, SECRET, 2**30).batches
    )
    assert sorted(one for batch in given_back for one in batch["value"].to_pylist()) == values
    assert [batch.num_rows for batch in given_back if batch.nbytes > GIVEN_BYTES + 100] == [1]


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary"])
@pytest.mark.parametrize("limit", [1, 2**20])
def test_text_and_octets_of_any_kind_are_put_in_order(
    tmp_path: Path, kind: str, limit: int
) -> None:
    """In that of the digest of their octets, without headers or keys that any row has."""
    words = ["z", "\u00e9", "", "\U0001f600", "a", "\uffff"]
    made = pa.array(words).cast(kind)
    batch = pa.record_batch({"value": made, "key": pa.nulls(len(words), made.type)})
    one_by_one = [batch.slice(at, 1) for at in range(len(words))]
    found = pa.Table.from_batches(list(in_order(one_by_one, tmp_path, SECRET, limit).batches))[
        "value"
    ].cast("binary")
    wanted = sorted(((None, None, word.encode()) for word in words), key=digest)
    assert found.to_pylist() == [row[2] for row in wanted]


@pytest.mark.parametrize("kinds", [1, 3, 10_000])
def test_memory_is_that_of_the_limit_however_many_rows_there_are(
    tmp_path: Path, kinds: int
) -> None:
    """Also if all rows are equal, or few differ."""
    limit, rows, size = 2**20, 1000, 1024
    before = pa.total_allocated_bytes()
    most = 0

    def given() -> Iterator[Any]:
        for first in range(0, 40 * rows, rows):
            values = [b"%0*d" % (size, n % kinds) for n in range(first, first + rows)]
            yield pa.record_batch({"value": pa.array(values, pa.binary())})

    count = 0
    for batch in in_order(given(), tmp_path, SECRET, limit).batches:
        count += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
    assert count == 40 * rows
    assert most < 2 * limit + GIVEN_BYTES < 40 * rows * size / 2


def test_other_columns_and_types_are_refused(tmp_path: Path) -> None:
    """With their names: Spark gives none of them, as the sink looks at what it writes."""
    for batch in (
        pa.record_batch({"value": [1]}),
        pa.record_batch({"value": [b"1"], "other": [b"1"]}),
        pa.record_batch({"value": pa.array(["a"]).dictionary_encode()}),
    ):
        with pytest.raises(UsageError, match="rows of value"):
            in_order([batch], tmp_path, SECRET)
    with pytest.raises(UsageError, match="rows of value"):
        in_order([pa.record_batch({"value": [one]}) for one in (b"1", "1")], tmp_path, SECRET)


def test_batches_of_few_rows_are_counted_with_what_they_take(tmp_path: Path) -> None:
    """Not the octets of their rows alone: objects are many times that."""
    one = pa.record_batch({"value": [b"x"]})
    files = 0

    def given() -> Iterator[Any]:
        nonlocal files
        for _ in range(300):
            yield one
        files = len(list(tmp_path.iterdir()))

    given_back = in_order(given(), tmp_path, SECRET, 2**20).batches
    assert sum(batch.num_rows for batch in given_back) == 300
    assert files > 0
