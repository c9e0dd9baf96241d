"""A message is put, and in the middle of that a signal comes (signalling.c).  Usage: python -m
tests.fault.signalled FOLDER.

One line on standard output for each case: JSON, of what the case is, what the call said, and what
the spool has when it is opened again. Not here: what that should be (test_signals_append.py).
"""

from __future__ import annotations

import ctypes
import itertools
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshmsg as mm
from tests.support.pairs import WAIT_S

LEVELS = ("os", "disk")
"""At these a call enters the system."""
CALLS = ("append", "send")
ENDS = ("raises", "closes", "returns")


class Interrupted(Exception):
    """What the signal's function raises."""


def handler(how: str, close: Callable[[], object]) -> Callable[..., None]:
    """What the signal does."""

    def run(*_: object) -> None:
        if how == "raises":
            raise Interrupted
        if how == "closes":
            close()

    return run


def outcome(call: Callable[[], object]) -> list[Any]:
    """What it returned, or raised, and how many that says were put."""
    ctypes.CDLL(None).signalling_next()
    try:
        return ["returned", call()]
    except Exception as error:
        return [type(error).__name__, getattr(error, "sent", None)]


def case(folder: Path, level: Any, name: str, how: str) -> list[Any]:
    """One call; how it ended, and the last number that is there then."""
    with mm.Spool(folder, durability=level) as spool, mm.Push(spool=spool) as push:
        signal.signal(signal.SIGUSR1, handler(how, spool.close))
        said = outcome(lambda: spool.append(b"x") if name == "append" else push.send(b"x"))
        if how == "closes":
            assert spool._pointer is None
    with mm.Spool(folder) as again:
        again.flush(timeout=WAIT_S)
        return [*said, again.info().last_seq]


def main() -> None:
    """Run each case, in a folder of its own."""
    root = Path(sys.argv[1])
    root.mkdir()
    for number, of in enumerate(itertools.product(LEVELS, CALLS, ENDS)):
        print(json.dumps([*of, *case(root / str(number), *of)]), flush=True)


if __name__ == "__main__":
    main()
