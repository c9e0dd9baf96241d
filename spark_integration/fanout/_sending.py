"""What is to go out to tasks: items in groups, those that are tried again alone; and the thread
that puts them into the work queue.

Not here: what becomes of them (_books.py).  Law: only who submits waits for room; who takes results
never does, as tasks wait for that thread.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress

from meshmsg import ClosedError, TimedOutError
from meshmsg.patterns import WorkQueue

from ._words import GROUP_BYTES, Part, octets_of


class Sending:
    """Groups what waits, as large as it has become while tasks had no room."""

    def __init__(self, queue: WorkQueue, group_items: int, waiting_items: int) -> None:
        self._queue = queue
        self._group_items = group_items
        self._waiting_items = waiting_items
        self._changed = threading.Condition()
        self._waiting: deque[Part] = deque()
        self._alone: deque[Part] = deque()
        self._closed = False
        self._idle = False
        """The thread waits for something to send."""
        self._thread = threading.Thread(target=self._run, name="meshmsg-fanout-send", daemon=True)
        self._thread.start()

    def wait_for_room(self, timeout: float | None) -> None:
        """Wait until another item may be put.

        Raises:
            TimedOutError: There was no room in time.
            ClosedError: It was closed.
        """
        if len(self._waiting) < self._waiting_items and not self._closed:
            return
        with self._changed:
            room = self._changed.wait_for(
                lambda: self._closed or len(self._waiting) < self._waiting_items, timeout
            )
            if self._closed:
                raise ClosedError("the fan-out is closed")
            if not room:
                raise TimedOutError(
                    f"no room within {timeout} s: {self._waiting_items:,} items wait for workers "
                    "(waiting_items)"
                )

    def put(self, part: Part) -> None:
        """Have an item go out."""
        self._waiting.append(part)
        if self._idle:  # else it looks once more before it waits
            with self._changed:
                self._changed.notify_all()

    def put_again(self, parts: list[Part]) -> None:
        """Have items go out once more, before others, each alone."""
        with self._changed:
            self._alone.extend(parts)
            self._changed.notify_all()

    def close(self) -> None:
        """Send nothing more; the queue is closed or finished before."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _next(self) -> list[Part]:
        """Wait for what goes out next; empty: nothing more does."""
        with self._changed:
            self._idle = True
            self._changed.wait_for(lambda: self._closed or self._alone or self._waiting)
            self._idle = False
            if self._closed:
                return []
            if self._alone:
                return [self._alone.popleft()]
            group = [self._waiting.popleft()]
            size = len(group[0].body)
            while self._waiting and len(group) < self._group_items:
                size += len(self._waiting[0].body)
                if size > GROUP_BYTES:
                    break
                group.append(self._waiting.popleft())
            self._changed.notify_all()
            return group

    def _run(self) -> None:
        with suppress(ClosedError):
            while group := self._next():
                self._queue.put(octets_of(group))
