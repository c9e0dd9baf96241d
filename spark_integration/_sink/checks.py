"""Whether each row can be sent: who wrote it is told which one cannot, and why.

Not here: which columns there may be (rows.py). Law: rows are counted as Spark gives them to the
task, from 0, and looked at before they are put into another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from meshmsg import TooLargeError, UsageError

from .rows import HEADERS, KEY, VALUE, headers_of

if TYPE_CHECKING:
    import pyarrow as pa

NOTE_MAX = 16_384
"""Bytes of all that goes with a message: key, headers and time."""
NAME_MAX = 255
"""Bytes of the key of a header."""
ITEM_HEAD = 3
"""Bytes in front of each of them; in front of a header's key there is one more."""
TIME_BYTES = ITEM_HEAD + 8
"""Bytes of the time at which a message was put: each has it."""


def checked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give batches as they are.

    Raises:
        UsageError: A value is null, or a header is, or its name is none.
        TooLargeError: The key and the headers of a row are more than a message has beside its body.
    """
    first = 0
    for batch in batches:
        _check_values(batch, first)
        if HEADERS in batch.schema.names and batch.column(HEADERS).null_count < batch.num_rows:
            _check_headers(batch, first)
        elif KEY in batch.schema.names:
            _check_keys(batch, first)
        first += batch.num_rows
        yield batch


def _check_values(batch: pa.RecordBatch, first: int) -> None:
    values = batch.column(VALUE)
    if values.null_count:
        row = first + values.is_null().index(True).as_py()
        raise UsageError(f"row {row:,} of the task has no value: a message has one; use coalesce")


def _check_keys(batch: pa.RecordBatch, first: int) -> None:
    from pyarrow.compute import call_function

    sizes = call_function("binary_length", [batch.column(KEY)])
    most = call_function("max", [sizes]).as_py() or 0
    _check_size(most + ITEM_HEAD, lambda: first + int(sizes.index(most).as_py()))


def _check_headers(batch: pa.RecordBatch, first: int) -> None:
    """Look at each row that has some: it becomes a Python object all the same."""
    from pyarrow.compute import call_function

    keys: list[int | None] = [None] * batch.num_rows
    if KEY in batch.schema.names:
        keys = call_function("binary_length", [batch.column(KEY)]).to_pylist()
    for row, (headers, key) in enumerate(
        zip(batch.column(HEADERS).to_pylist(), keys, strict=True), first
    ):
        for one in headers or ():
            _check_header(one, row)
        size = 0 if key is None else ITEM_HEAD + key
        for name, value in (headers_of(headers or ()) or {}).items():
            size += ITEM_HEAD + 1 + len(name.encode()) + len(value)
        _check_size(size, lambda row=row: row)  # type: ignore[misc]


def _check_header(one: Any, row: int) -> None:
    if one is None or one["key"] is None:
        what = "a null among its headers" if one is None else "a header whose key is null"
        raise UsageError(
            f"row {row:,} of the task has {what}; a header is a struct with a key, and with a "
            "value, which may be null: filter(headers, h -> h.key IS NOT NULL)"
        )
    size = len(one["key"].encode())
    if not 1 <= size <= NAME_MAX:
        raise UsageError(
            f"row {row:,} of the task has a header whose key is {one['key'][:32]!r}, of {size:,} "
            f"bytes; it has 1 to {NAME_MAX}"
        )


def _check_size(size: int, row: Callable[[], int]) -> None:
    if TIME_BYTES + size > NOTE_MAX:
        raise TooLargeError(
            f"row {row():,} of the task: key and headers, with the time, of "
            f"{TIME_BYTES + size:,} bytes; all that goes with a message may have {NOTE_MAX:,}",
            size=TIME_BYTES + size,
            limit=NOTE_MAX,
        )
