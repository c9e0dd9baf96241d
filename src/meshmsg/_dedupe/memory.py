"""A window in memory: for effects that may be done twice, or that end with the program.

Not here: what outlives the program (window.py). Law: what was forgotten is below its connection's
floor, and is not taken for new.
"""

from __future__ import annotations

import threading

from meshmsg._binding.message import Message
from meshmsg._dedupe.limits import CONNECTIONS_MAX, LIMIT, check_limit, identity, outside


class MemoryDedupeWindow:
    """Remembers in memory which messages were done: the last `limit` of them.

    It ends with the program. So it spares work that may be done twice, and proves nothing: where an
    effect must not happen twice, save the window together with it, by `DedupeWindow`. Ask `seen`
    before the effect and call `add` behind it: then what fails in between comes again.

    Args:
        limit: Messages it remembers, 1 to 100,000,000; the oldest go first.
    """

    def __init__(self, *, limit: int = LIMIT) -> None:
        self._limit = check_limit(limit)
        self._lock = threading.Lock()
        self._ids: dict[tuple[int, int], None] = {}  # in the order they were added
        self._floors: dict[int, int] = {}  # of connections, in the order they were raised

    @property
    def limit(self) -> int:
        """How many messages it remembers."""
        return self._limit

    def __len__(self) -> int:
        return len(self._ids)

    def seen(self, message: Message | tuple[int, int]) -> bool:
        """Ask whether a message was added before; changes nothing.

        Thread-safe: yes.

        Args:
            message: A message of a `Pull(ack="manual")`, or of a Sub in a group, or its `seq`.

        Returns:
            True: it was added.

        Raises:
            UsageError: The message has no `seq`.
            OutsideWindowError: It is older than what the window remembers of its connection.
        """
        found = identity(message)
        with self._lock:
            return self._look(found)

    def add(self, message: Message | tuple[int, int]) -> bool:
        """Remember that a message was done.

        Thread-safe: yes; of several threads that add one message, one is told True.

        Args:
            message: A message of a `Pull(ack="manual")`, or of a Sub in a group, or its `seq`.

        Returns:
            True: it is new. False: it was added before.

        Raises:
            UsageError: The message has no `seq`.
            OutsideWindowError: It is older than what the window remembers of its connection.
        """
        found = identity(message)
        with self._lock:
            if self._look(found):
                return False
            self._ids[found] = None
            if len(self._ids) > self._limit:
                self._forget(next(iter(self._ids)))
            return True

    def _look(self, found: tuple[int, int]) -> bool:
        if found in self._ids:
            return True
        epoch, seq = found
        floor = self._floors.get(epoch, 0)
        if seq <= floor:
            raise outside(seq, floor, self._limit)
        return False

    def _forget(self, oldest: tuple[int, int]) -> None:
        del self._ids[oldest]
        epoch, seq = oldest
        floor = self._floors.pop(epoch, 0)
        self._floors[epoch] = max(seq, floor)
        if len(self._floors) > CONNECTIONS_MAX:
            del self._floors[next(iter(self._floors))]
