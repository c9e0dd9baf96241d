"""The books of a work queue: records that wait, batches that were made, how many are done.

Not here: sending (`_queue`, `_aio_queue`), what a batch is as octets (`_batch`).
Law: every record that was put is in exactly one place: waiting, in a batch that is not done
(leased), acknowledged, or lost; a batch is counted once, whatever is said of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from meshmsg import ClosedError, Stats, TooLargeError

from .._words import counted
from ._batch import RECORD_SIZE_MAX, pack_batch
from ._numbers import check_count, check_lease

TICK = 0.1  # seconds between looks for records that nobody has put in a batch
CHUNK = 1000  # records that are put before they are handed out, or others have their turn
DELAYED_LEAST = 1000  # batches to go out later that never stop a queue, however small its backlog
DELAYED_BYTES_LEAST = 16 * 1024 * 1024  # of those
OPEN_MIN = 64  # batches that are not done before it is looked which of them are
Record = bytes | bytearray | memoryview
"""What may be put."""


@dataclass(frozen=True)
class WorkStats:
    """What a work queue has done so far; counts of records unless the name says otherwise.

    Attributes:
        put: Records given to the queue.
        waiting: Records that are in no batch yet, as no worker has had room for them.
        leased: Records in batches that are not done: a worker has them, or they are on their way to
            one, or wait for the next one, as they came back.
        acknowledged: Records whose worker said they are done; each is counted once.
        lost: Records in batches that had to be dropped, as there was no memory to keep them.
        batches: Batches made so far.
        batches_again: Batches taken from a lost or overdue worker, or given back by one: they are,
            or will be, handed out again.
        batches_delayed: Batches given back by `retry(delay=)` that are not to go out yet. Their
            records are among those that are leased.
        workers: Workers that are connected.
        workers_ended: Workers that were told that there is no more work, each time they connect.
        finished: `finish` was called: no more records will be put.
    """

    put: int
    waiting: int
    leased: int
    acknowledged: int
    lost: int
    batches: int
    batches_again: int
    batches_delayed: int
    workers: int
    workers_ended: int
    finished: bool


class Batch(NamedTuple):
    """A batch that is to be sent."""

    number: int
    octets: bytes
    records: int


class Books:
    """Counts of one queue, and its records.  Not thread-safe: its owner holds a lock."""

    def __init__(
        self,
        *,
        batch_messages: int,
        batch_bytes: int,
        backlog_messages: int,
        backlog_bytes: int,
        lease: float | None,
    ) -> None:
        self._batch = (
            check_count("batch_messages", batch_messages),
            check_count("batch_bytes", batch_bytes),
        )
        self._backlog = (
            check_count("backlog_messages", backlog_messages),
            check_count("backlog_bytes", backlog_bytes),
        )
        self.lease = check_lease(lease)
        self._fresh: deque[bytes] = deque()
        self._fresh_bytes = 0
        self._put = self._batches = 0
        self._acknowledged = self._lost = 0
        self._open: dict[int, tuple[int, Any]] = {}  # batch -> its records, its receipt
        self._look_at = OPEN_MIN
        self._socket: Stats | None = None  # as it was last
        self.finished = False

    @property
    def delayed_limits(self) -> tuple[int, int]:
        """Batches, and bytes of them, that may wait to go out later while others go out."""
        messages, octets = self._backlog
        return max(messages, DELAYED_LEAST), max(octets, DELAYED_BYTES_LEAST)

    @property
    def waiting(self) -> int:
        """Records that are in no batch yet."""
        return len(self._fresh)

    @property
    def room(self) -> int:
        """Records that may be put now."""
        messages, octets = self._backlog
        return 0 if self._fresh_bytes >= octets else max(0, messages - len(self._fresh))

    def put(self, item: bytes) -> int:
        """Add one record; its sequence number comes back."""
        self._fresh.append(item)
        self._fresh_bytes += len(item)
        self._put += 1
        return self._put - 1

    def peek(self) -> Batch | None:
        """The next batch, if there are records; `made` says that it is one."""
        if not self._fresh:
            return None
        most, room = self._batch
        items: list[bytes] = []
        for item in self._fresh:
            room -= len(item)
            if items and room < 0:
                break
            items.append(item)
            if len(items) == most:
                break
        first = self._put - len(self._fresh)
        octets = pack_batch(self._batches, first, self.lease, items)
        return Batch(self._batches, octets, len(items))

    def made(self, batch: Batch) -> None:
        """That batch is on its way: its records wait no longer."""
        for _ in range(batch.records):
            self._fresh_bytes -= len(self._fresh.popleft())
        self._batches += 1

    def sent(self, batch: Batch, receipt: Any) -> None:
        """The core has that batch, and will say what became of it."""
        self._open[batch.number] = batch.records, receipt
        if len(self._open) >= self._look_at:
            self.settle()
            self._look_at = max(OPEN_MIN, 2 * len(self._open))

    def settle(self) -> None:
        """Look which batches are done.  Entered itself by a signal's function: each counts once."""
        with suppress(ClosedError):  # then it stays as it is
            for number, (count, receipt) in list(self._open.items()):
                outcome = receipt.outcome
                if outcome is not None and self._open.pop(number, None) is not None:
                    if outcome == "acked":
                        self._acknowledged += count
                    else:
                        self._lost += count

    def stats(self, ask: Callable[[], Stats]) -> WorkStats:
        """The counts, as they are now; ask: for those of the socket."""
        self.settle()
        with suppress(ClosedError):  # then they are what they were
            self._socket = ask()
        socket = self._socket
        done = self._acknowledged + self._lost
        return WorkStats(
            put=self._put,
            waiting=len(self._fresh),
            leased=self._put - len(self._fresh) - done,
            acknowledged=self._acknowledged,
            lost=self._lost,
            batches=self._batches,
            batches_again=0 if socket is None else socket.redelivered_messages,
            batches_delayed=0 if socket is None else socket.delayed_messages,
            workers=0 if socket is None else socket.peers,
            workers_ended=0 if socket is None else socket.finished_peers,
            finished=self.finished,
        )

    def full(self, timeout: float | None, stats: WorkStats) -> str:
        """Why a `put` took too long; stats: as they are now."""
        messages, octets = self._backlog
        return (
            f"backlog full for {seconds(timeout)}: {counted(len(self._fresh), 'record')} "
            f"waiting for {counted(stats.workers, 'worker')} "
            f"(limit {counted(messages, 'record')}, {counted(octets, 'byte')})"
            f"{self._held_up(stats.batches_delayed)}"
        )

    def _held_up(self, delayed: int) -> str:
        """Say whether that is as so many batches are to go out later; nothing, if it is not."""
        most, octets = self.delayed_limits
        size = 0 if self._socket is None else self._socket.delayed_bytes
        if delayed < most and size <= octets:
            return ""
        return (
            f"; {batches(delayed)} given back to go out later (retry(delay=)), and from "
            f"{batches(most)} on, or above {counted(octets, 'byte')}, no new one goes out "
            "(backlog_messages, backlog_bytes)"
        )


