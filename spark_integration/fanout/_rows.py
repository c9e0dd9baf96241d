"""Rows of a DataFrame as items: each is worked on where Spark has it, and its result comes here.

No item goes over our wire; results do, as of a fan-out. Not here: what tasks say (_words.py).
Law: a row has one result, the first that came, however often Spark runs its partition.
"""

from __future__ import annotations

import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from meshmsg import Engine, Policy, Profile, Pull, Push, TimedOutError, WouldBlockError

from .._protected import protected
from ._numbers import checked_path, told_to
from ._tags import cancel_jobs, tag_jobs
from ._task import WHY_BYTES, checked_result, in_messages
from ._told import FanOutError, ItemError
from ._words import Outcome, Part, octets_of, parts_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

ROW_BITS = 40
"""Of an id: the row in its partition; the bits above are the partition."""
ROW_MAX = (1 << ROW_BITS) - 1
RESULTS_AT_ONCE = 1000
"""Messages of results that are taken in one go."""
LOOK_S = 0.1
"""Seconds until it is looked again whether the job has ended."""


class RowsOf(NamedTuple):
    """What runs in a task; it is pickled by Spark."""

    fn: Callable[[bytes], bytes]
    results: str
    security: str | None
    patience: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work on the rows of one partition; give nothing back to Spark."""
        from pyspark import TaskContext

        context = TaskContext.get()
        first = (context.partitionId() if context is not None else 0) << ROW_BITS
        with ExitStack() as stack:
            stack.enter_context(protected(self.security))
            out = stack.enter_context(
                Push(connect=self.results, delivery="at_least_once", linger=self.patience)
            )
            for batch in batches:
                bodies = batch.column(0).to_pylist()
                parts = [self._done(first + i, body) for i, body in enumerate(bodies)]
                first += len(bodies)
                for said in in_messages(parts):
                    out.send(octets_of(said), timeout=self.patience)
            out.drain(timeout=self.patience).raise_for_loss()
        yield from ()

    def _done(self, row: int, body: bytes) -> Part:
        try:
            return Part(row, Outcome.DONE, checked_result(self.fn(body)))
        except Exception as error:
            text = "".join(traceback.format_exception(error)).encode(errors="replace")
            return Part(row, Outcome.FAILED, text[-WHY_BYTES:])


def map_rows(
    rows: DataFrame,
    fn: Callable[[bytes], bytes],
    *,
    column: str = "value",
    results: str = "tcp://127.0.0.1:0",
    advertise: str | None = None,
    patience: float = 60.0,
    insecure: bool = False,
    engine: Engine | None = None,
    security: Policy | Profile | None = None,
    task_security: str | None = None,
) -> Iterator[bytes]:
    """Call `fn` with each row of a DataFrame, where Spark has it; give the results as they come.

    Results reach this program while the job runs, and each row's once, also if Spark runs a
    partition again: then rows must come in the same order again, as they do of files and sources.

    Args:
        rows: Of Spark 4.0 or later.
        fn: Is called in a task with the bytes of a row, and returns bytes. Spark pickles it.
        column: Which column has them; it is binary, or text.
        results: Where tasks push results.
        advertise: The host by which tasks reach this program, if that is not the one bound.
        patience: Seconds that a task waits for this program before it fails.
        insecure: Allow a bind outside loopback without security.
        engine: The engine to use; None takes that of the process.
        security: What protects the socket: a server's policy.
        task_security: The path of a file of policies where tasks run.

    Yields:
        A result a row, in the order they come.

    Raises:
        ItemError: `fn` raised; the iteration ends there.
        FanOutError: The Spark job failed.
        UsageError, TypeError, AddressError, InsecureBindError: As of a `FanOut`.
    """
    path = checked_path(task_security)
    pull = Pull(bind=results, insecure=insecure, engine=engine, security=security)
    try:
        task = RowsOf(fn, told_to(pull.endpoint, advertise), path, patience)
        one = rows.select(rows[column].cast("binary").alias("value"))
    except BaseException:
        pull.close()
        raise
    return _results(pull, one, task)


def _results(pull: Pull, rows: DataFrame, task: RowsOf) -> Iterator[bytes]:
    session, tag = rows.sparkSession, f"meshmsg-rows-{uuid.uuid4().hex}"
    ended: list[BaseException | None] = []

    def run() -> None:
        tag_jobs(session, tag)
        try:
            rows.mapInArrow(cast(Any, task), "id long").collect()
        except Exception as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=run, name="meshmsg-rows-job", daemon=True)
    thread.start()
    try:
        with pull:
            yield from _come(pull, ended)
        if (error := ended[0]) is not None:
            raise FanOutError(f"the Spark job failed: {error}") from error
    finally:
        if not ended:
            cancel_jobs(session, tag, thread)
        thread.join()


def _come(pull: Pull, ended: list[BaseException | None]) -> Iterator[bytes]:
    """Give what comes, until the job has ended and no more is there."""
    following: dict[
        int, int
    ] = {}  # by partition: the row that is next, as each attempt begins at 0
    while True:
        over = bool(ended)
        try:
            messages = pull.recv_many(RESULTS_AT_ONCE, timeout=0.0 if over else LOOK_S)
        except (TimedOutError, WouldBlockError):
            if over:
                return
            continue
        for message in messages:
            for part in parts_of(bytes(message), Outcome) or ():
                partition, row = part.id >> ROW_BITS, part.id & ROW_MAX
                if row == following.get(partition, 0):
                    following[partition] = row + 1
                    yield _result(part)


def _result(part: Part) -> bytes:
    if part.number == Outcome.FAILED:
        row = f"row {part.id & ROW_MAX} of partition {part.id >> ROW_BITS}"
        raise ItemError(row, 1, part.body.decode(errors="replace"))
    return part.body
