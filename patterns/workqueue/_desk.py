"""The queue's side of the talk with workers, without sockets: words in, words out.

`WorkQueue` of threads and of asyncio are drivers around it.  Not here: who has what (`_ledger`),
how words look (`_wire`).  Time is an argument.
Law: what is to be said is in `out`, in order; a driver says it, or tells `unsaid`.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from meshmsg import TooLargeError, UsageError

from .._words import counted
from ._ledger import Ledger
from ._wire import (
    END,
    NUMBERS,
    RETRY,
    WAIT,
    WORK,
    pack_taken,
    pack_terms,
    pack_work,
    parse_ask,
    parse_retry,
)

BATCH_MAX = 1000  # records in a batch: each is a frame, and peers accept 1,024 by default
RECORD_SIZE_MAX = 63 * 1024 * 1024  # bytes of a record, or of a batch of several: with its header
# below what peers accept by default
TURN = 64  # words that wait to be said before no worker is heard any more
LEASE_MIN = 0.001  # seconds, and the resolution of what a worker is told of it
TICK = 0.1  # seconds between looks at connections and leases when no worker says anything
CHUNK = 1000  # records that are put before they are handed out, or others have their turn
FIRST_SIZE = 8  # octets of the number of the first batch
Record = bytes | bytearray | memoryview
"""What may be put."""
LOG = logging.getLogger("meshmsg")
GOODBYE = 5.0  # seconds the last answers to workers may take at close


class Word(NamedTuple):
    """What is to be said to a worker."""

    worker: bytes
    frames: list[bytes]
    number: int = -1
    """The batch in it, if it is one."""


class Desk:
    """Talks with the workers of one queue.  Not thread-safe: its owner holds a lock."""

    def __init__(
        self,
        *,
        batch_messages: int,
        batch_bytes: int,
        backlog_messages: int,
        backlog_bytes: int,
        lease: float | None,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        if not 1 <= batch_messages <= BATCH_MAX:
            raise UsageError(f"batch_messages is {batch_messages}; it must be 1 to {BATCH_MAX}")
        if not 1 <= batch_bytes <= RECORD_SIZE_MAX:
            raise UsageError(f"batch_bytes is {batch_bytes}; it must be 1 to {RECORD_SIZE_MAX}")
        if min(backlog_messages, backlog_bytes) < 1:
            raise UsageError("backlog_messages and backlog_bytes must be > 0")
        if lease is not None and not lease >= LEASE_MIN:
            raise UsageError(f"lease is {lease:g} s; it must be {LEASE_MIN} s or more, or None")
        self.ledger = Ledger(batch_messages=batch_messages, batch_bytes=batch_bytes, lease=lease)
        self.out: deque[Word] = deque()
        self._backlog = backlog_messages, backlog_bytes
        self._lease = lease
        self._first = int.from_bytes(random(FIRST_SIZE), "big")  # what workers call batch 0
        self._connections: Mapping[bytes, int] = {}  # worker -> the connection it asked on
        self._told: set[bytes] = set()  # who knows the terms

    @property
    def room(self) -> int:
        """Records that may be put now."""
        messages, octets = self._backlog
        full = self.ledger.fresh_bytes >= octets
        return 0 if full else max(0, messages - self.ledger.waiting)

    def knows(self, worker: bytes) -> bool:
        """Whether this worker's connection is known; if not, tell `connected` first."""
        return worker in self._connections

    def connected(self, now: Mapping[bytes, int]) -> None:
        """Take back what workers hold whose connection is gone, or is a new one."""
        for worker in self.ledger.workers:
            if worker not in now or now[worker] != self._connections.get(worker):
                self.ledger.worker_gone(worker)
                self._told.discard(worker)
        self._connections = now

    def hear(self, worker: bytes, frames: list[bytes], now: float) -> None:
        """Note what a worker says, and answer."""
        if frames and frames[0] == RETRY:
            retry = parse_retry(frames)
            if retry is not None:
                if self.knows(worker):
                    self.ledger.retry(worker, self._ours(worker, retry[1]), retry[0], now)
                self.hand_out(now)
                return
        asked = parse_ask(frames)
        if asked is None:
            self.ledger.malformed += 1
            return
        self.ledger.ask(worker, asked.window, self._ours(worker, asked.done), now)
        if asked.leaves:
            self.ledger.leave(worker)
            self._told.discard(worker)
            self.out.append(Word(worker, [END]))
            self.hand_out(now)
            return
        if not self.knows(worker):  # it left after it said so
            self.ledger.worker_gone(worker)
            self.hand_out(now)
            return
        if asked.held is not None:
            begun, waiting = (self._ours(worker, numbers) for numbers in asked.held)
            self.ledger.hold(worker, begun, waiting, now)
        if worker not in self._told:
            self._told.add(worker)
            self.out.append(Word(worker, pack_terms(self._lease, self._first)))
        self.hand_out(now)
        waits = asked.held is None or not any(asked.held)
        if waits and self.ledger.idle(worker) and not self.ledger.done:
            self.out.append(Word(worker, [WAIT]))

    def hand_out(self, now: float) -> None:
        """Give workers what can be given, and tell those who are to know."""
        self.ledger.expire(now)
        given = self.ledger.assign(now)
        taken: dict[bytes, list[int]] = {}
        for worker, number in self.ledger.taken():
            taken.setdefault(worker, []).append(self._theirs(number))
        self.out.extend(Word(worker, pack_taken(numbers)) for worker, numbers in taken.items())
        for worker, batch in given:
            number = self._theirs(batch.number)
            frames = pack_work(number, batch.attempt, batch.first_sequence, batch.items)
            self.out.append(Word(worker, frames, batch.number))
        self.out.extend(Word(worker, [END]) for worker in self.ledger.to_end())

    def _theirs(self, number: int) -> int:
        """What workers call a batch."""
        return (self._first + number) % NUMBERS

    def _ours(self, worker: bytes, numbers: Iterable[int]) -> list[int]:
        """The batches of this queue that a worker speaks of; of others it is told they are not."""
        ours: list[int] = []
        stale: list[int] = []
        for number in numbers:
            mine = (number - self._first) % NUMBERS
            if mine < self.ledger.batches:
                ours.append(mine)
            else:
                stale.append(number)
        if stale:
            if not self.ledger.stale:
                LOG.warning(
                    "worker %r speaks of batches of another work queue, one that was here before, "
                    "perhaps: they are counted (WorkStats.stale), and not taken for those of this",
                    worker,
                )
            self.ledger.stale += len(stale)
            self.out.append(Word(worker, pack_taken(stale)))
        return ours

    def next_word(self) -> Word | None:
        """What is to be said next; what has become wrong meanwhile is left out."""
        while self.out:
            word = self.out.popleft()
            if word.number < 0 or self.ledger.holds(word.worker, word.number):
                return word
        return None

    def unsaid(self, word: Word) -> None:
        """This could not be sent: its worker is gone, or takes no more (it will ask again)."""
        kind = word.frames[0]
        if kind == WORK and self.ledger.holds(word.worker, word.number):
            self.ledger.unreached(word.number)
        elif kind == END:
            self.ledger.end_again(word.worker)
        else:
            self._told.discard(word.worker)

    def over(self, workers: int) -> bool:
        """Everything is done, and so many workers were told."""
        return self.ledger.done and self.ledger.workers_ended >= workers

    def too_late(self, timeout: float | None, now: float) -> str:
        """Why a `join` took too long."""
        stats = self.ledger.stats(now)
        stalled = (
            f"; the slowest has shown no progress for {stats.stalled_seconds:.1f} s"
            if stats.stalled_seconds
            else ""
        )
        return (
            f"{counted(stats.waiting, 'record')} waiting and {stats.leased} leased "
            f"after {_seconds(timeout)}; "
            f"{counted(stats.workers, 'worker')} here, {stats.workers_ended} told to end{stalled}"
        )

    def full(self, timeout: float | None) -> str:
        """Why a `put` took too long."""
        messages, octets = self._backlog
        return (
            f"backlog full for {_seconds(timeout)}: {counted(self.ledger.waiting, 'record')} "
            f"waiting for {counted(len(self.ledger.workers), 'worker')} "
            f"(limit {counted(messages, 'record')}, {counted(octets, 'byte')})"
        )

    def text(self, now: float) -> str:
        """What goes on, for `repr`."""
        stats = self.ledger.stats(now)
        return (
            f"{counted(stats.workers, 'worker')}, {stats.waiting} waiting, {stats.leased} leased, "
            f"{stats.acknowledged} of {stats.put} acknowledged"
        )


