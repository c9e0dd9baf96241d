"""Seeds of fuzz_spool.c: the octets that the C tests of the format have as golden ones, and files
that are made of them.

Not here: writing them (seeds.py).
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

C_TEST = Path(__file__).resolve().parents[1] / "c" / "test_spool_format.c"
POLYNOMIAL = 0x82F63B78
SEGMENT, RECORD, SLOTS, SUM = 0, 1, 2, 4
"""What the first octet says."""
SALT, BASE = 0x1122334455667788, 50
GAP, CLOSE, SPARSE = 2, 3, 4


def crc32c(data: bytes) -> int:
    """Return the CRC-32C, a bit at a time."""
    state = 0xFFFFFFFF
    for octet in data:
        state ^= octet
        for _ in range(8):
            state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def golden() -> dict[str, bytes]:
    """Return the octets of the C test, by their names there."""
    found = re.findall(r"\b(\w+)\[\] =((?:\s*\"[0-9a-f]*\")+)", C_TEST.read_text(encoding="utf-8"))
    return {name: bytes.fromhex("".join(re.findall(r"[0-9a-f]+", text))) for name, text in found}


def head(version: int = 1) -> bytes:
    """Return the head of a segment, without its zeros."""
    octets = b"MMSPOOL1" + struct.pack("<II16sQQQI", version, 0, b"u" * 16, BASE, SALT, 7, 3)
    return octets + struct.pack("<I", crc32c(octets))


def segment(*batches: tuple[int, int, int, bytes], version: int = 1) -> bytes:
    """Return a segment of batches: first number, count, type, body."""
    salt, out = struct.pack("<Q", SALT), head(version)
    chain = crc32c(out[:60])
    for first, count, kind, body in batches:
        rest = struct.pack(
            "<IIQIHBBQQII",
            len(body),
            crc32c(salt + body),
            *(first, 3, count, kind, 0, 9, first - 1, chain, 0),
        )
        chain = crc32c(salt + rest)
        out += b"MMB1" + struct.pack("<I", chain) + rest + body
        out += bytes(-len(out) % 8)
    return out


def slot(number: int, data: bytes) -> bytes:
    """Return a slot up to the end of its data."""
    rest = struct.pack("<QI", number, len(data))
    return b"MMSLOT1\0" + rest + struct.pack("<I", crc32c(rest + data)) + data


def two(one: bytes, other: bytes) -> bytes:
    """Return two slots as the harness takes them."""
    return struct.pack("<H", len(one)) + one + other


HELLO = b"\x06\x00hello"
FRAMES = b"\x09\x04\x03\x02\x00abcde"
META = b"\x07\x01\x03\x01\x00\x00xy"
WHOLE = segment(
    (BASE, 2, 1, HELLO + FRAMES),
    (BASE + 2, 0, GAP, struct.pack("<QI", BASE + 6, 1)),
    (BASE + 7, 1, 1, META),
    (BASE + 8, 0, CLOSE, b""),
)
FEW = struct.pack("<QQ", BASE + 9, 7) + b"\x01" + HELLO + b"\x02" + META
FAR = struct.pack("<QQ", BASE + 9, 7) + b"\x01" + HELLO + b"\x09" + META
NONE = struct.pack("<QQ", BASE + 19, 0)
COMPACTED = segment(
    (BASE, 2, SPARSE, FEW),
    (BASE + 10, 0, SPARSE, NONE),
    (BASE + 20, 2, 1, HELLO + FRAMES),
    version=2,
)
TORN = segment((BASE, 1, 1, HELLO), (BASE + 1, 1, 1, HELLO)) + b"MMB1torn" * 9
SPOOL: dict[str, tuple[int, bytes]] = {
    "segment": (SEGMENT, WHOLE),
    "segment_summed": (SEGMENT | SUM, WHOLE),
    "segment_torn": (SEGMENT, TORN),
    "segment_harmed": (SEGMENT, WHOLE.replace(b"hello", b"jello")),
    "segment_of_a_gap_first": (SEGMENT, segment((BASE, 0, GAP, struct.pack("<QI", BASE + 1, 1)))),
    "segment_of_a_gap_beyond": (SEGMENT, segment((BASE, 0, GAP, struct.pack("<QI", BASE + 99, 1)))),
    "segment_of_the_last_numbers": (SEGMENT | SUM, segment((2**64 - 3, 2, 1, HELLO * 2))),
    "segment_too_many": (SEGMENT | SUM, segment((BASE, 9, 1, HELLO))),
    "segment_compacted": (SEGMENT, COMPACTED),
    "segment_compacted_summed": (SEGMENT | SUM, COMPACTED),
    "segment_compacted_of_version_1": (SEGMENT, segment((BASE, 2, SPARSE, FEW))),
    "segment_compacted_beyond": (SEGMENT, segment((BASE, 2, SPARSE, FAR), version=2)),
    "segment_compacted_short": (SEGMENT, segment((BASE, 2, SPARSE, FEW[:-3]), version=2)),
    "segment_compacted_backward": (SEGMENT, segment((BASE + 30, 0, SPARSE, NONE), version=2)),
    "head": (SEGMENT, head()),
    "hello": (RECORD, HELLO),
    "frames": (RECORD, FRAMES),
    "meta": (RECORD, META),
    "slots": (SLOTS, two(slot(2, b"older"), slot(3, b"newer"))),
    "slots_summed": (SLOTS | SUM, two(slot(4, b"newer"), slot(3, b"older"))),
    "slots_harmed": (SLOTS, two(slot(2, b"older"), slot(3, b"newer")[:-1] + b"x")),
    "slots_new": (SLOTS, two(b"", slot(1, b""))),
    **{f"golden_{name}": (RECORD, data) for name, data in golden().items()},
    **{f"golden_{name}_behind_a_head": (SEGMENT | SUM, head() + d) for name, d in golden().items()},
}
