"""Record batches with a digest of each row, and their rows in the order of those, by the core.

Not here: which rows are in memory and which in files (ordering.py); what a digest is
(csrc/order/digest.h). Law: no row is made a Python object; the core works without the GIL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meshmsg._binding.arrow import Exported, array_capsule_of
from meshmsg._binding.core import error_for, ffi, lib

if TYPE_CHECKING:
    import pyarrow as pa

ROW_BYTES = 40
"""Bytes that a row takes beside what it has: its digest, and its place in the order."""


class Part:
    """A batch, and the digests of its rows."""

    def __init__(self, batch: pa.RecordBatch, secret: bytes) -> None:
        self.nbytes = batch.nbytes + ROW_BYTES * batch.num_rows
        """Bytes that it takes, with its part of an order."""
        self._schema, self._kept = batch.schema, Exported(batch)
        made = ffi.new("mm_order_part **")
        _check(lib.mm_order_part_new(secret, *self._kept.structs, made), batch.schema)
        self._part = ffi.gc(made[0], lib.mm_order_part_free)

    @property
    def schema(self) -> pa.Schema:
        """Of the batch."""
        return self._schema


class Order:
    """The rows of some parts in order, and which of them are left."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        self.schema: pa.Schema = self._parts[0].schema
        made = ffi.new("mm_order **")
        pointers = ffi.new("mm_order_part *[]", [part._part for part in self._parts])
        _check(lib.mm_order_new(pointers, len(self._parts), made), self.schema)
        self._order = ffi.gc(made[0], lib.mm_order_free)

    def has_rows(self) -> bool:
        """Whether some were not taken."""
        return bool(lib.mm_order_left(self._order))


def take(orders: Sequence[Order], size: int) -> pa.RecordBatch:
    """Return the next rows of all orders, each of which has some: up to so many bytes, or one row;
    fewer where an order has no more."""
    import pyarrow as pa

    made = ffi.new("void **")
    pointers = ffi.new("mm_order *[]", [order._order for order in orders])
    _check(lib.mm_order_take(pointers, len(orders), size, made), orders[0].schema)
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