def too_late(stats: WorkStats, timeout: float | None) -> str:
    """Why a `join` took too long."""
    return (
        f"{counted(stats.waiting, 'record')} waiting and {stats.leased} leased "
        f"after {seconds(timeout)}{later(stats, '; ')}; "
        f"{counted(stats.workers, 'worker')} here, {stats.workers_ended} told to end"
    )


def told(stats: WorkStats) -> str:
    """What goes on, for `repr`."""
    return (
        f"{counted(stats.workers, 'worker')}, {stats.waiting} waiting, {stats.leased} leased"
        f"{later(stats, ', ')}, "
        f"{stats.acknowledged} of {stats.put} acknowledged"
    )


def later(stats: WorkStats, mark: str) -> str:
    """How many batches are to go out later, behind that mark; nothing, if there are none."""
    delayed = stats.batches_delayed
    return f"{mark}{batches(delayed)} given back to go out later" if delayed else ""


def batches(count: int) -> str:
    """So many of them."""
    return f"{count} batch{'es' * (count != 1)}"


def few_workers(here: int, count: int, timeout: float | None) -> str:
    """Why a `wait_for_workers` took too long."""
    return f"{here} of {counted(count, 'worker')} after {seconds(timeout)}"


def seconds(timeout: float | None) -> str:
    """A time-out in words."""
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


def tell_put(error: BaseException, count: int, taken: list[Record]) -> None:
    """Have an error that ended a `put_many` say how many were put, and what was taken and not."""
    with suppress(AttributeError, TypeError):  # it has room for no attributes
        error.put = count  # type: ignore[attr-defined]
        error.unput = taken  # type: ignore[attr-defined]
