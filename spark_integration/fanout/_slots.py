"""What `FanOut.map` keeps of each open item: less than a future, as only one thread waits for them.

Not here: the items (_books.py).  Law: one thread takes, any may tell; a result is taken once.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from ._told import FanOutError


class Slot:
    """The place of one result: as much of a future as the books use."""

    __slots__ = ("_slots", "error", "ready", "result")

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self.ready = False
        self.result: Any = None
        self.error: BaseException | None = None

    def cancelled(self) -> bool:
        """Whether nobody wants it any more."""
        return self._slots.closed

    def set_running_or_notify_cancel(self) -> bool:
        """Whether it is to be told."""
        return not self._slots.closed

    def set_result(self, result: Any) -> None:
        """Tell the result."""
        self.result = result
        self._slots.told(self)

    def set_exception(self, error: BaseException | None) -> None:
        """Tell that there is none."""
        self.error = error
        self._slots.told(self)


class Slots:
    """Those of one call of `map`."""

    def __init__(self, ordered: bool, returned: bool = False) -> None:
        """Begin; returned: errors of items are given in the place of results."""
        self._ordered = ordered
        self._returned = returned
        self._open: deque[Slot] = deque()
        self._done: deque[Slot] = deque()
        self._changed = threading.Condition()
        self._waits = False
        self.closed = False
        self.count = 0
        """That were made and not taken."""

    def make(self) -> Slot:
        """Make one more."""
        slot = Slot(self)
        self.count += 1
        if self._ordered:
            self._open.append(slot)
        return slot

    def told(self, slot: Slot) -> None:
        """Note that one has its answer; from any thread."""
        slot.ready = True
        if not self._ordered:
            self._done.append(slot)
        if self._waits:
            with self._changed:
                if self._waits and self.ready():
                    self._waits = False  # it is woken once for all that comes until it looks
                    self._changed.notify()

    def ready(self) -> bool:
        """Whether the next one can be taken at once."""
        return self._open[0].ready if self._ordered and self._open else bool(self._done)

    def take(self) -> Any:
        """Wait for the next one, and return its result, or raise what is in its place."""
        if not self.ready():
            with self._changed:
                self._waits = True
                while not self.ready():
                    self._changed.wait()
                    self._waits = True
                self._waits = False
        slot = (self._open if self._ordered else self._done).popleft()
        self.count -= 1
        if slot.error is None:
            return slot.result
        return given_or_raised(slot.error, self._returned)


def given_or_raised(error: BaseException, returned: bool) -> BaseException:
    """Return an error of one item, if that is asked for; raise it, or one that is of all."""
    if not returned or isinstance(error, FanOutError):
        raise error
    return error
