"""A process that does what it is told, line by line, until standard input ends.

Each line in is JSON, `{"do": what, ...}`, and is answered by one line of JSON. Not here: what is
done (beside.py). Law: what a process has opened stays until it is told otherwise.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from .process import to_parent, usage

Fact = dict[str, Any]
Does = Callable[[Fact], Fact]


def serve(does: dict[str, Does]) -> None:
    """Do what standard input says; `cpu` is what the process has used of processors so far."""
    known = {"cpu": lambda _: {"cpu_s": usage()["cpu_s"]}, **does}
    for line in sys.stdin:
        asked = json.loads(line)
        to_parent(known[asked["do"]](asked))
    os._exit(0)
