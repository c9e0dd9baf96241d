"""Many messages of a spool as one table: columns, which is how Arrow lays them out.

Not here: reading one (reader.py). Law: no Python object per message until one is asked
for; the memory lives as long as the batch, or an Arrow array made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meshmsg._binding.core import address_of, ffi, lib, native
from meshmsg._hints.plural import counted, plural
from meshmsg._spool.arguments import whole
from meshmsg._spool.message import SpoolGap, SpoolMessage

BATCH_MAX_MESSAGES = 65_536
"""Messages of a batch, if nothing is said."""
BATCH_MAX_BYTES = 4 * 1024 * 1024
"""Bytes of a batch, if nothing is said."""


def check_batch(max_messages: object, max_bytes: object) -> tuple[int, int]:
    """Return the limits of a batch."""
    return (
        whole("max_messages", max_messages, 1, lib.MM_SPOOL_ROWS_MAX),
        whole("max_bytes", max_bytes, 1, lib.MM_SPOOL_ROWS_BYTES_MAX),
    )


class SpoolBatch:
    """Messages of a spool in the order of their numbers, as a table.

    Takes part in Arrow's PyCapsule interface: `pyarrow.record_batch(batch)` is this memory, and
    polars and DuckDB read it from here. Its columns are `seq` (int64), `time` (when it was written:
    microseconds, UTC), `epoch` (int64), `topic` (binary: the first of several frames, null where
    there is one), `key` (binary, null for none), `headers` (a list of `key`, a string, and `value`,
    binary) and `data` (binary: the body; of three frames and more all but the first, end to end).
    They have the types that Spark has,
    so nothing is converted for it.

    Without any library for Arrow, `messages` gives its messages. Immutable, so it may be used by
    several threads.
    """

    __slots__ = ("_address", "_count", "_gaps", "_nbytes", "_next", "_rows")

    def __init__(
        self, rows: Any, gaps: Iterable[SpoolMessage | SpoolGap] = (), *, seq: int
    ) -> None:
        if rows == ffi.NULL:
            raise MemoryError("no memory for a batch of a spool")
        self._rows = ffi.gc(rows, lib.mm_spool_rows_free)
        self._address = address_of(rows)
        self._next = seq  # what is read next, if there is no message
        self._gaps = tuple(one for one in gaps if isinstance(one, SpoolGap))
        count, size = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        lib.mm_spool_rows_facts(rows, count, size)
        self._count, self._nbytes = int(count[0]), int(size[0])

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes of all bodies, and of what goes with them."""
        return self._nbytes

    @property
    def first_seq(self) -> int:
        """The number of its first message; without any, the number that is read next."""
        return self._seq(0) if self._count else self._next

    @property
    def last_seq(self) -> int:
        """The number of its last message; without any, the one before `first_seq`.

        So `read(batch.last_seq + 1)` goes on behind any batch.
        """
        return self._seq(self._count - 1) if self._count else self._next - 1

    def _seq(self, at: int) -> int:
        message = ffi.new("mm_spool_message *")
        lib.mm_spool_rows_at(self._rows, at, message)
        return int(message.seq)

    @property
    def gaps(self) -> tuple[SpoolGap, ...]:
        """Numbers before its first message that are gone (`on_corruption="gap"`)."""
        return self._gaps

    @property
    def messages(self) -> list[SpoolMessage]:
        """Its messages, each an object of its own; made anew each time."""
        made: list[SpoolMessage] = native.spool_rows(self._address, SpoolMessage, 0, self._count)
        return made

    def __arrow_c_schema__(self) -> object:
        from meshmsg._binding.arrow import rows_schema_capsule

        return rows_schema_capsule()

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        from meshmsg._binding.arrow import rows_array_capsule, rows_schema_capsule

        return rows_schema_capsule(), rows_array_capsule(self._rows)

    def __copy__(self) -> SpoolBatch:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SpoolBatch:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a SpoolBatch cannot be pickled: it is memory of the core; pickle the Arrow table "
            "pyarrow.record_batch(batch)"
        )

    def __repr__(self) -> str:
        size = f"{self._nbytes:,} {plural(self._nbytes, 'byte')}"
        return f"<meshmsg.SpoolBatch of {counted(self._count, 'message')}, {size}>"
