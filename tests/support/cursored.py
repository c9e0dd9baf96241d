"""The file of a spool's cursor, read as docs/spool-format.md says, without the core.

Not here: the CRCs of its slots (tests/unit/test_spool_format_page.py has them for its own).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tests.support.spoolcodec import SLOT, SLOT_HEAD, SLOT_MAGIC


def slots_of(octets: bytes) -> dict[int, bytes]:
    """Return the data of each slot that has a head, by its number."""
    found = {}
    for at in (0, SLOT):
        magic, number, size, _ = struct.unpack_from("<8sQII", octets, at)
        if magic == SLOT_MAGIC:
            found[number] = octets[at + SLOT_HEAD : at + SLOT_HEAD + size]
    return found


def varints_of(octets: bytes) -> Iterator[int]:
    """Yield the numbers of a section."""
    value = shift = 0
    for octet in octets:
        value |= (octet & 127) << shift
        shift += 7
        if octet < 128:
            yield value
            value = shift = 0
    assert shift == 0


def sections_of(data: bytes) -> dict[int, bytes]:
    """Return what each section has, by its kind."""
    assert data[:16] == b"MMCURSOR\1\0\0\0\0\0\0\0"
    found: dict[int, bytes] = {}
    at = 16
    while at < len(data):
        kind, size = struct.unpack_from("<II", data, at)
        assert kind > max(found, default=0)
        found[kind] = data[at + 8 : at + 8 + size]
        assert len(found[kind]) == size
        at += 8 + size
    return found


def done_of(data: bytes) -> tuple[str, int, set[int]]:
    """Return the spool's uuid, the floor, and what is done above it."""
    sections = sections_of(data)
    assert set(sections) <= {1, 2}
    uuid, floor = struct.unpack("<16sQ", sections[1])
    numbers = list(varints_of(sections.get(2, b"")))
    above: set[int] = set()
    at = floor
    for gap, count in zip(numbers[::2], numbers[1::2], strict=True):
        assert gap > 0
        assert count > 0
        above |= set(range(at + gap + 1, at + gap + count + 1))
        at += gap + count
    return uuid.hex(), floor, above


def saved(path: Path) -> tuple[str, int, set[int]]:
    """Return the same of a file, as it was saved last."""
    slots = slots_of(path.read_bytes())
    return done_of(slots[max(slots)])
