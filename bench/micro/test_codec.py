"""Micro-benchmarks of the codec: the readers of both wires.

Not here: the writers (test_codec_c.py), and what is around it. Law: as in test_micro.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from meshmsg._mm import ffi, lib

BATCH = 1000
SIZES = (64, 1024, 16384)
SIZE_MAX = 1 << 20
FRAMES_MAX = 1024
COMMAND_MAX = 70_000
HOPS_MAX = 8
SP_PULL = 81
"""The number of this protocol on the wire (docs/wire.md)."""


def framed(size: int, count: int) -> bytes:
    """So many single-frame messages as they stand on the wire."""
    head = bytes((0, size)) if size < 256 else b"\x02" + size.to_bytes(8, "big")
    return (head + b"x" * size) * count


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.benchmark(group="codec")
def test_the_reader_parses_a_chunk_of_messages(benchmark: Any, size: int) -> None:
    """1,000 messages, each made and freed."""
    chunk = framed(size, BATCH)
    where = ffi.from_buffer("uint8_t[]", chunk)
    used, part = ffi.new("size_t *"), ffi.new("size_t *")
    msg, kind, data = ffi.new("mm_msg **"), ffi.new("int *"), ffi.new("uint8_t const **")

    def parse() -> int:
        reader = lib.mm_codec_reader_new(SIZE_MAX, FRAMES_MAX, COMMAND_MAX)
        at = count = 0
        try:
            while at < len(chunk):
                left = len(chunk) - at
                rc = lib.mm_codec_reader_next(reader, where + at, left, used, msg, kind, data, part)
                assert rc >= 0
                at += used[0]
                if msg[0] != ffi.NULL:
                    lib.mm_msg_free(msg[0])
                    count += 1
        finally:
            lib.mm_codec_reader_free(reader)
        return count

    assert benchmark(parse) == BATCH


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.benchmark(group="codec")
def test_the_reader_of_sp_parses_a_chunk_of_messages(benchmark: Any, size: int) -> None:
    """The same over the second wire."""
    chunk = (size.to_bytes(8, "big") + b"x" * size) * BATCH
    where = ffi.from_buffer("uint8_t[]", chunk)
    used, msg = ffi.new("size_t *"), ffi.new("mm_msg **")

    def parse() -> int:
        reader = lib.mm_codec_sp_reader_new(SIZE_MAX, HOPS_MAX, 0, SP_PULL)
        at = count = 0
        try:
            while at < len(chunk):
                rc = lib.mm_codec_sp_reader_next(reader, where + at, len(chunk) - at, used, msg)
                assert rc >= 0
                at += used[0]
                if rc == 1:
                    lib.mm_msg_free(msg[0])
                    count += 1
        finally:
            lib.mm_codec_sp_reader_free(reader)
        return count

    assert benchmark(parse) == BATCH
