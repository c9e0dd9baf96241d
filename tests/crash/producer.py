"""A program that puts numbers into a Push with a spool, and says what is kept, until it is killed.
Usage: python -m tests.crash.producer FOLDER DURABILITY HOW ENDPOINT WORKERS [NODE].

HOW: `one` (send), `many` (send_many), `receipts` (send_many, and it waits until they are
acknowledged). It begins when there are so many WORKERS. Lines on standard output: `N`, all numbers
below N are sent. NODE is added to the numbers in the bodies, NODE times EACH: of several producers
no two have one in common. Law: a line is written when what it says is so.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import meshmsg as mm
from tests.crash.worker import HEARTBEAT_S, SILENT_S
from tests.support.spooled import SEGMENT

RUN = 10
"""Numbers of a call for many."""
EACH = 10**9
"""Numbers that a node has."""


def say(count: int) -> None:
    """Write a line at once, whole."""
    os.write(1, b"%d\n" % count)


def send_for_ever(push: mm.Push, how: str, number: int, base: int) -> None:
    """Send numbers from that one on. The number of a message in the spool is one more."""
    while True:
        if how == "one":
            push.send(b"%d" % (base + number))
            number += 1
        else:
            bodies = [b"%d" % (base + number + at) for at in range(RUN)]
            if how == "many":
                push.send_many(bodies)
            else:
                push.send_many(bodies, confirm=True).wait()
            number += RUN
        say(number)


def main() -> None:
    """Send as the command line says."""
    folder, durability, how, endpoint, workers, *node = sys.argv[1:]
    level: Any = durability
    beats = {"heartbeat_interval": HEARTBEAT_S, "heartbeat_timeout": SILENT_S}
    with mm.Spool(folder, durability=level, segment_bytes=SEGMENT) as spool:
        with mm.Push(bind=endpoint, spool=spool, **beats) as push:
            push.wait_for_peers(int(workers))
            say(spool.info().last_seq)  # what a life before this one had put, told or not
            send_for_ever(push, how, spool.info().last_seq, EACH * int(*node or [0]))


if __name__ == "__main__":
    main()
