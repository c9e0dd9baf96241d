"""The books of a work queue: what waits, who holds what, what is done.

It does no I/O, takes the time as an argument and knows workers only by name.
Law: every record put in is in exactly one place (waiting, leased, acknowledged), so
put = waiting + leased + acknowledged after each call; `check` asserts it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

WINDOW_MAX = 64  # batches one worker may hold at a time, whatever it asks for


@dataclass(frozen=True)
class WorkStats:
    """What a work queue has done so far; counts of records unless the name says otherwise."""

    put: int
    """Records given to the queue."""
    waiting: int
    """Records not held by any worker now."""
    leased: int
    """Records held by workers that have not acknowledged them yet."""
    acknowledged: int
    """Records whose worker said they are done; each is counted once."""
    handed_out: int
    """Records sent to workers, repeats included."""
    handed_out_again: int
    """Records taken back from a lost or silent worker: they are, or will be, handed out again."""
    repeated: int
    """Records acknowledged a second time: two workers did them."""
    batches: int
    """Batches cut so far."""
    malformed: int
    """Messages from workers that made no sense and were ignored."""
    workers: int
    """Workers that are connected and have asked."""
    workers_lost: int
    """Workers that went away while they held records."""
    workers_ended: int
    """Workers that were told that there is no more work."""
    finished: bool
    """`finish` was called: no more records will be put."""


@dataclass(eq=False)
class Batch:
    """Consecutive records that travel, and are acknowledged, together."""

    number: int
    first_sequence: int
    items: tuple[bytes, ...]
    attempt: int = 0
    holder: bytes | None = None
    deadline: float = 0.0


class Ledger:
    """Who has what.  Not thread-safe: its owner holds a lock."""

    def __init__(self, *, batch_messages: int, batch_bytes: int, lease: float) -> None:
        self._batch_messages = batch_messages
        self._batch_bytes = batch_bytes
        self._lease = lease
        self._fresh: deque[bytes] = deque()
        self._fresh_bytes = 0
        self._returned: deque[Batch] = deque()
        self._leased: dict[int, Batch] = {}
        self._held: dict[bytes, int] = {}  # worker -> batches it holds
        self._window: dict[bytes, int] = {}  # worker -> batches it wants to hold
        self._turn: deque[bytes] = deque()  # workers in the order they are served
        self._ended: set[bytes] = set()
        self._returned_items = self._leased_items = 0
        self._put = self._acknowledged = self._repeated = 0
        self._handed_out = self._handed_out_again = 0
        self._batches = self._workers_lost = 0
        self._sizes: dict[int, int] = {}  # batch taken back -> its records: they may be done twice
        self.malformed = 0
        self.finished = False

    @property
    def waiting(self) -> int:
        """Records nobody holds."""
        return len(self._fresh) + self._returned_items

    @property
    def fresh_bytes(self) -> int:
        """Bytes of the records that were never handed out."""
        return self._fresh_bytes

    @property
    def done(self) -> bool:
        """No more will come, and all that came is acknowledged."""
        return self.finished and not self._fresh and not self._returned and not self._leased

    @property
    def workers(self) -> list[bytes]:
        """The names of the workers that are here."""
        return list(self._window)

    def put(self, item: bytes) -> int:
        """Add one record; its sequence number comes back."""
        self._fresh.append(item)
        self._fresh_bytes += len(item)
        self._put += 1
        return self._put - 1

    def ask(self, worker: bytes, window: int, done: Iterable[int]) -> None:
        """Note what a worker wants to hold, and what it has finished.  Asking twice is harmless."""
        for number in done:
            self._acknowledge(number)
        if worker not in self._window:
            self._turn.append(worker)
            self._held.setdefault(worker, 0)
        self._window[worker] = max(0, min(window, WINDOW_MAX))

    def assign(self, now: float) -> list[tuple[bytes, Batch]]:
        """Lease out what can be: one batch a worker in turn, so that none is starved."""
        out: list[tuple[bytes, Batch]] = []
        passed = 0
        while passed < len(self._turn) and (self._returned or self._fresh):
            worker = self._turn[0]
            self._turn.rotate(-1)
            if self._held[worker] >= self._window[worker]:
                passed += 1
                continue
            passed = 0
            batch = self._next_batch()
            batch.attempt += 1
            batch.holder, batch.deadline = worker, now + self._lease
            self._leased[batch.number] = batch
            self._leased_items += len(batch.items)
            self._held[worker] += 1
            self._handed_out += len(batch.items)
            out.append((worker, batch))
        return out

    def give_back(self, number: int) -> None:
        """Undo one lease: the batch goes out again, before anything new."""
        batch = self._leased.pop(number)
        self._leased_items -= len(batch.items)
        self._returned_items += len(batch.items)
        self._handed_out_again += len(batch.items)
        self._sizes[number] = len(batch.items)
        if batch.holder in self._held:
            self._held[batch.holder] -= 1
        batch.holder = None
        self._returned.append(batch)

    def unreached(self, number: int) -> None:
        """Undo a lease that could not even be sent; its worker gets nothing until it asks again."""
        batch = self._leased[number]
        if batch.holder in self._window:
            self._window[batch.holder] = 0
        self.give_back(number)
        batch.attempt -= 1
        self._handed_out -= len(batch.items)
        self._handed_out_again -= len(batch.items)

    def worker_gone(self, worker: bytes) -> None:
        """Forget a worker; whatever it held goes to others."""
        if worker not in self._window:
            return
        held = [batch.number for batch in self._leased.values() if batch.holder == worker]
        for number in held:
            self.give_back(number)
        self._workers_lost += bool(held)
        self._turn.remove(worker)
        del self._window[worker], self._held[worker]

    def expire(self, now: float) -> None:
        """Take back what was held for longer than the lease.

        A worker that hangs gets nothing more until it asks again.
        """
        for batch in [batch for batch in self._leased.values() if batch.deadline <= now]:
            if batch.holder in self._window:
                self._window[batch.holder] = 0
            self.give_back(batch.number)

    def idle(self, worker: bytes) -> bool:
        """This worker holds nothing: it waits for us."""
        return not self._held.get(worker)

    def to_end(self) -> list[bytes]:
        """Workers that may be told now that there is no more; they are then noted as told."""
        if not self.done:
            return []
        out = [worker for worker in self._window if worker not in self._ended]
        self._ended.update(out)
        return out

    def end_again(self, worker: bytes) -> None:
        """A worker that was told asks once more: its answer was lost, so tell it again."""
        self._ended.discard(worker)

    def stats(self) -> WorkStats:
        """The counts, as they are now."""
        return WorkStats(
            put=self._put,
            waiting=self.waiting,
            leased=self._leased_items,
            acknowledged=self._acknowledged,
            handed_out=self._handed_out,
            handed_out_again=self._handed_out_again,
            repeated=self._repeated,
            batches=self._batches,
            malformed=self.malformed,
            workers=len(self._window),
            workers_lost=self._workers_lost,
            workers_ended=len(self._ended),
            finished=self.finished,
        )

    def check(self) -> None:
        """Assert the law of this file."""
        leased = sum(len(batch.items) for batch in self._leased.values())
        returned = sum(len(batch.items) for batch in self._returned)
        assert (leased, returned) == (self._leased_items, self._returned_items)
        assert self._put == self.waiting + leased + self._acknowledged
        for worker, held in self._held.items():
            assert held == sum(batch.holder == worker for batch in self._leased.values())

    def _next_batch(self) -> Batch:
        if self._returned:
            batch = self._returned.popleft()
            self._returned_items -= len(batch.items)
            return batch
        first = self._put - len(self._fresh)
        items: list[bytes] = []
        room = self._batch_bytes
        while self._fresh and len(items) < self._batch_messages:
            size = len(self._fresh[0])
            if items and size > room:
                break
            room -= size
            self._fresh_bytes -= size
            items.append(self._fresh.popleft())
        self._batches += 1
        return Batch(self._batches - 1, first, tuple(items))

    def _acknowledge(self, number: int) -> None:
        batch = self._leased.pop(number, None)
        if batch is not None:
            self._leased_items -= len(batch.items)
            if batch.holder in self._held:
                self._held[batch.holder] -= 1
        else:
            batch = next((one for one in self._returned if one.number == number), None)
            if batch is not None:
                self._returned.remove(batch)
                self._returned_items -= len(batch.items)
        if batch is not None:
            self._acknowledged += len(batch.items)
        elif number in self._sizes:
            self._repeated += self._sizes[number]
        else:
            self.malformed += 1
