"""WorkQueue for asyncio: a ROUTER socket and two tasks of the loop around `_desk`.

Not here: who has what (`_ledger`), what is said (`_desk`).
Law: only the queue's own tasks use its socket; who puts changes the books, and wakes them.  A task
that fails closes the queue, and says so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from types import TracebackType

from meshmsg import (
    ClosedError,
    Engine,
    PeerError,
    Policy,
    Profile,
    ResourceError,
    Stats,
    TimedOutError,
    UsageError,
    WouldBlockError,
)
from meshmsg.aio import Router

from .._life import Life
from ._desk import (
    CHUNK,
    GOODBYE,
    TICK,
    TURN,
    Desk,
    Record,
    Word,
    check_wait,
    checked,
    few_workers,
    tell_put,
)
from ._ledger import WorkStats


class WorkQueue:
    """Hand records out, in batches, to workers that ask for them.

    It is `meshmsg.patterns.WorkQueue` for asyncio, and keeps the same promises: its documentation
    says which.  It is made on a running loop and belongs to it.

    Thread-safe: no; as its loop.

    Example::

        async with WorkQueue(bind="tcp://127.0.0.1:0") as queue:
            start_workers(queue.endpoint)
            await queue.put_many(records)
            queue.finish()
            print(await queue.join(timeout=60))
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
                may have it; None: a worker keeps it as long as its connection lives.
            insecure: Allow a bind outside loopback without security.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a server's policy, as `meshmsg.Curve(key=, allow=)`; None is
                that of the engine.

        Raises:
            UsageError: A limit makes no sense, or no event loop is running.
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
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("an asyncio WorkQueue is made while its event loop runs") from None
        self._changed = asyncio.Condition()
        self._due = asyncio.Event()  # there is something to say
        self._said = asyncio.Event()  # there is not much to say: workers may be heard
        self._said.set()
        self._life = Life("a", "work queue", "its engine")
        self._router = Router(
            bind=bind,
            insecure=insecure,
            engine=engine,
            security=security,
            handover=True,
            linger=GOODBYE,
        )
        self._tasks = [
            loop.create_task(self._guarded(task)) for task in (self._hear(), self._speak())
        ]

    async def __aenter__(self) -> WorkQueue:
        return self

    async def __aexit__(
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
        finally:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def __repr__(self) -> str:
        if self._life.closed:
            return "<WorkQueue closed>"
        return f"<WorkQueue {self.endpoint}: {self._desk.text(time.monotonic())}>"

    @property
    def endpoint(self) -> str:
        """The address workers connect to."""
        return self._router.endpoint

    async def wait_for_workers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until so many workers are connected and have asked.

        Cancel-safe: yes. Thread-safe: no.

        Args:
            count: How many.
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimedOutError: There are fewer.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        check_wait(timeout, "count", count)
        if not await self._until(lambda: len(self._desk.ledger.workers) >= count, timeout):
            here = len(self._desk.ledger.workers)
            raise TimedOutError(few_workers(here, count, timeout))

    async def put(self, record: Record, *, timeout: float | None = None) -> int:
        """Add one record, waiting while the backlog is full.

        Cancel-safe: yes; a cancelled call has added nothing. Thread-safe: no.

        Args:
            record: What a worker will get, as bytes: bytes, or a bytearray or memoryview, which is
                copied.
            timeout: Seconds to wait for room; None waits for ever.

        Returns:
            The sequence number of the record: 0, 1, 2, ...

        Raises:
            TypeError: This is no record.
            TimedOutError: The backlog stayed full; nothing was added.
            TooLargeError: A record is over 63 MiB.
            UsageError: `finish` was called before.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        record = checked(record)
        check_wait(timeout)
        await self._wait_for_room(timeout)
        self._due.set()
        return self._desk.ledger.put(record)

    async def put_many(self, records: Iterable[Record], *, timeout: float | None = None) -> int:
        """Add many records, waiting while the backlog is full.

        Cancel-safe: no; the CancelledError has `.put` and `.unput`. Thread-safe: no.

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
            UsageError: `finish` was called before.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
            BaseException: What the iterable raised. Whatever is raised has `.put`, how many were
                added, and `.unput`, a list of what was taken and not added: one record at most,
                the refused one, too.
        """
        check_wait(timeout)
        count = 0
        taken: list[Record] = []
        try:
            for record in records:
                taken.append(record)
                octets = checked(record)
                if self._desk.room <= 0 or count % CHUNK == 0:
                    self._due.set()
                    await asyncio.sleep(0)  # others have their turn, however much room there is
                    await self._wait_for_room(timeout)
                self._desk.ledger.put(octets)
                taken.clear()
                count += 1
        except BaseException as error:
            tell_put(error, count, taken)
            raise
        finally:
            self._due.set()
        return count

    def finish(self) -> None:
        """Say that no more records will come: workers end when all are acknowledged.

        Thread-safe: no.
        """
        self._desk.ledger.finished = True
        self._due.set()

    async def join(self, *, workers: int = 0, timeout: float | None = None) -> WorkStats:
        """Wait until every record is acknowledged and workers have been told that it is over.

        Cancel-safe: yes. Thread-safe: no.

        Args:
            workers: How many workers must have been told, at least.
            timeout: Seconds to wait; None waits for ever.

        Returns:
            The final counts.

        Raises:
            TimedOutError: Some records are still waiting or leased; nothing was changed.
            UsageError: `finish` was not called: this would wait for ever.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        check_wait(timeout, "workers", workers)
        if not self._desk.ledger.finished:
            raise UsageError("join() before finish() would wait for ever")
        if not await self._until(lambda: self._desk.over(workers), timeout):
            raise TimedOutError(self._desk.too_late(timeout, time.monotonic()))
        return self.stats()

    def stats(self) -> WorkStats:
        """The counts now.

        Thread-safe: no.
        """
        return self._desk.ledger.stats(time.monotonic())

    def socket_stats(self) -> Stats:
        """The counts of the socket underneath: messages, bytes, queues.

        Thread-safe: yes.
        """
        return self._router.stats()

    def close(self) -> None:
        """Stop: workers are no longer answered, and records not acknowledged are forgotten.

        Thread-safe: no; closing twice is harmless.

        Raises:
            ClosedError: The queue had failed, which should not happen; its `__cause__` says why,
                and it is closed. Told once.
        """
        self._life.closed = True
        self._due.set()
        self._router.close()
        self._life.tell()

    async def _until(self, true: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until it is so, and nobody else has run since; False when time is up."""

        def over() -> bool:
            return self._life.over or true()

        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while not over():
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                return False
            async with self._changed:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._changed.wait_for(over), left)
        self._life.check()
        return True

    async def _wait_for_room(self, timeout: float | None) -> None:
        ledger = self._desk.ledger
        room = await self._until(lambda: ledger.finished or self._desk.room > 0, timeout)
        if ledger.finished:
            raise UsageError("put() after finish()")
        if not room:
            raise TimedOutError(self._desk.full(timeout))

    async def _guarded(self, task: Coroutine[object, object, None]) -> None:
        """Run one of the queue's tasks; when it ends the other one ends, too."""
        try:
            await task
        except Exception as error:
            self._life.fail(error)
        finally:
            self._due.set()
            self._said.set()
            self._router.close()
        async with self._changed:
            self._changed.notify_all()

    async def _hear(self) -> None:
        """One task: hear workers."""
        while not self._life.over:
            if len(self._desk.out) >= TURN:  # or who asks faster than it is answered fills memory
                self._said.clear()
                self._due.set()
                await self._said.wait()
            frames = await self._router.recv_frames()
            if self._router.events() or not self._desk.knows(frames[0]):
                self._look()
            self._desk.hear(frames[0], frames[1:], time.monotonic())
            self._due.set()

    async def _speak(self) -> None:
        """The other task: notice lost workers, hand out, and tell who waits here."""
        while not self._life.over:
            try:
                await asyncio.wait_for(self._due.wait(), TICK)
            except asyncio.TimeoutError:
                pass
            self._due.clear()
            if self._router.events():
                self._look()
            self._desk.hand_out(time.monotonic())
            while (word := self._desk.next_word()) is not None:
                if not await self._say(word):
                    self._desk.unsaid(word)
            self._said.set()
            async with self._changed:
                self._changed.notify_all()

    def _look(self) -> None:
        self._desk.connected({peer.identity: peer.id for peer in self._router.peers()})

    async def _say(self, word: Word) -> bool:
        """Send to one worker; False when it cannot be reached now (it will ask again)."""
        try:
            await self._router.send_frames([word.worker, *word.frames], timeout=0)
        except (PeerError, WouldBlockError, ResourceError):
            return False
        return True
