"""The books of a work queue: what waits, who holds what, what is done.

It does no I/O, takes the time as an argument and knows workers only by name.
Law: every record put in is in exactly one place (waiting, leased, acknowledged), so
put = waiting + leased + acknowledged after each call; `check` asserts it.  A batch changes hands
only when its worker is lost, hands it back, or is overdue while another one has room for it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

WINDOW_MAX = 64  # batches one worker may hold at a time, whatever it asks for
MOVED_MAX = 10_000  # batches that changed hands and are remembered, to count who does them twice
HAD_MAX = 64  # workers that had a batch and may still acknowledge it; those before are not believed
_DUE_SPARE = 64  # entries of the heap of delayed batches that may be out of date


@dataclass(frozen=True)
class WorkStats:
    """What a work queue has done so far; counts of records unless the name says otherwise.

    Attributes:
        put: Records given to the queue.
        waiting: Records not held by any worker now.
        leased: Records held by workers that have not acknowledged them yet.
        acknowledged: Records whose worker said they are done; each is counted once.
        handed_out: Records sent to workers, repeats included.
        handed_out_again: Records taken from a lost or overdue worker: they are, or will be, handed
            out again.
        repeated: Records acknowledged a second time: two workers did them. (Of the last 10,000
            batches that changed hands; of older ones a second acknowledgement is `malformed`.)
        batches: Batches cut so far.
        malformed: What workers said that made no sense and was ignored: messages, and batches in
            them that they never had.
        workers: Workers that are connected and have asked.
        workers_lost: Workers that went away while they held records.
        workers_ended: Workers that were told that there is no more work.
        finished: `finish` was called: no more records will be put.
        handed_back: Records that workers gave back with `WorkBatch.retry`, or had not begun at
            `Worker.stop`.
        late: Records acknowledged by a worker that no longer held them; some are in `repeated`,
            too.
        stalled_seconds: How long the worker that has shown no progress for longest has shown none;
            0: no worker holds a batch.
        stale: Batches that workers spoke of and that are none of this queue: of one that was at
            this address before it, mostly. They are not believed, and told so.
    """

    put: int
    waiting: int
    leased: int
    acknowledged: int
    handed_out: int
    handed_out_again: int
    repeated: int
    batches: int
    malformed: int
    workers: int
    workers_lost: int
    workers_ended: int
    finished: bool
    handed_back: int = 0
    late: int = 0
    stalled_seconds: float = 0.0
    stale: int = 0


@dataclass(eq=False)
class Batch:
    """Consecutive records that travel, and are acknowledged, together."""

    number: int
    first_sequence: int
    items: tuple[bytes, ...]
    attempt: int = 0
    holder: bytes | None = None
    progress: float | None = None
    """When its worker began it, was to begin it, or last showed progress; None: it waits at that
    worker behind another one."""
    had: deque[bytes] = field(default_factory=lambda: deque(maxlen=HAD_MAX))
    """Who had it: an acknowledgement of others is not believed."""
    due: float = 0.0
    """When it may go out again, if it was handed back with a delay."""


@dataclass(eq=False)
class _Worker:
    """What is known of one worker."""

    window: int = 0
    """Batches it wants to hold."""
    held: dict[int, Batch] = field(default_factory=dict)
    """What it holds, in the order it will do it."""
    overdue: bool = False
    """It has shown no progress for a lease: it gets nothing, and others may take what it has."""


class Ledger:
    """Who has what.  Not thread-safe: its owner holds a lock."""

    def __init__(self, *, batch_messages: int, batch_bytes: int, lease: float | None) -> None:
        self._batch_messages = batch_messages
        self._batch_bytes = batch_bytes
        self._lease = lease
        self._fresh: deque[bytes] = deque()
        self._fresh_bytes = 0
        self._returned: dict[int, Batch] = {}  # to be handed out again, in this order
        self._delayed: dict[int, Batch] = {}  # the same, but not yet
        self._due: list[tuple[float, int]] = []  # a heap: when a delayed batch is returned
        self._leased: dict[int, Batch] = {}
        self._workers: dict[bytes, _Worker] = {}
        self._turn: deque[bytes] = deque()  # workers in the order they are served
        self._overdue: dict[bytes, _Worker] = {}
        self._look_at = 0.0  # nobody can be overdue before that
        self._ended: set[bytes] = set()
        self._taken: list[tuple[bytes, int]] = []  # who is to be told that what is its no longer
        self._returned_items = self._leased_items = 0
        self._put = self._acknowledged = self._repeated = self._late = 0
        self._handed_out = self._handed_out_again = self._handed_back = 0
        self._batches = self._workers_lost = 0
        self._sizes: dict[int, int] = {}  # batch that changed hands -> its records
        self.malformed = 0
        self.stale = 0
        self.finished = False

    @property
    def waiting(self) -> int:
        """Records nobody holds."""
        return len(self._fresh) + self._returned_items

    @property
    def batches(self) -> int:
        """Batches cut so far: their numbers are below that."""
        return self._batches

    @property
    def fresh_bytes(self) -> int:
        """Bytes of the records that were never handed out."""
        return self._fresh_bytes

    @property
    def done(self) -> bool:
        """No more will come, and all that came is acknowledged."""
        return self.finished and not (
            self._fresh or self._returned or self._delayed or self._leased
        )

    @property
    def workers(self) -> list[bytes]:
        """The names of the workers that are here."""
        return list(self._workers)

    @property
    def workers_ended(self) -> int:
        """Workers that were told that there is no more."""
        return len(self._ended)

    def put(self, item: bytes) -> int:
        """Add one record; its sequence number comes back."""
        self._fresh.append(item)
        self._fresh_bytes += len(item)
        self._put += 1
        return self._put - 1

    def ask(self, name: bytes, window: int, done: Iterable[int], now: float) -> None:
        """Note what a worker wants to hold, and what it has finished.  Asking twice is harmless."""
        worker = self._here(name)
        for number in done:
            self._acknowledge(name, number, now)
        worker.window = max(0, min(window, WINDOW_MAX))
        self.end_again(name)
        self._progress(name, worker, now)

    def hold(self, name: bytes, begun: Iterable[int], waiting: Iterable[int], now: float) -> None:
        """Note what a worker says that it has: what it began (its lease counts anew from now), and
        what it will do next.  What was only returned since is its again; what another one has, or
        is done, it will be told."""
        worker = self._here(name)
        for numbers, progress in ((begun, now), (waiting, None)):
            for number in numbers:
                batch = self._leased.get(number) or self._reclaim(name, worker, number)
                if number >= self._batches:
                    self.malformed += 1
                elif batch is None or batch.holder != name:
                    self._taken.append((name, number))
                else:
                    batch.progress = progress
        self._progress(name, worker, now)

    def retry(self, name: bytes, numbers: Iterable[int], delay: float, now: float) -> None:
        """Take back what a worker does not want to do: it goes out again after `delay` seconds."""
        for number in numbers:
            batch = self._leased.get(number)
            if batch is None or batch.holder != name:
                continue  # another one has it, or has done it
            self._release(batch)
            self._handed_back += len(batch.items)
            if delay > 0:
                del self._returned[number]
                self._delay(batch, now + delay)
        self._progress(name, self._here(name), now)

    def assign(self, now: float) -> list[tuple[bytes, Batch]]:
        """Lease out what can be: one batch a worker in turn, so that none is starved."""
        while self._due and self._due[0][0] <= now:
            due, number = heapq.heappop(self._due)
            batch = self._delayed.get(number)
            if batch is not None and batch.due == due:  # else it was done late, or is held again
                self._returned[number] = self._delayed.pop(number)
        out: list[tuple[bytes, Batch]] = []
        passed = 0
        while passed < len(self._turn) and (self._returned or self._fresh or self._overdue):
            name = self._turn[0]
            self._turn.rotate(-1)
            worker = self._workers[name]
            room = len(worker.held) < worker.window and not worker.overdue
            batch = self._next_batch() if room else None
            if batch is None:
                passed += 1
                continue
            passed = 0
            batch.attempt += 1
            self._handed_out += len(batch.items)
            self._lease_to(name, worker, batch)
            self._conclude(worker, now)
            out.append((name, batch))
        return out

    def taken(self) -> list[tuple[bytes, int]]:
        """Whom to tell that a batch is no longer its, once."""
        taken, self._taken = self._taken, []
        return taken

    def holds(self, name: bytes, number: int) -> bool:
        """Whether this worker has this batch."""
        return name in self._workers and number in self._workers[name].held

    def unreached(self, number: int) -> None:
        """Undo a lease that could not even be sent; its worker gets nothing until it asks again."""
        batch = self._leased[number]
        assert batch.holder is not None
        self._workers[batch.holder].window = 0
        self._release(batch)
        batch.attempt -= 1
        self._handed_out -= len(batch.items)

    def worker_gone(self, name: bytes) -> None:
        """Forget a worker; whatever it held goes to others."""
        worker = self._workers.get(name)
        if worker is None:
            return
        self._workers_lost += bool(worker.held)
        for batch in list(worker.held.values()):
            self._release(batch)
            self._handed_out_again += len(batch.items)
        del self._workers[name]
        self._turn.remove(name)
        self._overdue.pop(name, None)

    def leave(self, name: bytes) -> None:
        """Forget a worker that says goodbye, with nothing in hand: it is not lost, and what it was
        to do next goes to others as if it had not been handed out to it."""
        for batch in list(self._workers[name].held.values()):
            self._release(batch)
            batch.attempt -= 1
            self._handed_back += len(batch.items)
        self.worker_gone(name)

    def expire(self, now: float) -> None:
        """Note who has shown no progress in what it began for a lease.

        It keeps what it has until another worker has room for that, and gets nothing more until it
        shows that it lives.
        """
        if self._lease is None or now < self._look_at:
            return
        self._look_at = now + self._lease
        for name, worker in self._workers.items():
            begun = [b.progress for b in worker.held.values() if b.progress is not None]
            if not begun or worker.overdue:
                continue
            if min(begun) + self._lease <= now:
                worker.overdue = True
                self._overdue[name] = worker
            else:
                self._look_at = min(self._look_at, min(begun) + self._lease)

    def idle(self, name: bytes) -> bool:
        """This worker holds nothing: it waits for us."""
        return name not in self._workers or not self._workers[name].held

    def to_end(self) -> list[bytes]:
        """Workers that may be told now that there is no more; they are then noted as told."""
        if not self.done:
            return []
        out = [name for name in self._workers if name not in self._ended]
        self._ended.update(out)
        return out

    def end_again(self, name: bytes) -> None:
        """A worker that was told asks once more: its answer was lost, so tell it again."""
        self._ended.discard(name)

    def stats(self, now: float) -> WorkStats:
        """The counts, as they are now."""
        begun = [b.progress for b in self._leased.values() if b.progress is not None]
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
            workers=len(self._workers),
            workers_lost=self._workers_lost,
            workers_ended=len(self._ended),
            finished=self.finished,
            handed_back=self._handed_back,
            late=self._late,
            stalled_seconds=max(0.0, now - min(begun)) if begun else 0.0,
            stale=self.stale,
        )

    def check(self) -> None:
        """Assert the law of this file."""
        leased = sum(len(batch.items) for batch in self._leased.values())
        returned = [*self._returned.values(), *self._delayed.values()]
        items = sum(len(batch.items) for batch in returned)
        assert (leased, items) == (self._leased_items, self._returned_items)
        assert self._put == self.waiting + leased + self._acknowledged
        assert all(batch.holder is None for batch in returned)
        held = {number: name for name, one in self._workers.items() for number in one.held}
        assert held == {number: batch.holder for number, batch in self._leased.items()}
        assert sum(len(one.held) for one in self._workers.values()) == len(held)

    def _here(self, name: bytes) -> _Worker:
        worker = self._workers.get(name)
        if worker is None:
            worker = self._workers[name] = _Worker()
            self._turn.append(name)
        return worker

    def _progress(self, name: bytes, worker: _Worker, now: float) -> None:
        """It lives: what it has is its again."""
        if worker.overdue:
            worker.overdue = False
            self._overdue.pop(name, None)
            for batch in worker.held.values():
                batch.progress = now if batch.progress is not None else None
            self._look_at = min(self._look_at, now + (self._lease or 0.0))
        self._conclude(worker, now)

    def _conclude(self, worker: _Worker, now: float) -> None:
        """A worker that holds batches and has begun none is to begin the first now.

        So one that hangs before it begins has a lease, too, and so has one of version 1, which does
        not say what it begins.
        """
        if worker.held and all(one.progress is None for one in worker.held.values()):
            next(iter(worker.held.values())).progress = now

    def _delay(self, batch: Batch, due: float) -> None:
        batch.due = due
        self._delayed[batch.number] = batch
        heapq.heappush(self._due, (due, batch.number))
        if len(self._due) > 2 * len(self._delayed) + _DUE_SPARE:  # most are out of date
            self._due = [(one.due, one.number) for one in self._delayed.values()]
            heapq.heapify(self._due)

    def _lease_to(self, name: bytes, worker: _Worker, batch: Batch) -> None:
        batch.holder, batch.progress = name, None
        if name not in batch.had:
            batch.had.append(name)
        self._leased[batch.number] = worker.held[batch.number] = batch
        self._leased_items += len(batch.items)

    def _release(self, batch: Batch) -> None:
        """Undo a lease: the batch goes out again, before anything new."""
        assert batch.holder is not None
        del self._leased[batch.number], self._workers[batch.holder].held[batch.number]
        self._leased_items -= len(batch.items)
        self._returned_items += len(batch.items)
        self._sizes[batch.number] = len(batch.items)
        if len(self._sizes) > MOVED_MAX:
            del self._sizes[next(iter(self._sizes))]
        batch.holder = batch.progress = None
        self._returned[batch.number] = batch

    def _reclaim(self, name: bytes, worker: _Worker, number: int) -> Batch | None:
        """A worker that was thought lost has this batch still, and nobody else has it."""
        batch = self._unfinished(number)
        if batch is None or name not in batch.had:
            return None
        self._take_returned(number)
        self._lease_to(name, worker, batch)
        return batch

    def _next_batch(self) -> Batch | None:
        """What goes out next; only to a worker that is not overdue, so never to who has it."""
        for name, worker in self._overdue.items():
            for batch in worker.held.values():
                self._taken.append((name, batch.number))
                self._release(batch)
                self._handed_out_again += len(batch.items)
                return self._take_returned(batch.number)
        if self._returned:
            return self._take_returned(next(iter(self._returned)))
        return self._cut() if self._fresh else None

    def _take_returned(self, number: int) -> Batch | None:
        batch = self._returned.pop(number, None) or self._delayed.pop(number, None)
        if batch is not None:
            self._returned_items -= len(batch.items)
        return batch

    def _cut(self) -> Batch:
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

    def _acknowledge(self, name: bytes, number: int, now: float) -> None:
        batch = self._unfinished(number)
        if batch is None:
            self._repeated += self._sizes.get(number, 0)
            self.malformed += number not in self._sizes
            return
        if name not in batch.had:  # it cannot have done it
            self.malformed += 1
            return
        holder = batch.holder
        if holder is None:
            self._take_returned(number)
        else:
            del self._leased[number], self._workers[holder].held[number]
            self._leased_items -= len(batch.items)
        if holder != name:
            self._late += len(batch.items)
        if holder not in (name, None):
            self._taken.append((holder, number))
            self._conclude(self._workers[holder], now)
        self._acknowledged += len(batch.items)

    def _unfinished(self, number: int) -> Batch | None:
        """The batch of that number, if it was cut and is not acknowledged."""
        return self._leased.get(number) or self._returned.get(number) or self._delayed.get(number)
