"""Putting Arrow arrays and tables into a spool, element by element.

Not here: capsules (_binding/arrow.py). Law: who puts no array does not load ctypes; a call that
fails tells how much it put.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from meshmsg._binding.core import EINTR, SLICE_MS, ends_of, error_for, ffi, left_of, lib
from meshmsg._binding.data import buffer_of
from meshmsg._binding.errors import UsageError
from meshmsg._binding.note import (
    ITEM_HEAD,
    NOTE_MAX,
    MessageOptions,
    encode,
    note_too_large,
    octets_of,
)
from meshmsg._spool.full import body_max
from meshmsg._spool.held import Held

if TYPE_CHECKING:
    from typing_extensions import Unpack

_TABLE = b"+s"
_TAKEN = {b"data", b"key"}
"""Columns of a table that can be put."""


class Arrays:
    """What one call puts (puts.py): the arrays of a batch, one after another.

    Law: what is counted is what the core has counted, whatever breaks a call off behind that.

    Attributes:
        first, last: The numbers of the first and the last that was put; 0: of none.
    """

    doing = "appending"

    def __init__(self, spool: Held, batch: object, options: MessageOptions) -> None:
        from meshmsg._binding.arrow import arrays_of  # ctypes, only for those who need it

        self.first = self.last = 0
        self.given_up = False
        """Nobody waits for it: what was not put yet is not."""
        self.begun = False
        """Whether a thread puts it, or has."""
        self._spool, self._options = spool, options
        self._meta = octets_of(options)
        self._arrays = arrays_of(batch, "append_batch", "append_many")
        self._now: tuple[Any, Any, tuple[Any, int]] | None = None
        """The array that is put: its schema, itself, what goes with each."""
        self._did: tuple[int, int, Any] = 0, 0, ffi.new("mm_spool_did *")
        """How many were taken, and put, of those before it; and of itself, as the core has it."""

    @property
    def at(self) -> int:
        """How many messages were taken."""
        taken, _, did = self._did
        return taken + int(did.done)

    @property
    def put(self) -> int:
        """How many of those the spool has."""
        _, put, did = self._did
        return put + int(did.done - did.unkept)

    @property
    def unput(self) -> bool:
        """Whether an array is begun, and some of it was not taken yet."""
        return self._now is not None

    @property
    def numbers(self) -> range:
        """From the first to the last that was put."""
        return range(self.first, self.last + 1) if self.last else range(0)

    def __call__(self, pointer: Any, ms: int) -> int:
        """Put some, for one slice of the time at most."""
        if self._now is None:
            if (found := next(self._arrays, None)) is None:
                return int(lib.MM_OK)
            self._now = *found, buffer_of(self._meta_of(found[0]))
            self._did = self.at, self.put, ffi.new("mm_spool_did *")
        schema, values, meta = self._now
        did = self._did[2]
        rc = int(lib.mm_spool_append_arrow(*(pointer, schema, values, *meta, ms, SLICE_MS, did)))
        self.first, self.last = self.first or int(did.first), int(did.last) or self.last
        if rc in (lib.MM_EMSGSIZE, lib.MM_EINVAL):
            raise self._wrong(rc, schema, values, int(did.done))
        if rc == lib.MM_OK:
            self._now = None  # the next one
            return EINTR
        return rc

    def at_once(self) -> int:
        """Put what has room at this moment; it may write. EAGAIN: there is more."""
        rc, self.begun = EINTR, True
        while rc == EINTR and not self.given_up:
            with self._spool._in_use() as pointer:
                rc = self(pointer, 0)
        return rc

    def _meta_of(self, schema: Any) -> bytes:
        from meshmsg._binding.arrow import columns_of, format_of

        if format_of(schema) != _TABLE:
            return self._meta
        names = columns_of(schema)
        if strange := [name for name in names if name not in _TAKEN]:
            raise UsageError(
                f"there is a column {strange[0].decode('utf-8', 'replace')!r}; append_batch takes "
                "one column, or a table of the columns data and key: "
                "pyarrow.record_batch(batch).select(['data', 'key'])"
            )
        if b"data" not in names:
            raise UsageError("there is no column data; append_batch takes one column, or data, key")
        if b"key" not in names:
            return self._meta
        if self._options.get("key") is not None:
            raise UsageError("there is a column key, so key= goes with none of them")
        return self._meta or encode(time.time())

    def _too_large(self, size: int, key: int | None) -> BaseException:
        """Say what it is: the key with all that goes along, or the body beside that."""
        beside = self._now[2][1] if self._now else 0
        beside += 0 if key is None else ITEM_HEAD + key
        if beside > NOTE_MAX:
            return note_too_large(beside, "a key and what goes along")
        return self._spool._too_large(size, body_max(self._spool._record_max, beside))

    def _wrong(self, rc: int, schema: Any, values: Any, row: int) -> BaseException:
        from meshmsg._binding.arrow import column_size, columns_of, format_of

        table = format_of(schema) == _TABLE
        if rc == lib.MM_EMSGSIZE:
            size = (
                column_size(schema, values, b"data", row)
                if table
                else int(lib.mm_arrow_size(schema, values, row))
            )
            keyed = table and b"key" in columns_of(schema)
            return self._too_large(
                size, column_size(schema, values, b"key", row) if keyed else None
            )
        what = "a body, a key" if table else "an array"
        return error_for(
            rc,
            f"element {self.at} cannot be put: {what} is binary, binary of fixed size or a string, "
            "and no body is null",
        )


def append_batch(
    self: Held,
    batch: object,
    *,
    wait: bool = True,
    timeout: float | None = None,
    **options: Unpack[MessageOptions],
) -> range:
    """Put each element of an Arrow array as a message, without making Python objects of them.

    Thread-safe: yes; those of other threads may come in between.

    Args:
        batch: A `MessageBatch`, or whatever speaks Arrow's PyCapsule interface and is binary
            (of fixed size, too) or string; or a table (a record batch, a data frame) with a
            column `data` of that kind and perhaps `key`, which may be null.
        wait: As in `append`.
        timeout: Seconds for all of it; None waits for ever, 0: what can be put at once.
        options: As in `append`; the same goes with each.

    Returns:
        The numbers from its first to its last message, as of `append_many`.

    Raises:
        SpoolFullError, TimedOutError, WouldBlockError: As `append`; `sent`: how many were put.
        SpoolFailedError, TooLargeError, ClosedError: Likewise.
        UsageError: The array is of another type, has a null, or other columns; `sent` likewise.
        TypeError: It is no Arrow array.
    """
    deadline = ends_of(timeout)
    arrays = Arrays(self, batch, options)
    try:
        self._put(arrays, left_of(deadline))
        if wait and arrays.last and self._level != lib.MM_SPOOL_BUFFERED:
            self._flush(self._level, left_of(deadline), arrays.doing)
        return arrays.numbers
    except BaseException as error:
        vars(error)["sent"] = arrays.put
        raise
