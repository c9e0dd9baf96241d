"""What `FanOut.map` keeps of its open items: a place for all of them, as one thread waits for them.

Not here: the items (_books.py).  Law: one thread takes, any may tell; a result is taken once.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from ._told import FanOutError


class Wrong:
    """What stands in the place of a result: why there is none."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Slots:
    """Of one call of `map`: what came of its items, and was not taken."""

    def __init__(self, ordered: bool, returned: bool = False) -> None:
        """Begin; returned: errors of items are given in the place of results."""
        self._ordered = ordered
        self._returned = returned
        self._next = 0
        """The place of what is taken next, if it is in order."""
        self._came: dict[int, Sequence[Any]] = {}
        """By the place of the first: what came of items in a row."""
        self._done: deque[Sequence[Any]] = deque()
        self._changed = threading.Condition()
        self._waits = False
        self.closed = False

    def set_running_or_notify_cancel(self) -> bool:
        """Whether anybody is to be told; named as of a future."""
        return not self.closed

    def cancelled(self) -> bool:
        """Whether nobody wants them any more; named as of a future."""
        return self.closed

    def told(self, places: Sequence[int], outcomes: Sequence[Any]) -> None:
        """Note what came of items, results or `Wrong`; places: theirs, rising. From any thread."""
        if not self._ordered:
            self._done.append(outcomes)
        elif places[-1] - places[0] == len(places) - 1:
            self._came[places[0]] = outcomes
        else:
            self._came.update(zip(places, zip(outcomes, strict=True), strict=True))
        if self._waits:
            with self._changed:
                if self._waits and self.ready():
                    self._waits = False  # it is woken once for all that comes until it looks
                    self._wake()

    def ready(self) -> bool:
        """Whether there is something to take."""
        return self._next in self._came if self._ordered else bool(self._done)

    def take(self) -> Sequence[Any]:
        """Wait for what is next, and return it: some in a row, as they came; one at least."""
        if not self.ready():
            with self._changed:
                self._waits = True
                while not self.ready():
                    self._changed.wait()
                    self._waits = True
                self._waits = False
        if not self._ordered:
            return self._done.popleft()
        taken = self._came.pop(self._next)
        self._next += len(taken)
        return taken

    def given(self, wrong: Wrong) -> BaseException:
        """Return an error, if that is asked for; else raise it."""
        return given_or_raised(wrong.error, self._returned)

    def _wake(self) -> None:
        self._changed.notify()


def given_or_raised(error: BaseException, returned: bool) -> BaseException:
    """Return an error of one item, if that is asked for; raise it, or one that is of all."""
    if not returned or isinstance(error, FanOutError):
        raise error
    return error
