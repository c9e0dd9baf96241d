"""Worker and work(): the side of a work queue that runs inside a task.

A Pull that acknowledges by hand, and nothing else: no thread of its own, so it may be opened in a
forked Spark worker and dies with it.  Not here: what it has (`_held`).
Law: a batch is acknowledged only when the task comes back for the next one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
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
    Pull,
    TimedOutError,
    WouldBlockError,
)

from ._batch import BatchForm, Parsed
from ._form import WorkerForm
from ._numbers import check_count, check_delay, check_silence


@dataclass(frozen=True, repr=False)
class WorkBatch(BatchForm):
    """Consecutive records from a work queue.  Iterating gives the records.

    Where the queue has a lease, each record that is taken from it shows the queue that the worker
    moves on; `extend` shows it, too, where one record takes longer than that.
    """

    def extend(self) -> bool:
        """Tell the queue that this batch is still being worked on: its lease counts from now.

        So does that of the batches that wait behind it at this worker.

        Thread-safe: yes, so another thread may do it while one record takes long.

        Returns:
            Whether the batch is still this worker's, as far as is known; False, too, when it was
            acknowledged or handed back.

        Raises:
            ClosedError: The worker was closed.
        """
        return self._holder is None or bool(self._holder._extend(self))

    def retry(self, *, delay: float = 0.0) -> None:
        """Hand this batch back, to be handed out again, with the next `attempt`, to whoever asks.

        It goes out before records that nobody had yet.  The loop then goes on to the next batch;
        nothing is acknowledged.

        Thread-safe: no; as for the worker.

        Args:
            delay: Seconds, up to 2,000,000, until it may go out again; so the same worker need not
                get it at once.  While `WorkQueue(backlog_messages=)` batches wait so, 1,000 at
                least, the queue hands out no new ones.

        Raises:
            TypeError: `delay` is no number.
            UsageError: It was acknowledged or handed back before, or `delay` is not from 0 to
                2,000,000.
            ClosedError: The worker was closed.
        """
        seconds = check_delay(delay)
        if self._holder is not None:
            self._holder._held.hand_back(self, seconds)


class Worker(WorkerForm):
    """Ask a `WorkQueue` for batches; iterate to get them.

    Coming back for the next batch acknowledges the one before: have its results confirmed first
    (`drain`), if losing them matters.  Leaving the loop early, by `break`, an exception or the
    death of the process, acknowledges nothing: the batch in hand goes to another worker when this
    one is closed, or at once if it begins a new loop.  `stop` ends the loop after the batch in
    hand: it is what SIGTERM is to do.

    Thread-safe: no; one worker belongs to one thread (`WorkBatch.extend`, `stop` and `close` may be
    called by others, `stop` and `close` by a signal's function, too).
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
            prefetch: Batches to hold at a time, up to 65,536, the one in hand included; 2 hides the
                way there and back, 1 leaves the most for others.
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

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[WorkBatch]:
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
            while (batch := self._next()) is not None:
                yield batch
                held.come_back(batch)
        except ClosedError:
            if not held.closed:
                raise

    def _next(self) -> WorkBatch | None:
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
                self._hear(held.wait(time.monotonic() - seen) if waits else 0)
                seen = time.monotonic()
            except (TimedOutError, WouldBlockError):
                if waits:
                    now = time.monotonic()
                    peers, events = self._pull.peers(), self._pull.events(since=0)
                    seen = now if held.silent(now - seen, peers, events) else seen
                waits = True
            except EndOfStreamError:
                return None

    def _hear(self, timeout: float) -> None:
        """Wait for batches, and take those that are there."""
        held, before = self._held, self._held.looked
        try:
            found: Any = self._pull.recv_many(self._prefetch, timeout=timeout)
        finally:
            held.looked = time.monotonic()
        held.came(found, before if timeout == 0 else held.looked)

    def _made(self, attempt: int, parsed: Parsed) -> WorkBatch:
        return WorkBatch(
            parsed.number, attempt, parsed.first_sequence, parsed.records, cast(Any, self)
        )

    def _extend(self, batch: WorkBatch) -> bool:
        """This batch moves on, and what has come since waits behind it."""
        with suppress(WouldBlockError, EndOfStreamError):
            self._hear(0)
        return self._held.extend(batch, time.monotonic())

    def _renew(self, batch: WorkBatch) -> None:
        self._extend(batch)


def work(
    endpoint: str,
    *,
    prefetch: int = 2,
    silence: float = 60.0,
    engine: Engine | None = None,
    security: Policy | Profile | None = None,
) -> Iterator[WorkBatch]:
    """Yield the batches of a work queue; the short form of `Worker`, for a task.

    The socket is opened by the first `next`, so the generator may be made anywhere and run in a
    Spark task, and is closed when the generator ends or is dropped.

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


def _work(endpoint: str, **options: Any) -> Iterator[WorkBatch]:
    with Worker(endpoint, **options) as worker:
        yield from worker
