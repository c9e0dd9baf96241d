"""What can be sent besides plain bytes, and what cannot: for tests of every call that sends.

Not here: the calls. Law: each kind is made anew, as a test may change or keep it.
"""

from __future__ import annotations

import ctypes
import mmap
from array import array
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

WIDE = array("d", [0.0, 1.5, -2.0, 3.0])
BODY = WIDE.tobytes()
"""What most of them hold: 32 bytes in 4 items."""


class Lying(bytes):
    """Bytes that say they are more than they are, and other things than they are."""

    def __len__(self) -> int:
        return 4096

    def __bytes__(self) -> bytes:
        return Lying(b"other")

    def __getitem__(self, key: Any) -> Any:
        return b"other"[key]

    def __iter__(self) -> Iterator[int]:
        return iter(b"other")


class Raising(bytes):
    """Bytes that cannot be asked how many they are."""

    def __len__(self) -> int:
        raise RuntimeError("len() of a message was asked for")

    def __bytes__(self) -> bytes:
        raise RuntimeError("bytes() of a message was asked for")


def _mapped() -> mmap.mmap:
    made = mmap.mmap(-1, len(BODY))
    made[:] = BODY
    return made


KINDS: dict[str, tuple[Callable[[], Any], bytes]] = {
    "bytes": (lambda: BODY, BODY),
    "lying": (lambda: Lying(b"hello"), b"hello"),
    "lying_empty": (lambda: Lying(b""), b""),
    "raising": (lambda: Raising(b"hello"), b"hello"),
    "bytearray": (lambda: bytearray(BODY), BODY),
    "array": (lambda: array("d", WIDE), BODY),
    "array_empty": (lambda: array("d"), b""),
    "cast": (lambda: memoryview(BODY).cast("I"), BODY),
    "cast_2d": (lambda: memoryview(BODY).cast("H", shape=[4, 4]), BODY),
    "cast_0d": (lambda: memoryview(BODY[:8]).cast("d", shape=[]), BODY[:8]),
    "slice": (lambda: memoryview(BODY).cast("d")[1:3], BODY[8:24]),
    "of_bytearray": (lambda: memoryview(bytearray(BODY)).toreadonly(), BODY),
    "mmap": (_mapped, BODY),
    "ctypes": (lambda: (ctypes.c_double * 4)(*WIDE), BODY),
}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "str": (lambda: "text", r"text\.encode\(\)"),
    "none": (lambda: None, r"not NoneType.*json\.dumps"),
    "int": (lambda: 5, r"not int.*json\.dumps"),
    "strided": (lambda: memoryview(BODY)[::2], r"memoryview is not contiguous.*bytes\(x\)"),
}

if find_spec("numpy") is not None:
    import numpy

    _POINT = numpy.array((1.0, 2), dtype=[("One", "f8"), ("n", "i4")])

    def _readonly() -> Any:
        made = numpy.array(WIDE)
        made.setflags(write=False)
        return made

    KINDS |= {
        "numpy": (lambda: numpy.array(WIDE), BODY),
        "numpy_0d": (lambda: numpy.array(3.0), BODY[24:]),
        "numpy_scalar": (lambda: numpy.float64(3.0), BODY[24:]),
        "numpy_2d": (lambda: numpy.array(WIDE).reshape(2, 2), BODY),
        "numpy_readonly": (_readonly, BODY),
        "numpy_empty": (lambda: numpy.zeros((0, 3)), b""),
        "numpy_bytes": (lambda: numpy.bytes_(b"hello"), b"hello"),
        "numpy_struct": (lambda: _POINT, _POINT.tobytes()),
    }
    ONE_PIECE = r"ndarray is not contiguous.*numpy\.ascontiguousarray\(x\)"
    REFUSED |= {
        "numpy_strided": (lambda: numpy.arange(8.0)[::2], ONE_PIECE),
        "numpy_columns": (lambda: numpy.asfortranarray(numpy.arange(4.0).reshape(2, 2)), ONE_PIECE),
        "numpy_objects": (lambda: numpy.array([[], {}], dtype=object), "references to Python"),
        "numpy_times": (lambda: numpy.array(["2026-01-01"], dtype="M8[D]"), "not ndarray"),
        "numpy_text": (lambda: numpy.str_("text"), r"text\.encode\(\)"),
    }

FEW = {
    kind: KINDS[kind]
    for kind in ("bytes", "lying", "raising", "bytearray", "array", "cast_2d", "numpy", "numpy_0d")
    if kind in KINDS
}
"""One of each sort, for tests of many calls."""
