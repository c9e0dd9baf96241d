"""What runs in an executor: a worker of the queue, which pushes what became of each item.

Not here: the books (_books.py), how a task is begun (_fanout.py).  Law: a group is acknowledged
only once what became of it was acknowledged; so a lost task loses nothing. Where the queue has a
lease, it is told between two items that this worker moves on; one that hangs ends its process, and
Spark begins another.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from meshmsg import Push, __version__
from meshmsg.patterns import WorkBatch, Worker

from .._protected import protected
from ._results import HUNG_LEASES, Looking, Results
from ._versions import same_version
from ._words import (
    GROUP_BYTES,
    ITEM_BYTES_MAX,
    WIRE,
    Group,
    Outcome,
    Part,
    group_of,
    octets_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

WHY_BYTES = 16 * 1024
"""Bytes of what is said of an exception."""
OF_ITEM = (Exception, SystemExit, KeyboardInterrupt, GeneratorExit, CancelledError)
"""What a function raises that is of its item alone: all that Python itself has."""
DONE, FAILED = int(Outcome.DONE), int(Outcome.FAILED)
RENEWALS = 50
"""Times a lease that it is renewed, at most: so one item may take nearly all of it."""
HUNG_STATUS = 70
"""The status of a process that was ended as an item hung: EX_SOFTWARE of sysexits."""


class TaskOf(NamedTuple):
    """What a task needs; it is pickled by Spark."""

    fn: Callable[[bytes], bytes]
    items: str
    """Where the queue is."""
    results: str
    security: str | None
    patience: float
    """Seconds that the other side may not be there."""
    lease: float | None = None
    """Seconds without a sign after which others get what this worker has."""
    version: str = __version__
    """Of meshmsg in the program."""
    wire: int = WIRE

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work until there is no more; give nothing back to Spark."""
        for _ in batches:
            pass
        same_version(self.version, self.wire)
        with ExitStack() as stack:
            stack.enter_context(protected(self.security))
            out = stack.enter_context(
                Push(connect=self.results, delivery="at_least_once", linger=self.patience)
            )
            worker = stack.enter_context(Worker(self.items, silence=self.patience))
            looking = stack.enter_context(Looking(self.lease, self._hung))
            for batch in worker:
                for record in batch:
                    self._one(out, batch, record, looking)
        yield from ()

    def _one(
        self, out: Push, batch: WorkBatch, record: bytes, looking: Looking | None = None
    ) -> None:
        group = group_of(record)
        if group is None:
            raise ValueError("a group of items is malformed")
        if batch.attempt > 1:
            # A worker was lost with it. One of the group may be why: the others are not to be tried
            # with it again; and whether it was begun at all is not known here.
            self._say(out, [Part(number, Outcome.RETURNED, b"") for number in group.ids])
            return
        if max(group.numbers) > 1:
            begun = [part.id for part in group.parts() if part.number > 1]
            self._say(out, [Part(number, Outcome.BEGUN, b"") for number in begun])
        results = Results(partial(out.send, timeout=self.patience), group.ids)
        if looking is not None and (len(group.ids) > 1 or self.lease is not None):
            looking.begin(results)
        try:
            ours = self._work(batch, group, results)
        finally:
            if looking is not None:
                looking.end()
        results.flush()
        out.drain(timeout=self.patience).raise_for_loss()
        if not ours:
            batch.retry()  # if it is not with somebody else already, who has the rest tried alone

    def _work(self, batch: WorkBatch, group: Group, results: Results) -> bool:
        """Work on items for as long as they are this worker's. Returns whether all are done."""
        fn, lease, size = self.fn, self.lease, 0
        outcome, done = results.numbers.append, results.bodies.append
        renewed = time.monotonic()
        for item in group.bodies:
            if lease is not None:
                results.began = now = time.monotonic()
                if now - renewed >= lease / RENEWALS:
                    renewed = now
                    if not batch.extend():
                        return False
            try:
                body = fn(item)
                if type(body) is not bytes or len(body) > ITEM_BYTES_MAX:
                    body = checked_result(body)
                outcome(DONE)
            except OF_ITEM as error:  # no others are left behind
                text = "".join(traceback.format_exception(error)).encode(errors="replace")
                body = text[-WHY_BYTES:]
                outcome(FAILED)
            done(body)
            size += len(body)
            if size >= GROUP_BYTES:
                results.began = None
                results.flush()
                size = 0
        return True

    def _hung(self) -> None:
        """End this process, as nothing else ends what hangs in it. One that is no task of Spark's
        has nobody who would begin another."""
        from pyspark import TaskContext

        if TaskContext.get() is None:
            return
        sys.stderr.write(
            f"meshmsg: an item took more than {HUNG_LEASES} x {self.lease:g} s (lease=): this "
            "process ends, so that Spark begins another\n"
        )
        sys.stderr.flush()
        os._exit(HUNG_STATUS)

    def _say(self, out: Push, parts: list[Part]) -> None:
        """Tell of items, until that is acknowledged."""
        out.send(octets_of(parts), timeout=self.patience)
        out.drain(timeout=self.patience).raise_for_loss()


def checked_result(result: Any) -> bytes:
    """Return what a function returned, if it can be sent."""
    if not isinstance(result, bytes):
        raise TypeError(
            f"the function returned {type(result).__name__}; a result is bytes "
            "(encode it there, and give FanOut decode=)"
        )
    if len(result) > ITEM_BYTES_MAX:
        raise ValueError(f"a result of {len(result):,} bytes; up to {ITEM_BYTES_MAX:,} are sent")
    return result
