"""What a fan-out tells: its counts, and its errors."""

from __future__ import annotations

from dataclasses import dataclass


class FanOutError(Exception):
    """The tasks cannot go on: their Spark job failed too often, or was cancelled."""

    def anew(self) -> FanOutError:
        """Return one that says the same: what is raised keeps the frames that it went through, so
        each who waits has its own."""
        one = type(self)(*self.args)
        one.__cause__ = self.__cause__
        return one


class ItemError(Exception):
    """An item was not done.

    Attributes:
        item: The item, as it was given.
        attempts: How often it was tried.
        why: What its function raised the last time, with the traceback of the task; or that its
            workers were lost.
    """

    def __init__(self, item: object, attempts: int, why: str) -> None:
        super().__init__(item, attempts, why)
        self.item = item
        self.attempts = attempts
        self.why = why

    def __str__(self) -> str:
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        return f"an item was tried {times}, and not done: {self.why}"


@dataclass(frozen=True)
class FanOutStats:
    """The counts of a fan-out.

    Attributes:
        submitted: Items that were given to it.
        done: Items whose result is there.
        failed: Items that were given up (`ItemError`), or whose future was cancelled: also those
            that a `map` had read ahead as it was left.
        open: Items that are neither.
        again: Times that an item was tried again, as its function raised or its worker was lost.
        late: Results of items that had one already.
        workers: Tasks that are connected now.
        jobs: Spark jobs that were begun for the tasks: more than one, if one failed.
    """

    submitted: int
    done: int
    failed: int
    open: int
    again: int
    late: int
    workers: int
    jobs: int
