"""How many tasks of a session run at once: what a barrier stage needs, as it begins.

Spark waits some ten minutes for slots that are not there, and then says so.  What it would look at
is asked here, before.  Not here: the stage (_mesh.py).
Law: `spark.default.parallelism` is not asked, as it says how many parts data have; but for a Spark
that does not tell its slots, as it promises no name for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from meshmsg import UsageError

LOOK_S = 0.2
"""Seconds until it is looked again whether executors are there."""


def slots_of(context: Any) -> int:
    """Return how many tasks run at once with the executors that are there now."""
    from py4j.protocol import Py4JError

    try:
        scala = context._jsc.sc()
        profile = scala.resourceProfileManager().defaultResourceProfile()
        return int(scala.maxNumConcurrentTasks(profile))
    except (AttributeError, TypeError, Py4JError):  # no name of Spark's is promised there
        return int(context.defaultParallelism)


def wait_for_slots(
    context: Any,
    count: int,
    patience: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Wait until so many tasks can run at once; executors may not be there yet.

    Args:
        context: Of Spark.
        count: How many tasks.
        patience: Seconds to wait; a local master has all its slots at once.
        clock: Tells seconds.
        sleep: Waits.

    Raises:
        UsageError: There are fewer slots.
    """
    local = str(context.master).split("[")[0] == "local"
    end = clock() + (0.0 if local else patience)
    while (slots := slots_of(context)) < count:
        if clock() >= end:
            waited = "" if local else f" after {patience:g} s"
            raise UsageError(
                f"count is {count}, and this session has {slots} slots{waited}: a barrier stage "
                "needs all its tasks at once, and Spark would wait for more"
            )
        sleep(LOOK_S)
