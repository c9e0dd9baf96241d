"""Seeds of fuzz_blocks.c, fuzz_replay.c and fuzz_replayed.c: batches of a spool as they go over the
wire, and steps of either end of a replay, by the numbers that those files have for them.

Not here: writing them (seeds.py).
"""

from __future__ import annotations

import random
import struct

from tests.fuzz.spool_seeds import BASE, FEW, FRAMES, HELLO, META, NONE, SALT
from tests.support.spoolcodec import SPARSE, segment

HEAD = 64
"""Octets of a file in front of its first batch, without zeros."""


def block(first: int, count: int, kind: int, body: bytes) -> bytes:
    """Return a batch behind the salt of its file."""
    whole = segment(BASE, SALT, (first, count, kind, body))
    return struct.pack("<Q", SALT) + whole[HEAD : HEAD + 56 + len(body)]


def asked(start: int, count: int, rows: int, octets: bytes, *, summed: bool = False) -> bytes:
    """Return what was asked for, and what came."""
    return bytes([start, count - 1, rows - 1, summed]) + octets


TWO = block(BASE, 2, 1, HELLO + FRAMES)
SPARE = block(BASE + 2, 2, SPARSE, struct.pack("<QQ", BASE + 9, 7) + FEW[16:])
REST = block(BASE + 10, 1, 1, META)
BLOCKS = {
    "all": asked(0, 11, 16, TWO + SPARE + REST),
    "one_by_one": asked(0, 11, 1, TWO + SPARE + REST),
    "cut": asked(1, 5, 4, TWO + SPARE + REST),
    "none_is_left": asked(2, 18, 4, block(BASE + 2, 0, SPARSE, NONE)),
    "ends_early": asked(0, 50, 16, TWO),
    "other_numbers": asked(30, 5, 16, TWO),
    "harmed": asked(0, 2, 16, TWO[:-1] + b"x"),
    "summed": asked(0, 2, 16, TWO[:-1] + b"x", summed=True),
    "short": asked(0, 2, 16, TWO[:30]),
}

ASK, BEGIN, SUBSCRIBE, CANCEL, TURN, READ, AGAIN = 1, 3, 4, 5, 6, 7, 8
"""Steps of a subscriber."""


def ask(kind: int, value: int) -> bytes:
    """Ask for a replay, having heard nothing."""
    return bytes([ASK, kind, 0, value])


ALL = bytes([SUBSCRIBE, 0, BEGIN])
TURNS = bytes([TURN, READ]) * 9
REPLAY = {
    "earliest": b"\x3f" + ask(4, 0) + ALL + TURNS,
    "seq": b"\x3f" + ask(1, 60) + ALL + TURNS,
    "last": b"\x07" + ask(2, 9) + ALL + TURNS,
    "since": b"\x07" + ask(3, 1) + ALL + TURNS,
    "known": b"\x3f" + bytes([ASK, 4, 1, 0, 120]) + ALL + TURNS,
    "twice": b"\x3f" + ask(4, 0) + ask(4, 0) + ALL,
    "late": b"\x3f" + ALL + ask(4, 0) + TURNS,
    "topics": b"\x3f" + ask(4, 0) + bytes([SUBSCRIBE, 1, BEGIN, TURN, SUBSCRIBE, 2, CANCEL, 1]),
    "reconnect": b"\x01" + ask(4, 0) + ALL + TURNS + bytes([AGAIN]) + ask(1, 99) + ALL + TURNS,
    **{f"steps_{seed}": random.Random(seed).randbytes(300) for seed in range(8)},
}

COUNT, AT, MESSAGES, LOST, TAKE, RUN, BACK = 1, 2, 3, 4, 6, 8, 7
"""Steps of a publisher."""
COUNTED = bytes([COUNT, 1, 2])
REPLAYED = {
    "in_a_row": b"\x03" + COUNTED + bytes([AT, 7, MESSAGES, 69, RUN, TAKE]),
    "jumps": b"\x03" + COUNTED + bytes([AT, 7, MESSAGES, 2, AT, 5, MESSAGES, 1, RUN, TAKE]),
    "lost": b"\x03" + COUNTED + bytes([AT, 1, LOST, 0, *([0] * 7), 9, MESSAGES, 1, RUN, TAKE]),
    "last": b"\x03" + COUNTED + bytes([AT, 240, MESSAGES, 3, RUN, TAKE, BACK]),
    "back": b"\x03" + COUNTED + bytes([AT, 1, BACK]) + COUNTED + bytes([AT, 1, MESSAGES, 1, RUN]),
    "others": b"\x03" + b"".join(bytes([COUNT, 1, i, AT, 1]) for i in range(20)) + bytes([RUN]),
    "at_first": b"\x03" + bytes([AT, 1, MESSAGES, 1, RUN]),
    **{f"steps_{seed}": random.Random(seed).randbytes(300) for seed in range(8)},
}
