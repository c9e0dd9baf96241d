"""Worker and work() for asyncio: a DEALER socket that asks, in the task that iterates.

Not here: what is said (`_hand`).
Law: a batch is acknowledged only when the task comes back for the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

from meshmsg import (
    ClosedError,
    Engine,
    Policy,
    Profile,
    Stats,
    TimedOutError,
    WouldBlockError,
)
from meshmsg.aio import Dealer

from ._hand import ASK_AGAIN, BatchForm, Hand, worker_name


@dataclass(frozen=True, repr=False)
class WorkBatch(BatchForm):
    """Consecutive records from a work queue.  Iterating gives the records; `for`, not `async for`.

    As `meshmsg.patterns.WorkBatch`, but `extend` and `retry` are awaited.
    """

    _worker: Worker | None = field(default=None, repr=False, compare=False)

    async def extend(self) -> bool:
        """Tell the queue that this batch is still being worked on: its lease counts from now.

        Cancel-safe: yes. Thread-safe: no.

        Returns:
            Whether the batch is still this worker's, as far as it has heard; False, too, when it
            was acknowledged or handed back.

        Raises:
            ClosedError: The worker was closed.
        """
        return self._worker is None or await self._worker._extend(self._name)

    async def retry(self, *, delay: float = 0.0) -> None:
        """Hand this batch back, to be handed out again, with the next `attempt`, to whoever asks.

        Cancel-safe: it was handed back or not. Thread-safe: no.

        Args:
            delay: Seconds until it may go out again; so the same worker need not get it at once.

        Raises:
            UsageError, PeerError, TimedOutError, ClosedError: As for threads.
        """
        if self._worker is not None:
            await self._worker._hand_back(self._name, delay)

    def _renew(self) -> None:
        if self._worker is not None:
            self._worker._renew(self._name)


class Worker:
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
        """Connect; the first question goes out with the first iteration.

        Args:
            endpoint: The endpoint of the queue.
            prefetch: Batches to hold at a time, the one in hand included.
            silence: Seconds without any sign of the queue before `PeerError`.
            identity: A name for this worker, unique among the workers; made up when empty.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None
                is that of the engine.
        """
        self._hand = Hand(endpoint, prefetch, silence)
        self._lock = asyncio.Lock()  # what is heard and said, but for waiting
        self._stopping = self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None  # where it waits
        self._leaving: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._name = worker_name(identity)
        self._dealer = Dealer(
            connect=endpoint, identity=self._name, engine=engine, security=security
        )

    async def __aenter__(self) -> Worker:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        tasks = [one for one in (self._renewing, self._leaving) if one is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def __repr__(self) -> str:
        name = self._name.decode(errors="backslashreplace")
        if self._dealer.closed:
            return f"<Worker {name} closed, {self._hand.done_text}>"
        return f"<Worker {name} of {self._hand.endpoint}: {self._hand.text()}>"

    async def __aiter__(self) -> AsyncIterator[WorkBatch]:
        """Yield batches until the queue says that there is no more, or `stop` or `close` is called.

        Raises:
            PeerError: The queue has been silent for too long, is no work queue, or is of a version
                that does not understand this worker.
            ClosedError: Its engine was closed.
        """
        self._loop = asyncio.get_running_loop()
        try:
            left = self._hand.left_over()
            if left is not None:
                await self._hand_back(left, 0.0)
            while (batch := await self._next()) is not None:
                yield batch
                self._hand.come_back(batch._name)
        except ClosedError:
            if not self._closed:
                raise

    def stats(self) -> Stats:
        """The counts of the socket underneath.

        Thread-safe: yes.
        """
        return self._dealer.stats()

    def stop(self) -> None:
        """End the loop cleanly, as at SIGTERM: the batch in hand is done, no other is begun.

        The loop ends when it comes back for the next batch, which acknowledges the one in hand as
        ever; a loop that waits ends at once. What the worker had ahead goes to others, and the
        queue is told that it leaves, so it is not lost (`WorkStats.workers_lost`). A queue that
        does not answer that within 5 s is told of by a WARNING in the log. Where no queue is there
        and nothing was done that it should know of, the worker is closed. Returns at once; later
        loops of this worker end at once, too.

        Thread-safe: yes, also from a signal's function; stopping twice is harmless.
        """
        self._stopping = True
        if self._alone():
            self.close()
        elif self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._wake)

    def close(self) -> None:
        """Close the socket, and end the loop: whatever is not acknowledged goes to other workers.

        So does the batch in hand, even if it is done: use `stop` where that matters.

        Thread-safe: yes; closing twice is harmless.
        """
        self._closed = True
        self._dealer.close()

    def _alone(self) -> bool:
        """Whether nobody is there to be told of the end, and there is nothing to tell."""
        if self._hand.owes:
            return False
        try:
            return not self._dealer.peers()
        except ClosedError:
            return False

    async def _next(self) -> WorkBatch | None:
        """Ask, and wait for an answer; None: the end."""
        heard = time.monotonic()
        while True:
            async with self._lock:
                if self._stopping:
                    self._hand.leave(time.monotonic())
                await self._listen()
                found = self._hand.take(time.monotonic())
                await self._ask(self._hand.wait(time.monotonic() - heard))
            if found is not None:
                return WorkBatch(*found, self)
            if self._hand.ended:
                return None
            try:
                wait = self._hand.wait(time.monotonic() - heard)
                frames = await self._dealer.recv_frames(timeout=wait)
            except (TimedOutError, WouldBlockError):
                seconds = time.monotonic() - heard
                self._hand.silent(seconds, self._dealer.peers(), self._dealer.events(since=0))
                continue
            heard = time.monotonic()
            self._hand.hear(frames)

    def _wake(self) -> None:
        """Have the queue told now; its answer wakes the task that waits in `_next`."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(self._leave())

    async def _leave(self) -> None:
        async with self._lock:
            if self._hand.busy:  # it is told when the task comes back
                return
            self._hand.leave(time.monotonic())
            with suppress(ClosedError):
                await self._ask(0)

    async def _listen(self) -> None:
        """Hear what is there already; under the lock."""
        try:
            while True:
                self._hand.hear(await self._dealer.recv_frames(timeout=0))
        except WouldBlockError:
            return

    async def _ask(self, timeout: float, *, again: bool = False) -> None:
        """Say what is to be said; what could not be is said next time.  Under the lock."""
        question = self._hand.question(time.monotonic(), again=again)
        if question is not None:
            try:
                await self._dealer.send_frames(question, timeout=timeout)
            except (TimedOutError, WouldBlockError):
                return
            self._hand.asked()

    async def _extend(self, name: int) -> bool:
        """Tell the queue that a batch moves on, if it is in hand; whether it still is ours."""
        async with self._lock:
            if not self._hand.has(name):
                return False
            await self._listen()
            await self._ask(0, again=True)
            return self._hand.has(name) and name not in self._hand.lost

    def _renew(self, name: int) -> None:
        """The task moves on: tell the queue as soon as it lets the loop run."""
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.get_running_loop().create_task(self._say_so(name))

    async def _say_so(self, name: int) -> None:
        try:
            await self._extend(name)
        except ClosedError:
            return

    async def _hand_back(self, name: int, delay: float) -> None:
        async with self._lock:
            frames = self._hand.hand_back(name, delay)
            await self._dealer.send_frames(frames, timeout=ASK_AGAIN)
            self._hand.put_down()


async def work(
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
        silence: Seconds without any sign of the queue before `PeerError`.
        engine: The engine to use; None takes that of the process.
        security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None is
            that of the engine.

    Yields:
        Batches, each acknowledged when the next is asked for.

    Raises:
        PeerError: The queue has been silent for too long.
    """
    async with Worker(
        endpoint, prefetch=prefetch, silence=silence, engine=engine, security=security
    ) as worker:
        async for batch in worker:
            yield batch
