"""Seeds of fuzz_spool.c: the octets that the C tests of the format have as golden ones, and files
that are made of them.

Not here: writing them (seeds.py).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

from tests.support.spoolcodec import CLOSE, GAP, SPARSE, gap, head, segment, slot

C_TEST = Path(__file__).resolve().parents[1] / "c" / "test_spool_format.c"
SEGMENT, RECORD, SLOTS, SUM = 0, 1, 2, 4
"""What the first octet says."""
SALT, BASE = 0x1122334455667788, 50
WHERE = (BASE, SALT)


def golden() -> dict[str, bytes]:
    """Return the octets of the C test, by their names there."""
    found = re.findall(r"\b(\w+)\[\] =((?:\s*\"[0-9a-f]*\")+)", C_TEST.read_text(encoding="utf-8"))
    return {name: bytes.fromhex("".join(re.findall(r"[0-9a-f]+", text))) for name, text in found}


def two(one: bytes, other: bytes) -> bytes:
    """Return two slots as the harness takes them."""
    return struct.pack("<H", len(one)) + one + other


HELLO = b"\x06\x00hello"
FRAMES = b"\x09\x04\x03\x02\x00abcde"
META = b"\x07\x01\x03\x01\x00\x00xy"
WHOLE = segment(
    *WHERE,
    (BASE, 2, 1, HELLO + FRAMES),
    (BASE + 2, 0, GAP, gap(BASE + 6)),
    (BASE + 7, 1, 1, META),
    (BASE + 8, 0, CLOSE, b""),
)
FEW = struct.pack("<QQ", BASE + 9, 7) + b"\x01" + HELLO + b"\x02" + META
FAR = struct.pack("<QQ", BASE + 9, 7) + b"\x01" + HELLO + b"\x09" + META
NONE = struct.pack("<QQ", BASE + 19, 0)
COMPACTED = segment(
    *WHERE,
    (BASE, 2, SPARSE, FEW),
    (BASE + 10, 0, SPARSE, NONE),
    (BASE + 20, 2, 1, HELLO + FRAMES),
    version=2,
)
TORN = segment(*WHERE, (BASE, 1, 1, HELLO), (BASE + 1, 1, 1, HELLO)) + b"MMB1torn" * 9
SPOOL: dict[str, tuple[int, bytes]] = {
    "segment": (SEGMENT, WHOLE),
    "segment_summed": (SEGMENT | SUM, WHOLE),
    "segment_torn": (SEGMENT, TORN),
    "segment_harmed": (SEGMENT, WHOLE.replace(b"hello", b"jello")),
    "segment_of_a_gap_first": (SEGMENT, segment(*WHERE, (BASE, 0, GAP, gap(BASE + 1)))),
    "segment_of_a_gap_beyond": (SEGMENT, segment(*WHERE, (BASE, 0, GAP, gap(BASE + 99)))),
    "segment_of_the_last_numbers": (SEGMENT | SUM, segment(*WHERE, (2**64 - 3, 2, 1, HELLO * 2))),
    "segment_too_many": (SEGMENT | SUM, segment(*WHERE, (BASE, 9, 1, HELLO))),
    "segment_compacted": (SEGMENT, COMPACTED),
    "segment_compacted_summed": (SEGMENT | SUM, COMPACTED),
    "segment_compacted_of_version_1": (SEGMENT, segment(*WHERE, (BASE, 2, SPARSE, FEW))),
    "segment_compacted_beyond": (SEGMENT, segment(*WHERE, (BASE, 2, SPARSE, FAR), version=2)),
    "segment_compacted_short": (SEGMENT, segment(*WHERE, (BASE, 2, SPARSE, FEW[:-3]), version=2)),
    "segment_compacted_backward": (
        SEGMENT,
        segment(*WHERE, (BASE + 30, 0, SPARSE, NONE), version=2),
    ),
    "head": (SEGMENT, head(*WHERE)),
    "hello": (RECORD, HELLO),
    "frames": (RECORD, FRAMES),
    "meta": (RECORD, META),
    "slots": (SLOTS, two(slot(2, b"older"), slot(3, b"newer"))),
    "slots_summed": (SLOTS | SUM, two(slot(4, b"newer"), slot(3, b"older"))),
    "slots_harmed": (SLOTS, two(slot(2, b"older"), slot(3, b"newer")[:-1] + b"x")),
    "slots_new": (SLOTS, two(b"", slot(1, b""))),
    **{f"golden_{name}": (RECORD, data) for name, data in golden().items()},
    **{
        f"golden_{name}_behind_a_head": (SEGMENT | SUM, head(*WHERE) + data)
        for name, data in golden().items()
    },
}
