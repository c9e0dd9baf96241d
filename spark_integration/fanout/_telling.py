"""What a task says of items or rows, put together to messages that peers accept.

Not here: what is said (_task.py, and that of rows), and how (_words.py).  Law: what is told stays
in order; where it comes slowly, nothing waits for more than the one that comes next.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ._words import GROUP_BYTES, GROUP_MAX, Part, octets_of

TELL_S = 0.2
"""Seconds after a message from which on what is told goes out at once."""


class Telling:
    """Messages of one task."""

    def __init__(
        self, send: Callable[[bytes], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin.

        Args:
            send: Sends a message.
            clock: Tells seconds.
        """
        self._send = send
        self._clock = clock
        self._parts: list[Part] = []
        self._size = 0
        self._sent_at = clock()

    def tell(self, part: Part) -> None:
        """Say what became of one."""
        if self._parts and self._size + len(part.body) > GROUP_BYTES:
            self.flush()
        self._parts.append(part)
        self._size += len(part.body)
        if len(self._parts) >= GROUP_MAX or self._clock() - self._sent_at >= TELL_S:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        if self._parts:
            self._send(octets_of(self._parts))
            self._parts, self._size = [], 0
            self._sent_at = self._clock()
