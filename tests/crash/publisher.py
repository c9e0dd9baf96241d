"""A Pub with a spool that sends numbers until it is killed, and says which were kept.

Usage: python -m tests.crash.publisher SPOOL LEVEL ENDPOINT [DEAD], the spool of its dead letters.
Not here: who kills it (test_groups_kill.py, test_groups_dead_kill.py).
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import meshmsg as mm

TOPICS = 16


def publish(path: str, level: Any, endpoint: str, *dead: str) -> None:
    """Send the numbers behind those that are in the spool, for ever."""
    with ExitStack() as stack:
        spool = stack.enter_context(mm.Spool(path, durability=level))
        more: dict[str, Any] = {}
        if dead:
            letters = stack.enter_context(mm.Spool(dead[0], durability=level))
            more = {"max_attempts": 2, "dead_letter": letters}
        pub = stack.enter_context(mm.Pub(spool=spool, **more))
        number = spool.info().last_seq
        if number == 0:
            pub.seek_group("w", "earliest")
        pub.bind(endpoint)  # from now on somebody may be in it
        while True:
            pub.send(b"%d" % number, topic=f"t{number % TOPICS}")
            number += 1
            print(number, flush=True)


def main() -> None:
    """Publish as the command line says."""
    publish(*sys.argv[1:])


if __name__ == "__main__":
    main()
