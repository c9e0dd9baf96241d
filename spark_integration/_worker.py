"""Worker and work(): the side of a work queue that runs inside a task.

A DEALER socket that asks, and nothing else: no thread of its own, so it may be opened in a
forked Spark worker and dies with it.
Law: a batch is acknowledged only when the task comes back for the next one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType

from meshmsg import Dealer, Engine, PeerError, Stats, TimedOutError

from ._wire import END, WORK, pack_ask, parse_header

_ASK_AGAIN = 1.0  # seconds of silence after which a worker repeats its question


@dataclass(frozen=True)
class WorkBatch:
    """Consecutive records from a work queue.  Iterating gives the records."""

    number: int
    """Which batch of the queue this is: 0, 1, 2, ..."""
    attempt: int
    """1 the first time it was handed out, 2 after one worker was lost with it, ..."""
    first_sequence: int
    """The sequence number of the first record; the others follow it."""
    records: tuple[bytes, ...]
    """The records, as they were put."""

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.records)

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The records with their sequence numbers."""
        return enumerate(self.records, self.first_sequence)


class Worker:
    """Ask a `WorkQueue` for batches; iterate to get them.

    Coming back for the next batch acknowledges the one before: have its results confirmed first
    (`drain`), if losing them matters.  Leaving the loop early, by `break`, an exception or the
    death of the process, acknowledges nothing: the batch in hand goes to another worker.

    Thread-safe: no; one worker belongs to one thread.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        prefetch: int = 2,
        silence: float = 60.0,
        identity: bytes = b"",
        engine: Engine | None = None,
    ) -> None:
        """Connect; the first question goes out with the first iteration.

        Args:
            endpoint: The endpoint of the queue.
            prefetch: Batches to hold at a time, the one in hand included; 2 hides the way
                there and back, 1 leaves the most for others.
            silence: Seconds without any sign of the queue before `PeerError`.
            identity: A name for this worker, unique among the workers; made up when empty.
            engine: The engine to use; None takes that of the process.
        """
        if prefetch < 1 or silence <= 0:
            raise ValueError("prefetch must be at least 1 and silence more than 0")
        self._endpoint = endpoint
        self._prefetch = prefetch
        self._silence = silence
        self._ended = False
        self._asked = False  # a question is on its way
        name = identity or f"worker-{os.getpid()}-{os.urandom(6).hex()}".encode()
        self._dealer = Dealer(connect=endpoint, identity=name, engine=engine)

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
        """Yield batches until the queue says that there is no more.

        Raises:
            PeerError: The queue has been silent for too long, or is no work queue.
            ClosedError: The worker was closed.
        """
        done: list[int] = []
        while not self._ended:
            batch = self._next(done)
            if batch is not None:
                yield batch
                done = [batch.number]

    def stats(self) -> Stats:
        """The counts of the socket underneath.

        Thread-safe: yes.
        """
        return self._dealer.stats()

    def close(self) -> None:
        """Close the socket: whatever is not acknowledged goes to other workers."""
        self._dealer.close()

    def _next(self, done: list[int]) -> WorkBatch | None:
        """Ask, and wait for an answer; None: the end."""
        heard = time.monotonic()
        while True:
            frames = self._exchange(done)
            if frames is None:
                silent = time.monotonic() - heard
                if silent >= self._silence:
                    raise PeerError(
                        f"no sign of the work queue at {self._endpoint} for {silent:.0f} s"
                    )
                continue
            heard = time.monotonic()
            if frames[0] == END:
                self._ended = True
                return None
            if frames[0] == WORK:
                header = parse_header(frames[1]) if len(frames) > 1 else None
                if header is None:
                    raise PeerError(f"{self._endpoint} is no work queue: its batch has no header")
                number, attempt, first = header
                return WorkBatch(number, attempt, first, tuple(frames[2:]))

    def _exchange(self, done: list[int]) -> list[bytes] | None:
        """Say what is to be said, hear one answer; None after a second of silence.

        `done` is emptied once it is sent; a question is repeated in silence, for it is harmless.
        """
        try:
            if done or not self._asked:
                self._dealer.send_frames(pack_ask(self._prefetch, done), timeout=_ASK_AGAIN)
                done.clear()
                self._asked = True
            return self._dealer.recv_frames(timeout=_ASK_AGAIN)
        except TimedOutError:
            self._asked = False
            return None


def work(
    endpoint: str, *, prefetch: int = 2, silence: float = 60.0, engine: Engine | None = None
) -> Iterator[WorkBatch]:
    """Yield the batches of a work queue; the short form of `Worker`, for a task.

    The socket is opened by the first `next`, so the generator may be made anywhere and run in a
    Spark task, and is closed when the generator ends or is dropped.

    Args:
        endpoint: The endpoint of the queue.
        prefetch: Batches to hold at a time, the one in hand included.
        silence: Seconds without any sign of the queue before `PeerError`.
        engine: The engine to use; None takes that of the process.

    Yields:
        Batches, each acknowledged when the next is asked for.

    Raises:
        PeerError: The queue has been silent for too long.
    """
    with Worker(endpoint, prefetch=prefetch, silence=silence, engine=engine) as worker:
        yield from worker
