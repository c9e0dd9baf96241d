"""Watching a socket's events from a thread: `for event in socket.watch()`.

Not here: who tells that there are some (_telling); asyncio (aio._watch). Law: each iterator has a
place of its own in the socket's events, takes nothing away from anybody, and ends with the socket.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from meshmsg._errors import ResourceError, UsageError
from meshmsg._info import Event
from meshmsg._telling import Outlet

if TYPE_CHECKING:
    from typing_extensions import Self


def check_watch(outlet: Outlet, slice_ms: int) -> None:
    """Refuse where nobody would tell."""
    if slice_ms == 0:
        raise UsageError("watch() needs a thread; a simulated world has none: use events()")
    if not outlet.told:
        raise ResourceError("watch() needs a thread and a descriptor, and there was none left")


class Events:
    """The events of a socket, as they happen; an iterator for one thread, which may block."""

    def __init__(self, socket: object, outlet: Outlet) -> None:
        self._socket = socket  # who waits for its events keeps it open
        self._outlet = outlet
        self._seq = 1
        self._ready: deque[Event] = deque()
        self._news = threading.Event()
        outlet.add_watcher(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while not self._ready:
            self._news.clear()
            closed, found, self._seq = self._outlet.since(self._seq)
            self._ready.extend(found)
            if not found and closed:
                raise StopIteration
            if not found:
                self._news.wait()
        return self._ready.popleft()

    def ring(self) -> None:
        """There may be something new: called by any thread."""
        self._news.set()
