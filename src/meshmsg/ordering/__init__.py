"""Record batches with a digest of each row, and their rows in the order of those, by the core.

It is for the sink of Spark, and changes with it; it needs pyarrow. Not here: which rows are in
memory and which in files (the sink); what a digest is (csrc/order/digest.h). Law: no row is made a
Python object; the core works without the GIL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.arrow import Exported, array_capsule_of
from meshmsg._binding.core import error_for, ffi, lib

__all__ = ["DIGEST_BITS", "PART_BYTES", "ROW_BYTES", "Order", "Part", "take"]

if TYPE_CHECKING:
    import pyarrow as pa

ROW_BYTES = 40
"""Bytes that a row takes beside what it has: its digest, and its place in the order."""
DIGEST_BITS = 128
PART_BYTES = 4_500
"""Bytes that a batch takes beside its rows, about: much of it where there are many of few rows."""


class Part:
    """A batch, and the digests of its rows.

    Attributes:
        nbytes: Bytes that it takes, with the share of an order that its rows have.
        schema: Of the batch.
        sum: Of the digests, as a number; `DIGEST_BITS` of the sum of all parts are the same for the
            same rows, however they are ordered and cut.
    """

    def __init__(self, batch: pa.RecordBatch, secret: bytes) -> None:
        """Look at each row.

        Args:
            batch: Its columns are value, key and headers, or some of them, as the sink takes them.
            secret: 16 bytes; with others digests are others.

        Raises:
            UsageError: It has other columns, or of another type.
        """
        self.nbytes: int = batch.nbytes + ROW_BYTES * batch.num_rows + PART_BYTES
        self.schema: pa.Schema = batch.schema
        self._kept = Exported(batch)
        made = ffi.new("mm_order_part **")
        _check(lib.mm_order_part_new(secret, *self._kept.structs, made), batch.schema)
        self._part = ffi.gc(made[0], lib.mm_order_part_free)
        words = ffi.new("uint64_t[2]")
        lib.mm_order_part_add(self._part, words)
        self.sum: int = words[0] << 64 | words[1]


class Order:
    """The rows of some parts in order, and which of them are left.

    Attributes:
        schema: Of the parts.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        """Sort them.

        Args:
            parts: At least one, of one secret.

        Raises:
            UsageError: They are not of one type.
        """
        self._parts = tuple(parts)
        self.schema: pa.Schema = self._parts[0].schema
        made = ffi.new("mm_order **")
        pointers = ffi.new("mm_order_part *[]", [part._part for part in self._parts])
        _check(lib.mm_order_new(pointers, len(pointers), made), self.schema)
        self._order = ffi.gc(made[0], lib.mm_order_free)

    def has_rows(self) -> bool:
        """Whether some were not taken."""
        return bool(lib.mm_order_left(self._order))


def take(orders: Sequence[Order], size: int) -> pa.RecordBatch:
    """Return the next rows of several orders, as one order.

    Args:
        orders: Each has rows; it ends where one of them has no more.
        size: Bytes, at most, or one row.

    Raises:
        UsageError: They are not of one type.
    """
    import pyarrow as pa

    made = ffi.new("void **")
    pointers = ffi.new("mm_order *[]", [order._order for order in orders])
    _check(lib.mm_order_take(pointers, len(pointers), size, made), orders[0].schema)
    return pa.record_batch(_Taken(orders[0].schema, array_capsule_of(made[0])))


class _Taken:
    """What `pyarrow.record_batch` takes."""

    def __init__(self, schema: pa.Schema, array: object) -> None:
        self._schema, self._array = schema, array

    def __arrow_c_array__(self, requested: object = None) -> tuple[object, object]:
        del requested
        return self._schema.__arrow_c_schema__(), self._array


def _check(rc: int, schema: Any) -> None:
    if rc < 0:
        raise error_for(rc, f"rows of {', '.join(schema.names)} cannot be put in order")
