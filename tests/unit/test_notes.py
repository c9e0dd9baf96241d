"""What goes with a message, as octets: what is encoded is read back, and the core takes it.

Not here: sending it (test_headers.py).
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg._binding.note import NOTE_MAX, decode, encode
from tests.support.mm import lib

TIMES = st.floats(0.001, 4e9, allow_nan=False)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
VALUES = st.one_of(st.text(st.characters(codec="utf-8"), max_size=80), st.binary(max_size=80))


@given(
    now=TIMES,
    key=st.one_of(st.none(), st.binary(max_size=100)),
    headers=st.dictionaries(NAMES, VALUES, max_size=12),
    ttl=st.one_of(st.none(), st.floats(0.001, 1e6)),
    timestamp=st.one_of(st.none(), TIMES),
)
def test_what_is_encoded_is_read_back(
    now: float,
    key: bytes | None,
    headers: dict[str, str | bytes],
    ttl: float | None,
    timestamp: float | None,
) -> None:
    """Text as text, bytes as bytes; times to a microsecond."""
    found = decode(encode(now, key=key, headers=headers, ttl=ttl, timestamp=timestamp))
    assert (found.key, found.headers) == (key, headers)
    assert found.timestamp == pytest.approx(now if timestamp is None else timestamp, abs=1e-6)
    if ttl is None:
        assert found.expires is None
    else:
        assert found.expires == pytest.approx(now + ttl, abs=1e-6)


def test_text_that_is_no_utf_8_comes_back_as_it_was() -> None:
    """As topics do: with surrogates. It came from others: it is not sent so."""
    odd = b"\xff".decode("utf-8", "surrogateescape")
    octets = encode(1.0, headers={"?": "?"}).replace(b"?", b"\xff")
    assert decode(octets).headers == {odd: odd}
    for headers in ({odd: "v"}, {"n": odd}, {"n": "\ud800"}):
        with pytest.raises(mm.UsageError, match=r"header.* no UTF-8"):
            encode(1.0, headers=headers)
    with pytest.raises(mm.UsageError, match="a key is text that is no UTF-8"):
        encode(1.0, key="\ud800")


def test_items_that_nobody_knows_are_left_out() -> None:
    """Of a later version."""
    octets = b"\x09\x00\x02zz" + encode(1.0, key=b"k") + b"\xff\x00\x00"
    assert decode(octets).key == b"k"


BAD = [
    b"\x01",
    b"\x01\x00",
    b"\x01\x00\x08",
    b"\x01\x00\x07" + bytes(7),
    b"\x02\x00\x09" + bytes(9),
    (b"\x01\x00\x08" + bytes(8)) * 2,
    b"\x03\x00\x01k" * 2,
    b"\x04\x00\x00",
    b"\x04\x00\x01\x00",
    b"\x04\x00\x02\x00n",
    b"\x04\x00\x02\x02n",
    b"\x05\x00\x03\xff\x00\x00",
    b"\x09\xff\xff",
]


@pytest.mark.parametrize("octets", BAD, ids=bytes.hex)
def test_the_core_refuses_what_is_malformed(octets: bytes) -> None:
    """Before anything is sent."""
    with mm.Push() as push:
        sizes = struct.pack("=Q", 1)
        packed = b"x", mm._ffi.from_buffer("uint64_t[]", sizes), 1
        rc = lib.mm_send_packed(push._handle, 0, *packed, octets, len(octets), 0, 0)
        assert rc == lib.MM_EINVAL
        large = b"\x09\xff\xf0" + bytes(0xFFF0)
        rc = lib.mm_send_packed(push._handle, 0, *packed, large, len(large), 0, 0)
        assert (rc, NOTE_MAX) == (lib.MM_EMSGSIZE, 16_384)
