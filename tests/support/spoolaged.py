"""Segment files of a spool that are made older than they are.

Not here: what a spool does with them.
"""

from __future__ import annotations

import struct
from pathlib import Path

from tests.support.spoolcodec import BATCH, HEAD, crc32c


def aged(file: Path, time_us: int, batches: int | None = None) -> None:
    """Make a segment, and its first batches or all, as old as that (docs/spool-format.md)."""
    data = bytearray(file.read_bytes())
    struct.pack_into("<Q", data, 48, time_us)
    chain = crc32c(bytes(data[:60]))
    struct.pack_into("<I", data, 60, chain)
    salt, at, done = bytes(data[40:48]), HEAD, 0
    while data[at : at + 4] == b"MMB1":
        (size,) = struct.unpack_from("<I", data, at + 8)
        if batches is None or done < batches:
            struct.pack_into("<Q", data, at + 32, time_us)
        struct.pack_into("<I", data, at + 48, chain)
        chain = crc32c(salt + bytes(data[at + 8 : at + BATCH]))
        struct.pack_into("<I", data, at + 4, chain)
        at += (BATCH + size + 7) // 8 * 8
        done += 1
    file.write_bytes(data)
