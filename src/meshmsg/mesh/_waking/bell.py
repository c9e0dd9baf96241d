"""What wakes the thread of a mesh: a descriptor that it polls, and that any thread rings.

Not here: the thread (_driver.py). Law: nothing is written once it is closed. The number of its
descriptor is another one's then, a connection's perhaps, and an octet in that ruins what is sent.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress


class Bell:
    """Rung by any thread, also as it is closed and later."""

    def __init__(self) -> None:
        """Raises: OSError: There is no descriptor for it."""
        self._lock = threading.RLock()  # a finalizer, or a signal's function, may ring within
        self._ringing: set[object] = set()
        self._closing = False
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def fileno(self) -> int:
        """Return what to poll; -1: it is closed."""
        return self._fd

    def ring(self) -> None:
        """Have who polls wake."""
        token = object()
        with self._lock:
            try:
                self._ringing.add(token)
                if self._fd >= 0:
                    with suppress(BlockingIOError):  # it was rung very often: who polls will look
                        os.eventfd_write(self._fd, 1)
            finally:
                self._ringing.discard(token)
        self._end()

    def hush(self) -> None:
        """Take that it was rung, however often."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._fd)

    def close(self) -> None:
        """Have no descriptor any more, as soon as nobody rings; closing twice is harmless."""
        self._closing = True
        self._end()

    def _end(self) -> None:
        """Close it, if that is asked for. Who rings at this moment does it when he is done: he is
        not waited for, as he may stand below a signal's function that waits for who closes."""
        if self._closing and self._lock.acquire(blocking=False):
            try:
                if not self._ringing and self._fd >= 0:
                    fd, self._fd = self._fd, -1
                    os.close(fd)
            finally:
                self._lock.release()
