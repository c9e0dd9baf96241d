"""The books of a fan-out: which items are open, and what comes of what tasks say of them.

Not here: sockets, threads and Spark (_fanout.py).  Law: an item has one result, the first that
came; only `wait_until_settled` waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from typing import Any, NamedTuple

from ._slots import Slot
from ._told import FanOutStats, ItemError
from ._words import Outcome, Part, part_of

Asked = Future[Any] | Slot
"""Who waits for a result."""


class _Item:
    """One that has no result yet."""

    __slots__ = ("attempts", "body", "future", "given")

    def __init__(self, given: object, body: bytes, future: Asked) -> None:
        self.given = given
        self.body = body
        self.future = future
        self.attempts = 1  # the first is not told of; it may not have been begun


class Settled(NamedTuple):
    """A future that has its answer now; it is told outside the lock."""

    future: Asked
    result: Any
    error: BaseException | None

    def tell(self) -> None:
        """Tell whoever waits."""
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class Books:
    """Items, from any thread."""

    def __init__(self, max_attempts: int, decode: Callable[[bytes], Any]) -> None:
        self._max_attempts = max_attempts
        self._decode = decode
        self._lock = threading.Condition()
        self._items: dict[int, _Item] = {}
        self._ids = count()
        self._done = self._failed = self._again = self._late = 0
        self._settling = 0
        """Items that are no longer open, and not counted yet as done or failed."""

    def add(self, given: object, body: bytes, future: Asked) -> Part:
        """Take an item, and return it as it goes out."""
        number = next(self._ids)
        self._items[number] = _Item(given, body, future)
        return part_of((number, 1, body))

    def forget(self, part: Part) -> None:
        """Take an item back that does not go out."""
        with self._lock:
            self._failed += self._items.pop(part.id, None) is not None
            self._lock.notify_all()

    def came(self, parts: list[Part]) -> tuple[list[Settled], list[Part]]:
        """Take what a task says.

        Returns:
            The futures that are to be told, and items that are to go out again, each alone.
        """
        again: list[Part] = []
        ended: list[tuple[_Item, int, bytes]] = []
        with self._lock:
            for number, outcome, body in parts:
                item = self._items.get(number)
                if item is None:
                    self._late += outcome == Outcome.DONE
                elif outcome == Outcome.BEGUN:
                    item.attempts += 1
                elif outcome != Outcome.DONE and self._retries(item):
                    self._again += 1
                    again.append(Part(number, item.attempts + 1, item.body))
                else:
                    del self._items[number]
                    ended.append((item, outcome, body))
            self._settling += len(ended)
        return self._settle(ended), again

    def wait_until_settled(self, timeout: float | None) -> bool:
        """Wait until nothing is open. Returns whether that is so."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._items and not self._settling, timeout)

    def give_up(self, error: BaseException) -> list[Settled]:
        """Return all that is open, which will not be done."""
        with self._lock:
            items = list(self._items.values())
            self._items.clear()
        settled: list[Settled] = []
        for item in items:
            if item.future.set_running_or_notify_cancel():
                settled.append(Settled(item.future, None, error))
        with self._lock:
            self._failed += len(items)
            self._lock.notify_all()
        return settled

    def stats(self, workers: int, jobs: int) -> FanOutStats:
        """Return the counts."""
        with self._lock:
            return FanOutStats(
                submitted=self._done + self._failed + len(self._items) + self._settling,
                done=self._done,
                failed=self._failed,
                open=len(self._items) + self._settling,
                again=self._again,
                late=self._late,
                workers=workers,
                jobs=jobs,
            )

    def _retries(self, item: _Item) -> bool:
        return item.attempts < self._max_attempts and not item.future.cancelled()

    def _settle(self, ended: list[tuple[_Item, int, bytes]]) -> list[Settled]:
        """Note what items have come to that are no longer open, and return who is to be told."""
        settled: list[Settled] = []
        done, decode = 0, self._decode
        for item, outcome, body in ended:
            result: Any = None
            error: BaseException | None = None
            if outcome == Outcome.DONE:
                try:
                    result = decode(body)
                except BaseException as wrong:  # whatever it is, it is of this item alone
                    error = wrong
            else:
                why = body.decode(errors="replace") or "its worker was lost with it"
                error = ItemError(item.given, item.attempts, why)
            if item.future.set_running_or_notify_cancel():
                done += error is None
                settled.append(Settled(item.future, result, error))
        with self._lock:
            self._settling -= len(ended)
            self._done += done
            self._failed += len(ended) - done
            self._lock.notify_all()
        return settled
