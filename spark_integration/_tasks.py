"""run_tasks: workers that are tasks of one Spark job.

Not here: what they do there; a worker of a work queue asks by `work` or `Worker`.
Law: pyspark is imported when a job is run, and in its tasks, not before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from meshmsg import UsageError

from ._protected import protected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def context_of(session: SparkSession, what: str) -> Any:
    """Return the context of a session, which `what` needs.

    Raises:
        UsageError: It is one of Spark Connect.
    """
    try:
        return session.sparkContext
    except Exception:  # in the words of its version
        raise UsageError(
            f"{what} needs a session with a SparkContext, and one of Spark Connect has none: run "
            "it in a program that Spark itself starts; FanOut(workers=), the source and the sink "
            "work with Spark Connect"
        ) from None


def run_tasks(
    session: SparkSession,
    task: Callable[[int, int], T],
    *,
    count: int,
    security: str | os.PathLike[str] | None = None,
) -> list[T]:
    """Run `task(partition, attempt)` in so many tasks of one Spark job; wait until all have ended.

    A task opens its own sockets, as they cannot be sent to it: see the example of this package.

    Thread-safe: as the session.

    Args:
        session: Whose executors run them; not one of Spark Connect, which has no `sparkContext`.
        task: What runs in an executor, with the number of the partition, 0 to count - 1, and of the
            attempt, 0 the first time. Spark tries a task that fails again, on any executor, as
            often as it is configured to; a master of `local[2]` never does, `local[2,4]` tries it
            four times. It is pickled, and meshmsg must be installed where it runs.
        count: How many tasks. If the executors have room for fewer at a time, the others begin when
            these have ended: then do not wait for all of them with `WorkQueue.wait_for_workers`.
        security: What protects the sockets that the task opens and gives no `security=`: the path
            of a file of policies where the task runs, as MESHMSG_SECURITY names one. Keys are in
            files there, too, and never sent. None is what the environment of the executors says.

    Returns:
        What each returned, in the order of partitions.

    Raises:
        UsageError: `count` is less than 1; the session is one of Spark Connect.
        TypeError: `security` is no path.
        Exception: What Spark raises when a task failed as often as it may.
    """
    if count < 1:
        raise UsageError(f"count is {count}; it must be 1 or more")
    if security is not None and not isinstance(security, (str, os.PathLike)):
        raise TypeError(
            f"security is {type(security).__name__}; it is the path of a file of policies where "
            "the tasks run: keys are not sent to executors"
        )
    path = None if security is None else os.fspath(security)
    numbers = context_of(session, "run_tasks()").parallelize(range(count), count)
    found: list[T] = numbers.mapPartitionsWithIndex(partial(_partition, task, path)).collect()
    return found


def _partition(
    task: Callable[[int, int], T], security: str | None, index: int, _: Iterable[int]
) -> Iterator[T]:
    """What Spark calls in an executor; of the module, so that only its name is pickled."""
    from pyspark import TaskContext

    context = TaskContext.get()
    with protected(security):
        done = task(index, context.attemptNumber() if context is not None else 0)
    yield done
