"""A Pub with a spool that kills itself once it sent one message to the first member of a group.

Usage: python -m tests.crash.founder SPOOL LEVEL ENDPOINT HOW, which is who says that it came.
Not here: the next life (test_groups_kill.py).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import meshmsg as mm
from tests.support.grouped import until
from tests.support.pairs import WAIT_S


def found(path: str, level: Any, endpoint: str, how: str) -> None:
    """Die as soon as the message is kept."""
    with mm.Spool(path, durability=level) as spool, mm.Pub(bind=endpoint, spool=spool) as pub:
        if how == "wait":
            pub.wait_for_subscribers("t", timeout=WAIT_S)
        else:
            until(pub, lambda one: one.members > 0)
        pub.send(b"kept", topic="t")
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Do as the command line says."""
    found(*sys.argv[1:])


if __name__ == "__main__":
    main()
