"""The columns that can be written, and what a spool takes of their record batches.

Not here: whether each row can be sent (checks.py), sending (sending.py). Law: where no
row has headers, no row is made a Python object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from meshmsg import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from meshmsg import Spool

VALUE, KEY, HEADERS = "value", "key", "headers"
TYPES: dict[str, tuple[str, ...]] = {
    VALUE: ("binary", "string"),
    KEY: ("binary", "string"),
    HEADERS: ("array<struct<key:string,value:binary>>",),
}
"""Each column and what it may be, as SQL says it."""


def check_schema(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns.

    Args:
        schema: Of the rows, as Spark has it.

    Raises:
        UsageError: A column is unknown or of another type, or there is no value.
    """
    names = []
    for one in schema.fields:
        kind = one.dataType.simpleString()
        if one.name not in TYPES:
            raise UsageError(
                f"the rows have a column {one.name!r}; a message is made of value, and key and "
                "headers if they are there: select those, or put all into one: "
                "to_json(struct(*)) AS value"
            )
        if kind not in TYPES[one.name]:
            raise UsageError(
                f"the rows have {one.name} as {kind}; it is {' or '.join(TYPES[one.name])}"
            )
        names.append(one.name)
    if VALUE not in names:
        raise UsageError("the rows have no column value, which is the body of a message")
    return tuple(names)


def put(spool: Spool, batch: pa.RecordBatch, timeout: float) -> int:
    """Put the rows of a batch into a spool, in their order.

    Args:
        spool: Where to.
        batch: Rows that were checked (checks.py).
        timeout: Seconds to wait for room.

    Returns:
        Their bytes, without what stands beside them.

    Raises:
        SpoolFullError, TimedOutError, TooLargeError: As `Spool.append`.
    """
    import pyarrow as pa

    values = batch.column(VALUE)
    if batch.num_rows == 0:
        return 0
    if HEADERS in batch.schema.names and batch.column(HEADERS).null_count < batch.num_rows:
        for message in _messages(batch):
            spool.append(message.pop("data"), wait=False, timeout=timeout, **message)
    elif KEY in batch.schema.names:
        rows = pa.record_batch([values, batch.column(KEY)], names=["data", "key"])
        spool.append_batch(rows, wait=False, timeout=timeout)
    else:
        spool.append_batch(values, wait=False, timeout=timeout)
    return int(values.nbytes)


def _messages(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row in batch.to_pylist():
        headers = row[HEADERS] or ()
        yield {
            "data": _octets(row[VALUE]),
            "key": None if row.get(KEY) is None else _octets(row[KEY]),
            "headers": headers_of(headers),
        }


def headers_of(headers: Iterable[dict[str, Any]]) -> dict[str, bytes] | None:
    """Return them as a message has them, of a null nothing; no name is there twice (checks.py)."""
    return {one["key"]: one["value"] or b"" for one in headers} or None


def _octets(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
