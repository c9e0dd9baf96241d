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
        self._lock = threading.RLock()  # a finalizer may ring within
        self._fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def fileno(self) -> int:
        """Return what to poll; -1: it is closed."""
        return self._fd

    def ring(self) -> None:
        """Have who polls wake."""
        with self._lock:
            if self._fd >= 0:
                with suppress(BlockingIOError):  # it was rung very often: who polls will look
                    os.eventfd_write(self._fd, 1)

    def hush(self) -> None:
        """Take that it was rung, however often."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._fd)

    def close(self) -> None:
        """Have no descriptor any more; closing twice is harmless."""
        with self._lock:
            fd, self._fd = self._fd, -1
            if fd >= 0:
                os.close(fd)
