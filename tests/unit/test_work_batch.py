"""A batch of records as octets: what was packed is read, and nothing else is.

Not here: sending it (tests/conformance/test_work.py).
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmsg.patterns.workqueue._batch import (
    BATCH_MAX,
    LEASE_MS_MAX,
    BatchForm,
    pack_batch,
    parse_batch,
)


def test_a_batch_looks_as_documented() -> None:
    """Number, first sequence, lease, count, sizes, records; all big-endian."""
    octets = pack_batch(7, 1000, 1.5, [b"ab", b"", b"cde"])
    assert octets == (
        struct.pack(">QQII", 7, 1000, 1500, 3) + struct.pack(">III", 2, 0, 3) + b"abcde"
    )
    assert parse_batch(octets) == (7, 1000, 1.5, (b"ab", b"", b"cde"))


@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
    st.lists(st.binary(max_size=50), min_size=1, max_size=20),
)
def test_what_was_packed_is_read(number: int, first: int, records: list[bytes]) -> None:
    """Of any number and size; and without a lease there is none."""
    parsed = parse_batch(pack_batch(number, first, None, records))
    assert parsed == (number, first, None, tuple(records))


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=5), st.integers(1, 8))
def test_what_is_cut_or_longer_is_no_batch(records: list[bytes], by: int) -> None:
    """At every length."""
    octets = pack_batch(0, 0, None, records)
    assert all(parse_batch(octets[:size]) is None for size in range(len(octets)))
    assert parse_batch(octets + bytes(by)) is None


@given(st.binary(max_size=200))
def test_octets_of_any_kind_raise_nothing(octets: bytes) -> None:
    """They are a batch or not."""
    parsed = parse_batch(octets)
    assert parsed is None or b"".join(parsed.records) == octets[-sum(map(len, parsed.records)) :]


@pytest.mark.parametrize(("count", "good"), [(0, False), (BATCH_MAX, True), (BATCH_MAX + 1, False)])
def test_the_number_of_records_has_a_limit(count: int, good: bool) -> None:
    """At it, and beyond."""
    octets = struct.pack(">QQII", 0, 0, 0, count) + bytes(4 * count)
    assert (parse_batch(octets) is not None) is good


@pytest.mark.parametrize(
    ("lease", "ms"), [(None, 0), (0.0001, 1), (2.0, 2000), (1e12, LEASE_MS_MAX)]
)
def test_a_lease_is_told_in_milliseconds(lease: float | None, ms: int) -> None:
    """Never as none, and never beyond what there is room for."""
    assert struct.unpack_from(">QQI", pack_batch(0, 0, lease, [b"x"]))[2] == ms


def test_a_batch_of_nobody_s_is_one_all_the_same() -> None:
    """For tests of who works on them."""
    batch = BatchForm(3, 1, 40, (b"a", b"b"))
    assert (len(batch), list(batch), list(batch.numbered())) == (
        2,
        [b"a", b"b"],
        [(40, b"a"), (41, b"b")],
    )
    assert not batch.lost
    assert repr(batch) == "<BatchForm 3: 2 records from 40, attempt 1>"
