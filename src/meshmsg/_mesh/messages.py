"""The messages of the mesh: their kinds and what stands in front of their rumours.

Not here: rumours and records (octets.py), what is done with them (probe.py, sync.py, core.py).
Law: each begins with the version, its kind, the cluster's tag and the handle of who sends it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum

from .octets import HANDLE, VERSION, MalformedError

BUCKETS = 256
"""Parts of the directory that a sync compares; the first octet of a handle says which."""


class Kind(IntEnum):
    """Of a message."""

    PING = 1
    """Are you there, and who I think you are?"""
    ACK = 2
    NACK = 3
    """It did not answer me; or: I am not that node; or: nobody listens there."""
    INDIRECT = 4
    """Ask that node for me."""
    HELLO = 5
    """My directory has this digest: yours too?"""
    SAME = 6
    DIGEST = 7
    """The digests of my buckets."""
    VERSIONS = 8
    """What I have in the buckets that differ."""
    WANT = 9
    """Give me these records."""
    RECORDS = 10
    """Records of a sync."""
    WARN = 11
    """Somebody holds you unreachable, in this incarnation."""
    NEWS = 12
    """Nothing but rumours."""
    BUSY = 13
    """I answer enough syncs already."""
    PACKED = 14
    """A message of a sync, compressed (packing.py)."""


KINDS = {int(kind): kind for kind in Kind}
HEAD = struct.Struct(">BB4s8s")
PROBE = struct.Struct(">I8s")
"""Of a PING and an INDIRECT: a number, and who is meant."""
NUMBER = struct.Struct(">I")
REFUSAL = struct.Struct(">IB")
"""Of a NACK: the number, and whether nobody is there."""
DIGEST = struct.Struct(">Q")
"""Of all the directory."""
BUCKET_DIGESTS = struct.Struct(f">{BUCKETS}I")
VERSION_ENTRY = struct.Struct(">8sIIB")
"""Of one node: handle, incarnation, seq, standing."""
WARNING = struct.Struct(">8sI")


class Heads:
    """Makes the heads of one node's messages."""

    __slots__ = ("_heads",)

    def __init__(self, tag: bytes, handle: bytes) -> None:
        self._heads = {kind: HEAD.pack(VERSION, kind, tag, handle) for kind in Kind}

    def of(self, kind: Kind) -> bytes:
        """Return the head of a message of that kind."""
        return self._heads[kind]


def handles_of(data: bytes, at: int, limit: int) -> list[bytes]:
    """Return the handles from there to the end.

    Raises:
        MalformedError: It is no list of at most `limit`.
    """
    count, rest = divmod(len(data) - at, HANDLE)
    if rest or count > limit:
        raise MalformedError(f"a list of {count} nodes, at most {limit} are allowed")
    return [data[i : i + HANDLE] for i in range(at, len(data), HANDLE)]


def bits_of(buckets: Iterable[int]) -> bytes:
    """Return a bit for each bucket, set for these."""
    bits = 0
    for bucket in buckets:
        bits |= 1 << bucket
    return bits.to_bytes(BUCKETS // 8, "big")


def buckets_of(bits: bytes) -> list[int]:
    """Return the buckets whose bit is set."""
    number = int.from_bytes(bits, "big")
    return [bucket for bucket in range(BUCKETS) if number >> bucket & 1]
