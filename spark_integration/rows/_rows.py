"""Rows of a DataFrame as items: each is worked on where Spark has it, and its result comes here.

No item goes over our wire; results do, as of a fan-out. Not here: the task (_task.py), asyncio
(_aio.py).
Law: a row has one result, the first that came, however often Spark runs its partition; and a result
that is missing is an error.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, cast

from meshmsg import Engine, Policy, Profile, Pull, TimedOutError, WouldBlockError

from ..fanout._numbers import ATTEMPTS_MAX, checked_path, returns_errors, told_to, whole
from ..fanout._slots import given_or_raised
from ..fanout._tags import cancel_jobs, tag_jobs
from ..fanout._told import FanOutError
from ..fanout._words import Outcome, parts_of
from ._progress import Progress, RowStats
from ._task import ROW_BITS, ROW_MAX, RowsOf, error_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RESULTS_AT_ONCE = 1000
"""Messages of results that are taken in one go."""
ROWS_MAX = 2**63
"""What `total` may be."""
LOOK_S = 0.1
"""Seconds until it is looked again whether the job has ended."""


def map_rows(
    rows: DataFrame,
    fn: Callable[[bytes], bytes],
    *,
    column: str = "value",
    max_attempts: int = 4,
    errors: Literal["raise", "return"] = "raise",
    results: str = "tcp://127.0.0.1:0",
    advertise: str | None = None,
    patience: float = 60.0,
    progress: Callable[[RowStats], object] | bool | None = None,
    total: int | None = None,
    insecure: bool = False,
    engine: Engine | None = None,
    security: Policy | Profile | None = None,
    task_security: str | None = None,
) -> Iterator[Any]:
    """Call `fn` with each row of a DataFrame, where Spark has it; give the results as they come.

    Results reach this program while the job runs, and each row's once, also if Spark runs a
    partition again: then rows must come in the same order again, as they do of files and sources.

    Thread-safe: the call is; one thread iterates.

    Args:
        rows: Of Spark 4.0 or later.
        fn: Is called in a task with the bytes of a row, and returns bytes. Spark pickles it.
        column: Which column has them; it is binary, or text.
        max_attempts: How often `fn` is called with a row for which it raises, 1 or more. A row that
            kills its process ends its task, which Spark tries again as often as it may.
        errors: "raise": the first row that was given up ends the iteration and the job. "return":
            its error is given in the place of its result, and the others go on.
        results: Where tasks push results.
        advertise: The host by which tasks reach this program, if that is not the one bound.
        patience: Seconds that a task waits for this program before it fails.
        progress: True: a bar of tqdm, on standard error (`pip install meshmsg[progress]`). Or
            what is called with the counts (`RowStats`: done, failed, total), at most five times a
            second and at the end, by the thread that iterates.
        total: How many rows there are, for `progress`; such as `rows.count()`, a job of its own.
        insecure: Allow a bind outside loopback without security.
        engine: The engine to use; None takes that of the process.
        security: What protects the socket: a server's policy.
        task_security: The path of a file of policies where tasks run.

    Yields:
        A result a row, bytes, in the order they come; with `errors="return"` also an `ItemError`,
        whose `item` is the row.

    Raises:
        ItemError: A row was given up, with `errors="raise"`.
        FanOutError: The Spark job failed; or results are missing, as the rows of a partition that
            Spark ran again were not the same.
        UsageError, TypeError, AddressError, InsecureBindError: As of a `FanOut`.
        ResourceError: `progress` is True, and tqdm is not there.
    """
    given = Given(rows, fn, column, max_attempts, errors, task_security, progress, total)
    pull = Pull(bind=results, insecure=insecure, engine=engine, security=security)
    try:
        job = given.job(pull.endpoint, advertise, patience)
    except BaseException:
        pull.close()
        raise
    return _results(pull, job)


def _results(pull: Pull, job: Job) -> Iterator[Any]:
    job.begin()
    try:
        with pull:
            over = False
            while not over:
                over = job.ended
                try:
                    messages = pull.recv_many(RESULTS_AT_ONCE, timeout=0.0 if over else LOOK_S)
                except (TimedOutError, WouldBlockError):
                    continue
                over = False  # there may be more
                yield from job.came(messages)
        job.check()
    finally:
        job.end()


class Given:
    """What `map_rows` was given, checked: for threads and for asyncio."""

    def __init__(
        self,
        rows: DataFrame,
        fn: Callable[[bytes], bytes],
        column: str,
        max_attempts: int,
        errors: str,
        task_security: str | None,
        progress: object,
        total: int | None,
    ) -> None:
        self._returned = returns_errors(errors)
        self._attempts = whole("max_attempts", max_attempts, 1, ATTEMPTS_MAX)
        self._path = checked_path(task_security)
        self._total = None if total is None else whole("total", total, 0, ROWS_MAX)
        self._progress = progress
        self._fn = fn
        self._rows = rows
        self._column = column

    def job(self, endpoint: str, advertise: str | None, patience: float) -> Job:
        """Return the job, whose tasks push results there; it is not begun."""
        there = told_to(endpoint, advertise)
        one = self._rows.select(self._rows[self._column].cast("binary").alias("value"))
        task = RowsOf(self._fn, there, self._path, patience, self._attempts)
        return Job(one, task, self._returned, Progress(self._progress, self._total))


class Job:
    """The Spark job, in a thread, and what came of it."""

    def __init__(self, rows: DataFrame, task: RowsOf, returned: bool, progress: Progress) -> None:
        self._rows = rows
        self._task = task
        self._returned = returned
        self._progress = progress
        self._tag = f"meshmsg-rows-{uuid.uuid4().hex}"
        self._error: BaseException | None = None
        self._counts: dict[int, int] = {}
        self._following: dict[int, int] = {}
        """By partition: the row that is next, as each attempt begins at 0."""
        self.ended = False
        self._thread = threading.Thread(target=self._run, name="meshmsg-rows-job", daemon=True)

    def begin(self) -> None:
        """Have Spark run it."""
        self._thread.start()

    def came(self, messages: Iterable[bytes]) -> Iterator[Any]:
        """Give what is new of what tasks sent.

        Raises:
            ItemError: A row was given up, and errors are not given.
        """
        for message in messages:
            for part in parts_of(bytes(message), Outcome) or ():
                partition, row = part.id >> ROW_BITS, part.id & ROW_MAX
                if row != self._following.get(partition, 0):
                    continue
                self._following[partition] = row + 1
                self._progress.count(failed=part.number == Outcome.FAILED)
                if part.number == Outcome.FAILED:
                    yield given_or_raised(error_of(part), self._returned)
                else:
                    yield part.body
            self._progress.tell()

    def check(self) -> None:
        """See that all results are there, once it has ended.

        Raises:
            FanOutError: They are not, or it failed.
        """
        if self._error is not None:
            raise FanOutError(f"the Spark job failed: {self._error}") from self._error
        for partition, count in self._counts.items():
            came = self._following.get(partition, 0)
            if came != count:
                raise FanOutError(
                    f"partition {partition} had {count:,} rows at last, and {came:,} results came: "
                    "if Spark ran it again, its rows were others; sort them, or write them to "
                    "files before"
                )

    def end(self) -> None:
        """Cancel it, if it runs, and wait until it has ended."""
        if not self.ended:
            cancel_jobs(self._rows.sparkSession, self._tag, self._thread)
        self._thread.join()
        self._progress.close()

    def _run(self) -> None:
        try:
            tag_jobs(self._rows.sparkSession, self._tag)
            told = self._rows.mapInArrow(cast(Any, self._task), "id long").collect()
            self._counts = {row[0] >> ROW_BITS: row[0] & ROW_MAX for row in told}
        except BaseException as error:  # whatever it is, somebody waits
            self._error = error
        finally:
            self.ended = True
