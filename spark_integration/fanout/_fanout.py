"""FanOut: work items from any program to the executors of Spark, and results back.

A `WorkQueue` for the items, a Pull for the results, and a Spark job whose tasks are the workers.
Not here: the books (_books.py), tasks (_task.py), their job (_jobs.py), what goes out
(_sending.py).
Law: every item that was submitted gets one answer: its result, or an error that says why not.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from threading import Lock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from meshmsg import ClosedError, Engine, Policy, Profile, Pull, TimedOutError, UsageError
from meshmsg.patterns import WorkQueue

from ._bar import Bar, teller_of
from ._books import Asked, Books, Settled, same
from ._jobs import Jobs
from ._numbers import (
    checked_body,
    checked_call,
    checked_path,
    numbers_of,
    returns_errors,
    slots_of,
    told_to,
)
from ._sending import Sending
from ._slots import Slots, Wrong
from ._task import TaskOf
from ._told import FanOutError, FanOutStats, ItemError
from ._words import ITEM_BYTES_MAX, KNOWN, group_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESULTS_AT_ONCE = 1000
"""Messages of results that are taken in one go."""
PROGRESS_S = 0.2
"""Seconds between two calls of `progress`."""
BEGUN_S = 30.0
"""Seconds without a result, after which a log is told if no task has begun: Spark may take ten."""
LOG = logging.getLogger("meshmsg")


class FanOut:
    """Give work items to tasks of Spark, and get one result each.

    Tasks connect to this program, ask for items as they have room, and push results back. An item
    whose worker is lost (killed, its executor gone, late by `lease`) goes to another one. So it may
    be executed twice; its result is told once. Items that were lost with their worker are tried
    again alone, so one that kills its workers takes no other along.

    An item is given up after `max_attempts`: its future raises `ItemError`, `map` does or gives it,
    and `dead` is told. With 1, all of a group that was lost are. If Spark ends the job, it is begun
    again; if that fails, too, all that is open raises `FanOutError`.

    What is in here dies with this program. For work that must survive it, use a spool or a
    DataFrame.

    Thread-safe: yes, every method.

    Args:
        session: Of Spark 4.0 or later, Spark Connect as well.
        fn: Is called in a task with an item, and returns its result, as bytes. An item for
            which it raises is tried again. Spark pickles it.
        workers: Tasks; None takes as many as the session has slots. Each has one until the fan-out
            is closed: other jobs and streams of the session wait for the rest.
        bind: Where tasks get items, as of a `WorkQueue`.
        results: Where tasks push results.
        advertise: The host by which tasks reach this program, if that is not the one that is
            bound (as `tcp://0.0.0.0:7000` needs it).
        encode: Makes bytes of what `submit` is given.
        decode: Makes of a result's bytes what its future gives.
        group_items: The most items that go out together, 1 to 1,000. Few do while workers are
            idle. Small is for items of seconds, large for those of microseconds.
        waiting_items: `submit` waits while so many wait for workers.
        max_attempts: How often an item is tried, 1 or more.
        lease: Seconds that one item may take. A worker is then taken for lost: others get the items
            of its group that it has not done, and of the group that it has ahead. After twice that
            time its process ends, and Spark begins another. None: never, as long as it lives.
        patience: Seconds that a task waits for this program before it fails.
        restarts: Times in a row that the job may be begun again without an item done.
        progress: True: a bar of tqdm, on standard error (`pip install meshmsg[progress]`). Or
            what is called with the counts (`FanOutStats`: done, submitted, failed and others), at
            most five times a second, by a thread of this object.
        dead: Is told of each item that was given up, by its `ItemError`, before its future is: such
            as `append` of a list. A thread of this object calls it. One whose future was cancelled
            is not told of, nor is what a `FanOutError` ends.
        insecure: Allow binds outside loopback without security.
        engine: The engine to use; None takes that of the process.
        security: What protects both sockets: a server's policy.
        task_security: The path of a file of policies where tasks run, as
            `run_tasks(security=)`.

    Raises:
        UsageError: A number is out of its range; a bind is on all interfaces, without
            `advertise`; or `workers` is needed, with Spark Connect.
        TypeError: One is no number, `task_security` is no path, or `progress` or `dead` is no
            function.
        ResourceError: `progress` is True, and tqdm is not there.
        AddressError, InsecureBindError: As a `WorkQueue` raises them.

    Example::

        with FanOut(spark, features, workers=8) as fan:   # def features(item: bytes) -> bytes
            future = fan.submit(b"an item")
            print(future.result(timeout=60))
            for result in fan.map(items):
                ...
    """

    def __init__(
        self,
        session: SparkSession,
        fn: Callable[[bytes], bytes],
        *,
        workers: int | None = None,
        bind: str = "tcp://127.0.0.1:0",
        results: str = "tcp://127.0.0.1:0",
        advertise: str | None = None,
        encode: Callable[[Any], bytes] = same,
        decode: Callable[[bytes], Any] = same,
        group_items: int = 100,
        waiting_items: int = 100_000,
        max_attempts: int = 4,
        lease: float | None = None,
        patience: float = 60.0,
        restarts: int = 3,
        progress: Callable[[FanOutStats], None] | bool | None = None,
        dead: Callable[[ItemError], object] | None = None,
        insecure: bool = False,
        engine: Engine | None = None,
        security: Policy | Profile | None = None,
        task_security: str | None = None,
    ) -> None:
        count = slots_of(session, workers)
        numbers_of(group_items, waiting_items, max_attempts, restarts, patience)
        path = checked_path(task_security)
        self._dead = checked_call("dead", dead)
        self._encode = encode
        self._told_at = 0.0
        self._closing = False
        self._over: FanOutError | None = None
        self._lock = Lock()
        self._books = Books(max_attempts, decode)
        shared: dict[str, Any] = {"insecure": insecure, "engine": engine, "security": security}
        with ExitStack() as opened:
            self._pull = opened.enter_context(Pull(bind=results, **shared))
            self._queue = opened.enter_context(
                WorkQueue(
                    bind=bind,
                    batch_messages=1,
                    backlog_messages=max(2, count),
                    lease=lease,
                    **shared,
                )
            )
            task = TaskOf(
                fn,
                told_to(self._queue.endpoint, advertise),
                told_to(self._pull.endpoint, advertise),
                path,
                patience,
                lease,
            )
            self._progress = teller_of(progress)
            opened.pop_all()
        self._sending = Sending(self._queue, group_items, waiting_items, self._books.open_of)
        self._taker = Thread(target=self._take, name="meshmsg-fanout-results", daemon=True)
        self._taker.start()
        self._jobs = Jobs(
            session, task, count, restarts=restarts, done=self._done, failed=self._job_failed
        )

    @property
    def endpoint(self) -> str:
        """Where tasks get items."""
        return self._queue.endpoint

    def submit(self, item: Any, *, timeout: float | None = None) -> Future[Any]:
        """Give an item to whichever worker is next.

        Args:
            item: Bytes, or what `encode` makes bytes of.
            timeout: Seconds to wait for room; None waits for ever.

        Returns:
            Its result, to come. Cancelling it drops what has not gone out to a
            task; later it stops no task, and the result is dropped.

        Raises:
            TypeError: It is no bytes.
            TooLargeError: It is over 63 MiB.
            TimedOutError: There was no room; nothing was submitted.
            FanOutError: The tasks cannot go on.
            ClosedError: It was closed.
        """
        future: Future[Any] = Future()
        self._submit(item, future, timeout)
        return future

    def _submit(self, item: Any, asked: Asked, timeout: float | None, place: int = 0) -> None:
        body = item if self._encode is same else self._encode(item)
        if type(body) is not bytes or len(body) > ITEM_BYTES_MAX:
            body = checked_body(body)
        books, sending = self._books, self._sending
        if len(sending.waiting) >= sending.waiting_items:
            sending.wait_for_room(timeout)
        if self._closing:
            raise ClosedError("the fan-out is closed")
        number = books.add(item, body, asked, place)
        if self._over is not None:  # it may have been told before this one was there
            books.forget(number)
            raise self._over.anew()
        sending.waiting.append(number)
        if sending.idle:
            sending.wake()

    def map(
        self,
        items: Iterable[Any],
        *,
        ordered: bool = True,
        window: int = 10_000,
        errors: Literal["raise", "return"] = "raise",
    ) -> Iterator[Any]:
        """Give the results of many items.

        Args:
            items: Is read as far ahead as `window` says, by the thread that iterates.
            ordered: Results in the order of items; False: each as it comes.
            window: Items that may be open at once, of this call.
            errors: "raise": the first item that was given up ends the iteration, and the results of
                those that are open are dropped. "return": its error is given in the place of its
                result, and the others go on.

        Yields:
            A result an item; or, with `errors="return"`, an `ItemError`, or what `decode` raised.

        Raises:
            ItemError: An item was given up, with `errors="raise"`.
            FanOutError, ClosedError: As `submit`.
            UsageError: `window` is less than 1, or `errors` is neither of the two.
        """
        if window < 1:
            raise UsageError(f"window is {window}; it must be 1 or more")
        return self._mapped(items, Slots(ordered, returns_errors(errors)), window)

    def stats(self) -> FanOutStats:
        """Return the counts. Thread-safe: yes."""
        return self._books.stats(self._queue.stats().workers, self._jobs.begun)

    def close(self, *, cancel: bool = False, timeout: float | None = None) -> None:
        """Wait until all is done, then end the tasks; closing twice is harmless.

        Args:
            cancel: Wait for nothing: what is open raises `FanOutError`, and Spark ends the tasks.
            timeout: Seconds until it is as with `cancel`; None waits for ever.
        """
        self._closing = True
        end = None if timeout is None else time.monotonic() + timeout
        if cancel or not self._wait_for_open(end):
            self._end(FanOutError("the fan-out was cancelled"))
            self._queue.close()
            self._jobs.cancel()
        else:
            self._jobs.may_end()
            self._queue.finish()
            left = None if end is None else max(0.0, end - time.monotonic())
            if not self._jobs.join(left):
                self._jobs.cancel()
        self._jobs.join()
        self._queue.close()
        self._sending.close()
        self._pull.close()
        self._taker.join()
        self._tell_progress()
        if isinstance(self._progress, Bar):
            self._progress.close()
            self._progress = None

    def __enter__(self) -> FanOut:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(cancel=value is not None)

    def __repr__(self) -> str:
        counts = self.stats()
        return f"<FanOut {self.endpoint}: {counts.done:,} of {counts.submitted:,} done>"

    def _mapped(self, items: Iterable[Any], slots: Slots, window: int) -> Iterator[Any]:
        submit, ready = self._submit, slots.ready
        given = taken = 0
        try:
            for item in items:
                submit(item, slots, None, given)
                given += 1
                while given - taken >= window or ready():
                    for outcome in slots.take():
                        taken += 1
                        yield outcome if type(outcome) is not Wrong else slots.given(outcome)
            while given > taken:
                for outcome in slots.take():
                    taken += 1
                    yield outcome if type(outcome) is not Wrong else slots.given(outcome)
        finally:
            slots.closed = True

    def _take(self) -> None:
        """The thread: results."""
        try:
            wait: float | None = BEGUN_S
            while True:
                try:
                    messages = self._pull.recv_many(RESULTS_AT_ONCE, timeout=wait)
                except TimedOutError:
                    messages = []
                    self._tell_of_no_task()
                wait = None
                for message in messages:
                    self._took(bytes(message))
                self._tell_progress()
        except ClosedError:
            pass
        except BaseException as error:
            LOG.error("a fan-out failed, and is closed", exc_info=error)
            failed = FanOutError(f"results are not taken any more: {error!r}")
            failed.__cause__ = error
            self._end(failed)

    def _tell_of_no_task(self) -> None:
        """Say that nobody works, if that is so: others may have all slots, for long or for ever."""
        if not self._queue.stats().workers:
            LOG.warning(
                "no task of a fan-out has begun within %g s: most likely the slots of the session "
                "are taken, by a query, a job or another FanOut (workers= says how many it takes)",
                BEGUN_S,
            )

    def _took(self, octets: bytes) -> None:
        group = group_of(octets, KNOWN)
        if group is None:
            LOG.warning("a fan-out got %d bytes that are no results", len(octets))
            return
        if not any(group.numbers):
            settled = self._books.done(group.ids, group.bodies)
        else:
            settled, again = self._books.came(group.parts())
            if again:
                self._sending.put_again(again)
        for one in settled:
            for error in one.wrong:
                if isinstance(error, ItemError):
                    self._tell_dead(error)
            one.tell()

    def _tell_dead(self, error: ItemError) -> None:
        try:
            if self._dead is not None:
                self._dead(error)
        except Exception:
            LOG.exception("dead= of a fan-out raised, for an item that was given up")

    def _tell_progress(self) -> None:
        tell, now = self._progress, time.monotonic()
        if tell is None:
            return
        counts = self.stats()
        if now - self._told_at >= PROGRESS_S or counts.open == 0:
            self._told_at = now
            try:
                tell(counts)
            except Exception:
                self._progress = None
                LOG.exception("progress= of a fan-out raised, and is called no more")

    def _wait_for_open(self, end: float | None) -> bool:
        """Wait until nothing is open; False: in vain."""
        return self._books.wait_until_settled(None if end is None else end - time.monotonic())

    def _done(self) -> int:
        return self.stats().done

    def _job_failed(self, error: BaseException) -> None:
        ended = FanOutError(f"the Spark job of the tasks failed: {error}")
        ended.__cause__ = error
        self._end(ended)

    def _end(self, error: FanOutError) -> None:
        with self._lock:
            self._over = self._over or error
            settled: list[Settled] = self._books.give_up(error)
        for one in settled:
            one.tell()
