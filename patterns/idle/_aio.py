"""IdleQueue and IdleWorker for asyncio: the same books, tasks of the loop in place of a thread.

Not here: who gets what (`_books`).
Law: one task says what is to be said; the others change the books, and wake it.  A task that fails
closes the queue, and says so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from meshmsg import (
    ClosedError,
    Engine,
    MeshError,
    MessageOptions,
    Policy,
    Profile,
    TimedOutError,
    UsageError,
)
from meshmsg.aio import Dealer, Router

from .._frames import Beside, beside, frames_of
from .._life import Life
from ._books import (
    BYE,
    READY,
    READY_AGAIN_S,
    TICK_S,
    IdleBooks,
    IdleStats,
    Word,
    refusal_body,
)
from ._form import QueueForm, WorkerForm
from ._job import JobForm
from ._presence import Presence

if TYPE_CHECKING:
    from typing_extensions import Unpack


class IdleQueue(QueueForm[Router]):
    """Give each request to the worker that has been idle longest.

    It is `meshmsg.patterns.IdleQueue` for asyncio, and keeps the same promises: its documentation
    says which.  It is made on a running loop and belongs to it.

    Thread-safe: no; as its loop.
    """

    def __init__(
        self,
        *,
        front: str | Iterable[str] = "tcp://127.0.0.1:0",
        back: str | Iterable[str] = "tcp://127.0.0.1:0",
        backlog: int = 1000,
        retries: int = 1,
        patience: float | None = None,
        refusal: Callable[[str], bytes] = refusal_body,
        insecure: bool = False,
        engine: Engine | None = None,
        security: Policy | Profile | None = None,
    ) -> None:
        """Bind both sides, and start.

        Args:
            front: Where clients connect.
            back: Where workers connect.
            backlog: Requests that may wait for a worker; one more is refused.
            retries: Times a request goes to another worker when one was lost with it.
            patience: Seconds a worker may take for a request, after which it counts as lost until
                it speaks; None: as long as its connection lives.
            refusal: Makes the answer to clients that know no refusals, from the reason. When it
                raises, that is logged, and the client gets what it would get without it.
            insecure: Allow a bind outside loopback without security.
            engine: The engine to use; None takes that of the process.
            security: What protects both sides: a server's policy, as `meshmsg.Curve(key=, allow=)`;
                None is that of the engine.

        Raises:
            UsageError: A number makes no sense, or no event loop runs.
            AddressError: An address cannot be bound.
            InsecureBindError: An address is outside loopback and `insecure` is False.
        """
        self._books = IdleBooks(backlog, retries, patience, refusal)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError("an asyncio IdleQueue is made while its event loop runs") from None
        self._changed = asyncio.Condition()
        self._due = asyncio.Event()
        self._life = Life("an", "idle queue", "its front or back, or its engine,")
        opened = partial(Router, insecure=insecure, engine=engine, security=security, handover=True)
        self._front = opened(bind=front)
        try:
            self._back = opened(bind=back)
        except BaseException:
            self._front.close()
            raise
        self._presence = Presence(self._books, clients=self._front, workers=self._back)
        tasks = (
            self._hear(self._front, self._books.hear_client),
            self._hear(self._back, self._books.hear_worker),
            self._speak(),
        )
        self._tasks = [loop.create_task(self._guarded(task)) for task in tasks]

    async def __aenter__(self) -> IdleQueue:
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
        if self._life.over:
            return "<IdleQueue closed>"
        return self._shown()

    async def wait_for_workers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until so many workers are here.

        Cancel-safe: yes. Thread-safe: no.

        Args:
            count: How many.
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimedOutError: There are fewer.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """

        def over() -> bool:
            return self._life.over or self._books.stats().workers >= count

        if not over():  # else wait_for might not even look, with no time left
            async with self._changed:
                try:
                    await asyncio.wait_for(self._changed.wait_for(over), timeout)
                except asyncio.TimeoutError:
                    raise TimedOutError(self._books.few_workers(count, timeout)) from None
        self._life.check()

    def stats(self) -> IdleStats:
        """The counts now.

        Thread-safe: no.

        Returns:
            A snapshot.

        Raises:
            ClosedError: The queue has ended though nobody closed it: it failed, or its front or
                back, or its engine, was closed by others; its `__cause__` says why.
        """
        self._life.check_failure()
        return self._books.stats()

    def close(self) -> None:
        """Stop, and close both sockets: what waits is not answered.

        Thread-safe: no; closing twice is harmless.

        Raises:
            ClosedError: The queue had failed, which should not happen; its `__cause__` says why,
                and it is closed. Told once.
        """
        self._life.closed = True
        self._due.set()
        self._front.close()
        self._back.close()
        self._life.tell()

    async def _guarded(self, task: Coroutine[object, object, None]) -> None:
        """Run one of the queue's tasks; when it fails there is nobody to be asked any more."""
        try:
            await task
        except Exception as error:
            self._life.fail(error)
        finally:
            self._due.set()
            self._front.close()
            self._back.close()
        async with self._changed:
            self._changed.notify_all()

    async def _hear(
        self, socket: Router, hear: Callable[[bytes, list[bytes], float, Beside], None]
    ) -> None:
        """A task: hear one side."""
        while not self._life.over:
            message = await socket.recv()
            frames = frames_of(message)
            now = time.monotonic()
            self._presence.check(now)  # after receiving: who has said something is known by then
            hear(frames[0], frames[1:], now, beside(message))
            self._due.set()

    async def _speak(self) -> None:
        """A task: notice who left and who takes too long, and say what is to be said."""
        while not self._life.over:
            try:
                await asyncio.wait_for(self._due.wait(), TICK_S)
            except asyncio.TimeoutError:
                pass
            self._due.clear()
            now = time.monotonic()
            self._presence.check(now)
            self._books.expire(now)
            while (word := self._books.next_word()) is not None:
                await self._say(word)
            async with self._changed:
                self._changed.notify_all()

    async def _say(self, word: Word) -> None:
        """Send to one peer, and note how that went."""
        socket = self._back if word.to_worker else self._front
        try:
            if word.note is None:
                await socket.send_frames([word.name, *word.frames], timeout=0)
            else:
                await socket._send_noted([word.name, *word.frames], word.note, 0)
        except MeshError as error:
            self._not_said(word, error, time.monotonic())
        else:
            self._books.said(word)


