"""A program that puts messages with keys into a spool that compacts itself, until it is killed.
Usage: python -m tests.crash.compactor FOLDER DURABILITY.

What the message of a number is follows from the number (`what_is`). Lines on standard output: `N`,
all up to N is kept. Law: a line is written when what it says is so.
"""

from __future__ import annotations

import functools
import os
import random
import sys
from typing import Any

from tests.support.spooled import small

KEYS = 40
RUN = 25
"""Messages that are put before it says so."""
OPTIONS: dict[str, Any] = {"compact": True, "compact_ratio": 0.01, "tombstone_age": 0}


@functools.cache
def what_is(seq: int) -> tuple[bytes | None, bytes]:
    """Return the key and the body of a message. A tenth have no key, a fifth are tombstones."""
    dice = random.Random(seq)
    key = None if dice.random() < 0.1 else b"%d" % dice.randrange(KEYS)
    dead = key is not None and dice.random() < 0.2
    return key, b"" if dead else (b"%d " % seq) * dice.randrange(1, 400)


def put_for_ever(path: str, durability: str) -> None:
    """Put, and say what is kept; now and then all is compacted at once."""
    with small(path, durability=durability, **OPTIONS) as spool:
        seq = spool.info().last_seq
        while True:
            for _ in range(RUN):
                seq += 1
                key, body = what_is(seq)
                options: dict[str, Any] = {} if key is None else {"key": key}
                assert spool.append(body, wait=False, **options) == seq
            spool.flush()
            os.write(1, b"%d\n" % seq)
            if seq % (4 * RUN) == 0:
                spool.compact()


def main() -> None:
    """Put as the command line says."""
    put_for_ever(*sys.argv[1:])


if __name__ == "__main__":
    main()
