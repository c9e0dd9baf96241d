"""Sends with `delay=` out of a spool while its wall clock is set; says what came, in order.

Arguments: the folder of the spool, the file that clock_set.c reads, seconds that it is set by, and
who publishes: push or group. Not here: what is expected (test_faults_clock.py).
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import meshmsg as mm
from tests.support.pairs import WAIT_S, wait_until

HOUR = 3600.0
SOON = 0.2


@contextmanager
def pair(who: str, spool: mm.Spool) -> Iterator[tuple[Any, Any]]:
    """Yield who sends, and who receives."""
    if who == "push":
        with (
            mm.Push(bind="inproc://later", spool=spool) as push,
            mm.Pull(connect=push.endpoint) as pull,
        ):
            yield push, pull
        return
    with mm.Pub(bind="inproc://later", spool=spool) as pub:
        pub.seek_group("g", "earliest")
        with mm.Sub(connect=pub.endpoint, topics="", group="g") as sub:
            yield pub, sub


def main(folder: str, file: str, by: int, who: str) -> None:
    """Have two messages wait, set the clock, and say what comes first."""
    with mm.Spool(folder) as spool, pair(who, spool) as (sender, receiver):
        topic = {"topic": "t"} if who == "group" else {}
        spool.append(b"in an hour", delay=HOUR, **topic)  # type: ignore[arg-type]
        spool.append(b"soon", delay=SOON, **topic)  # type: ignore[arg-type]
        spool.append(b"now", **topic)  # type: ignore[arg-type]
        print(bytes(receiver.recv(timeout=WAIT_S)).decode(), flush=True)  # and the others were read
        before = time.time()
        with open(file, "r+b") as off:
            off.write(struct.pack("<q", by))
        wait_until(lambda: abs(time.time() - before - by) < HOUR / 2)
        print(bytes(receiver.recv(timeout=WAIT_S)).decode(), flush=True)
        spool.append(b"at the end", delay=SOON, **topic)  # type: ignore[arg-type]
        print(bytes(receiver.recv(timeout=WAIT_S)).decode(), flush=True)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
