"""Signals that end the bench, held back while a process is started or stopped.

Not here: what they do otherwise (__main__ has that). Law: a signal that came is delivered when the
block ends, so nothing is started that nobody knows of, and nothing half stopped is left.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held() -> Iterator[list[int]]:
    """Hold them back; the list fills with those that came, for who can end sooner."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # only the main thread gets them
        return

    def note(number: int, _: object) -> None:
        came.append(number)

    before = {number: signal.getsignal(number) for number in ENDING}
    before = {n: how for n, how in before.items() if how not in (signal.SIG_IGN, None)}
    try:
        for number in before:
            signal.signal(number, note)
        yield came
    finally:
        for number, how in before.items():
            signal.signal(number, how)
        for first in came[:1]:
            signal.raise_signal(first)