class Job(JobForm):
    """A request that a worker has: the first frame as `bytes`, all of them in `frames`.

    What its client said beside them is its `key`, `headers`, `timestamp` and `expires`.
    """

    _worker: IdleWorker

    async def reply(self, *frames: bytes, **options: Unpack[MessageOptions]) -> None:
        """Answer it; the worker is idle then, and gets the next one.

        Cancel-safe: yes; a cancelled call has not answered it. Thread-safe: no.

        Args:
            frames: The answer, one frame or more; at least one.
            options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

        Raises:
            UsageError: There is no frame, or it was answered or refused already.
            TooLargeError, TypeError: This cannot be sent; it may still be answered or refused.
            ClosedError: The worker was closed.
        """
        await self._worker._say(self._answer(frames), **options)
        self._settle()

    async def refuse(self, reason: str = "") -> None:
        """Say that there will be no answer: the client is told, and no other worker gets it.

        Cancel-safe: yes; a cancelled call has not refused it. Thread-safe: no.

        Args:
            reason: Why; the client is told the first 1,024 bytes of it in UTF-8.

        Raises:
            UsageError: It was answered or refused already.
            TooLargeError, TypeError: This cannot be sent; it may still be answered or refused.
            ClosedError: The worker was closed.
        """
        await self._worker._say(self._refusal(reason))
        self._settle()


class IdleWorker(WorkerForm[Dealer, Job]):
    """Take requests from an `IdleQueue`, one at a time; `async for` gets them.

    Answer or refuse each job before you take the next one.  A job that is neither answered nor
    refused by then is refused in your place: its client is told that "the worker went on without an
    answer".  When the worker is closed, or dies, the job it had goes to another worker.

    Thread-safe: no; as its loop.

    Example::

        async with IdleWorker("tcp://127.0.0.1:5556") as worker:
            async for job in worker:
                await job.reply(job.upper())
    """

    def __init__(
        self,
        endpoint: str,
        *,
        identity: bytes = b"",
        engine: Engine | None = None,
        security: Policy | Profile | None = None,
    ) -> None:
        """Connect; it is ready with the first iteration.

        Args:
            endpoint: The back endpoint of the queue.
            identity: A name for this worker, unique among them; the queue makes one up when empty.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None
                is that of the engine.
        """
        dealer = Dealer(connect=endpoint, identity=identity, engine=engine, security=security)
        self._begin(endpoint, dealer)

    async def __aenter__(self) -> IdleWorker:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Job]:
        """Yield jobs, for ever; ends when the worker is closed, by another thread or a signal."""
        try:
            while True:
                if self._job is None:
                    received = self._dealer.stats().received_messages
                    if received != self._heard:  # what was raised as it came took one away
                        await self._say([b"", BYE])  # the queue gives it to another, or says so
                        self._heard = received
                    await self._say([b"", READY])  # also when the queue may be a new one
                else:
                    if not self._job.settled:
                        await self._job.refuse("the worker went on without an answer")
                    self._job = None
                try:
                    message = await self._dealer.recv(timeout=READY_AGAIN_S)
                    job = Job._of(message.frames, message)
                except TimedOutError:
                    continue
                if job is not None:
                    job._worker = self
                self._came(job)
                if job is not None:
                    yield job
        except ClosedError:
            return

    async def close(self) -> None:
        """Say goodbye and close: what is in hand goes to another worker.

        Cancel-safe: yes; it is closed. Thread-safe: no; closing twice is harmless.
        """
        try:
            await self._dealer.send_frames([b"", BYE], timeout=0)
        except MeshError:
            pass  # the end of the connection says it, too
        finally:
            self._dealer.close()

    async def _say(self, frames: list[bytes], **options: Unpack[MessageOptions]) -> None:
        await self._dealer.send_frames(frames, **options)
