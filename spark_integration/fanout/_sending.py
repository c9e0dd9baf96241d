"""What is to go out to tasks: items in groups, those that are tried again alone; and the thread
that puts them into the work queue.

Not here: what becomes of them (_books.py).  Law: only who submits waits for room; who takes results
never does, as tasks wait for that thread.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import accumulate

from meshmsg import ClosedError, TimedOutError
from meshmsg.patterns import WorkQueue

from ._words import GROUP_BYTES, Part, octets_of, packed


class Sending:
    """Groups what waits, as large as it has become while tasks had no room."""

    def __init__(
        self,
        queue: WorkQueue,
        group_items: int,
        waiting_items: int,
        open_: Callable[[Sequence[int]], tuple[Sequence[int], Sequence[bytes]]],
    ) -> None:
        """Begin.

        Args:
            queue: Where groups are put.
            group_items: The most items of one.
            waiting_items: That wait at most.
            open_: Returns those of some items that are open, and their bodies.
        """
        self._queue = queue
        self._group_items = group_items
        self.waiting_items = waiting_items
        self._open = open_
        self._changed = threading.Condition()
        self.waiting: deque[int] = deque()
        """Numbers of items. Who adds one looks whether there is room, and then at `idle`."""
        self._alone: deque[Part] = deque()
        self._closed = False
        self.idle = False
        """The thread waits for something to send, until `wake`; else it looks before it waits."""
        self._thread = threading.Thread(target=self._run, name="meshmsg-fanout-send", daemon=True)
        self._thread.start()

    def wait_for_room(self, timeout: float | None) -> None:
        """Wait until another item may be put.

        Raises:
            TimedOutError: There was no room in time.
            ClosedError: It was closed.
        """
        with self._changed:
            room = self._changed.wait_for(
                lambda: self._closed or len(self.waiting) < self.waiting_items, timeout
            )
            if self._closed:
                raise ClosedError("the fan-out is closed")
            if not room:
                raise TimedOutError(
                    f"no room within {timeout} s: {self.waiting_items:,} items wait for workers "
                    "(waiting_items)"
                )

    def wake(self) -> None:
        """Have what waits go out."""
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

    def _next(self) -> bytes:
        """Wait for what goes out next; empty: nothing more does."""
        with self._changed:
            while not self._closed:
                if self._alone:
                    return octets_of([self._alone.popleft()])
                if self.waiting:
                    group = self._group()
                    self._changed.notify_all()  # there is room
                    if group:
                        return group
                    continue
                self.idle = True
                self._changed.wait_for(lambda: self._closed or self._alone or self.waiting)
                self.idle = False
        return b""

    def _group(self) -> bytes:
        """Return what waits as one group, as far as it is to be in one; empty: it is gone."""
        waiting = self.waiting
        taken = [waiting.popleft() for _ in range(self._size(len(waiting)))]
        numbers, bodies = self._open(taken)
        ends = list(accumulate(map(len, bodies)))
        if ends and ends[-1] > GROUP_BYTES:
            count = max(1, bisect_right(ends, GROUP_BYTES))
            waiting.extendleft(reversed(numbers[count:]))
            numbers, bodies = numbers[:count], bodies[:count]
        return packed(numbers, [1] * len(numbers), bodies) if numbers else b""

    def _size(self, waiting: int) -> int:
        """How many of those that wait go together: as many as leave the rest to who is idle."""
        if not 1 < waiting <= self._group_items:
            return min(waiting, self._group_items)
        counts = self._queue.stats()
        idle = counts.workers - counts.leased - counts.waiting
        return -(-waiting // max(1, idle))

    def _run(self) -> None:
        with suppress(ClosedError):
            while group := self._next():
                self._queue.put(group)
