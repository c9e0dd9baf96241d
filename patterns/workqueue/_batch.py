"""A batch of records: what it looks like as a message, and what a worker is given.

A message of one frame, all numbers big-endian:

    number (8)  first sequence (8)  lease in ms (4; 0: none)  count (4)  sizes (4 each)  records

Not here: who has it, and how often it was handed out: that is the message's (`LeasedMessage`).
Law: what is read is checked whole before any of it is believed: the sizes come to the message's.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

BATCH_MAX = 1000
"""Records in a batch."""
RECORD_SIZE_MAX = 63 * 1024 * 1024
"""Bytes of a record, or of a batch of several: with its header below what peers accept by
default."""
LEASE_MS_MAX = 2**32 - 1
"""The longest lease that a batch can tell of."""
RENEWALS = 3
"""Times a lease that a batch which moves on is renewed."""
_HEAD = struct.Struct(">QQII")
_SIZE = 4


class Parsed(NamedTuple):
    """What is in a batch."""

    number: int
    first_sequence: int
    lease: float | None
    records: tuple[bytes, ...]


def pack_batch(
    number: int, first_sequence: int, lease: float | None, records: Sequence[bytes]
) -> bytes:
    """A batch as octets."""
    ms = 0 if lease is None else min(max(1, round(lease * 1000)), LEASE_MS_MAX)
    count = len(records)
    head = _HEAD.pack(number, first_sequence, ms, count)
    return b"".join([head, struct.pack(f">{count}I", *map(len, records)), *records])


def parse_batch(octets: bytes) -> Parsed | None:
    """What is in a batch; None when it is none."""
    if len(octets) < _HEAD.size:
        return None
    number, first, ms, count = _HEAD.unpack_from(octets)
    start = _HEAD.size + count * _SIZE
    if not 1 <= count <= BATCH_MAX or len(octets) < start:
        return None
    sizes = struct.unpack_from(f">{count}I", octets, _HEAD.size)
    ends = list(accumulate(sizes, initial=start))
    if ends[-1] != len(octets):
        return None
    records = tuple(map(octets.__getitem__, map(slice, ends, ends[1:])))
    return Parsed(number, first, ms / 1000 or None, records)


@dataclass(frozen=True)
class BatchForm:
    """What the batches of threads and of asyncio share: records, and where they are from."""

    number: int
    """Which batch of the queue this is: 0, 1, 2, ..."""
    attempt: int
    """1 the first time it was handed out, 2 after one worker was lost with it, ..."""
    first_sequence: int
    """The sequence number of the first record; the others follow it."""
    records: tuple[bytes, ...]
    """The records, as they were put."""
    _holder: Any = field(default=None, repr=False, compare=False)
    """The worker that has it; None: nobody does."""

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[bytes]:
        """Give the records.  Each that is taken shows the queue that this worker moves on."""
        holder = self._holder
        if holder is None or holder._held.renew_at == math.inf:
            return iter(self.records)
        return self._moving(holder)

    def __repr__(self) -> str:
        size = f"{len(self.records)} record{'s' * (len(self.records) != 1)}"
        return (
            f"<{type(self).__name__} {self.number}: {size} from "
            f"{self.first_sequence}, attempt {self.attempt}>"
        )

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The records with their sequence numbers."""
        return enumerate(self, self.first_sequence)

    @property
    def lost(self) -> bool:
        """Whether the queue has given this batch to somebody else, as far as this worker knows.

        It learns that when it extends.
        """
        return self._holder is not None and self._holder._held.is_lost(self)

    def _moving(self, holder: Any) -> Iterator[bytes]:
        for record in self.records:
            if time.monotonic() >= holder._held.renew_at:
                holder._renew(self)
            yield record
