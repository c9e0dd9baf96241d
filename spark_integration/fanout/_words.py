"""What a fan-out and its tasks say to each other: groups of items, and what became of them.

All numbers big-endian.  A group is one record of the work queue:

    count (4)  ids (8 each)  attempts (4 each)  sizes (4 each)  bodies

and what a task says of it is one message or several:

    count (4)  ids (8 each)  outcomes (4 each)  sizes (4 each)  bodies

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

WIRE = 2
"""Which form this is; a task of another one is refused before it is given an item."""
GROUP_MAX = 1000
"""Items of one group."""
GROUP_BYTES = 1024 * 1024
"""Bytes of a group of several; a larger item goes alone."""
ITEM_BYTES_MAX = 63 * 1024 * 1024 - 32
"""Bytes of an item, and of a result."""
_COUNT = struct.Struct(">I")
_ONE_BYTES = 16
"""Of the head of an item."""


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


KNOWN = frozenset(map(int, Outcome))


class Part(NamedTuple):
    """An item, or what became of one."""

    id: int
    number: int
    """Which attempt it is, 1 the first time; or its `Outcome`."""
    body: bytes


class Group(NamedTuple):
    """Many parts, by columns: what C does for all at once, Python need not do for each."""

    ids: Sequence[int]
    numbers: Sequence[int]
    bodies: Sequence[bytes]

    def parts(self) -> list[Part]:
        """Return them one by one."""
        return list(map(part_of, zip(*self, strict=True)))


part_of: Callable[[tuple[int, int, bytes]], Part] = partial(tuple.__new__, Part)
"""Makes a part of what is in it, without a call of Python."""


def packed(ids: Sequence[int], numbers: Sequence[int], bodies: Sequence[bytes]) -> bytes:
    """Return a group, or what is said of one, as octets."""
    count = len(bodies)
    sizes = map(len, bodies)
    heads = struct.pack(f">I{count}Q{2 * count}I", count, *ids, *numbers, *sizes)
    return b"".join([heads, *bodies])


def group_of(octets: bytes, numbers: frozenset[int] | None = None) -> Group | None:
    """Return what is in it; None: it is malformed, or has a number that is none of those."""
    if len(octets) < _COUNT.size:
        return None
    (count,) = _COUNT.unpack_from(octets)
    start = _COUNT.size + count * _ONE_BYTES
    if not 1 <= count <= GROUP_MAX or len(octets) < start:
        return None
    heads = struct.unpack_from(f">{count}Q{2 * count}I", octets, _COUNT.size)
    found = heads[count : 2 * count]
    ends = list(accumulate(heads[2 * count :], initial=start))
    if ends[-1] != len(octets) or (numbers is not None and not numbers.issuperset(found)):
        return None
    bodies = [octets[begin:end] for begin, end in pairwise(ends)]
    return Group(heads[:count], found, bodies)


def octets_of(parts: Sequence[Part]) -> bytes:
    """Return parts as octets."""
    ids, numbers, bodies = zip(*parts, strict=True) if parts else ((), (), ())
    return packed(ids, numbers, bodies)


def parts_of(octets: bytes, numbers: Iterable[int] | None = None) -> list[Part] | None:
    """Return what is in it, one by one; None: as `group_of`."""
    group = group_of(octets, None if numbers is None else frozenset(numbers))
    return None if group is None else group.parts()
