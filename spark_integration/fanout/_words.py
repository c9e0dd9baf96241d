"""What a fan-out and its tasks say to each other: groups of items, and what became of them.

All numbers big-endian.  A group is one record of the work queue:

    count (4)  [id (8)  attempt (4)  size (4)] each  bodies

and what a task says of it is one message:

    count (4)  [id (8)  outcome (4)  size (4)] each  bodies

Not here: who sends and waits (_task.py, _fanout.py).  Law: what is read is checked whole before any
of it is believed: the sizes come to the message's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

GROUP_MAX = 1000
"""Items of one group."""
GROUP_BYTES = 1024 * 1024
"""Bytes of a group of several; a larger item goes alone."""
ITEM_BYTES_MAX = 63 * 1024 * 1024 - 32
"""Bytes of an item, and of a result."""
_COUNT = struct.Struct(">I")
_ONE = struct.Struct(">QII")


class Outcome(IntEnum):
    """What became of an item at a task."""

    DONE = 0
    """The body is its result."""
    FAILED = 1
    """The function raised; the body says what, as UTF-8."""
    RETURNED = 2
    """Its worker before was lost with it: it is to go out again, alone, if it may."""
    BEGUN = 3
    """It is tried now, not for the first time."""


class Part(NamedTuple):
    """An item, or what became of one."""

    id: int
    number: int
    """Which attempt it is, 1 the first time; or its `Outcome`."""
    body: bytes


part_of: Callable[[tuple[int, int, bytes]], Part] = partial(tuple.__new__, Part)
"""Makes a part of what is in it, without a call of Python."""


def octets_of(parts: Sequence[Part]) -> bytes:
    """Return a group, or what is said of one, as octets."""
    pack = _ONE.pack
    heads = [pack(item, number, len(body)) for item, number, body in parts]
    return b"".join([_COUNT.pack(len(parts)), *heads, *[body for _, _, body in parts]])


def parts_of(octets: bytes, numbers: Iterable[int] | None = None) -> list[Part] | None:
    """Return what is in it; None: it is malformed, or has a number that is none of those."""
    if len(octets) < _COUNT.size:
        return None
    (count,) = _COUNT.unpack_from(octets)
    start = _COUNT.size + count * _ONE.size
    if not 1 <= count <= GROUP_MAX or len(octets) < start:
        return None
    ids, found, sizes = zip(*_ONE.iter_unpack(octets[_COUNT.size : start]), strict=True)
    ends = list(accumulate(sizes, initial=start))
    if ends[-1] != len(octets) or (numbers is not None and not set(numbers).issuperset(found)):
        return None
    bodies = [octets[begin:end] for begin, end in pairwise(ends)]
    return list(map(part_of, zip(ids, found, bodies, strict=True)))
