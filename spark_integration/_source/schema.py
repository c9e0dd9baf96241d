"""The columns that Spark sees: their names, in order, and their types.

Not here: making record batches of what was read (batches.py). Law: types and their order are
exactly those of the schema: Spark takes no other, and looks at the first batch only.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from meshmsg import UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

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
