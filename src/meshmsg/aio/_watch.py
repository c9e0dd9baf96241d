"""Watching a socket's events: `async for event in socket.watch()`.

Not here: who tells that there are some (meshmsg._telling). Law: each stream has a place of its own
in the socket's events, takes nothing away from anybody, and ends when the socket is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from meshmsg._info import Event
from meshmsg._outlet import Outlet

if TYPE_CHECKING:
    from typing_extensions import Self


class Events:
    """The events of a socket, as they happen; an asynchronous iterator of one loop."""

    def __init__(self, socket: object, outlet: Outlet) -> None:
        self._socket = socket  # who waits for its events keeps it open
        self._outlet = outlet
        self._seq = 1
        self._ready: deque[Event] = deque()
        self._news = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._outlet.add_watcher(self)
        while not self._ready:
            self._news.clear()
            closed, found, self._seq = self._outlet.since(self._seq)
            self._ready.extend(found)
            if not found and closed:
                raise StopAsyncIteration
            if not found:
                await self._news.wait()
        return self._ready.popleft()

    def ring(self) -> None:
        """There may be something new: called by any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it was closed: nobody waits
                self._loop.call_soon_threadsafe(self._news.set)
