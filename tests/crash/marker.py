"""A program that marks messages of a spool as done, out of order, until it is killed. Usage:
python -m tests.crash.marker FOLDER SEED.

Lines on standard output: `b N`, message N is worked on and will be marked; `s N`, all up to N is
saved. Law: `b` is written before the mark, `s` behind the save.
"""

from __future__ import annotations

import os
import random
import sys

import meshmsg as mm
from tests.support.spooled import small

RUN = 50
"""Messages that are put at once."""


def say(what: str, seq: int) -> None:
    """Write a line at once, whole."""
    os.write(1, b"%s %d\n" % (what.encode(), seq))


def main() -> None:
    """Work for ever, out of order."""
    folder, seed = sys.argv[1:]
    dice = random.Random(seed)
    spool = small(folder, until_acked_by=["work"])
    with spool.cursor("work") as cursor, cursor.reader() as reader:
        while True:
            spool.append_many([b"x" * 500] * RUN)
            some = [one.seq for one in reader.read() if isinstance(one, mm.SpoolMessage)]
            dice.shuffle(some)
            for seq in some:
                say("b", seq)
                cursor.done(seq)
                if dice.random() < 0.03:
                    floor = cursor.floor
                    cursor.save()
                    say("s", floor)


if __name__ == "__main__":
    main()
