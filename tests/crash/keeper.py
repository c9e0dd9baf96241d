"""A program that keeps messages in a spool, and says what is kept, until it is killed. Usage:
python -m tests.crash.keeper FOLDER DURABILITY COUNT.

COUNT messages a call: 1 is `append`, more is `append_many`. A thread reads along. Lines on standard
output: `k N`, all up to number N is kept; `r N`, number N was read. Law: a line is written when
what it says is so.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import meshmsg as mm
from tests.support.spooled import body, small

SIZES = (0, 1, 30, 700, 5_000)
"""Bytes of bodies, in turn."""


def body_of(seq: int) -> bytes:
    """Return the body of a number: each process knows what is to be there."""
    return body(seq, SIZES[seq % len(SIZES)])


def say(what: str, seq: int) -> None:
    """Write a line at once, whole."""
    os.write(1, b"%s %d\n" % (what.encode(), seq))


def read_along(spool: mm.Spool, seq: int) -> None:
    """Read for ever."""
    with spool.reader(seq) as reader:
        while True:
            for one in reader.read(timeout=None):
                assert isinstance(one, mm.SpoolMessage)
                assert one == body_of(one.seq)
            say("r", reader.seq - 1)


def main() -> None:
    """Put for ever."""
    folder, durability, count = sys.argv[1:]
    level: Any = durability
    spool, each = small(folder, durability=level, max_bytes=None), int(count)
    last = spool.info().last_seq
    threading.Thread(target=read_along, args=(spool, last + 1), daemon=True).start()
    while True:
        if each == 1:
            last = spool.append(body_of(last + 1)) or 0
        else:
            last = spool.append_many(body_of(last + 1 + at) for at in range(each))[-1]
        say("k", last)


if __name__ == "__main__":
    main()
