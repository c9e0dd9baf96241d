"""What is asked of a server of ranges, and what it answers, as octets (docs/wire.md, "Ranges").

Not here: what it does for them (answers.py), the batches behind an answer (csrc/spool/blocks.h).
Law: pure. What a peer says is checked, octet by octet, before anything is done with it.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from enum import IntEnum

from meshmsg._spool.arguments import SEQ_MAX

VERSION = 1
"""Of what is asked and answered."""
_ASKED, _ANSWERED = b"MMRQ", b"MMRP"
_REQUEST = struct.Struct("<4sBBH16sIIQQQ16s")
_ANSWER = struct.Struct("<4sBBH16sIIQQQQ")
_VERSION_AT = 4
REQUEST_HEAD, ANSWER_HEAD = _REQUEST.size, _ANSWER.size
"""Octets in front of a name; in front of batches."""
ANSWER_A = 48
"""Where the number `a` is in an answer."""
NAME_MAX = 58
"""Octets of the name of a lease."""
REQUEST_MAX = REQUEST_HEAD + NAME_MAX
"""Octets of a request."""
HOLDER_SIZE = 16
"""Octets that tell who has a lease."""
UUID_SIZE = 16
"""Octets of the uuid of a spool."""
BATCH_MAX = 64 * 1024 * 1024 + 64
"""Octets of a batch of a spool, with its head."""
ANSWER_MAX = ANSWER_HEAD + BATCH_MAX + 1024
"""Octets of an answer, with what brings it back."""
TTL_MS_MAX = 7 * 24 * 3600 * 1000
"""Milliseconds of a lease that a peer asks for: a week."""
ANY_UUID = bytes(UUID_SIZE)
"""Asked for: whichever spool it is."""
_NAME = re.compile(rb"[A-Za-z0-9_-][A-Za-z0-9._-]{0,57}")


class Op(IntEnum):
    """What is asked for."""

    INFO = 1
    """Which spool it is, and which numbers it has."""
    READ = 2
    """Batches with numbers from `a` to before `b`, `c` octets."""
    LEASE = 3
    """To hold what is from `a` on for `b` milliseconds; with `c` above 0 what a lease of
    that name and holder has, if there is one."""
    RELEASE = 4
    """To hold it no longer."""
    TRIM = 5
    """To remove what is up to `a`."""


class Status(IntEnum):
    """What became of it."""

    DONE = 0
    """READ: batches up to before `a`; TRIM: `a` files went; RELEASE: `a` is 1 if it was held;
    LEASE: what is from `a` on is held."""
    TRIMMED = 1
    """Numbers below `a` were removed."""
    AHEAD = 2
    """What is from `a` on is not durable yet."""
    CHANGED = 3
    """It is another spool, or an earlier life of it."""
    HARMED = 4
    """Numbers `a` to `b` are harmed."""
    BUSY = 5
    """`b` is the limit of what `a` says."""
    HELD = 6
    """Another has the lease."""
    NO_LEASE = 7
    """There are `b` leases, and no more."""
    FAILED = 8
    """The disk, or memory."""


class Busy(IntEnum):
    """Which limit keeps a server from answering now."""

    READERS = 1
    """Peers that are served at once."""
    READER_BYTES = 2
    """Octets that wait to be written to one peer."""
    BYTES = 3
    """Octets that wait to be written to all."""


class NotAsked(Exception):
    """Octets that ask for nothing; its text is what the peer is told."""


class NotAnswered(Exception):
    """Octets that answer nothing; its text says why."""


@dataclass(frozen=True)
class Request:
    """What is asked."""

    op: Op
    uuid: bytes = ANY_UUID
    """Of which spool; `ANY_UUID`: whichever it is."""
    epoch: int = 0
    """The last life of it that is known; 0: none is."""
    a: int = 0
    b: int = 0
    c: int = 0
    holder: bytes = bytes(HOLDER_SIZE)
    """Who has, or wants, the lease."""
    name: str = ""
    """Of the lease."""


@dataclass(frozen=True)
class Answer:
    """What is answered, without the batches."""

    status: Status
    uuid: bytes
    epoch: int
    first_seq: int
    """The first number that is there."""
    stable_seq: int
    """The one behind the last that is durable."""
    a: int = 0
    b: int = 0


def lease_name(name: bytes) -> bool:
    """Whether a lease can be called that."""
    return _NAME.fullmatch(name) is not None


def request_octets(request: Request) -> bytes:
    """Return a request as it is sent."""
    head = _REQUEST.pack(
        *(_ASKED, VERSION, request.op, 0, request.uuid, request.epoch, 0),
        *(request.a, request.b, request.c, request.holder),
    )
    return head + request.name.encode()


def request_of(data: bytes) -> Request:
    """Return what came as a request.

    Raises:
        NotAsked: It is none.
    """
    if len(data) <= _VERSION_AT or data[:_VERSION_AT] != _ASKED:
        raise NotAsked("this is a server of ranges of a spool, and that is no request for one")
    if data[_VERSION_AT] != VERSION:
        raise NotAsked(
            f"asked in version {data[_VERSION_AT]} of ranges; this server speaks version {VERSION}"
        )
    if not REQUEST_HEAD <= len(data) <= REQUEST_MAX:
        raise NotAsked(f"a request of {len(data):,} octets; it has {REQUEST_HEAD} to {REQUEST_MAX}")
    _, _, op, zero, uuid, epoch, none, a, b, c, holder = _REQUEST.unpack_from(data)
    name = data[REQUEST_HEAD:]
    if op not in Op.__members__.values():
        raise NotAsked(f"asked for {op}, which version {VERSION} of ranges does not have")
    if zero or none:
        raise NotAsked("an octet that is 0 in this version is not")
    if name and not lease_name(name):
        raise NotAsked("a name that no lease can have")
    request = Request(Op(op), uuid, epoch, a, b, c, holder, name.decode())
    if (wrong := _wrong(request)) is not None:
        raise NotAsked(wrong)
    return request


def _wrong(request: Request) -> str | None:
    """Return what of its numbers and names cannot be; None: nothing."""
    leased = request.op in (Op.LEASE, Op.RELEASE)
    if leased and not request.name:
        return "a lease without a name"
    if request.name and request.op in (Op.INFO, Op.READ):
        return "a name, where none is asked for"
    if request.op == Op.READ and not (0 < request.a <= request.b < SEQ_MAX and request.c > 0):
        return f"no range of numbers: {request.a} to {request.b}, {request.c} octets"
    if request.op == Op.LEASE and not (0 < request.a < SEQ_MAX and 0 < request.b <= TTL_MS_MAX):
        return f"no lease: from {request.a}, {request.b:,} ms; it is 1 to {TTL_MS_MAX:,} ms"
    if request.op == Op.TRIM and request.a >= SEQ_MAX:
        return f"{request.a} is no number of a message"
    return None


def answer_octets(answer: Answer) -> bytes:
    """Return the head of an answer as it is sent."""
    return _ANSWER.pack(
        *(_ANSWERED, VERSION, answer.status, 0, answer.uuid, answer.epoch, 0),
        *(answer.first_seq, answer.stable_seq, answer.a, answer.b),
    )


def answer_of(data: bytes | memoryview) -> Answer:
    """Return the head of what came as an answer.

    Raises:
        NotAnswered: It is none.
    """
    if len(data) < ANSWER_HEAD or data[:_VERSION_AT] != _ANSWERED:
        raise NotAnswered("what answers is no server of ranges of a spool")
    if data[_VERSION_AT] != VERSION:
        raise NotAnswered(f"answered in version {data[_VERSION_AT]} of ranges, not {VERSION}")
    _, _, status, zero, uuid, epoch, none, first, stable, a, b = _ANSWER.unpack_from(data)
    if status not in Status.__members__.values() or zero or none:
        raise NotAnswered(f"an answer that version {VERSION} of ranges does not have ({status})")
    if not (0 < first < SEQ_MAX and 0 < stable <= SEQ_MAX and a <= SEQ_MAX and b <= SEQ_MAX):
        raise NotAnswered("an answer with numbers that no spool has")
    return Answer(Status(status), uuid, epoch, first, stable, a, b)
