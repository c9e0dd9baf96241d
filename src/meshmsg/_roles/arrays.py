"""Arrow arrays that are to be sent, element by element, and what is wrong with one.

Not here: sending them (_sync/sending.py, aio/_sending.py), capsules (_binding/arrow.py). Law: who
sends no array does not load ctypes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshmsg._binding.core import error_for, ffi, lib
from meshmsg._binding.errors import MeshError
from meshmsg._socket.base import SocketBase


def arrays_in(batch: object) -> Iterator[tuple[Any, Any]]:
    """Yield the struct pairs of an Arrow array, or of each chunk of one."""
    from meshmsg._binding.arrow import arrays_of  # ctypes, only for those who need it

    return arrays_of(batch)


def length_of(values: Any) -> int:
    """How many elements an array struct has: its first member."""
    return int(ffi.cast("int64_t *", values)[0])


def is_table(schema: Any) -> bool:
    """Whether each element is a row: of a table, a data frame, a record batch, or a struct."""
    from meshmsg._binding.arrow import format_of

    return format_of(schema) == b"+s"


def array_error(
    form: SocketBase, error: MeshError, schema: Any, values: Any, before: int, done: int
) -> MeshError:
    """Say what was wrong with an element of an array, and how many messages were sent."""
    if error.code == lib.MM_EMSGSIZE:
        error = form._too_large(lib.mm_arrow_size(schema, values, done), 1)
    elif error.code == lib.MM_EINVAL:
        error = _no_body(schema, before + done)
    vars(error)["sent"] = before + done
    return error


def bodies_of(batch: object) -> Iterator[bytes]:
    """Yield the elements of an Arrow array, or of each chunk of one."""
    body, at = ffi.new("mm_body *"), 0
    for schema, values in arrays_in(batch):
        for index in range(length_of(values)):
            if lib.mm_arrow_body(schema, values, index, body) < 0:
                raise _no_body(schema, at)
            yield bytes(ffi.buffer(body.data, body.size)) if body.size else b""
            at += 1


def _no_body(schema: Any, at: int) -> MeshError:
    what = (
        "it is a row of several columns; pass one column, for example table['body'] or "
        "batch.column('body')"
        if is_table(schema)
        else "send_batch takes arrays of binary, of binary of fixed size or of strings, "
        "without nulls"
    )
    return error_for(lib.MM_EINVAL, f"element {at} cannot be sent: {what}")
