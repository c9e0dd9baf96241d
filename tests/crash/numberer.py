"""A producer that numbers what it puts into a spool, and puts again what it was not told of, until
it is killed. Usage: python -m tests.crash.numberer FOLDER DURABILITY EACH NEXT DIES.

It begins with number NEXT, the first that it does not know to be kept: perhaps it is. EACH: numbers
a call; 1 is `append`. DIES: after so many calls it kills itself, with the last one done and untold;
0: somebody else does. Lines on standard output: `N R`, all below number
N is kept, and R calls so far found something that was there. Law: as in keeper.py.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import meshmsg as mm
from tests.support.spooled import body, small

NAME = "a producer"
SIZES = (0, 1, 30, 700, 5_000)
"""Bytes of bodies, in turn."""


def body_of(number: int) -> bytes:
    """Return the body of a number: each process knows what is to be there."""
    return b"%d " % number + body(number, SIZES[number % len(SIZES)])


def put(spool: mm.Spool, number: int, each: int) -> bool:
    """Put so many; whether some of them were there."""
    if each == 1:
        return isinstance(spool.append(body_of(number), origin=(NAME, number)), mm.SpoolRepeat)
    bodies = [body_of(number + at) for at in range(each)]
    return len(spool.append_many(bodies, origin=(NAME, number))) < each


def main() -> None:
    """Put for ever, or as long as was said."""
    folder, durability, *rest = sys.argv[1:]
    each, number, dies = map(int, rest)
    level: Any = durability
    spool, calls, repeated = small(folder, durability=level), 0, 0
    while True:
        repeated += put(spool, number, each)
        number += each
        calls += 1
        if calls == dies:
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(1, b"%d %d\n" % (number, repeated))


if __name__ == "__main__":
    main()
