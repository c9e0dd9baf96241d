"""Something is done at the n-th point of a thread where a signal's function might run.

Not here: which points those are, which each test says. Law: it is done once, and nothing is traced
from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


def each_line(_: FrameType, what: str) -> bool:
    """Before each line."""
    return what == "line"


def interrupt() -> None:
    """What Ctrl-C does."""
    raise KeyboardInterrupt


@contextmanager
def at_point(
    number: int,
    do: Callable[[], Any],
    of: Callable[[CodeType], bool],
    counts: Callable[[FrameType, str], bool] = each_line,
) -> Iterator[Callable[[], bool]]:
    """Do this at that point, the first is 1, of this thread; tells whether it came there.

    Args:
        number: Which point.
        do: What is done; what it raises is raised there.
        of: Whether points of that code count.
        counts: Whether an event of a frame ("line", "return") is one.
    """
    left = number

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal left
        if not of(frame.f_code):
            return None
        if left > 0 and counts(frame, what):
            left -= 1
            if left == 0:
                sys.settrace(None)
                do()
        return trace

    sys.settrace(trace)
    try:
        yield lambda: left <= 0
    finally:
        sys.settrace(None)
