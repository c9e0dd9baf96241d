"""A session without Spark: the tasks of a fan-out run in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from meshmsg import Push
from meshmsg.spark.fanout import _fanout, _jobs


class Lost(BaseException):
    """Ends a task, as a process that is killed does: no item is at fault."""


class Threads(_jobs.Jobs):
    """Jobs whose tasks are threads; one that raises fails its job when the others have ended."""

    def _job(self) -> None:
        errors: list[BaseException] = []

        def run() -> None:
            try:
                list(self._task(iter([])))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(self._count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]


class Context:
    """As much of a SparkContext as is asked."""

    defaultParallelism = 2

    def __init__(self) -> None:
        self._open: list[Push] = []

    def push(self, **options: Any) -> Push:
        """Open what a task pushes results by, until it is cancelled."""
        one = Push(**{**options, "linger": 0.0})
        self._open.append(one)
        return one

    def addJobTag(self, tag: str) -> None:
        """Nothing: there is no job."""

    def cancelJobsWithTag(self, tag: str) -> None:
        """End tasks that push by what was opened here; others end as their queue does."""
        while self._open:
            self._open.pop().close()


class Session:
    """A session that is none."""

    sparkContext = Context()


def fan_out(monkeypatch: Any, fn: Callable[[bytes], bytes], **options: Any) -> _fanout.FanOut:
    """Open a fan-out whose tasks are threads."""
    monkeypatch.setattr(_fanout, "Jobs", Threads)
    session: Any = Session()
    return _fanout.FanOut(session, fn, **{"patience": 20.0, **options})
