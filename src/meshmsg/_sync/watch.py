"""Watching a socket's events from a thread: `for event in socket.watch()`.

Not here: who tells that there are some (_events/event_thread.py); asyncio (aio/_watch.py). Law:
each iterator has a place of its own in the socket's events, takes nothing away from anybody, and
ends with the socket.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from meshmsg._binding.snapshots import Event
from meshmsg._events.outlet import Outlet

if TYPE_CHECKING:
    from typing_extensions import Self


class Events:
    """The events of a socket, as they happen; an iterator for one thread, which may block."""

    def __init__(self, socket: object, outlet: Outlet) -> None:
        self._socket = socket  # who waits for its events keeps it open
        self._outlet = outlet
        self._ready: deque[Event] = deque()
        self._given = 0
        """The number of the last one that was given out."""
        self._bell = threading.Lock()  # taken: there is nothing new
        self._bell.acquire()
        outlet.add_watcher(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while self._ready and self._ready[0].seq <= self._given:
            self._ready.popleft()
        while not self._ready:
            closed, found, _ = self._outlet.since(self._given + 1)
            self._ready.extend(found)
            if not found and closed:
                raise StopIteration
            if not found:
                self._bell.acquire()
        event, before = self._ready[0], self._given
        try:
            self._given = event.seq
            return event
        except BaseException:  # of a signal's function: it is given by the next call
            self._given = before
            raise

    def ring(self) -> None:
        """There may be something new: called by any thread."""
        with suppress(RuntimeError):  # it was rung already
            self._bell.release()
