"""Long messages of syncs are compressed on the way: records of one mesh have much in common.

Not here: what they say (sync.py). Law: whatever octets come, the message that comes out is within
SYNC_MAX, or MalformedError is raised before it is larger.
"""

from __future__ import annotations

import zlib

from .limits import SYNC_MAX
from .messages import HEAD, KINDS, Kind
from .octets import MalformedError

PACKED_FROM = 256
"""Octets of the smallest message that is tried."""
LEVEL = 6
"""Of zlib: a higher one takes longer and hardly makes records smaller."""
RAW = -15
"""Of zlib: the largest window, without a head and a checksum of its own."""
AT = HEAD.size
KIND_AT = 1
"""Where the kind stands in a head."""
MAY_BE = frozenset((Kind.DIGEST, Kind.VERSIONS, Kind.RECORDS))
"""What is sent so. Of digests those of a node that knows few: most are 0."""


def packed(data: bytes) -> bytes:
    """Return a message as it is sent: compressed, if it is shorter so."""
    if len(data) < PACKED_FROM:
        return data
    squeezer = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW)
    body = squeezer.compress(data[AT:]) + squeezer.flush()
    if AT + 1 + len(body) >= len(data):
        return data
    kind = data[KIND_AT : KIND_AT + 1]
    return data[:KIND_AT] + bytes((Kind.PACKED,)) + data[KIND_AT + 1 : AT] + kind + body


def unpacked(data: bytes) -> tuple[Kind, bytes]:
    """Return the kind of a compressed message, and the message as it was.

    Raises:
        MalformedError: It is none, or larger than SYNC_MAX.
    """
    kind = KINDS.get(data[AT]) if len(data) > AT else None
    if kind is None or kind not in MAY_BE:
        raise MalformedError("a compressed message of a kind that is not sent so")
    opener = zlib.decompressobj(RAW)
    try:
        body = opener.decompress(data[AT + 1 :], SYNC_MAX - AT)
    except zlib.error as error:
        raise MalformedError(f"a compressed message that cannot be read: {error}") from None
    if not opener.eof or opener.unused_data:
        raise MalformedError("a compressed message that is too long, or ends too early")
    return kind, data[:KIND_AT] + bytes((kind,)) + data[KIND_AT + 1 : AT] + body
