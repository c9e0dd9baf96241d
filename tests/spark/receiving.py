"""A receiver of rows of Spark: it books each in a database, and has a moment for who kills senders.

Law: what is done at that moment is done before the row is acknowledged. So its task has not ended,
and the batch of it has to be written again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import meshmsg as mm
from tests.crash.booker import booking, connect
from tests.support.pairs import of_its_own

STEP_S = 300.0
"""Seconds that anything may take on a busy machine; only what is broken needs them."""


class Receiver:
    """Takes rows in a thread, and books each in the transaction of its window."""

    def __init__(self, folder: Path) -> None:
        self.database = str(folder / "booked.db")
        connection = connect(self.database)
        connection.execute("CREATE TABLE rows (number INTEGER)")
        connection.close()
        self.window: mm.DedupeWindow | None = None
        """None: what comes is booked, however often it comes."""
        self.came: Counter[int] = Counter()
        """How often each row came, whatever became of it."""
        self.hit = 0
        """The row at which it was done what `at` says; 0: it was not yet."""
        self._left, self._do = 0, lambda: None
        self._changed = threading.Condition()
        self._settled: set[int] = set()
        self._error: BaseException | None = None
        self.pull = mm.Pull(bind=of_its_own(), ack="manual")
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def at(self, count: int, do: Callable[[], object]) -> None:
        """Do something as that many rows have come that never came before, from now on."""
        with self._changed:
            self.hit, self._left, self._do = 0, count, do

    def until(self, look: Callable[[], object]) -> None:
        """Wait until it is so, after any row."""
        with self._changed:
            self._changed.wait_for(lambda: self._error or look(), STEP_S)
            if self._error is not None:
                raise self._error
            assert look(), (sum(self.came.values()), len(self.came), self.hit)

    def has(self, rows: Iterable[int]) -> bool:
        """Whether all of them were acknowledged."""
        return self._settled.issuperset(rows)

    def booked(self) -> Counter[int]:
        """Return how often each row stands in the database."""
        connection = connect(self.database)
        found = Counter(number for (number,) in connection.execute("SELECT number FROM rows"))
        connection.close()
        return found

    def close(self) -> None:
        """End it."""
        self.pull.close()
        self._thread.join()

    def _run(self) -> None:
        connection = connect(self.database)
        try:
            with suppress(mm.ClosedError):
                while True:
                    self._take(connection, self.pull.recv())
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
        finally:
            connection.close()

    def _take(self, connection: Any, message: mm.Message) -> None:
        number = int(message)
        with self._changed:
            self.came[number] += 1
            self._left -= self.came[number] == 1
            hit = self._left == 0 and not self.hit and self.came[number] == 1
        if hit:
            self._do()
            self.hit = number
        with booking(self.window, connection, message) as new:
            if new:
                connection.execute("INSERT INTO rows VALUES (?)", (number,))
        message.ack()
        with self._changed:
            self._settled.add(number)
            self._changed.notify_all()
