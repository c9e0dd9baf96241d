"""The rows of a task in an order that depends only on what they are.

Not here: what the rows are called (sending.py). Law: the same rows, in whatever order and cut into
whatever batches, come out as the same sequence; what is in memory depends on the limit and on the
largest row, and not on how many there are.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING, Any

from .rows import HEADERS, KEY, VALUE

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY_BYTES = 64 * 2**20
"""Bytes of rows that a task sorts in memory: beyond it they go to its disk. Sorting takes as much
once more for the copy in order, and as much again while the batches become one."""
GIVEN_BYTES = 2**20
"""Bytes of a batch that is given, at most; one row may have more."""
RUNS_MAX = 16
"""Sorted files that are merged at once, each with one batch in memory."""
_HEADERS = "meshmsg headers"
"""The column that stands for the headers, as Arrow sorts no lists."""
_SORTED = (VALUE, KEY, _HEADERS)
"""By what rows are sorted, if it is there: all that is sent."""
_NO_VALUE = b"\xff" * 4
"""Stands for the size of a header's value that is null; no value has so many octets."""


def in_order(
    batches: Iterable[pa.RecordBatch], folder: Path, limit: int = MEMORY_BYTES
) -> Iterator[pa.RecordBatch]:
    """Give rows in the order of what they have: value, key, headers. A null comes last.

    Args:
        batches: All of the same columns, which `check_schema` let pass.
        folder: Where files are that do not fit in memory; each goes as it was read.
        limit: Bytes that are sorted in memory; one batch may have more.
    """
    numbers = count()

    def written(rows: Iterable[pa.RecordBatch]) -> Path:
        return _written(rows, folder / f"run-{next(numbers)}", max(limit // (2 * RUNS_MAX), 1))

    runs: deque[Path] = deque()
    some: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        batch = _keyed(batch)
        if some and size + batch.nbytes > limit:
            runs.append(written([_sorted(some)]))
            size = 0
        some.append(batch)
        size += batch.nbytes
    if not some:
        return
    if not runs:
        yield from _plain(_sorted(some))
        return
    runs.append(written([_sorted(some)]))
    while len(runs) > RUNS_MAX:
        runs.append(written(_merged([runs.popleft() for _ in range(RUNS_MAX)])))
    for batch in _merged(runs):
        yield from _plain(batch)


def _keyed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add what stands for the headers, if there may be some."""
    import pyarrow as pa

    if HEADERS not in batch.schema.names:
        return batch
    headers = batch.column(HEADERS)
    if headers.null_count == batch.num_rows:  # no row is made a Python object
        keys = pa.nulls(batch.num_rows, pa.binary())
    else:
        keys = pa.array([_octets(one) for one in headers.to_pylist()], pa.binary())
    return pa.RecordBatch.from_arrays([*batch.columns, keys], names=[*batch.schema.names, _HEADERS])


def _octets(headers: list[dict[str, Any]] | None) -> bytes | None:
    """Return what differs where headers do: sizes stand before what they are of."""
    if headers is None:
        return None
    parts = []
    for one in headers:
        name, value = one["key"].encode(), one["value"]
        parts += [pack(">I", len(name)), name]
        parts += [_NO_VALUE] if value is None else [pack(">I", len(value)), value]
    return b"".join(parts)


def _plain(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Give the rows as they came in, in small batches."""
    yield from _cut(
        batch.select([name for name in batch.schema.names if name != _HEADERS]), GIVEN_BYTES
    )


def _cut(batch: pa.RecordBatch, size: int) -> Iterator[pa.RecordBatch]:
    """Give it in parts of so many bytes at most, or one row."""
    if batch.num_rows <= 1 or batch.nbytes <= size:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _cut(batch.slice(0, half), size)
    yield from _cut(batch.slice(half), size)


def _sorted(some: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of some batches in order, and empty the list: they are not needed longer."""
    import pyarrow as pa
    from pyarrow.compute import SortOptions, call_function

    if len(some) == 1:
        whole = some.pop()
    else:
        (whole,) = pa.Table.from_batches(some).combine_chunks().to_batches()
        some.clear()
    keys = [(name, "ascending") for name in _names(whole)]
    return whole.take(call_function("sort_indices", [whole], SortOptions(keys)))  # a null is last


def _names(batch: pa.RecordBatch) -> list[str]:
    return [name for name in _SORTED if name in batch.schema.names]


def _written(batches: Iterable[pa.RecordBatch], path: Path, size: int) -> Path:
    """Write sorted rows into a file, in batches of that size at most."""
    import pyarrow as pa

    with ExitStack() as stack:
        writer = None
        for batch in batches:
            if writer is None:
                sink = stack.enter_context(pa.OSFile(str(path), "wb"))
                writer = stack.enter_context(pa.ipc.new_stream(sink, batch.schema))
            for part in _cut(batch, size):
                writer.write_batch(part)
    return path


def _merged(runs: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """Give the rows of sorted files in order.

    Of each there is one batch in memory. What is up to the least of their last rows is in those
    batches: nothing that follows in a file is before it.
    """
    with ExitStack() as stack:
        heads = [_Head(path, stack) for path in runs]
        while heads := [head for head in heads if head.has_rows()]:
            last = min(head.last() for head in heads)
            yield _sorted([part for head in heads if (part := head.take(last)).num_rows])


class _Head:
    """What is next in a sorted file."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        import pyarrow as pa

        source = stack.enter_context(pa.OSFile(str(path), "rb"))
        os.unlink(path)  # its room on the disk is free as it is closed
        self._reader = stack.enter_context(pa.ipc.open_stream(source))
        self._batch: pa.RecordBatch | None = None

    def has_rows(self) -> bool:
        """Whether a row is left; the next batch is read once the one before is given."""
        if self._batch is None or self._batch.num_rows == 0:
            self._batch = next(iter(self._reader), None)
        return self._batch is not None

    def last(self) -> tuple[tuple[Any, ...], ...]:
        """Return by what the last row of the batch is sorted."""
        assert self._batch is not None
        return self._key(self._batch.num_rows - 1)

    def take(self, last: tuple[tuple[Any, ...], ...]) -> pa.RecordBatch:
        """Return the rows of the batch that are not behind that one."""
        assert self._batch is not None
        end = bisect_right(range(self._batch.num_rows), last, key=self._key)
        taken, self._batch = self._batch.slice(0, end), self._batch.slice(end)
        return taken

    def _key(self, row: int) -> tuple[tuple[Any, ...], ...]:
        """Return what compares as Arrow does: a null is last."""
        assert self._batch is not None
        found = [self._batch.column(name)[row].as_py() for name in _names(self._batch)]
        return tuple((one is None, *(() if one is None else (one,))) for one in found)
