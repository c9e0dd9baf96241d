"""A socket for threads or for asyncio, used in the same words: what is awaited is awaited.

Not here: tasks that run beside each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isawaitable
from typing import Any

import meshmsg as mm
from meshmsg import aio

WAYS = ["threads", "asyncio"]


class Way:
    """Threads, or one event loop, which runs while something is awaited."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop() if name == "asyncio" else None
        self.module: Any = mm if self._loop is None else aio

    def __call__(self, found: Any) -> Any:
        """Give what came out of a call."""
        if self._loop is None or not isawaitable(found):
            return found

        async def main() -> Any:
            return await found

        return self._loop.run_until_complete(main())

    @contextmanager
    def open(self, role: str, **options: Any) -> Iterator[Any]:
        """A socket of that role, closed at the end."""
        socket = getattr(self.module, role)(**options)
        try:
            yield socket
        finally:
            socket.close()

    def end(self) -> None:
        """Close the loop, and let go of it."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None
