"""The books of a fan-out: which items are open, and what comes of what tasks say of them.

What is done for each item of a group is done by functions in C, where that is possible.
Not here: sockets, threads and Spark (_fanout.py).  Law: an item has one result, the first that
came; only `wait_until_settled` waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from itertools import compress, count, groupby, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from ._slots import Slots, Wrong
from ._told import FanOutError, FanOutStats, ItemError
from ._words import Outcome, Part

Asked = Future[Any] | Slots
"""Who waits for a result."""
Item = tuple[Asked, int, object, bytes]
"""One that has no result yet: who waits, its place there, what was given, and its body."""
UNWANTED = Wrong(FanOutError("it was cancelled"))
"""In the place of a result that nobody waits for."""
ASKED, PLACE, BODY = itemgetter(0), itemgetter(1), itemgetter(3)


def same(octets: bytes) -> bytes:
    """Leave it as it is."""
    return octets


class Settled(NamedTuple):
    """Who has answers now, and is told outside the lock."""

    asked: Asked
    items: Sequence[Item]
    outcomes: Sequence[Any]
    """Of each item: its result, or `Wrong`."""

    wrong: Sequence[BaseException]
    """Errors among them."""

    def tell(self) -> None:
        """Tell whoever waits."""
        if isinstance(self.asked, Slots):
            self.asked.told(list(map(PLACE, self.items)), self.outcomes)
            return
        (outcome,) = self.outcomes
        if type(outcome) is Wrong:
            self.asked.set_exception(outcome.error)
        else:
            self.asked.set_result(outcome)


class Books:
    """Items, from any thread."""

    def __init__(self, max_attempts: int, decode: Callable[[bytes], Any]) -> None:
        self._max_attempts = max_attempts
        self._decode = None if decode is same else decode
        self._lock = threading.Condition()
        self._items: dict[int, Item] = {}
        """By their numbers."""
        self._attempts: dict[int, int] = {}
        """Of those that were begun again; the first is not told of, and may not have been begun."""
        self._numbers = count()
        self._done = self._failed = self._again = self._late = 0
        self._settling = 0
        """Items that are no longer open, and not counted yet as done or failed."""

    def add(self, given: object, body: bytes, asked: Asked, place: int = 0) -> int:
        """Take an item, and return its number."""
        number = next(self._numbers)
        self._items[number] = (asked, place, given, body)
        return number

    def open_of(self, numbers: Sequence[int]) -> tuple[Sequence[int], Sequence[bytes]]:
        """Return those that are open and wanted, and their bodies; drop what nobody wants."""
        items: list[Any] = list(map(self._items.get, numbers))
        if not all(items):
            numbers, items = list(compress(numbers, items)), list(filter(None, items))
        if any(asked.cancelled() for asked in set(map(ASKED, items))):
            wanted = [not asked.cancelled() for asked in map(ASKED, items)]
            self._drop([number for number, so in zip(numbers, wanted, strict=True) if not so])
            numbers, items = list(compress(numbers, wanted)), list(compress(items, wanted))
        return numbers, list(map(BODY, items))

    def _drop(self, numbers: Sequence[int]) -> None:
        """Have items end that were cancelled and did not go out."""
        with self._lock:
            items = [item for number in numbers if (item := self._items.pop(number, None))]
            self._settling += len(items)
        self._settle(items, [UNWANTED] * len(items))

    def forget(self, number: int) -> None:
        """Take an item back that does not go out."""
        with self._lock:
            self._failed += self._items.pop(number, None) is not None
            self._lock.notify_all()

    def done(self, numbers: Sequence[int], bodies: Sequence[bytes]) -> list[Settled]:
        """Take results of items, and return who is to be told."""
        with self._lock:
            items: list[Any] = list(map(self._items.pop, numbers, repeat(None)))
            if self._attempts:
                for number in numbers:
                    self._attempts.pop(number, None)
            if not all(items):
                self._late += items.count(None)
                bodies, items = list(compress(bodies, items)), list(filter(None, items))
            self._settling += len(items)
        return self._settle(items, bodies)

    def came(self, parts: Iterable[Part]) -> tuple[list[Settled], list[Part]]:
        """Take what a task says, whatever it is.

        Returns:
            Who is to be told, and items that are to go out again, each alone.
        """
        again: list[Part] = []
        ended: list[Item] = []
        outcomes: list[Any] = []
        with self._lock:
            for number, outcome, body in parts:
                item = self._items.get(number)
                if item is None:
                    self._late += outcome == Outcome.DONE
                    continue
                attempts = self._attempts.get(number, 1)
                if outcome == Outcome.BEGUN:
                    self._attempts[number] = attempts + 1
                elif outcome != Outcome.DONE and self._retries(item, attempts):
                    self._again += 1
                    again.append(Part(number, attempts + 1, item[3]))
                else:
                    del self._items[number]
                    self._attempts.pop(number, None)
                    ended.append(item)
                    done = outcome == Outcome.DONE
                    outcomes.append(body if done else _given_up(item, attempts, body))
            self._settling += len(ended)
        return self._settle(ended, outcomes), again

    def wait_until_settled(self, timeout: float | None) -> bool:
        """Wait until nothing is open. Returns whether that is so."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._items and not self._settling, timeout)

    def give_up(self, error: FanOutError) -> list[Settled]:
        """Return all that is open, which will not be done."""
        with self._lock:
            items = list(self._items.values())
            self._items.clear()
            self._attempts.clear()
            self._settling += len(items)
        return self._settle(items, [Wrong(error.anew()) for _ in items])

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

    def _retries(self, item: Item, attempts: int) -> bool:
        return attempts < self._max_attempts and not item[0].cancelled()

    def _settle(self, items: Sequence[Item], outcomes: Sequence[Any]) -> list[Settled]:
        """Note what items have come to that are no longer open, and return who is to be told."""
        if self._decode is not None:
            outcomes = list(map(self._decoded, outcomes))
        settled: list[Settled] = []
        done = at = 0
        for asked, run in groupby(items, ASKED):
            some = list(run)
            come = outcomes[at : at + len(some)]
            at += len(some)
            if asked.set_running_or_notify_cancel():
                wrong = [one.error for one in come if type(one) is Wrong]
                settled.append(Settled(asked, some, come, wrong))
                done += len(some) - len(wrong)
        with self._lock:
            self._settling -= len(items)
            self._done += done
            self._failed += len(items) - done
            self._lock.notify_all()
        return settled

    def _decoded(self, outcome: Any) -> Any:
        if type(outcome) is Wrong or self._decode is None:
            return outcome
        try:
            return self._decode(outcome)
        except BaseException as error:  # whatever it is, it is of this item alone
            return Wrong(error)


def _given_up(item: Item, attempts: int, why: bytes) -> Wrong:
    text = why.decode(errors="replace") or "its worker was lost with it"
    return Wrong(ItemError(item[2], attempts, text))
