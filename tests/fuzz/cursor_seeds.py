"""Seeds of fuzz_cursor.c: the octets that the C test of the format has as golden ones, and ranges.

Not here: writing them (seeds.py).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from tests.support.spoolcodec import varint

C_TEST = Path(__file__).resolve().parents[1] / "c" / "test_cursor_format.c"
RAW, PLACED = 0, 1
"""What the first octet says: all of it stands here; the head and the place are put in front."""
UUID = b"a spool of whom\0"
FLOOR = 1000


def golden() -> bytes:
    """Return the octets of the C test, of the spool of the harness."""
    text = C_TEST.read_text(encoding="utf-8")
    found = re.search(r"\bgolden_hex\[\] =((?:\s*\"[0-9a-f]*\")+)", text)
    assert found
    octets = bytes.fromhex("".join(re.findall(r"[0-9a-f]+", found[1])))
    return octets[:24] + UUID + octets[40:]


def done(*ranges: tuple[int, int]) -> bytes:
    """Return a section of ranges: how many are not done, and how many are."""
    data = b"".join(varint(gap) + varint(count) for gap, count in ranges)
    return struct.pack("<II", 2, len(data)) + data


def front(kind: int, last_seq: int, floor: int = FLOOR) -> bytes:
    """Return what the harness takes from the front."""
    return bytes([kind]) + struct.pack("<QQ", last_seq * 2, floor * 2)


SPAN = 134_217_664
CURSOR: dict[str, bytes] = {
    "golden": front(RAW, 2000) + golden(),
    "golden_of_a_shorter_spool": front(RAW, 1100) + golden(),
    "golden_of_a_spool_that_lost_more": front(RAW, 10) + golden(),
    "golden_cut": front(RAW, 2000) + golden()[:-1],
    "golden_of_a_later_version": front(RAW, 2000) + golden()[:8] + b"\2" + golden()[9:],
    "of_another_spool": front(RAW, 2000) + golden().replace(UUID, bytes(16)),
    "place": front(PLACED, 5000),
    "ranges": front(PLACED, 5000) + done((1, 1), (62, 64), (1, 1), (65, 700)),
    "words": front(PLACED, 5000) + done((24, 64), (64, 64), (1, 63)),
    "many": front(PLACED, 5000) + done(*[(1, 1)] * 900),
    "far": front(PLACED, 2**62) + done((SPAN - 2, 1)),
    "too_far": front(PLACED, 2**62) + done((SPAN - 1, 1), (1, 1)),
    "at_the_end": front(PLACED, 2**63 - 1, 2**63 - 20) + done((2, 3)),
    "no_ranges": front(PLACED, 5000) + done(),
    "another_section": front(PLACED, 5000) + done((1, 1)) + struct.pack("<II", 3, 0),
    "twice": front(PLACED, 5000) + done((1, 1)) * 2,
}
