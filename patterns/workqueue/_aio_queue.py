"""WorkQueue for asyncio: a Push and a task of the loop around `_books`.

Not here: records and batches (`_books`).
Law: only the queue's own task sends; who puts changes the books, and wakes it.  A task that fails
closes the queue, and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType

from meshmsg import (
    ClosedError,
    Engine,
    Policy,
    Profile,
    Stats,
    TimedOutError,
    UsageError,
    WouldBlockError,
)
from meshmsg.aio import Push

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
                others get what it has; None: a worker keeps it as long as its connection lives.
            insecure: Allow a bind outside loopback without security.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a server's policy, as `meshmsg.Curve(key=, allow=)`; None is
                that of the engine.

        Raises:
            TypeError: A number is none.
            UsageError: A number is out of its range, or no event loop is running.
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
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("an asyncio WorkQueue is made while its event loop runs") from None
        self._changed = asyncio.Condition()
        self._due = asyncio.Event()  # there is something to send, or it is over
        self._life = Life("a", "work queue", "its engine")
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
        self._task = loop.create_task(self._serve())

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
            await asyncio.gather(self._task, return_exceptions=True)

    def __repr__(self) -> str:
        if self._life.closed:
            return "<WorkQueue closed>"
        return f"<WorkQueue {self.endpoint}: {told(self.stats())}>"

    @property
    def endpoint(self) -> str:
        """The address workers connect to."""
        return self._push.endpoint

    async def wait_for_workers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until so many workers are connected.

        Cancel-safe: yes. Thread-safe: no.

        Args:
            count: How many.
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TypeError: `count` or `timeout` is no number.
            TimedOutError: There are fewer.
            UsageError: One of both is below 0.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        check_count("count", count)
        timeout = check_timeout(timeout)
        try:
            await self._push.wait_for_peers(count, timeout=timeout)
        except (TimedOutError, WouldBlockError):
            raise TimedOutError(few_workers(self.stats().workers, count, timeout)) from None
        except ClosedError as error:
            self._ended(error)

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
            TypeError: This is no record, or `timeout` is no number.
            TimedOutError: The backlog stayed full; nothing was added.
            TooLargeError: A record is over 63 MiB.
            UsageError: `finish` was called before; or `timeout` is below 0, which is a ValueError,
                too.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        record = checked(record)
        timeout = check_timeout(timeout)
        await self._wait_for_room(timeout)
        self._due.set()
        return self._books.put(record)

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
            TypeError: One of them is no record, or `timeout` is no number.
            TimedOutError: The backlog stayed full.
            TooLargeError: A record is over 63 MiB.
            UsageError: `finish` was called before; or `timeout` is below 0, which is a ValueError,
                too.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
            BaseException: What the iterable raised. Whatever is raised has `.put`, how many were
                added, and `.unput`, a list of what was taken and not added: one record at most,
                the refused one, too.
        """
        timeout = check_timeout(timeout)
        count = 0
        taken: list[Record] = []
        try:
            for record in records:
                taken.append(record)
                octets = checked(record)
                if self._books.room <= 0 or count % CHUNK == 0:
                    self._due.set()
                    await asyncio.sleep(0)  # others have their turn, however much room there is
                    await self._wait_for_room(timeout)
                self._books.put(octets)
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
        self._books.finished = True
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
            TypeError: `workers` or `timeout` is no number.
            UsageError: `finish` was not called: this would wait for ever; or one of both is below
                0.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        check_count("workers", workers)
        timeout = check_timeout(timeout)
        if not self._books.finished:
            raise UsageError("join() before finish() would wait for ever")
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        try:
            if not await self._until(lambda: not self._books.waiting, timeout):
                raise TimedOutError
            self._push.finish()  # the task may not have come to it yet
            left = None if end is None else max(0.0, end - loop.time())
            await self._push.wait_for_finished(workers, timeout=left)
        except (TimedOutError, WouldBlockError):
            raise TimedOutError(too_late(self.stats(), timeout)) from None
        except ClosedError as error:
            self._ended(error)
        return self.stats()

    def stats(self) -> WorkStats:
        """The counts now.

        Thread-safe: no.
        """
        return self._books.stats(self._push.stats)

    def socket_stats(self) -> Stats:
        """The counts of the socket underneath: messages, bytes, queues.

        Thread-safe: yes.
        """
        return self._push.stats()

    def close(self) -> None:
        """Stop: workers are sent nothing more, and records not acknowledged are forgotten.

        Thread-safe: no; closing twice is harmless.

        Raises:
            ClosedError: The queue had failed, which should not happen; its `__cause__` says why,
                and it is closed. Told once.
        """
        self._books.stats(self._push.stats)  # as they are now they stay
        self._life.closed = True
        self._due.set()
        self._push.close()
        self._life.tell()

    def _ended(self, error: ClosedError) -> None:
        """Say why the socket is closed: the queue was, or it failed."""
        self._life.check()
        raise error

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
        books = self._books
        room = await self._until(lambda: books.finished or books.room > 0, timeout)
        if books.finished:
            raise UsageError("put() after finish()")
        if not room:
            raise TimedOutError(books.full(timeout, self.stats()))

    async def _serve(self) -> None:
        """The task: send what there is as soon as somebody has room for it, until it is closed."""
        try:
            while not self._life.over:
                await self._due.wait()
                self._due.clear()
                while self._books.waiting:
                    await self._send_next()
                if self._books.finished:
                    self._push.finish()
        except Exception as error:
            self._life.fail(error)
        finally:
            self._push.close()
        async with self._changed:
            self._changed.notify_all()

    async def _send_next(self) -> None:
        """Send the next batch, waiting until somebody is there who has room for it."""
        await self._push.wait_for_peers(1)
        batch = self._books.peek()
        assert batch is not None
        try:
            receipt = await self._push.send(batch.octets, confirm=True)
        except WouldBlockError:  # nobody is there any more, or all who are there take no more
            async with self._changed:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._changed.wait_for(lambda: self._life.over), TICK)
            return
        self._books.made(batch)
        self._books.sent(batch, receipt)
        async with self._changed:
            self._changed.notify_all()
