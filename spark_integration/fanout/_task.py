"""What runs in an executor: a worker of the queue, which pushes what became of each item.

Not here: the books (_books.py), how a task is begun (_fanout.py).  Law: a group is acknowledged
only once what became of it was acknowledged; so a lost task loses nothing. Where the queue has a
lease, it is told between two items that this worker moves on.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from meshmsg import Push
from meshmsg.patterns import WorkBatch, Worker

from .._protected import protected
from ._telling import Telling
from ._words import ITEM_BYTES_MAX, Outcome, Part, octets_of, parts_of

if TYPE_CHECKING:
    import pyarrow as pa

WHY_BYTES = 16 * 1024
"""Bytes of what is said of an exception."""
RENEWALS = 50
"""Times a lease that it is renewed, at most: so one item may take nearly all of it."""


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

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work until there is no more; give nothing back to Spark."""
        for _ in batches:
            pass
        with ExitStack() as stack:
            stack.enter_context(protected(self.security))
            out = stack.enter_context(
                Push(connect=self.results, delivery="at_least_once", linger=self.patience)
            )
            worker = stack.enter_context(Worker(self.items, silence=self.patience))
            for batch in worker:
                for record in batch:
                    self._one(out, batch, record)
        yield from ()

    def _one(self, out: Push, batch: WorkBatch, record: bytes) -> None:
        group = parts_of(record)
        if group is None:
            raise ValueError("a group of items is malformed: is there another version of meshmsg?")
        if batch.attempt > 1:
            # A worker was lost with it. One of the group may be why: the others are not to be tried
            # with it again; and whether it was begun at all is not known here.
            self._say(out, [Part(part.id, Outcome.RETURNED, b"") for part in group])
            return
        begun = [Part(part.id, Outcome.BEGUN, b"") for part in group if part.number > 1]
        if begun:
            self._say(out, begun)
        if not self._work(out, batch, group):
            batch.retry()  # if it is not with somebody else already, who has the rest tried alone

    def _work(self, out: Push, batch: WorkBatch, group: list[Part]) -> bool:
        """Work on items for as long as they are this worker's. Returns whether all are done."""
        telling, ours = Telling(partial(out.send, timeout=self.patience)), True
        renewed = time.monotonic()
        for part in group:
            if self.lease is not None and time.monotonic() - renewed >= self.lease / RENEWALS:
                renewed = time.monotonic()
                ours = batch.extend()
                if not ours:
                    break
            telling.tell(self._done(part))
        telling.flush()
        out.drain(timeout=self.patience).raise_for_loss()
        return ours

    def _say(self, out: Push, parts: list[Part]) -> None:
        """Tell of items, until that is acknowledged."""
        out.send(octets_of(parts), timeout=self.patience)
        out.drain(timeout=self.patience).raise_for_loss()

    def _done(self, part: Part) -> Part:
        try:
            result = checked_result(self.fn(part.body))
        except Exception as error:
            text = "".join(traceback.format_exception(error)).encode(errors="replace")
            return Part(part.id, Outcome.FAILED, text[-WHY_BYTES:])
        return Part(part.id, Outcome.DONE, result)


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
