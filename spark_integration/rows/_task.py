"""What `map_rows` runs in an executor: it works on the rows of a partition, and pushes results.

What it tells Spark is one number: how many rows the partition had, behind the partition's bits.  An
error is told as

    attempts (4)  size of the row (4; all ones: it is not there)  row  why

Not here: who takes results (_rows.py).  Law: each attempt at a partition tells of its rows in their
order, from the first on; it ends once all of that was acknowledged.
"""

from __future__ import annotations

import struct
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from meshmsg import Push, __version__

from .._protected import protected
from ..fanout._task import OF_ITEM, WHY_BYTES, checked_result
from ..fanout._telling import Telling
from ..fanout._told import ItemError
from ..fanout._versions import same_version
from ..fanout._words import ITEM_BYTES_MAX, WIRE, Outcome, Part

if TYPE_CHECKING:
    import pyarrow as pa

ROW_BITS = 40
"""Of an id: the row in its partition; the bits above are the partition."""
ROW_MAX = (1 << ROW_BITS) - 1
_FAILED = struct.Struct(">II")
_NO_ROW = 2**32 - 1


class RowsOf(NamedTuple):
    """What runs in a task; it is pickled by Spark."""

    fn: Callable[[bytes], bytes]
    results: str
    security: str | None
    patience: float
    max_attempts: int
    version: str = __version__
    """Of meshmsg in the program."""
    wire: int = WIRE

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work on the rows of one partition; give Spark their number."""
        same_version(self.version, self.wire)
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        row = (context.partitionId() if context is not None else 0) << ROW_BITS
        with ExitStack() as stack:
            stack.enter_context(protected(self.security))
            out = stack.enter_context(
                Push(connect=self.results, delivery="at_least_once", linger=self.patience)
            )
            telling = Telling(partial(out.send, timeout=self.patience))
            for batch in batches:
                for body in batch.column(0).to_pylist():
                    telling.tell(self._done(row, body))
                    row += 1
            telling.flush()
            out.drain(timeout=self.patience).raise_for_loss()
        yield pa.RecordBatch.from_arrays([pa.array([row], pa.int64())], ["id"])

    def _done(self, row: int, body: bytes) -> Part:
        text = b""
        for _ in range(self.max_attempts):
            try:
                return Part(row, Outcome.DONE, checked_result(self.fn(body)))
            except OF_ITEM as error:
                text = "".join(traceback.format_exception(error)).encode(errors="replace")
        return Part(row, Outcome.FAILED, _failed(self.max_attempts, body, text[-WHY_BYTES:]))


def _failed(attempts: int, body: bytes | None, why: bytes) -> bytes:
    if body is None or len(body) + len(why) + _FAILED.size > ITEM_BYTES_MAX:
        return _FAILED.pack(attempts, _NO_ROW) + why
    return _FAILED.pack(attempts, len(body)) + body + why


def error_of(part: Part) -> ItemError:
    """Return what an error that was told says."""
    where = f"row {part.id & ROW_MAX} of partition {part.id >> ROW_BITS}"
    attempts, size = _FAILED.unpack_from(part.body.ljust(_FAILED.size, b"\0"))
    rest = part.body[_FAILED.size :]
    row = None if size == _NO_ROW else rest[:size]
    why = rest if row is None else rest[size:]
    return ItemError(row, attempts, f"{where}: {why.decode(errors='replace')}")
