"""The Spark job whose tasks are the workers, and another one if it fails; in a thread.

Not here: what tasks do (_task.py).  Law: a job that failed is begun again while items were done
since the one before, or `restarts` times; what it raised last is told.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ._tags import cancel_jobs, tag_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ._task import TaskOf

SCHEMA = "id long"


class Jobs:
    """Runs tasks until they end by themselves."""

    def __init__(
        self,
        session: SparkSession,
        task: TaskOf,
        count: int,
        *,
        restarts: int,
        done: Callable[[], int],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Begin.

        Args:
            session: Of Spark.
            task: What each task runs.
            count: How many tasks.
            restarts: Jobs in a row that may fail without an item done.
            done: How many items are done.
            failed: Is told what the last job raised.
        """
        self._session = session
        self._task = task
        self._count = count
        self._restarts = restarts
        self._done = done
        self._failed = failed
        self._tag = f"meshmsg-fanout-{uuid.uuid4().hex}"
        self._cancelled = False
        self._over = False
        self.begun = 0
        self._thread = threading.Thread(target=self._run, name="meshmsg-fanout-job", daemon=True)
        self._thread.start()

    def may_end(self) -> None:
        """The tasks are told that there is no more."""
        self._over = True

    def cancel(self) -> None:
        """Have Spark end the tasks, and wait until it has."""
        self._cancelled = True
        cancel_jobs(self._session, self._tag, self._thread)

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the job has ended. Returns whether it has."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        before, left = -1, self._restarts
        tag_jobs(self._session, self._tag)
        while True:
            self.begun += 1
            try:
                self._job()
                if not self._over:
                    raise RuntimeError("its tasks ended though there may be more")
                return
            except BaseException as error:  # whatever it is, somebody waits
                done = self._done()
                left = self._restarts if done > before else left - 1
                before = done
                if self._cancelled or left <= 0:
                    self._failed(error)
                    return

    def _job(self) -> None:
        rows = self._session.range(0, self._count, 1, self._count)
        rows.mapInArrow(cast(Any, self._task), SCHEMA).collect()
