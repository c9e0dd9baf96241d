"""WorkQueue: hands records out to workers that ask, and again if a worker is lost.

A ROUTER socket and one thread around `_desk`.  It is no broker: it lives in the program that has
the records, and what it holds dies with that program.
Law: everything that changes the books holds the lock, and nothing waits while holding it except on
the condition itself.  A signal's function may run inside any method, so inside the lock: there it
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
    PeerError,
    Policy,
    Profile,
    ResourceError,
    Router,
    Stats,
    TimedOutError,
    UsageError,
    WouldBlockError,
)

from .._life import Life
from ._desk import (
    CHUNK,
    GOODBYE,
    TICK,
    Desk,
    Record,
    Word,
    check_wait,
    checked,
    few_workers,
    tell_put,
)
from ._ledger import Ledger, WorkStats


class WorkQueue:
    """Hand records out, in batches, to workers that ask for them.

    A worker holds a few batches at a time and says which ones it has finished whenever it asks
    for more, so a slow worker is never overloaded and a fast one never starved.  A worker keeps
    what it has as long as its connection lives; when that ends, by itself or because heartbeats
    fail (within 15 s), its batches go to others at once.  A worker that lives but hangs is what
    `lease` is for: whoever has begun a batch and shows no progress in it for that long may lose
    all it has to workers that have room.  So every record is done at least once as long as this
    object lives, and the same record carries the same sequence number each time, by which a
    receiver of results can tell a repetition.

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
        """Bind, and start to answer workers.

        Args:
            bind: Where workers connect; port 0 lets the system choose (see `endpoint`).
            batch_messages: The most records in a batch; at most 1,000.
            batch_bytes: The most bytes in a batch, at most 63 MiB; a larger record travels alone.
            backlog_messages: `put` waits while this many records are with nobody.
            backlog_bytes: The same in bytes.
            lease: Seconds without progress in a batch that was begun, after which another worker
                may have it: the longest time one record may take.  Progress is to begin it, to
                take a record from it, and `WorkBatch.extend`.  None: a worker that hangs keeps
                what it has as long as its connection lives (`WorkStats.stalled_seconds` tells).
            insecure: Allow a bind outside loopback without security.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a server's policy, as `meshmsg.Curve(key=, allow=)`; None is
                that of the engine.

        Raises:
            UsageError: A limit makes no sense.
            AddressError: The address cannot be bound.
            InsecureBindError: The address is outside loopback and `insecure` is False.
        """
        self._desk = Desk(
            batch_messages=batch_messages,
            batch_bytes=batch_bytes,
            backlog_messages=backlog_messages,
            backlog_bytes=backlog_bytes,
            lease=lease,
        )
        self._lock = threading.RLock()  # entered itself: a Condition may be left locked by a signal
        self._changed = threading.Condition(self._lock)
        self._life = Life("a", "work queue", "its engine")
        self._router = Router(
            bind=bind,
            insecure=insecure,
            engine=engine,
            security=security,
            handover=True,
            linger=GOODBYE,
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
        with self._lock:
            return f"<WorkQueue {self.endpoint}: {self._desk.text(time.monotonic())}>"

    @property
    def endpoint(self) -> str:
        """The address workers connect to."""
        return self._router.endpoint

    def wait_for_workers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until so many workers are connected and have asked.

        Thread-safe: yes.

        Args:
            count: How many.
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimedOutError: There are fewer.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
            UsageError: Called by a signal's function that interrupted a method of this queue.
        """
        check_wait(timeout, "count", count)
        self._refuse_in_signal("wait_for_workers")
        with self._lock:
            here = self._changed.wait_for(
                lambda: self._life.over or len(self._ledger.workers) >= count, timeout
            )
            self._life.check()
            if not here:
                raise TimedOutError(few_workers(len(self._ledger.workers), count, timeout))

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
            TypeError: This is no record.
            TimedOutError: The backlog stayed full; nothing was added.
            ValueError: timeout is below 0.
            TooLargeError: This is over 63 MiB.
            UsageError: `finish` was called before; or a signal's function called this that
                interrupted a method of this queue.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        record = checked(record)
        check_wait(timeout)
        self._refuse_in_signal("put")
        with self._lock:
            self._wait_for_room(timeout)
            sequence = self._ledger.put(record)
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
            TypeError: One of them is no record.
            TimedOutError: The backlog stayed full.
            TooLargeError: A record is over 63 MiB.
            UsageError: `finish` was called before; or as for `put`.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
            BaseException: What the iterable raised. Whatever is raised has `.put`, how many were
                added, and `.unput`, a list of what was taken and not added: one record at most,
                the refused one, too.
        """
        check_wait(timeout)
        self._refuse_in_signal("put_many")
        count = 0
        taken: list[Record] = []
        try:
            for record in records:
                taken.append(record)
                octets = checked(record)
                with self._lock:
                    if self._desk.room <= 0:
                        self._hand_out()
                    self._wait_for_room(timeout)
                    self._ledger.put(octets)
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
        self._ledger.finished = True
        if not self._interrupted():  # else workers are told when that method goes on
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
            UsageError: `finish` was not called: this would wait for ever; or as for `put`.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        check_wait(timeout, "workers", workers)
        self._refuse_in_signal("join")
        with self._lock:
            if not self._ledger.finished:
                raise UsageError("join() before finish() would wait for ever")
            over = self._changed.wait_for(
                lambda: self._life.over or self._desk.over(workers), timeout
            )
            self._life.check()
            if not over:
                raise TimedOutError(self._desk.too_late(timeout, time.monotonic()))
            return self._ledger.stats(time.monotonic())

    def stats(self) -> WorkStats:
        """The counts now.

        Thread-safe: yes, also from a signal's function.
        """
        with self._lock:
            return self._ledger.stats(time.monotonic())

    def socket_stats(self) -> Stats:
        """The counts of the socket underneath: messages, bytes, queues.

        Thread-safe: yes.
        """
        return self._router.stats()

    def close(self) -> None:
        """Stop: workers are no longer answered, and records not acknowledged are forgotten.

        Thread-safe: yes, also from a signal's function; closing twice is harmless.

        Raises:
            ClosedError: The queue had failed, which should not happen; its `__cause__` says why,
                and it is closed. Told once.
        """
        self._life.closed = True
        self._router.close()  # wakes the thread, which wakes who waits
        if threading.current_thread() is not self._thread and not self._interrupted():
            self._thread.join()
        self._life.tell()

    @property
    def _ledger(self) -> Ledger:
        return self._desk.ledger

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

    def _wait_for_room(self, timeout: float | None) -> None:
        room = self._desk.room > 0 or self._changed.wait_for(
            lambda: self._life.over or self._ledger.finished or self._desk.room > 0, timeout
        )
        self._life.check()
        if self._ledger.finished:
            raise UsageError("put() after finish()")
        if not room:
            raise TimedOutError(self._desk.full(timeout))

    def _serve(self) -> None:
        """The thread: hear workers, notice lost ones, hand out, until it is closed or fails."""
        try:
            while not self._life.over:
                try:
                    frames = self._router.recv_frames(timeout=TICK)
                except TimedOutError:
                    frames = None
                with self._lock:
                    self._hear(frames)
                    self._hand_out()
                    self._changed.notify_all()
        except BaseException as error:
            self._life.fail(error)
        self._router.close()
        with self._lock:
            self._changed.notify_all()

    def _hear(self, frames: list[bytes] | None) -> None:
        if self._router.events() or (frames and not self._desk.knows(frames[0])):
            self._desk.connected({peer.identity: peer.id for peer in self._router.peers()})
        if frames is not None:
            self._desk.hear(frames[0], frames[1:], time.monotonic())

    def _hand_out(self) -> None:
        """Say all that is to be said.

        When that is cut short, by a fault or by a signal's function that raises, nobody knows any
        more what was said: the queue has failed.
        """
        try:
            self._desk.hand_out(time.monotonic())
            while (word := self._desk.next_word()) is not None:
                if not self._say(word):
                    self._desk.unsaid(word)
        except BaseException as error:
            self._life.fail(error)
            self._router.close()  # ends the thread, which wakes who waits
            if not isinstance(error, Exception):
                raise

    def _say(self, word: Word) -> bool:
        """Send to one worker; False when it cannot be reached now (it will ask again)."""
        try:
            self._router.send_frames([word.worker, *word.frames], timeout=0)
        except (PeerError, WouldBlockError, ResourceError):
            return False
        return True
