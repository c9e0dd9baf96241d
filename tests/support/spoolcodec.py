"""The octets of a spool's files, made as docs/spool-format.md says, without the core.

Not here: reading those of a cursor (cursored.py), octets that C tests have (tests/fuzz).
"""

from __future__ import annotations

import struct

POLYNOMIAL = 0x82F63B78
HEAD, BATCH = 4096, 56
"""Octets of the head of a segment, and of that of a batch."""
MAGIC = b"MMB1"
"""What a batch begins with."""
SLOT, SLOT_HEAD = 32_768, 24
"""Octets of a slot, and of what stands in front of its data."""
SLOT_MAGIC = b"MMSLOT1\0"
RECORDS, GAP, CLOSE, SPARSE = 1, 2, 3, 4
"""What a batch may be."""
EPOCH = 3


def crc32c(data: bytes) -> int:
    """Return the CRC-32C, a bit at a time."""
    state = 0xFFFFFFFF
    for octet in data:
        state ^= octet
        for _ in range(8):
            state = state >> 1 ^ (POLYNOMIAL if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def summed(octets: bytes) -> bytes:
    """Return its CRC-32C as it stands in a file."""
    return struct.pack("<I", crc32c(octets))


def head(base: int, salt: int, version: int = 1) -> bytes:
    """Return the head of a segment, without its zeros."""
    octets = b"MMSPOOL1" + struct.pack("<II16sQQQI", version, 0, b"u" * 16, base, salt, 7, EPOCH)
    return octets + summed(octets)


def segment(base: int, salt: int, *batches: tuple[int, int, int, bytes], version: int = 1) -> bytes:
    """Return a segment of batches: first number, count, type, body."""
    out, salted = head(base, salt, version), struct.pack("<Q", salt)
    chain = crc32c(out[:60])
    for first, count, kind, body in batches:
        rest = struct.pack(
            "<IIQIHBBQQII",
            len(body),
            crc32c(salted + body),
            *(first, EPOCH, count, kind, 0, 9, first - 1, chain, 0),
        )
        chain = crc32c(salted + rest)
        out += MAGIC + struct.pack("<I", chain) + rest + body
        out += bytes(-len(out) % 8)
    return out


def gap(last: int) -> bytes:
    """Return the body of a gap up to that number."""
    return struct.pack("<QI", last, 1)


def slot(number: int, data: bytes) -> bytes:
    """Return a slot up to the end of its data."""
    rest = struct.pack("<QI", number, len(data))
    return SLOT_MAGIC + rest + summed(rest + data) + data


def varint(value: int) -> bytes:
    """Return a number in groups of seven bits."""
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])
