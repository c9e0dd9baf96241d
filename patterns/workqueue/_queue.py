"""WorkQueue: hands records out to workers that have room, and again if a worker is lost.

A Push and one thread around `_books`.  It is no broker: it lives in the program that has the
records, and what it holds dies with that program.
Law: everything that changes the books holds the lock, and nothing waits while holding it except on
the condition itself.  Whoever puts sends, as long as nobody has to wait for room; else the thread
does, and it alone.  A signal's function may run inside any method, so inside the lock: there it
changes nothing but `finished` and `closed`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from types import TracebackType

from meshmsg import (
    ClosedError,
    Engine,
    Policy,
    Profile,
    Push,
    Receipt,
    Stats,
    TimedOutError,
    UsageError,
    WouldBlockError,
)

from .._life import Life
from ._books import (
    CHUNK,
    TICK,
    Books,
    Record,
    WorkStats,
    checked,
    few_workers,
    tell_put,
    told,
    too_late,
)
from ._delivery import push_options
from ._numbers import check_count, check_timeout


class WorkQueue:
    """Hand records out, in batches, to workers that ask for them.

    A worker holds a few batches at a time, and gets another one as it is done with one, so a slow
    worker is never overloaded and a fast one never starved.  A worker keeps what it has as long as
    its connection lives; when that ends, by itself or because heartbeats fail (within 15 s), its
    batches go to others at once.  A worker that lives but hangs is what `lease` is for: whoever
    shows no progress for that long loses all it has to workers that have room.  So every record is
    done at least once as long as this object lives, and the same record carries the same sequence
    number each time, by which a receiver of results can tell a repetition.

    Underneath it is a `meshmsg.Push` that delivers at least once, and each worker a `meshmsg.Pull`.

    If the queue itself fails, which should not happen, it is closed, logs why, and raises
    ClosedError wherever something waits or is put, and in `close`.

    Thread-safe: yes, every method.  A signal's function may call `close`, `finish` and `stats`; all
    others raise UsageError there if it interrupted a method of this queue.

    Example::

        with WorkQueue(bind="tcp://127.0.0.1:0") as queue:
            start_workers(queue.endpoint)          # each runs: for batch in work(endpoint): ...
            queue.put_many(records)
            queue.finish()
            print(queue.join(timeout=60))
    """

    def __init__(
        self,
        *,
        bind: str = "tcp://127.0.0.1:0",
        batch_messages: int = 500,
        batch_bytes: int = 1024 * 1024,
        backlog_messages: int = 50_000,
        backlog_bytes: int = 64 * 1024 * 1024,
        lease: float | None = None,
        insecure: bool = False,
        engine: Engine | None = None,
        security: Policy | Profile | None = None,
    ) -> None:
        """Bind, and start to hand out.

        Args:
            bind: Where workers connect; port 0 lets the system choose (see `endpoint`).
            batch_messages: The most records in a batch; at most 1,000.
            batch_bytes: The most bytes in a batch, at most 63 MiB; a larger record travels alone.
            backlog_messages: `put` waits while this many records are in no batch.  As many batches,
                1,000 at least, may be given back by `WorkBatch.retry` to go out later; then no new
                one goes out until one of them is due.  They have no limit of their own, as both
                are what this queue keeps in memory and nobody works on.
            backlog_bytes: The same in bytes, with 16 MiB in place of 1,000.
            lease: Seconds, from 0.001 to 4,000,000, that a worker may show no progress, after which
                others get what it has: the longest time one record may take.  Progress is to get a
                batch, to take a record from it, and `WorkBatch.extend`.  None: a worker that hangs
                keeps what it has as long as its connection lives.
            insecure: Allow a bind outside loopback without security.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a server's policy, as `meshmsg.Curve(key=, allow=)`; None is
                that of the engine.

        Raises:
            TypeError: A number is none.
            UsageError: A number is out of its range.
            AddressError: The address cannot be bound.
            InsecureBindError: The address is outside loopback and `insecure` is False.
        """
        self._books = Books(
            batch_messages=batch_messages,
            batch_bytes=batch_bytes,
            backlog_messages=backlog_messages,
            backlog_bytes=backlog_bytes,
            lease=lease,
        )
        self._lock = threading.RLock()  # entered itself: a Condition may be left locked by a signal
        self._changed = threading.Condition(self._lock)
        self._life = Life("a", "work queue", "its engine")
        self._full = False  # nobody has room: the thread waits for that, and sends
        self._push = Push(
            **push_options(
                bind=bind,
                lease=self._books.lease,
                delayed=self._books.delayed_limits,
                insecure=insecure,
                engine=engine,
                security=security,
            )
        )
        self._thread = threading.Thread(target=self._serve, name="meshmsg-work", daemon=True)
        self._thread.start()

    def __enter__(self) -> WorkQueue:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except ClosedError:
            if value is None:  # else that is what the caller is to hear
                raise

    def __repr__(self) -> str:
        if self._life.closed:
            return "<WorkQueue closed>"
        return f"<WorkQueue {self.endpoint}: {told(self.stats())}>"

    @property
    def endpoint(self) -> str:
        """The address workers connect to."""
        return self._push.endpoint

    def wait_for_workers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until so many workers are connected.

        Thread-safe: yes.

        Args:
            count: How many.
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TypeError: `count` or `timeout` is no number.
            TimedOutError: There are fewer.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
            UsageError: One of both is below 0; or a signal's function called this that interrupted
                a method of this queue.
        """
        check_count("count", count)
        timeout = check_timeout(timeout)
        self._refuse_in_signal("wait_for_workers")
        try:
            self._push.wait_for_peers(count, timeout=timeout)
        except (TimedOutError, WouldBlockError):
            here = self.stats().workers
            raise TimedOutError(few_workers(here, count, timeout)) from None
        except ClosedError as error:
            self._ended(error)

    def put(self, record: Record, *, timeout: float | None = None) -> int:
        """Add one record, waiting while the backlog is full.

        Thread-safe: yes.

        Args:
            record: What a worker will get, as bytes: bytes, or a bytearray or memoryview, which is
                copied.
            timeout: Seconds to wait for room; None waits for ever.

        Returns:
            The sequence number of the record: 0, 1, 2, ...

        Raises:
            TypeError: This is no record, or `timeout` is no number.
            TimedOutError: The backlog stayed full; nothing was added.
            TooLargeError: This is over 63 MiB.
            UsageError: `finish` was called before; or `timeout` is below 0, which is a ValueError,
                too; or a signal's function called this that interrupted a method of this queue.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        record = checked(record)
        timeout = check_timeout(timeout)
        self._refuse_in_signal("put")
        with self._lock:
            self._wait_for_room(timeout)
            sequence = self._books.put(record)
            self._hand_out()
            self._life.check()
        return sequence

    def put_many(self, records: Iterable[Record], *, timeout: float | None = None) -> int:
        """Add many records, waiting while the backlog is full.

        Thread-safe: yes; records of two callers may mix.

        Args:
            records: What to add, as for `put`. Each is put as it is taken, so a generator may be
                endless, and slow; what it gave before it raised is put.
            timeout: Seconds to wait for room each time; None waits for ever.

        Returns:
            How many were added.

        Raises:
            TypeError: One of them is no record, or `timeout` is no number.
            TimedOutError: The backlog stayed full.
            TooLargeError: A record is over 63 MiB.
            UsageError: `finish` was called before; or as for `put`.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
            BaseException: What the iterable raised. Whatever is raised has `.put`, how many were
                added, and `.unput`, a list of what was taken and not added: one record at most,
                the refused one, too.
        """
        timeout = check_timeout(timeout)
        self._refuse_in_signal("put_many")
        count = 0
        taken: list[Record] = []
        try:
            for record in records:
                taken.append(record)
                octets = checked(record)
                with self._lock:
                    if self._books.room <= 0:
                        self._hand_out()
                    self._wait_for_room(timeout)
                    self._books.put(octets)
                    count += 1
                    taken.clear()
                    if count % CHUNK == 0:  # for the others it is time at the end, or in a tick
                        self._hand_out()
            with self._lock:
                self._hand_out()
                self._life.check()
        except BaseException as error:
            tell_put(error, count, taken)
            raise
        return count

    def finish(self) -> None:
        """Say that no more records will come: workers end when all are acknowledged.

        Thread-safe: yes, also from a signal's function.
        """
        self._books.finished = True
        if not self._interrupted():  # else workers are told when the thread looks next
            with self._lock:
                self._hand_out()

    def join(self, *, workers: int = 0, timeout: float | None = None) -> WorkStats:
        """Wait until every record is acknowledged and workers have been told that it is over.

        Thread-safe: yes.

        Args:
            workers: How many workers must have been told, at least; those that left before
                that, by `Worker.stop` or lost, do not count.  A worker that comes late still gets
                its answer, so give the number of tasks here and none is left asking.
            timeout: Seconds to wait; None waits for ever.

        Returns:
            The final counts.

        Raises:
            TimedOutError: Some records are still waiting or leased; nothing was changed.
            TypeError: `workers` or `timeout` is no number.
            UsageError: `finish` was not called: this would wait for ever; `workers` is below 0; or
                as for `put`.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        check_count("workers", workers)
        timeout = check_timeout(timeout)
        self._refuse_in_signal("join")
        if not self._books.finished:
            raise UsageError("join() before finish() would wait for ever")
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            self._hand_out()
            given = self._changed.wait_for(lambda: self._life.over or self._all_sent, timeout)
            self._life.check()
        try:
            if not given:
                raise TimedOutError
            left = None if end is None else max(0.0, end - time.monotonic())
            self._push.wait_for_finished(workers, timeout=left)
        except (TimedOutError, WouldBlockError):
            raise TimedOutError(too_late(self.stats(), timeout)) from None
        except ClosedError as error:
            self._ended(error)
        return self.stats()

    def stats(self) -> WorkStats:
        """The counts now.

        Thread-safe: yes, also from a signal's function.
        """
        with self._lock:
            return self._books.stats(self._push.stats)

    def socket_stats(self) -> Stats:
        """The counts of the socket underneath: messages, bytes, queues.

        Thread-safe: yes.
        """
        return self._push.stats()

    def close(self) -> None:
        """Stop: workers are sent nothing more, and records not acknowledged are forgotten.

        Thread-safe: yes, also from a signal's function; closing twice is harmless.

        Raises:
            ClosedError: The queue had failed, which should not happen; its `__cause__` says why,
                and it is closed. Told once.
        """
        self._books.stats(self._push.stats)  # as they are now they stay
        self._life.closed = True
        self._push.close()  # wakes the thread, which wakes who waits
        if threading.current_thread() is not self._thread and not self._interrupted():
            with self._lock:
                self._changed.notify_all()
            self._thread.join()
        self._life.tell()

    def _interrupted(self) -> bool:
        """Whether this is a signal's function, in whose thread a method holds the lock."""
        try:
            self._changed.notify(0)
        except RuntimeError:  # this thread does not hold it
            return False
        return True

    def _refuse_in_signal(self, method: str) -> None:
        if self._interrupted():
            raise UsageError(
                f"{method}() was called by a signal's function that interrupted a method of this "
                "WorkQueue; it may call close(), finish() and stats()"
            )

    def _ended(self, error: ClosedError) -> None:
        """Say why the socket is closed: the queue was, or it failed."""
        self._life.check()
        raise error

    @property
    def _all_sent(self) -> bool:
        """Whether every record is in a batch that was sent."""
        return not self._books.waiting

    def _wait_for_room(self, timeout: float | None) -> None:
        books = self._books
        room = books.room > 0 or self._changed.wait_for(
            lambda: self._life.over or books.finished or books.room > 0, timeout
        )
        self._life.check()
        if books.finished:
            raise UsageError("put() after finish()")
        if not room:
            raise TimedOutError(books.full(timeout, self.stats()))

    def _serve(self) -> None:
        """The thread: send what nobody has room for as soon as somebody has, until it is closed."""
        try:
            while not self._life.over:
                with self._lock:
                    full = self._changed.wait_for(lambda: self._life.over or self._full, TICK)
                    if not full:
                        self._hand_out()  # of an iterable that takes its time, or after a signal
                        continue
                self._send_waiting()
        except BaseException as error:
            self._life.fail(error)
        self._push.close()
        with self._lock:
            self._changed.notify_all()

    def _send_waiting(self) -> None:
        """Wait until somebody has room, and send a batch; nobody else sends meanwhile."""
        self._push.wait_for_peers(1)
        with self._lock:
            batch = self._books.peek()
        receipt: Receipt | None = None
        if batch is not None:
            try:
                receipt = self._push.send(batch.octets, confirm=True)
            except WouldBlockError:
                with self._lock:  # nobody is there any more, or all who are there take no more
                    self._changed.wait_for(lambda: self._life.over, TICK)
                return
        with self._lock:
            if batch is not None:
                self._books.made(batch)
                self._books.sent(batch, receipt)
            self._full = False
            self._hand_out()
            self._changed.notify_all()

    def _hand_out(self) -> None:
        """Send what somebody has room for; under the lock.

        When that is cut short, by a fault or by a signal's function that raises, nobody knows any
        more what was sent: the queue has failed.
        """
        if self._full or self._life.over:
            return
        try:
            while (batch := self._books.peek()) is not None:
                try:
                    receipt = self._push.send(batch.octets, timeout=0, confirm=True)
                except WouldBlockError:
                    self._full = True
                    self._changed.notify_all()
                    return
                self._books.made(batch)
                self._books.sent(batch, receipt)
                self._changed.notify_all()  # there is room
            if self._books.finished:
                self._push.finish()
                self._changed.notify_all()
        except BaseException as error:
            self._life.fail(error)
            self._push.close()  # ends the thread, which wakes who waits
            if not isinstance(error, Exception):
                raise
