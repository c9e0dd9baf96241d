"""The rows of a task in an order that depends only on what they are.

Not here: what the rows are called (sending.py), digests and sorting (meshmsg.ordering). Law: the
same rows, in whatever order and cut into whatever batches, come out as the same sequence; what is
in memory depends on the limit and on the largest row, and not on how many there are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from meshmsg.ordering import DIGEST_BITS, Order, Part, take

if TYPE_CHECKING:
    import pyarrow as pa

ORDER = "order 1"
"""Which order it is: another one has another name, as rows are known by their place in it."""
MEMORY_BYTES = 192 * 2**20
"""Bytes of rows that a task has in memory; beyond it some go to its disk."""
RUN_SHARE = 8
"""What part of them goes there at once, as a sorted file: little, as most tasks fit nearly."""
GIVEN_BYTES = 2**22
"""Bytes of a batch that is given, at most; one row may have more. A spool takes 15 to 25% longer
for batches of 2**20, and not much less for larger ones."""
RUN_BATCH_BYTES = 2**19
"""Bytes of a batch of a sorted file, at most; one row may have more."""
RUNS_MAX = 32
"""Sorted files that are merged at once, each with one batch in memory."""


class Ordered(NamedTuple):
    """All rows of a task."""

    content: bytes
    """What they are, in whatever order: others have another one."""
    batches: Iterator[pa.RecordBatch]
    """They, in order."""


def in_order(
    batches: Iterable[pa.RecordBatch], folder: Path, secret: bytes, limit: int = MEMORY_BYTES
) -> Ordered:
    """Take all rows, to give them in the order of the digests of value, key and headers.

    Args:
        batches: All of the same columns, which `check_schema` let pass.
        folder: Where files are of what does not fit in memory; each goes as it was read.
        secret: 16 bytes, of the digests: with others it is another order.
        limit: Bytes that are in memory; one batch may have more.
    """
    numbers = count()
    step = max(min(RUN_BATCH_BYTES, limit // (2 * RUNS_MAX)), 1)

    def written(rows: Iterator[pa.RecordBatch]) -> Path:
        return _written(rows, folder / f"run-{next(numbers)}")

    runs: deque[Path] = deque()
    some: deque[Part] = deque()
    size = total = rows = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        part = Part(batch, secret)
        while some and size + part.nbytes > limit:
            old = _oldest(some, limit // RUN_SHARE)
            size -= sum(one.nbytes for one in old)
            runs.append(written(_merged([iter([Order(old)])], step)))
        some.append(part)
        size += part.nbytes
        total += part.sum
        rows += batch.num_rows
    while len(runs) > RUNS_MAX:
        few = min(RUNS_MAX, len(runs) - RUNS_MAX + 1)  # no more than has to become one
        first = [_read(runs.popleft(), secret) for _ in range(few)]
        runs.append(written(_merged(first, step)))
    heads = [_read(path, secret) for path in runs]
    if some:
        heads.append(iter([Order(some)]))
    return Ordered(b"%d %x" % (rows, total % 2**DIGEST_BITS), _merged(heads, GIVEN_BYTES))


def _oldest(some: deque[Part], size: int) -> list[Part]:
    """Take so many bytes of the oldest batches away, at least one."""
    taken = [some.popleft()]
    left = size - taken[0].nbytes
    while some and left > 0:
        taken.append(some.popleft())
        left -= taken[-1].nbytes
    return taken


def _merged(heads: Sequence[Iterator[Order]], size: int) -> Iterator[pa.RecordBatch]:
    """Give the rows of all in order, where each has its own in order, in small batches."""
    orders = [next(head, None) for head in heads]
    while live := [order for order in orders if order is not None]:
        yield take(live, size)
        for at, order in enumerate(orders):
            if order is not None and not order.has_rows():
                orders[at] = next(heads[at], None)


def _written(batches: Iterator[pa.RecordBatch], path: Path) -> Path:
    """Write sorted rows into a file."""
    import pyarrow as pa

    first = next(batches)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)
    return path


def _read(path: Path, secret: bytes) -> Iterator[Order]:
    """Read a sorted file, a batch at a time: each once the rows of the one before were taken."""
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as source:
        os.unlink(path)  # its room on the disk is free as it is closed
        with pa.ipc.open_stream(source) as reader:
            for batch in reader:
                yield Order([Part(batch, secret)])
