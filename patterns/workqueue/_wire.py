"""What a work queue and its workers say to each other: six kinds of multipart message.

Worker to queue:  [b"ask", window (u32), done]                     version 1
                  [b"ask", window (u32), done, begun, waiting]     version 2: and what it holds
                  [b"ask", 0, done, none, none]                    version 2: it leaves ("end")
                  [b"retry", delay in ms (u64), numbers]           version 2: hand these back
Queue to worker:  [b"terms", version (u32), oldest (u32), lease in ms (u64; 0: none), first (u64)]
                  [b"work", number (u64) attempt (u32) first sequence (u64), record, record, ...]
                  [b"taken", numbers]  these are no longer yours
                  [b"wait"]  nothing for you now, I am alive
                  [b"end"]   there is no more
`done`, `begun`, `waiting` and `numbers` are numbers of batches (u64 each; of a worker at most 1,024
in a frame).  Those of a queue count from `first`, which is random: what a worker says about batches
of a queue that was here before is not taken for what it says about these (older queues say no
`first`: it is 0).  All numbers are in network order.  The queue tells its terms to every worker
that asks first; a worker speaks version 1 until it has heard them, and refuses a queue whose
`oldest` is above its own version.  Words that one does not know are passed over, so 1 and 2
understand each other.
Law: no message needs the one before it, so a lost one costs time and never truth.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

VERSION = 2
"""What this side speaks."""
OLDEST = 1
"""The oldest worker that a queue of this version understands."""

ASK, RETRY = b"ask", b"retry"
TERMS, WORK, TAKEN, WAIT, END = b"terms", b"work", b"taken", b"wait", b"end"

_WINDOW = struct.Struct(">I")
_DELAY = struct.Struct(">Q")
_TERMS = struct.Struct(">IIQ")
_FIRST = struct.Struct(">Q")
_HEADER = struct.Struct(">QIQ")
_NUMBER_SIZE = 8
NUMBERS_MAX = 1024
"""Numbers of batches in a frame from a worker; it holds far fewer (`_ledger.WINDOW_MAX`), and a
queue that took more could be kept busy, and made to answer at length, by one message."""
NUMBERS = 2**64
"""How many numbers of batches there are; after the last one comes 0."""
DELAY_MS_MAX = 2**64 - 1
"""The longest delay of a retry that can be told."""


class Ask(NamedTuple):
    """What a worker says when it asks."""

    window: int
    """Batches it wants to hold."""
    done: tuple[int, ...]
    """Batches it has finished."""
    held: tuple[tuple[int, ...], tuple[int, ...]] | None
    """Batches it began, and those it will do next; None: it speaks version 1."""

    @property
    def leaves(self) -> bool:
        """Whether it has nothing in hand and wants no more: what is on its way to it, too."""
        return self.window == 0 and self.held == ((), ())


class Terms(NamedTuple):
    """What a queue says to a worker that asks first."""

    version: int
    oldest: int
    lease: float | None
    first: int = 0
    """The number of its first batch."""


def pack_numbers(numbers: Sequence[int]) -> bytes:
    """Numbers of batches, one behind the other."""
    return struct.pack(f">{len(numbers)}Q", *numbers)


def parse_numbers(frame: bytes) -> tuple[int, ...] | None:
    """The numbers in a frame; None when it makes no sense."""
    count, rest = divmod(len(frame), _NUMBER_SIZE)
    return None if rest else struct.unpack(f">{count}Q", frame)


def pack_ask(
    window: int, done: Sequence[int], held: tuple[Sequence[int], Sequence[int]] | None = None
) -> list[bytes]:
    """What a worker asks; `held`, what it began and what waits, is not for a queue of version 1."""
    frames = [ASK, _WINDOW.pack(window), pack_numbers(done)]
    return frames if held is None else [*frames, *map(pack_numbers, held)]


def parse_ask(frames: Sequence[bytes]) -> Ask | None:
    """What a worker asks; None when it makes no sense."""
    if len(frames) not in (3, 5) or frames[0] != ASK or len(frames[1]) != _WINDOW.size:
        return None
    numbers = [parsed for frame in frames[2:] if (parsed := _few_numbers(frame)) is not None]
    if len(numbers) != len(frames) - 2:
        return None
    (window,) = _WINDOW.unpack(frames[1])
    return Ask(window, numbers[0], (numbers[1], numbers[2]) if len(numbers) == 3 else None)


def pack_retry(delay: float, numbers: Sequence[int]) -> list[bytes]:
    """What a worker sends that hands batches back."""
    return [RETRY, _DELAY.pack(_to_ms(delay)), pack_numbers(numbers)]


def parse_retry(frames: Sequence[bytes]) -> tuple[float, tuple[int, ...]] | None:
    """The delay in seconds, and the batches; None when it makes no sense."""
    if len(frames) != 3 or frames[0] != RETRY or len(frames[1]) != _DELAY.size:
        return None
    numbers = _few_numbers(frames[2])
    return None if numbers is None else (_DELAY.unpack(frames[1])[0] / 1000, numbers)


def pack_terms(lease: float | None, first: int = 0) -> list[bytes]:
    """What a queue says first."""
    ms = 0 if lease is None else max(1, _to_ms(lease))
    return [TERMS, _TERMS.pack(VERSION, OLDEST, ms) + _FIRST.pack(first)]


def parse_terms(frames: Sequence[bytes]) -> Terms | None:
    """What a queue says first; None when it makes no sense."""
    if len(frames) < 2 or frames[0] != TERMS or len(frames[1]) < _TERMS.size:
        return None
    version, oldest, ms = _TERMS.unpack_from(frames[1])  # a later version may say more
    said = len(frames[1]) >= _TERMS.size + _FIRST.size
    first = _FIRST.unpack_from(frames[1], _TERMS.size)[0] if said else 0
    return Terms(version, oldest, ms / 1000 or None, first)


def pack_work(
    number: int, attempt: int, first_sequence: int, items: Sequence[bytes]
) -> list[bytes]:
    """What a queue sends for one batch."""
    return [WORK, _HEADER.pack(number, attempt, first_sequence), *items]


def parse_header(frame: bytes) -> tuple[int, int, int] | None:
    """Number, attempt and first sequence of a batch; None when it makes no sense."""
    if len(frame) != _HEADER.size:
        return None
    number, attempt, first_sequence = _HEADER.unpack(frame)
    return number, attempt, first_sequence


def pack_taken(numbers: Sequence[int]) -> list[bytes]:
    """What a queue sends about batches that are done, or with another worker."""
    return [TAKEN, pack_numbers(numbers)]


def _few_numbers(frame: bytes) -> tuple[int, ...] | None:
    """The numbers in a frame from a worker; None, too, when there are too many."""
    return parse_numbers(frame) if len(frame) <= NUMBERS_MAX * _NUMBER_SIZE else None


def _to_ms(seconds: float) -> int:
    return DELAY_MS_MAX if seconds * 1000 >= DELAY_MS_MAX else round(seconds * 1000)
