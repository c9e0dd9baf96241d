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
FILE_HEAD = 4096 + 56 + 8 + 56
"""Bytes of a file of a spool that no message can have."""
RECORD_HEAD = 8
"""Bytes in front of a message there, at most: its sizes."""


def checked(batches: Iterable[pa.RecordBatch], file_bytes: int) -> Iterator[pa.RecordBatch]:
    """Give batches as they are.

    Args:
        batches: Of the columns that `check_schema` let pass.
        file_bytes: Of a file of the spool that they go to: a row is in one.

    Raises:
        UsageError: A value is null, or a header is, or its name is none or there twice.
        TooLargeError: The key and the headers of a row are more than a message has beside its body,
            or a row is more than a file of the spool takes.
    """
    first, most = 0, file_bytes - FILE_HEAD - RECORD_HEAD
    for batch in batches:
        _check_values(batch, first)
        if HEADERS in batch.schema.names and batch.column(HEADERS).null_count < batch.num_rows:
            _check_headers(batch, first)
        elif KEY in batch.schema.names:
            _check_keys(batch, first)
        _check_room(batch, first, most)
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
        names = set()
        for one in headers or ():
            _check_header(one, row)
            if one["key"] in names:
                raise UsageError(
                    f"row {row:,} of the task has the header {one['key'][:32]!r} twice; a message "
                    "has one of each name: keep one of them, name them apart, or put both into "
                    "one value"
                )
            names.add(one["key"])
        _check_size(_beside(headers, key), lambda row=row: row)  # type: ignore[misc]


def _beside(headers: Iterable[dict[str, Any]] | None, key: int | None) -> int:
    """Return the bytes of headers, and of a key of that size, as they stand beside a message."""
    size = 0 if key is None else ITEM_HEAD + key
    for name, value in (headers_of(headers or ()) or {}).items():
        size += ITEM_HEAD + 1 + len(name.encode()) + len(value)
    return size


def _check_room(batch: pa.RecordBatch, first: int, most: int) -> None:
    """Look whether each row has room in a file: the error of a spool tells none by its number."""
    from pyarrow.compute import call_function

    values = call_function("binary_length", [batch.column(VALUE)])
    if (call_function("max", [values]).as_py() or 0) <= most - NOTE_MAX:
        return  # whatever goes along
    names, count = batch.schema.names, batch.num_rows
    keys: list[int | None] = [None] * count
    headers: list[Any] = [None] * count
    if KEY in names:
        keys = call_function("binary_length", [batch.column(KEY)]).to_pylist()
    if HEADERS in names:
        headers = batch.column(HEADERS).to_pylist()
    for row, (value, key, some) in enumerate(
        zip(values.to_pylist(), keys, headers, strict=True), first
    ):
        note = _beside(some, key)
        # Where there is a column of keys, rows without one have the time all the same.
        limit = most - (TIME_BYTES + note if note or KEY in names else 0)
        if value > limit:
            raise TooLargeError(
                f"row {row:,} of the task: a value of {value:,} bytes; at most {limit:,}, which "
                "is what a file of its spool has room for beside key and headers (docs/spark.md, "
                "spoolBytes)",
                size=value,
                limit=limit,
            )


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
