"""Watching a socket's events: `async for event in socket.watch()`.

Not here: who tells that there are some (_events/event_thread.py). Law: each stream has a place of
its own in the socket's events, takes nothing away from anybody, and ends when the socket is closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from meshmsg._binding.snapshots import Event
from meshmsg._events.outlet import Outlet

if TYPE_CHECKING:
    from typing_extensions import Self


class Events:
    """The events of a socket, as they happen; an asynchronous iterator of one loop."""

    def __init__(self, socket: object, outlet: Outlet) -> None:
        self._socket = socket  # who waits for its events keeps it open
        self._outlet = outlet
        self._ready: deque[Event] = deque()
        self._given = 0
        """The number of the last one that was given out."""
        self._news = asyncio.Event()
        self._due = False
        """Whether the loop was asked to tell who waits, and nobody has looked since."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._outlet.add_watcher(self)
        while not self._drop_given():
            self._news.clear()
            self._due = False
            closed, found, _ = self._outlet.since(self._given + 1)
            self._ready.extend(found)
            if not found and closed:
                raise StopAsyncIteration
            if not found:
                await self._news.wait()
        event, before = self._ready[0], self._given
        try:
            self._given = event.seq
            return event
        except BaseException:  # of a signal's function: it is given by the next call
            self._given = before
            raise

    def _drop_given(self) -> bool:
        """Let go of what was given out; whether there is more."""
        while self._ready and self._ready[0].seq <= self._given:
            self._ready.popleft()
        return bool(self._ready)

    def ring(self) -> None:
        """There may be something new: by any thread. A loop that stands still is asked once."""
        if self._loop is None or self._due:
            return
        self._due = True
        with suppress(RuntimeError):  # it was closed: nobody waits
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        try:
            self._news.set()
        except BaseException:  # Ctrl-C ends the loop, which may run again
            self._due = False
            self.ring()
            raise
