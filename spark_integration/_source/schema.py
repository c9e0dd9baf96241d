"""The columns that Spark sees, and making record batches of what was read.

Not here: reading (reading.py). Law: types and their order are exactly those of the schema: Spark
takes no other, and looks at the first batch only. What is in the memory of a batch is not copied;
what came for it was, once (csrc/spool/rows.c). Rows become Python objects only where a topic is no
text or is matched by a pattern, and those of the topics alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from meshmsg import SpoolBatch, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from .options import SourceOptions

HEADERS, META = "headers", "endpoint"
COLUMNS: dict[str, str] = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "producer": "string",
    "epoch": "bigint",
    "offset": "bigint",
    "timestamp": "timestamp",
    HEADERS: "array<struct<key:string,value:binary>>",
    META: "string",
}
"""Each column and its type, as SQL says it; all may be null."""
DEFAULT_COLUMNS = tuple(name for name in COLUMNS if name not in (HEADERS, META))
"""Those without any option."""
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


def ddl(columns: Iterable[str]) -> str:
    """Return the schema of these columns, as SQL says it."""
    return ", ".join(f"`{name}` {COLUMNS[name]}" for name in columns)


def columns_of(schema: StructType) -> tuple[str, ...]:
    """Return the names of a schema, which may be one that the user gave.

    Raises:
        UsageError: It has a column that is not there, or one of another type, or none.
    """
    names = []
    for one in schema.fields:
        kind = one.dataType.simpleString()
        if one.name not in COLUMNS:
            raise UsageError(
                f"the schema has a column {one.name!r}; the columns are {ddl(COLUMNS)}"
            )
        if kind != COLUMNS[one.name]:
            raise UsageError(
                f"the schema has {one.name} as {kind}; it is {COLUMNS[one.name]}: cast it later"
            )
        if not one.nullable:
            raise UsageError(f"the schema has {one.name} as not null; all columns may be null")
        names.append(one.name)
    if not names:
        raise UsageError("the schema has no column")
    return tuple(names)


@lru_cache(maxsize=64)
def arrow_schema(columns: tuple[str, ...]) -> pa.Schema:
    """Return the schema of these columns, as Spark makes it of its own."""
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    types = {
        "binary": pa.binary(),
        "string": pa.string(),
        "bigint": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        COLUMNS[HEADERS]: pa.list_(pa.field("element", header)),
    }
    return pa.schema([pa.field(name, types[COLUMNS[name]]) for name in columns])


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
