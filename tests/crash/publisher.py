"""A Pub with a spool that sends numbers until it is killed, and says which were kept.

Usage: python -m tests.crash.publisher SPOOL LEVEL ENDPOINT. Not here: who kills it
(test_groups_kill.py).
"""

from __future__ import annotations

import sys
from typing import Any

import meshmsg as mm

TOPICS = 16


def publish(path: str, level: Any, endpoint: str) -> None:
    """Send the numbers behind those that are in the spool, for ever."""
    with mm.Spool(path, durability=level) as spool, mm.Pub(bind=endpoint, spool=spool) as pub:
        number = spool.info().last_seq
        if number == 0:
            pub.seek_group("w", "earliest")
        while True:
            pub.send(b"%d" % number, topic=f"t{number % TOPICS}")
            number += 1
            print(number, flush=True)


if __name__ == "__main__":
    publish(*sys.argv[1:4])
