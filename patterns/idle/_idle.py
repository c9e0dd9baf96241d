"""IdleQueue and IdleWorker: each request goes to the worker that has been idle longest.

A ROUTER socket for clients, one for workers and one thread around the books in `_books`.  It is no
broker: what waits in it dies with it.  Not here: who gets what (`_books`).
Law: everything that touches the books holds the lock, and nothing waits while holding it.  Whether
somebody came or left is read from `events(since=)`, which takes them from nobody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from meshmsg import (
    ClosedError,
    Dealer,
    Engine,
    MeshError,
    MessageOptions,
    Policy,
    Poller,
    Profile,
    Router,
    TimedOutError,
    WouldBlockError,
)

from .._frames import Beside, beside, frames_of
from .._life import Life
from ._books import (
    BYE,
    READY,
    READY_AGAIN_S,
    TICK_S,
    TURN,
    TURN_BYTES,
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

    Clients are `Req` sockets, also REQ of libzmq; workers are `IdleWorker`, or whatever speaks
    their words (docs/patterns.md).  A worker has one request at a time, so none waits behind a slow
    one while another worker is idle.  What a lost worker had goes to another one, `retries` times;
    then, and when too many wait, the client is told that there will be no answer: a `Req` by
    RefusedError, others by an answer that `refusal` makes.

    If the queue itself fails, which should not happen, it is closed, logs why, and raises
    ClosedError in `wait_for_workers` and `close`.

    Thread-safe: yes, every method.  A signal's function may call them all.

    Example::

        with IdleQueue(front="tcp://127.0.0.1:5555", back="tcp://127.0.0.1:5556") as queue:
            ...
            print(queue.stats())
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
            UsageError: A number makes no sense.
            AddressError: An address cannot be bound.
            InsecureBindError: An address is outside loopback and `insecure` is False.
        """
        self._books = IdleBooks(backlog, retries, patience, refusal)
        self._lock = threading.RLock()  # entered itself: a Condition may be left locked by a signal
        self._changed = threading.Condition(self._lock)
        self._life = Life("an", "idle queue", "its front or back, or its engine,")
        opened = partial(Router, insecure=insecure, engine=engine, security=security, handover=True)
        self._front = opened(bind=front)
        try:
            self._back = opened(bind=back)
        except BaseException:
            self._front.close()
            raise
        self._presence = Presence(self._books, clients=self._front, workers=self._back)
        self._poller = Poller([self._front, self._back])
        self._thread = threading.Thread(target=self._serve, name="meshmsg-idle", daemon=True)
        self._thread.start()

    def __enter__(self) -> IdleQueue:
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
        if self._life.over:
            return "<IdleQueue closed>"
        with self._lock:
            return self._shown()

    def wait_for_workers(self, count: int = 1, *, timeout: float | None = None) -> None:
        """Wait until so many workers are here.

        Thread-safe: yes.

        Args:
            count: How many.
            timeout: Seconds to wait; None waits for ever.

        Raises:
            TimedOutError: There are fewer.
            ClosedError: The queue was closed, or has failed: its `__cause__` says why.
        """
        with self._lock:
            here = self._changed.wait_for(
                lambda: self._life.over or self._books.stats().workers >= count, timeout
            )
            self._life.check()
            if not here:
                raise TimedOutError(self._books.few_workers(count, timeout))

    def stats(self) -> IdleStats:
        """The counts now.

        Thread-safe: yes.

        Returns:
            A snapshot.

        Raises:
            ClosedError: The queue has ended though nobody closed it: it failed, or its front or
                back, or its engine, was closed by others; its `__cause__` says why.
        """
        with self._lock:
            self._life.check_failure()
            return self._books.stats()

    def close(self) -> None:
        """Stop, and close both sockets: what waits is not answered.

        Thread-safe: yes, also from a signal's function; closing twice is harmless.

        Raises:
            ClosedError: The queue had failed, which should not happen; its `__cause__` says why,
                and it is closed. Told once.
        """
        self._life.closed = True
        self._front.close()
        self._back.close()
        if threading.current_thread() is not self._thread and not self._interrupted():
            self._thread.join()
        self._life.tell()

    def _interrupted(self) -> bool:
        """Whether this is a signal's function, in whose thread a method holds the lock."""
        try:
            self._changed.notify(0)
        except RuntimeError:  # this thread does not hold it
            return False
        return True

    def _serve(self) -> None:
        """The thread: serve until it is closed, or fails; then there is nobody to be asked."""
        try:
            while not self._life.over:
                self._turn(self._poller.poll(TICK_S))
        except BaseException as error:
            self._life.fail(error)
        self._front.close()
        self._back.close()
        self._poller.close()
        with self._lock:
            self._changed.notify_all()

    def _turn(self, ready: Iterable[object]) -> None:
        """Hear clients and workers, notice who came and left, say what is to be said."""
        heard = [
            (each, self._received(each)) for each in (self._back, self._front) if each in ready
        ]
        with self._lock:
            now = time.monotonic()
            self._presence.check(now)  # after receiving: who has said something is known by then
            for socket, messages in heard:
                side = self._books.hear_worker if socket is self._back else self._books.hear_client
                for frames, more in messages:
                    side(frames[0], frames[1:], now, more)
            self._books.expire(now)
            while (word := self._books.next_word()) is not None:
                self._say(word, now)
            self._changed.notify_all()

    def _received(self, socket: Router) -> list[tuple[list[bytes], Beside]]:
        """What has come there, up to a limit."""
        messages: list[tuple[list[bytes], Beside]] = []
        size = 0
        try:
            while len(messages) < TURN and size < TURN_BYTES:
                message = socket.recv(timeout=0)
                messages.append((frames_of(message), beside(message)))
                size += sum(map(len, messages[-1][0]))
        except WouldBlockError:
            pass
        return messages

    def _say(self, word: Word, now: float) -> None:
        """Send to one peer, and note how that went."""
        socket = self._back if word.to_worker else self._front
        try:
            if word.note is None:
                socket.send_frames([word.name, *word.frames], timeout=0)
            else:
                socket._send_noted([word.name, *word.frames], word.note, 0)
        except MeshError as error:
            self._not_said(word, error, now)
        else:
            self._books.said(word)


