"""WorkQueue: hands records out to workers that ask, and again if a worker is lost.

A ROUTER socket and one thread around the books in `_ledger`.  It is no broker: it lives in the
program that has the records, and what it holds dies with that program.
Law: everything that touches the ledger holds the lock, and nothing waits while holding it
except on the condition itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from types import TracebackType

from meshmsg import ClosedError, Engine, MeshError, Router, Stats, TimedOutError, UsageError

from ._ledger import Ledger, WorkStats
from ._wire import END, WAIT, pack_work, parse_ask

_TICK = 0.1  # seconds between looks at the leases when no worker says anything
_BATCH_MAX = 1000  # records in a batch: each is a frame, and peers accept 1,024 by default
_RECORD_SIZE_MAX = 63 * 1024 * 1024  # bytes: with its header below what peers accept by default
_CHUNK = 1000  # records put under one lock
_GOODBYE = 5.0  # seconds the last answers to workers may take at close


class WorkQueue:
    """Hand records out, in batches, to workers that ask for them.

    A worker holds a few batches at a time and says which ones it has finished whenever it asks
    for more, so a slow worker is never overloaded and a fast one never starved.  A batch is handed
    out again when its worker goes away, or keeps it for longer than `lease`; so every record is
    done at least once as long as this object lives, and the same record carries the same
    sequence number each time, by which a receiver of results can tell a repetition.

    Thread-safe: yes, every method.

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
        lease: float = 120.0,
        insecure: bool = False,
        engine: Engine | None = None,
    ) -> None:
        """Bind, and start to answer workers.

        Args:
            bind: Where workers connect; port 0 lets the system choose (see `endpoint`).
            batch_messages: The most records in a batch; at most 1,000.
            batch_bytes: The most bytes in a batch; a larger record travels alone.
            backlog_messages: `put` waits while this many records are with nobody.
            backlog_bytes: The same in bytes.
            lease: Seconds a worker may keep a batch before it is given to another.
            insecure: Allow a bind outside loopback without security.
            engine: The engine to use; None takes that of the process.

        Raises:
            UsageError: A limit makes no sense.
            AddressError: The address cannot be bound.
            InsecureBindError: The address is outside loopback and `insecure` is False.
        """
        if not 1 <= batch_messages <= _BATCH_MAX:
            raise UsageError(f"batch_messages is {batch_messages}; it must be 1 to {_BATCH_MAX}")
        if min(batch_bytes, backlog_messages, backlog_bytes) < 1 or lease <= 0:
            raise UsageError("batch_bytes, backlog_messages, backlog_bytes and lease must be > 0")
        self._backlog_messages = backlog_messages
        self._backlog_bytes = backlog_bytes
        self._ledger = Ledger(
            batch_messages=batch_messages, batch_bytes=batch_bytes, lease=float(lease)
        )
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._peer_ids: dict[bytes, int] = {}  # worker -> the connection it asked on
        self._closed = False
        self._failure: BaseException | None = None
        self._router = Router(
            bind=bind, insecure=insecure, engine=engine, handover=True, linger=_GOODBYE
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
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return "<WorkQueue closed>"
        now = self.stats()
        return (
            f"<WorkQueue {self.endpoint}: {now.workers} workers, {now.waiting} waiting, "
            f"{now.leased} leased, {now.acknowledged} of {now.put} acknowledged>"
        )

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
            ClosedError: The queue was closed.
        """
        with self._changed:
            here = self._changed.wait_for(
                lambda: self._broken or len(self._ledger.workers) >= count, timeout
            )
            self._raise_if_broken()
            if not here:
                raise TimedOutError(
                    f"{len(self._ledger.workers)} of {count} workers after {timeout} s"
                )

    def put(self, record: bytes, *, timeout: float | None = None) -> int:
        """Add one record, waiting while the backlog is full.

        Thread-safe: yes.

        Args:
            record: The bytes a worker will get.
            timeout: Seconds to wait for room; None waits for ever.

        Returns:
            The sequence number of the record: 0, 1, 2, ...

        Raises:
            TimedOutError: The backlog stayed full; nothing was added.
            UsageError: `finish` was called before.
            ClosedError: The queue was closed.
        """
        record = _checked(record)
        with self._changed:
            self._wait_for_room(timeout)
            sequence = self._ledger.put(record)
            self._hand_out()
        return sequence

    def put_many(self, records: Iterable[bytes], *, timeout: float | None = None) -> int:
        """Add many records, waiting while the backlog is full.

        Thread-safe: yes; records of two callers may mix.

        Args:
            records: What to add; taken as it is needed, so a generator may be endless.
            timeout: Seconds to wait for room each time; None waits for ever.

        Returns:
            How many were added.

        Raises:
            TimedOutError: The backlog stayed full; what went before was added (see `stats`).
            UsageError: `finish` was called before.
            ClosedError: The queue was closed.
        """
        count = 0
        chunk: list[bytes] = []
        for record in records:
            chunk.append(_checked(record))
            if len(chunk) == _CHUNK:
                count += self._put_chunk(chunk, timeout)
                chunk = []
        return count + self._put_chunk(chunk, timeout)

    def finish(self) -> None:
        """Say that no more records will come: workers end when all are acknowledged.

        Thread-safe: yes.
        """
        with self._changed:
            self._ledger.finished = True
            self._hand_out()

    def join(self, *, workers: int = 0, timeout: float | None = None) -> WorkStats:
        """Wait until every record is acknowledged and workers have been told that it is over.

        Thread-safe: yes.

        Args:
            workers: How many workers must have been told, at least.  A worker that comes late
                still gets its answer, so give the number of tasks here and none is left asking.
            timeout: Seconds to wait; None waits for ever.

        Returns:
            The final counts.

        Raises:
            TimedOutError: Some records are still waiting or leased; nothing was changed.
            UsageError: `finish` was not called: this would wait for ever.
            ClosedError: The queue was closed.
        """
        with self._changed:
            if not self._ledger.finished:
                raise UsageError("join() before finish() would wait for ever")
            over = self._changed.wait_for(lambda: self._broken or self._over(workers), timeout)
            self._raise_if_broken()
            if not over:
                now = self._ledger.stats()
                raise TimedOutError(
                    f"{now.waiting} records waiting and {now.leased} leased after {timeout} s; "
                    f"{now.workers} workers here, {now.workers_ended} told to end"
                )
            return self._ledger.stats()

    def stats(self) -> WorkStats:
        """The counts now.

        Thread-safe: yes.
        """
        with self._lock:
            return self._ledger.stats()

    def socket_stats(self) -> Stats:
        """The counts of the socket underneath: messages, bytes, queues.

        Thread-safe: yes.
        """
        return self._router.stats()

    def close(self) -> None:
        """Stop: workers are no longer answered, and records not acknowledged are forgotten.

        Thread-safe: yes; closing twice is harmless.
        """
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._router.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    @property
    def _broken(self) -> bool:
        return self._closed or self._failure is not None

    def _over(self, workers: int) -> bool:
        return self._ledger.done and self._ledger.stats().workers_ended >= workers

    def _raise_if_broken(self) -> None:
        if self._failure is not None:
            raise ClosedError("the work queue's thread failed") from self._failure
        if self._closed:
            raise ClosedError("the work queue is closed")

    def _wait_for_room(self, timeout: float | None) -> None:
        room = self._changed.wait_for(
            lambda: (
                self._broken
                or self._ledger.finished
                or (
                    self._ledger.waiting < self._backlog_messages
                    and self._ledger.fresh_bytes < self._backlog_bytes
                )
            ),
            timeout,
        )
        self._raise_if_broken()
        if self._ledger.finished:
            raise UsageError("put() after finish()")
        if not room:
            now = self._ledger.stats()
            raise TimedOutError(
                f"backlog full for {timeout} s: {now.waiting} records wait for "
                f"{now.workers} workers (limit {self._backlog_messages} records, "
                f"{self._backlog_bytes} bytes)"
            )

    def _put_chunk(self, chunk: list[bytes], timeout: float | None) -> int:
        put = 0
        while put < len(chunk):
            with self._changed:
                self._wait_for_room(timeout)
                room = self._backlog_messages - self._ledger.waiting
                for record in chunk[put : put + room]:
                    self._ledger.put(record)
                    put += 1
                    if self._ledger.fresh_bytes >= self._backlog_bytes:
                        break
                self._hand_out()
        return put

    def _serve(self) -> None:
        """The thread: hear workers, notice lost ones, hand out."""
        try:
            while not self._closed:
                try:
                    frames = self._router.recv_frames(timeout=_TICK)
                except TimedOutError:
                    frames = None
                with self._changed:
                    self._look_at_peers()
                    if frames is not None:
                        self._hear(frames[0], frames[1:])
                    self._ledger.expire(time.monotonic())
                    self._hand_out()
                    self._changed.notify_all()
        except MeshError as error:
            with self._changed:
                if not self._closed:  # else it is what close() wanted
                    self._failure = error
                self._changed.notify_all()

    def _hear(self, worker: bytes, frames: list[bytes]) -> None:
        asked = parse_ask(frames)
        if asked is None:
            self._ledger.malformed += 1
            return
        if worker not in self._peer_ids:
            self._peer_ids = {peer.identity: peer.id for peer in self._router.peers()}
        self._ledger.ask(worker, *asked)
        self._ledger.end_again(worker)
        self._hand_out()
        if self._ledger.idle(worker) and not self._ledger.done:
            self._say(worker, [WAIT])

    def _look_at_peers(self) -> None:
        """Take back the batches of workers whose connection is gone or is a new one."""
        if not self._router.events():
            return
        now = {peer.identity: peer.id for peer in self._router.peers()}
        for worker in self._ledger.workers:
            if now.get(worker) != self._peer_ids.get(worker):
                self._ledger.worker_gone(worker)
        self._peer_ids = now

    def _hand_out(self) -> None:
        for worker, batch in self._ledger.assign(time.monotonic()):
            frames = pack_work(batch.number, batch.attempt, batch.first_sequence, batch.items)
            if not self._say(worker, frames):
                self._ledger.unreached(batch.number)
        for worker in self._ledger.to_end():
            if not self._say(worker, [END]):
                self._ledger.end_again(worker)

    def _say(self, worker: bytes, frames: list[bytes]) -> bool:
        """Send to one worker; False when it cannot be reached now (it will ask again)."""
        try:
            self._router.send_frames([worker, *frames], timeout=0)
        except ClosedError:
            raise
        except MeshError:
            return False
        return True


def _checked(record: bytes) -> bytes:
    if not isinstance(record, (bytes, bytearray, memoryview)):
        raise TypeError(f"a record is bytes, not {type(record).__name__}; use .encode()")
    if len(record) > _RECORD_SIZE_MAX:
        raise UsageError(f"a record of {len(record)} bytes is over {_RECORD_SIZE_MAX}")
    return bytes(record)