def few_workers(here: int, count: int, timeout: float | None) -> str:
    """Why a `wait_for_workers` took too long."""
    return f"{here} of {counted(count, 'worker')} after {_seconds(timeout)}"


def _seconds(timeout: float | None) -> str:
    return "ever" if timeout is None else f"{timeout:g} s"


def checked(record: Record) -> bytes:
    """A record that can be put, as `bytes`."""
    kind = type(record).__name__
    if isinstance(record, str):
        raise TypeError("a record is bytes, not str; encode it: text.encode()")
    if not isinstance(record, (bytes, bytearray, memoryview)):
        how = "x.tobytes()" if hasattr(record, "tobytes") else "json.dumps(value).encode()"
        raise TypeError(
            f"a record is bytes, bytearray or memoryview, not {kind}; turn it into bytes first, "
            f"for example with {how}"
        )
    octets = bytes(record)
    if len(octets) > RECORD_SIZE_MAX:
        raise TooLargeError(
            f"a record of {len(octets)} bytes; a work queue takes {RECORD_SIZE_MAX}",
            size=len(octets),
            limit=RECORD_SIZE_MAX,
        )
    return octets


def check_wait(timeout: float | None, name: str = "", count: int = 0) -> None:
    """Refuse what is no time to wait, or no number of workers, as a socket does."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise UsageError(f"{name} is {count!r}; it is a whole number of 0 or more")
    if timeout is None:
        return
    try:
        late = not timeout >= 0  # NaN too
    except TypeError:
        raise TypeError(
            f"timeout is {timeout!r}; seconds as a number, or None to wait for ever"
        ) from None
    if late:
        raise ValueError(f"timeout is {timeout!r}; seconds >= 0, or None to wait for ever")


def tell_put(error: BaseException, count: int, taken: list[Record]) -> None:
    """Have an error that ended a `put_many` say how many were put, and what was taken and not."""
    with suppress(AttributeError, TypeError):  # it has room for no attributes
        error.put = count  # type: ignore[attr-defined]
        error.unput = taken  # type: ignore[attr-defined]