class Job(JobForm):
    """A request that a worker has: the first frame as `bytes`, all of them in `frames`.

    What its client said beside them is its `key`, `headers`, `timestamp` and `expires`.
    """

    _worker: IdleWorker

    def reply(self, *frames: bytes, **options: Unpack[MessageOptions]) -> None:
        """Answer it; the worker is idle then, and gets the next one.

        Thread-safe: no; as for the worker.

        Args:
            frames: The answer, one frame or more; at least one.
            options: What goes with it: `key`, `headers`, `ttl`, `timestamp` (`MessageOptions`).

        Raises:
            UsageError: There is no frame, or it was answered or refused already.
            TooLargeError, TypeError: This cannot be sent; it may still be answered or refused.
            ClosedError: The worker was closed.
        """
        self._worker._say(self._answer(frames), **options)
        self._settle()

    def refuse(self, reason: str = "") -> None:
        """Say that there will be no answer: the client is told, and no other worker gets it.

        Thread-safe: no; as for the worker.

        Args:
            reason: Why; the client is told the first 1,024 bytes of it in UTF-8.

        Raises:
            UsageError: It was answered or refused already.
            TooLargeError, TypeError: This cannot be sent; it may still be answered or refused.
            ClosedError: The worker was closed.
        """
        self._worker._say(self._refusal(reason))
        self._settle()


class IdleWorker(WorkerForm[Dealer, Job]):
    """Take requests from an `IdleQueue`, one at a time; iterate to get them.

    Answer or refuse each job before you take the next one.  A job that is neither answered nor
    refused by then is refused in your place: its client is told that "the worker went on without an
    answer".  When the worker is closed, or dies, the job it had goes to another worker.

    Thread-safe: no; one worker belongs to one thread.

    Example::

        with IdleWorker("tcp://127.0.0.1:5556") as worker:
            for job in worker:
                job.reply(job.upper())
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

    def __enter__(self) -> IdleWorker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Job]:
        """Yield jobs, for ever; ends when the worker is closed, by another thread or a signal."""
        try:
            while True:
                if self._job is None:
                    received = self._dealer.stats().received_messages
                    if received != self._heard:  # what was raised as it came took one away
                        self._say([b"", BYE])  # the queue gives it to another, or says so
                        self._heard = received
                    self._say([b"", READY])  # also when the queue may be a new one
                else:
                    if not self._job.settled:
                        self._job.refuse("the worker went on without an answer")
                    self._job = None
                try:
                    message = self._dealer.recv(timeout=READY_AGAIN_S)
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

    def close(self) -> None:
        """Say goodbye and close: what is in hand goes to another worker.

        Thread-safe: yes; closing twice is harmless.
        """
        try:
            self._dealer.send_frames([b"", BYE], timeout=0)
        except MeshError:
            pass  # the end of the connection says it, too
        self._dealer.close()

    def _say(self, frames: list[bytes], **options: Unpack[MessageOptions]) -> None:
        self._dealer.send_frames(frames, **options)
