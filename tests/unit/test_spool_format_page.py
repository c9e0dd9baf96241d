"""The page of the spool's files says what the core writes: offsets, sizes and octets.

Not here: the codec itself (tests/c/test_spool_format.c, test_cursor_format.c, test_slots.c), and
what a cursor of a spool writes (test_spool_cursor_file.py).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.spoolcodec import crc32c

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/spool-format.md").read_text(encoding="utf-8")
SPOOL = ROOT / "csrc/spool"
HEADERS = ("format.h", "slots.h", "cursor.h", "producers.h")
C_TEST = "".join(
    (ROOT / "tests/c" / name).read_text(encoding="utf-8")
    for name in ("test_spool_format.c", "test_cursor_format.c", "test_producers.c")
)


def section(heading: str) -> str:
    """Return the text below a heading of the page."""
    return PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]


def rows(heading: str) -> list[tuple[int, str, str]]:
    """Return offset, octets and what of each row of a table of offsets."""
    found = re.findall(r"^\| (\d+) \| ([\w,]+) \| (.+) \|$", section(heading), re.MULTILINE)
    assert len(found) > 4
    return [(int(at), size.replace(",", ""), what) for at, size, what in found]


def examples() -> list[bytes]:
    """Return the octets that the page shows."""
    blocks = re.findall(r"(?:^    (?:[0-9a-f]{2} ?)+\n)+", PAGE, re.MULTILINE)
    return [bytes.fromhex(block) for block in blocks]


def golden(name: str) -> bytes:
    """Return octets of the C test."""
    text = re.search(rf"\b{name}\[\] =(.*?);", C_TEST, re.DOTALL)
    assert text
    return bytes.fromhex("".join(re.findall(r'"([0-9a-f]*)"', text[1])))


@pytest.mark.parametrize("heading", ["A segment", "A batch", "Producers", "Slots", "A cursor"])
def test_each_row_of_a_table_begins_where_the_one_before_ends(heading: str) -> None:
    """No octet is left out."""
    at = 0
    for begin, octets, _ in rows(heading):
        assert begin == at
        at += int(octets) if octets.isdigit() else 0


@pytest.mark.parametrize(
    ("file", "prefix", "heading"),
    [
        ("format.c", "HEAD", "A segment"),
        ("format.c", "BATCH", "A batch"),
        ("slots.c", "SLOT", "Slots"),
        ("producers_image.c", "IMAGE", "Producers"),
    ],
)
def test_the_offsets_of_the_code_are_those_of_the_page(
    file: str, prefix: str, heading: str
) -> None:
    """Each offset that the core names begins a row."""
    text = (SPOOL / file).read_text(encoding="utf-8")
    offsets = {int(at) for at in re.findall(rf"\b{prefix}_[A-Z_]+ = (\d+)", text)}
    begins = {at for at, _, _ in rows(heading)}
    assert len(offsets) >= 3
    # The magic stands at 0; what has no name is zeros, and what is behind a head.
    assert begins - offsets <= {0} | {"SLOT": {24}, "IMAGE": {44, 48}}.get(prefix, {56})
    assert offsets <= begins


def test_the_sizes_of_the_page_are_those_of_the_headers() -> None:
    """Of heads, slots and what is limited."""
    sizes = "".join((SPOOL / name).read_text() for name in HEADERS)
    for name, value, said in (
        ("MMI_SPOOL_FILE_HEAD", "4096", "head of 4,096 octets"),
        ("MMI_SPOOL_BATCH_HEAD", "56", "head of 56 octets"),
        ("MMI_SPOOL_ALIGN", "8", "a multiple of 8 octets"),
        ("MMI_SPOOL_BODY_MAX", "64 * 1024 * 1024", "64 MiB or less"),
        ("MMI_SPOOL_COUNT_MAX", "65535", "1 to 65,535"),
        ("MMI_SPOOL_FRAMES_MAX", "1024", "2 to 1,024"),
        ("MMI_SPOOL_GAP_BODY", "12", "12 octets"),
        ("MMI_SLOT", "32 * 1024", "two slots of 32,768 octets"),
        ("MMI_CURSOR_NAME_MAX", "64", "1 to 64 octets of"),
        ("MMI_PRODUCERS_MAX", "10000", "10,000 or less"),
        ("MMI_PRODUCERS_EACH", "40", "of 40 octets each"),
        ("MMI_CURSOR_SPAN_MAX", "128 * 1024 * 1024 - 64", f"{128 * 1024 * 1024 - 64:,} above"),
    ):
        assert re.search(rf"\b{name} = {re.escape(value)}[, ]", sizes), name
        assert said in PAGE
    limits = (ROOT / "csrc/base/limits.h").read_text()
    assert "MMI_META_SIZE_MAX = 16 * 1024," in limits
    assert "1 to 16,384" in PAGE


def test_the_octets_of_the_page_are_those_that_the_core_writes() -> None:
    """As tests/c/test_spool_format.c proves."""
    records, close, *_ = examples()
    hello, frames = records[:7], records[7:]
    assert golden("body_hex").startswith(hello)
    assert frames in golden("body_hex")
    assert close == golden("close_hex")


def test_the_golden_octets_of_the_c_test_have_right_crcs() -> None:
    """They were not made by the code that they judge."""
    head, data, body = golden("head_hex"), golden("data_hex"), golden("body_hex")
    salt = head[40:48]
    assert crc32c(head[:60]) == int.from_bytes(head[60:], "little")
    assert crc32c(b"123456789") == 0xE3069283
    gap, close = golden("gap_hex"), golden("close_hex")
    for batch in (data + body, gap, close):
        assert crc32c(salt + batch[8:56]) == int.from_bytes(batch[4:8], "little")
        assert crc32c(salt + batch[56:]) == int.from_bytes(batch[12:16], "little")
        assert len(batch) == 56 + int.from_bytes(batch[8:12], "little")


def test_the_octets_of_a_cursor_are_those_that_the_core_writes() -> None:
    """As tests/c/test_cursor_format.c proves."""
    assert examples()[3] == golden("golden_hex")


def test_the_octets_of_the_producers_are_those_that_the_core_writes() -> None:
    """As tests/c/test_producers.c proves, and with a right CRC."""
    shown = examples()[2]
    assert shown == golden("producers_hex")
    assert crc32c(shown[12:]) == int.from_bytes(shown[8:12], "little")
