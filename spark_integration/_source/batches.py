"""Record batches of what was read, as the columns that were asked for.

Not here: the columns (schema.py), reading (reading.py). Law: what is in the memory of a batch is
not copied; what came for it was, once (csrc/spool/rows.c). Rows become Python objects only where a
topic is no text or is matched by a pattern, and those of the topics alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from meshmsg import SpoolBatch

from .schema import HEADERS, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

    from .options import SourceOptions

_OF_SPOOL = {
    "key": "key",
    "value": "data",
    "epoch": "epoch",
    "offset": "seq",
    "timestamp": "time",
    HEADERS: "headers",
}
"""The column of a SpoolBatch that each is."""
CONSTANT_ROWS = 65_536
"""Rows of a column that is the same for all, made once and cut."""


@lru_cache(maxsize=64)
def _same(text: str | None) -> pa.Array:
    """Return a column that has the same in each row."""
    import pyarrow as pa

    return pa.repeat(pa.scalar(text, type=pa.string()), CONSTANT_ROWS)


def _constant(text: str | None, rows: int) -> pa.Array:
    import pyarrow as pa

    if rows <= CONSTANT_ROWS:
        return _same(text).slice(0, rows)
    return pa.repeat(pa.scalar(text, type=pa.string()), rows)


def _text(topics: pa.Array) -> pa.Array:
    """Return topics as strings; octets that are none become U+FFFD."""
    import pyarrow as pa

    try:
        return topics.cast(pa.string())
    except pa.ArrowInvalid:
        words = [
            None if one is None else one.decode("utf-8", "replace") for one in topics.to_pylist()
        ]
        return pa.array(words, pa.string())


def wanted(rows: pa.RecordBatch, options: SourceOptions) -> pa.RecordBatch:
    """Return the rows whose topic `subscribe` or `subscribePattern` asks for; all, without those.

    Args:
        rows: A batch of a spool, as Arrow has it.
        options: Of the source.
    """
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute  # its functions are made as it is imported
    if options.topics is not None:
        mask = pc.is_in(rows.column("topic"), pa.array([one.encode() for one in options.topics]))
        return rows.filter(mask)
    if options.pattern is not None:
        whole = re.compile(options.pattern)
        words = _text(rows.column("topic")).to_pylist()
        mask = pa.array([one is not None and whole.fullmatch(one) is not None for one in words])
        return rows.filter(mask)
    return rows


def record_batch(
    batch: SpoolBatch, options: SourceOptions, constants: dict[str, str | None]
) -> pa.RecordBatch:
    """Return a batch of a spool as the columns that were asked for.

    Args:
        batch: Messages.
        options: Which columns, in order, and which topics.
        constants: What `producer` and `endpoint` have in each row; `topic`, if the option says one.
    """
    import pyarrow as pa

    made = wanted(pa.record_batch(batch), options)
    schema = arrow_schema(options.columns)
    arrays = [_column(made, name, constants) for name in options.columns]
    return pa.RecordBatch.from_arrays(
        [
            array if array.type.equals(one.type) else array.cast(one.type)
            for array, one in zip(arrays, schema, strict=True)
        ],
        schema=schema,
    )


def _column(made: pa.RecordBatch, name: str, constants: dict[str, str | None]) -> pa.Array:
    if name in _OF_SPOOL:
        return made.column(_OF_SPOOL[name])
    if name == "topic" and constants[name] is None:
        return _text(made.column("topic"))
    return _constant(constants[name], made.num_rows)
