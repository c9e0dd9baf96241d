"""What a worker has of its queue: batches ahead, and the one in hand; without sockets.

`Worker` of threads and of asyncio are drivers around it.  Not here: what is in a batch (`_batch`).
Time is an argument, but for a batch that is iterated over.
Law: nothing but `come_back` acknowledges a batch; the driver calls it when the task has finished
the one that it has in hand.  What the queue has taken away it does not say: a worker that was
without progress for a lease takes it so, by its own clock.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

from meshmsg import ClosedError, Event, LeasedMessage, PeerError, PeerInfo, Reason, UsageError

from ._batch import RENEWALS, BatchForm, Parsed, parse_batch
from ._numbers import check_count, check_silence

BatchT = TypeVar("BatchT", bound=BatchForm)
LOOK_S = 0.5
"""Seconds without a batch after which a worker looks whether its queue is there."""
_NO_QUEUE = (Reason.SOCKET_TYPE, Reason.NOT_ZMTP, Reason.OLD_ZMTP)
"""Why a connection ended to what is no queue, and will not become one."""


class Held:
    """What a worker has.  Thread-safe where it says so: batches are extended by other threads."""

    def __init__(self, endpoint: str, prefetch: int, silence: float) -> None:
        self.prefetch = check_count("prefetch", prefetch)
        self._silence = check_silence(silence)
        self.endpoint = endpoint
        self.batches_done = 0
        self.renew_at = math.inf
        self.looked = 0.0  # when it was looked for batches last: what is here then came before
        self.stopping = self.closed = False
        self._lock = threading.RLock()  # entered itself by a signal's function
        self._ahead: deque[tuple[LeasedMessage, float]] = deque()  # and since when its lease runs
        self._hand: LeasedMessage | None = None
        self._since = 0.0  # likewise
        self._batch: BatchForm | None = None
        self._lease: float | None = None
        self._lost = False

    @property
    def busy(self) -> bool:
        """Whether a batch is in hand."""
        return self._batch is not None

    @property
    def leased(self) -> bool:
        """Whether its queue has a lease, as far as is known."""
        return self._lease is not None

    def came(self, messages: Iterable[LeasedMessage], since: float) -> None:
        """These are here, and wait for their turn; since: they came no sooner than that."""
        with self._lock:
            self._ahead.extend((message, since) for message in messages)

    def take(self, make: Callable[[int, Parsed], BatchT], now: float) -> BatchT | None:
        """Begin the next one that is still ours, if one is here; make: a batch, of its attempt."""
        batch: BatchT | None = None
        with self._lock:
            while batch is None and self._ahead and not self.stopping:
                message, since = self._ahead.popleft()
                parsed = parse_batch(message)
                if parsed is None or message.seq is None:
                    raise PeerError(
                        f"{self.endpoint} is no work queue: what it sends is no batch of records"
                    )
                if parsed.lease is not None and now - since >= parsed.lease:
                    message.nack()  # if it is not with somebody else already
                elif parsed.lease is None or message.extend():
                    batch = make(message.attempt, parsed)
                    self._lease, self._hand, self._batch = parsed.lease, message, batch
                    self._renewed(now)
            if self.stopping:  # as a signal's function said meanwhile
                self.put_down()
                batch = None
        return batch

    def stop(self) -> bool:
        """Begin nothing more; whether nothing is in hand."""
        with self._lock:
            self.stopping = True
            return self._batch is None

    def come_back(self, batch: BatchForm) -> None:
        """The task is done with what it has in hand; if it was handed back, with nothing."""
        with self._lock:
            if batch is self._batch and self._hand is not None:
                self._hand.ack()
                self.batches_done += 1
                self.put_down()

    def hand_back(self, batch: BatchForm | None, delay: float) -> None:
        """Somebody else is to do what is in hand."""
        with self._lock:
            if batch is None or batch is not self._batch or self._hand is None:
                number = "" if batch is None else f" {batch.number}"
                raise UsageError(
                    f"batch{number} is not in hand: it was acknowledged or handed back"
                )
            self._hand.nack(delay=delay)
            self.put_down()

    def leave(self) -> None:
        """Nothing more is done: what is in hand was tried, and is somebody else's."""
        with self._lock:
            self.closed = True
            self._ahead.clear()
            hand = self._hand
            self.put_down()
            if hand is not None:
                with suppress(ClosedError):  # its engine was closed: it comes back by itself
                    hand.nack()

    def left_over(self) -> BatchForm | None:
        """What an earlier loop left without being done with it."""
        return self._batch

    def extend(self, batch: BatchForm, now: float) -> bool:
        """This batch moves on, and so does what waits behind it; whether it still is ours."""
        with self._lock:
            if batch is not self._batch or self._hand is None:
                return False
            lease = math.inf if self._lease is None else self._lease
            self._lost = self._lost or now - self._since >= lease or not self._hand.extend()
            for _ in range(len(self._ahead)):
                message, since = self._ahead.popleft()
                moves = now - since < lease and message.extend()
                self._ahead.append((message, now if moves else since))
            if not self._lost:
                self._renewed(now)
            return not self._lost

    def is_lost(self, batch: BatchForm) -> bool:
        """Whether somebody else has this batch, as far as is known."""
        return batch is self._batch and self._lost

    def put_down(self) -> None:
        """Nothing is in hand any more."""
        self._hand = self._batch = None
        self._lost = False
        self.renew_at = math.inf

    def wait(self, seconds: float) -> float:
        """How long to wait for the next batch, when the queue was not seen for so long."""
        return max(0.0, min(LOOK_S, self._silence - seconds))

    def silent(self, seconds: float, peers: Sequence[PeerInfo], events: Sequence[Event]) -> bool:
        """Nothing came: whether the queue is there all the same.  Too long without it is an error.

        At once if what ended the last attempt says that there can be no queue.
        """
        if peers:
            return True
        if events and events[-1].reason in _NO_QUEUE:
            raise PeerError(f"{self.endpoint} is no work queue: {events[-1].detail}")
        if seconds >= self._silence:
            last = f"; last: {events[-1].detail}" if events else ""
            raise PeerError(
                f"no sign of the work queue at {self.endpoint} for {self._silence:g} s{last}"
            )
        return False

    @property
    def done_text(self) -> str:
        """How many batches are done."""
        return f"{self.batches_done} batch{'es' * (self.batches_done != 1)} done"

    def text(self) -> str:
        """What goes on, for `repr`."""
        hand = "nothing" if self._batch is None else f"batch {self._batch.number}"
        return f"{hand} in hand, {len(self._ahead)} ahead, {self.done_text}"

    def _renewed(self, now: float) -> None:
        self._since = now
        if self._lease is not None and self._hand is not None:
            self.renew_at = now + self._lease / RENEWALS


def worker_name(identity: bytes) -> bytes:
    """The name of a worker: as given, or one that no other has."""
    return identity or f"worker-{os.getpid()}-{os.urandom(6).hex()}".encode()
