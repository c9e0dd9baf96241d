"""What a test has done in the child of a fork."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_child(work: Callable[[], object]) -> bool:
    """Whether this returns something true in a forked child, and raises nothing there."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
