"""Signals whose functions run when a test says so.

Not here: signals from outside (tests/fault/test_processes.py).
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def handled(function: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Have this run on the main thread whenever what is given here is called, by any thread."""
    main = threading.main_thread().ident
    assert main is not None
    before = signal.signal(signal.SIGUSR1, lambda *_: function())
    try:
        yield lambda: signal.pthread_kill(main, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
