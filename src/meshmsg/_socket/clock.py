"""Time, as a socket knows it: its engine's clock.

Not here: milliseconds for C, what is left of a timeout (_binding/core.py). Law: a simulated engine
has a clock of its own.
"""

from __future__ import annotations

import time

from meshmsg._binding.core import lib
from meshmsg._socket.base import SocketBase


def now_of(socket: SocketBase) -> float:
    """Seconds on the clock of a socket's engine, which may be a simulated one."""
    if socket._slice_ms:  # 0: its engine is simulated
        return time.monotonic()
    return float(lib.mm_now_ms(socket._handle)) / 1000
