"""What a work queue and its workers say to each other: four kinds of multipart message.

Worker to queue:  [b"ask", window (u32), numbers of finished batches (u64 each)]
Queue to worker:  [b"work", number (u64) attempt (u32) first sequence (u64), record, record, ...]
                  [b"wait"]  nothing for you now, I am alive
                  [b"end"]   there is no more
All numbers are in network order.  Law: no message needs the one before it, so a lost one costs
time and never truth.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

ASK, WORK, WAIT, END = b"ask", b"work", b"wait", b"end"

_WINDOW = struct.Struct(">I")
_HEADER = struct.Struct(">QIQ")
_NUMBER_SIZE = 8


def pack_ask(window: int, done: Sequence[int]) -> list[bytes]:
    """What a worker sends."""
    return [ASK, _WINDOW.pack(window), struct.pack(f">{len(done)}Q", *done)]


def parse_ask(frames: Sequence[bytes]) -> tuple[int, tuple[int, ...]] | None:
    """The window and the finished batches; None when it makes no sense."""
    if len(frames) != 3 or frames[0] != ASK or len(frames[1]) != _WINDOW.size:
        return None
    count, rest = divmod(len(frames[2]), _NUMBER_SIZE)
    if rest:
        return None
    (window,) = _WINDOW.unpack(frames[1])
    return window, struct.unpack(f">{count}Q", frames[2])


def pack_work(
    number: int, attempt: int, first_sequence: int, items: Sequence[bytes]
) -> list[bytes]:
    """What a queue sends for one batch."""
    return [WORK, _HEADER.pack(number, attempt, first_sequence), *items]


def parse_header(frame: bytes) -> tuple[int, int, int] | None:
    """Number, attempt and first sequence of a batch; None when it makes no sense."""
    if len(frame) != _HEADER.size:
        return None
    number, attempt, first_sequence = _HEADER.unpack(frame)
    return number, attempt, first_sequence
