"""Something is done at the n-th place of a thread where CPython runs a signal's function.

Not here: points between any two lines, which are more than there are (points.py). Law: it is done
once. A loop that calls nothing has such a place too, and is not looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def at_call(
    number: int, do: Callable[[], Any], files: tuple[str, ...]
) -> Iterator[Callable[[], bool]]:
    """Do this at that place, the first is 1: as a function of files whose paths end so begins, or
    behind a call of C in one; tells whether it came there."""
    left = number

    def look(frame: FrameType, what: str, _: Any) -> None:
        nonlocal left
        if what in ("call", "c_return") and frame.f_code.co_filename.endswith(files):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                do()

    sys.setprofile(look)
    try:
        yield lambda: left <= 0
    finally:
        sys.setprofile(None)
