"""Worker and work(): the side of a work queue that runs inside a task.

A DEALER socket that asks, and nothing else: no thread of its own, so it may be opened in a
forked Spark worker and dies with it.
Law: a batch is acknowledged only when the task comes back for the next one.
What is known (`_hand`) is changed under the lock, and messages are received under it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType

from meshmsg import (
    ClosedError,
    Dealer,
    Engine,
    Policy,
    Poller,
    Profile,
    Stats,
    TimedOutError,
    WouldBlockError,
)

from ._hand import ASK_AGAIN, BatchForm, Hand, worker_name


@dataclass(frozen=True, repr=False)
class WorkBatch(BatchForm):
    """Consecutive records from a work queue.  Iterating gives the records.

    Where the queue has a lease, each record that is taken from it shows the queue that the worker
    moves on; `extend` shows it, too, where one record takes longer than that.
    """

    _worker: Worker | None = field(default=None, repr=False, compare=False)

    def extend(self) -> bool:
        """Tell the queue that this batch is still being worked on: its lease counts from now.

        Thread-safe: yes, so another thread may do it while one record takes long.

        Returns:
            Whether the batch is still this worker's, as far as it has heard; False, too, when it
            was acknowledged or handed back.

        Raises:
            ClosedError: The worker was closed.
        """
        return self._worker is None or self._worker._extend(self._name)

    def retry(self, *, delay: float = 0.0) -> None:
        """Hand this batch back, to be handed out again, with the next `attempt`, to whoever asks.

        It goes out before records that nobody had yet.  The loop then goes on to the next batch;
        nothing is acknowledged.

        Thread-safe: no; as for the worker.

        Args:
            delay: Seconds until it may go out again; so the same worker need not get it at once.

        Raises:
            UsageError: It was acknowledged or handed back before.
            PeerError: The queue is of a version that cannot take it back.
            TimedOutError: The queue could not be reached; the batch is still in hand.
            ClosedError: The worker was closed.
        """
        if self._worker is not None:
            self._worker._hand_back(self._name, delay)

    def _renew(self) -> None:
        if self._worker is not None:
            self._worker._extend(self._name)


class Worker:
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
        """Connect; the first question goes out with the first iteration.

        Args:
            endpoint: The endpoint of the queue.
            prefetch: Batches to hold at a time, the one in hand included; 2 hides the way
                there and back, 1 leaves the most for others.
            silence: Seconds without any sign of the queue before `PeerError`.
            identity: A name for this worker, unique among the workers; made up when empty.
            engine: The engine to use; None takes that of the process.
            security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None
                is that of the engine.
        """
        self._hand = Hand(endpoint, prefetch, silence)
        self._stopping = self._closed = False
        self._lock = threading.Lock()  # what is heard and said, but for waiting
        self._name = worker_name(identity)
        self._dealer = Dealer(
            connect=endpoint, identity=self._name, engine=engine, security=security
        )
        self._heard = Poller([self._dealer])

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self._name.decode(errors="backslashreplace")
        if self._dealer.closed:
            return f"<Worker {name} closed, {self._hand.done_text}>"
        return f"<Worker {name} of {self._hand.endpoint}: {self._hand.text()}>"

    def __iter__(self) -> Iterator[WorkBatch]:
        """Yield batches until the queue says that there is no more, or `stop` or `close` is called.

        Raises:
            PeerError: The queue has been silent for too long, is no work queue, or is of a version
                that does not understand this worker.
            ClosedError: Its engine was closed.
        """
        try:
            with self._lock:
                left = self._hand.left_over()
            if left is not None:
                self._hand_back(left, 0.0)
            while (batch := self._next()) is not None:
                yield batch
                with self._lock:
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
            return
        self._heard.close()  # wakes who waits; see `_wait`

    def close(self) -> None:
        """Close the socket, and end the loop: whatever is not acknowledged goes to other workers.

        So does the batch in hand, even if it is done: use `stop` where that matters.

        Thread-safe: yes, also from a signal's function; closing twice is harmless.
        """
        self._closed = True
        self._dealer.close()
        self._heard.close()

    def _alone(self) -> bool:
        """Whether nobody is there to be told of the end, and there is nothing to tell."""
        if self._hand.owes:
            return False
        try:
            return not self._dealer.peers()
        except ClosedError:
            return False

    def _next(self) -> WorkBatch | None:
        """Ask, and wait for an answer; None: the end."""
        heard = time.monotonic()
        while True:
            with self._lock:
                if self._stopping:
                    self._hand.leave(time.monotonic())
                self._listen()
                found = self._hand.take(time.monotonic())
                self._ask(self._hand.wait(time.monotonic() - heard))
            if found is not None:
                return WorkBatch(*found, self)
            if self._hand.ended:
                return None
            ready = self._wait(self._hand.wait(time.monotonic() - heard))
            if ready:  # what is there is heard under the lock
                heard = time.monotonic()
            elif ready is not None:
                with self._lock:
                    seconds = time.monotonic() - heard
                    self._hand.silent(seconds, self._dealer.peers(), self._dealer.events(since=0))

    def _wait(self, timeout: float) -> bool | None:
        """Whether something came, or it is time to ask again; None: `stop` was called."""
        try:
            return bool(self._heard.poll(timeout))
        except ClosedError:
            if not self._stopping:
                raise
            self._heard = Poller([self._dealer])  # for the queue's answer
            return None

    def _listen(self) -> None:
        """Hear what is there already; under the lock."""
        try:
            while True:
                self._hand.hear(self._dealer.recv_frames(timeout=0))
        except WouldBlockError:
            return

    def _ask(self, timeout: float, *, again: bool = False) -> None:
        """Say what is to be said; what could not be is said next time.  Under the lock."""
        question = self._hand.question(time.monotonic(), again=again)
        if question is not None:
            try:
                self._dealer.send_frames(question, timeout=timeout)
            except (TimedOutError, WouldBlockError):
                return
            self._hand.asked()

    def _extend(self, name: int) -> bool:
        """Tell the queue that a batch moves on, if it is in hand; whether it still is ours."""
        with self._lock:
            if not self._hand.has(name):
                return False
            self._listen()
            self._ask(0, again=True)
            return name not in self._hand.lost

    def _hand_back(self, name: int, delay: float) -> None:
        with self._lock:
            self._dealer.send_frames(self._hand.hand_back(name, delay), timeout=ASK_AGAIN)
            self._hand.put_down()


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
        silence: Seconds without any sign of the queue before `PeerError`.
        engine: The engine to use; None takes that of the process.
        security: What protects it: a client's policy, as `meshmsg.Curve(server=, key=)`; None is
            that of the engine.

    Yields:
        Batches, each acknowledged when the next is asked for.

    Raises:
        PeerError: The queue has been silent for too long.
    """
    with Worker(
        endpoint, prefetch=prefetch, silence=silence, engine=engine, security=security
    ) as worker:
        yield from worker
