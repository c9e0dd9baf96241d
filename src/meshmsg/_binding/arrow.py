"""Arrow's PyCapsule interface: capsules around the core's structs, and structs out of capsules.

Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html. Not here: what
is done with the arrays (batch.py, _sync/sending.py). Law: whoever made a struct frees it: a capsule
of ours by its destructor, which is C, as it may run at any time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from meshmsg._binding.core import ffi, lib

_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_new.restype = ctypes.py_object
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer.restype = ctypes.c_void_p


def _destructors() -> tuple[int, int]:
    found = ffi.new("void *[2]")
    address = ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer, ctypes.c_void_p).value
    lib.mm_arrow_setup(ffi.cast("void *", address), found, found + 1)
    return int(ffi.cast("uintptr_t", found[0])), int(ffi.cast("uintptr_t", found[1]))


_DROP_SCHEMA, _DROP_ARRAY = _destructors()


def _capsule(struct: Any, name: bytes, destructor: int) -> object:
    if struct == ffi.NULL:
        raise MemoryError("no memory for an Arrow array")
    capsule: object = _new(int(ffi.cast("uintptr_t", struct)), name, destructor)
    return capsule


def schema_capsule() -> object:
    """Return a capsule of the schema of a binary array."""
    return _capsule(lib.mm_arrow_schema(), b"arrow_schema", _DROP_SCHEMA)


def array_capsule(batch: Any, first: int, count: int) -> object:
    """Return a capsule of the bodies of a batch, which live until whoever takes it releases it."""
    return _capsule(lib.mm_arrow_array(batch, first, count), b"arrow_array", _DROP_ARRAY)


def rows_schema_capsule() -> object:
    """Return a capsule of the schema of a table of messages of a spool."""
    return _capsule(lib.mm_spool_rows_schema(), b"arrow_schema", _DROP_SCHEMA)


def rows_array_capsule(rows: Any) -> object:
    """Return a capsule of such a table, which lives until whoever takes it releases it."""
    return _capsule(lib.mm_spool_rows_array(rows), b"arrow_array", _DROP_ARRAY)


def _struct(capsule: object, name: bytes) -> Any:
    return ffi.cast("void *", _pointer(capsule, name))


def array_capsule_of(struct: Any) -> object:
    """Return a capsule of an array struct of the core's, which frees it."""
    return _capsule(struct, b"arrow_array", _DROP_ARRAY)


class Exported:
    """An array that speaks the interface, as structs that are there for as long as this is.

    Attributes:
        structs: Its schema and itself.
    """

    def __init__(self, data: Any) -> None:
        self._schema, self._array = data.__arrow_c_array__()
        self.structs = _struct(self._schema, b"arrow_schema"), _struct(self._array, b"arrow_array")


def format_of(schema: Any) -> bytes:
    """Return the type of a schema struct, as the C data interface writes it."""
    found = ffi.cast("char **", schema)[0]  # its first member
    return b"" if found == ffi.NULL else bytes(ffi.string(found))


_NAME, _CHILDREN, _OFFSET = 1, 5, 2
"""Members of a schema struct, and of an array struct, counted in words of 64 bits."""
_ARRAYS = 6


def columns_of(schema: Any) -> list[bytes]:
    """Return the names of the columns of a table."""
    words = ffi.cast("int64_t *", schema)
    children = ffi.cast("void ***", schema)[_CHILDREN]
    return [
        bytes(ffi.string(ffi.cast("char **", children[i])[_NAME]))
        for i in range(words[_CHILDREN - 1])
    ]


def column_size(schema: Any, values: Any, name: bytes, row: int) -> int:
    """Return how many bytes a column of a table has in a row; of no such column 0."""
    names = columns_of(schema)
    if name not in names:
        return 0
    at = names.index(name)
    inner = ffi.cast("void ***", schema)[_CHILDREN][at], ffi.cast("void ***", values)[_ARRAYS][at]
    return int(lib.mm_arrow_size(*inner, ffi.cast("int64_t *", values)[_OFFSET] + row))


@contextmanager
def _next_of(stream: Any) -> Iterator[tuple[Any, Any] | None]:
    out = ffi.new("void *[2]")
    rc = lib.mm_arrow_next(stream, out, out + 1)
    if rc < 0:
        raise ValueError("the Arrow stream failed")
    try:
        yield (out[0], out[1]) if rc else None
    finally:
        lib.mm_arrow_drop(out[0], out[1])


def arrays_of(
    data: object, call: str = "send_batch", many: str = "send_many"
) -> Iterator[tuple[Any, Any]]:
    """Yield the schema and array structs of whatever speaks the interface, one chunk at a time.

    Raises:
        TypeError: It does not speak it.
    """
    as_array = getattr(data, "__arrow_c_array__", None)
    as_stream = getattr(data, "__arrow_c_stream__", None)
    if as_array is not None:
        schema, array = as_array()
        yield _struct(schema, b"arrow_schema"), _struct(array, b"arrow_array")
    elif as_stream is not None:
        capsule = as_stream()
        stream = _struct(capsule, b"arrow_array_stream")
        while True:
            with _next_of(stream) as found:
                if found is None:
                    return
                yield found
    else:
        raise TypeError(
            f"{call} takes an Arrow array or a MessageBatch, not {type(data).__name__}; "
            f"for a list of bytes use {many}"
        )
