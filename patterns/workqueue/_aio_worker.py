"""Worker and work() for asyncio: a Pull that acknowledges by hand, in the task that iterates.

Not here: what it has (`_held`).
Law: a batch is acknowledged only when the task comes back for the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast

from meshmsg import (
    ClosedError,
    EndOfStreamError,
    Engine,
    Policy,
    Profile,
    TimedOutError,
    WouldBlockError,
)
from meshmsg.aio import Pull

from ._batch import BatchForm, Parsed
from ._form import WorkerForm
from ._numbers import check_count, check_delay, check_silence


@dataclass(frozen=True, repr=False)
class WorkBatch(BatchForm):
    """Consecutive records from a work queue.  Iterating gives the records; `for`, not `async for`.

    As `meshmsg.patterns.WorkBatch`, but `extend` and `retry` are awaited.
    """

    async def extend(self) -> bool:
        """Tell the queue that this batch is still being worked on: its lease counts from now.

        Cancel-safe: yes. Thread-safe: no.

        Returns:
            Whether the batch is still this worker's, as far as is known; False, too, when it was
            acknowledged or handed back.

        Raises:
            ClosedError: The worker was closed.
        """
        return self._holder is None or bool(await self._holder._extend(self))

    async def retry(self, *, delay: float = 0.0) -> None:
        """Hand this batch back, to be handed out again, with the next `attempt`, to whoever asks.

        Cancel-safe: it was handed back or not. Thread-safe: no.

        Args:
            delay: Seconds, up to 2,000,000, until it may go out again; so the same worker need not
                get it at once.  While `WorkQueue(backlog_messages=)` batches wait so, 1,000 at
                least, the queue hands out no new ones.

        Raises:
            TypeError, UsageError, ClosedError: As for threads.
        """
        seconds = check_delay(delay)
        if self._holder is not None:
            self._holder._held.hand_back(self, seconds)


class Worker(WorkerForm):
    """Ask a `WorkQueue` for batches; `async for` gets them.

    What it does and promises is told by `meshmsg.patterns.Worker`, as are its arguments.

    Thread-safe: no, as its loop, but for `stop`.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        prefetch: int = 2,
        silence: float = 60.0,
        identity: bytes = b"",
        engine: Engine | None = None,
        security: Policy | Profile | None = None,
    ) -> None:
        """Open the socket; the first iteration connects it, and from then on batches come.

        Args:
            endpoint: The endpoint of the queue.
            prefetch: Batches to hold at a time, up to 65,536, the one in hand included.
            silence: Seconds, above 0, without a connection to the queue before `PeerError`.
            identity: A name for this worker, which the queue's `peers()` tell; made up when empty.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None
                is that of the engine.

        Raises:
            TypeError: A number is none.
            UsageError: A number is out of its range.
        """
        super().__init__(
            Pull,
            endpoint,
            prefetch=prefetch,
            silence=silence,
            identity=identity,
            engine=engine,
            security=security,
        )
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Worker:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if self._renewing is not None:
            await asyncio.gather(self._renewing, return_exceptions=True)

    async def __aiter__(self) -> AsyncIterator[WorkBatch]:
        """Yield batches until the queue says that there is no more, or `stop` or `close` is called.

        Raises:
            PeerError: The queue has not been there for too long, or is no work queue.
            AddressError: Its endpoint is malformed.
            ClosedError: Its engine was closed.
        """
        held = self._held
        try:
            self._connect()
            left = held.left_over()
            if left is not None:
                held.hand_back(left, 0.0)
            while (batch := await self._next()) is not None:
                yield batch
                held.come_back(batch)
        except ClosedError:
            if not held.closed:
                raise

    async def _next(self) -> WorkBatch | None:
        """Begin the next batch, waiting for it; None: the end."""
        held = self._held
        seen = time.monotonic()
        waits = not held.leased  # else what came while nobody looked is told from what comes now
        while True:
            batch = held.take(self._made, time.monotonic())
            if batch is not None:
                return batch
            if held.stopping:
                self.close()
                return None
            try:
                await self._hear(held.wait(time.monotonic() - seen) if waits else 0)
                seen = time.monotonic()
            except (TimedOutError, WouldBlockError):
                if waits:
                    now = time.monotonic()
                    peers, events = self._pull.peers(), self._pull.events(since=0)
                    seen = now if held.silent(now - seen, peers, events) else seen
                waits = True
            except EndOfStreamError:
                return None

    async def _hear(self, timeout: float) -> None:
        """Wait for batches, and take those that are there."""
        held, before = self._held, self._held.looked
        try:
            found: Any = await self._pull.recv_many(self._prefetch, timeout=timeout)
        finally:
            held.looked = time.monotonic()
        held.came(found, before if timeout == 0 else held.looked)

    def _made(self, attempt: int, parsed: Parsed) -> WorkBatch:
        return WorkBatch(
            parsed.number, attempt, parsed.first_sequence, parsed.records, cast(Any, self)
        )

    async def _extend(self, batch: WorkBatch) -> bool:
        """This batch moves on, and what has come since waits behind it."""
        with suppress(WouldBlockError, EndOfStreamError):
            await self._hear(0)
        return self._held.extend(batch, time.monotonic())

    def _renew(self, batch: WorkBatch) -> None:
        """The task moves on: say so now, and of what came since, once it lets the loop run."""
        self._held.extend(batch, time.monotonic())
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.get_running_loop().create_task(self._say_so(batch))

    async def _say_so(self, batch: WorkBatch) -> None:
        with suppress(ClosedError):
            await self._extend(batch)


def work(
    endpoint: str,
    *,
    prefetch: int = 2,
    silence: float = 60.0,
    engine: Engine | None = None,
    security: Policy | Profile | None = None,
) -> AsyncIterator[WorkBatch]:
    """Yield the batches of a work queue; the short form of `Worker`.

    The socket is opened by the first iteration, and closed when it ends.  Who leaves the loop early
    closes it by `aclosing(work(...))`, or uses `Worker`.

    Args:
        endpoint: The endpoint of the queue.
        prefetch: Batches to hold at a time, the one in hand included.
        silence: Seconds without a connection to the queue before `PeerError`.
        engine: The engine to use; None takes that of the process.
        security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None is
            that of the engine.

    Yields:
        Batches, each acknowledged when the next is asked for.

    Raises:
        TypeError: `prefetch` or `silence` is no number; raised by the call itself.
        UsageError: One of them is out of its range; likewise.
        PeerError: The queue has not been there for too long.
    """
    return _work(
        endpoint,
        prefetch=check_count("prefetch", prefetch),
        silence=check_silence(silence),
        engine=engine,
        security=security,
    )


async def _work(endpoint: str, **options: Any) -> AsyncIterator[WorkBatch]:
    async with Worker(endpoint, **options) as worker:
        async for batch in worker:
            yield batch
