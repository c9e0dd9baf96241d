"""The numbers that a work queue and its workers are given: each is checked here, at once.

Not here: what they mean (`_queue`, `_worker`).
Law: what is no number of its kind, and so is True, is a TypeError; what is out of its range is a
UsageError.  Both name the argument, its value, and what it may be.
"""

from __future__ import annotations

from numbers import Real

from meshmsg import UsageError

from ._batch import BATCH_MAX, RECORD_SIZE_MAX

MESSAGES_MAX = 2**32 - 1
"""Records or workers: as many as a socket counts."""
BYTES_MAX = 2**63 - 1
PREFETCH_MAX = 65_536
"""Batches that a worker may hold: as many messages as a peer may have unacknowledged."""
LEASE_MIN = 0.001
"""Seconds, and the resolution of what a worker is told of it."""
LEASE_MAX = 4_000_000
"""Seconds: the longest `ack_timeout` of a Push."""
DELAY_MAX = 2_000_000
"""Seconds that a batch may be held back: as of any message."""
WAIT_MAX = 1e9
"""Seconds: 31 years are for ever; locks take no more than some."""
_LIMITS = {
    "batch_messages": (1, BATCH_MAX),
    "batch_bytes": (1, RECORD_SIZE_MAX),
    "backlog_messages": (1, MESSAGES_MAX),
    "backlog_bytes": (1, BYTES_MAX),
    "prefetch": (1, PREFETCH_MAX),
    "count": (0, MESSAGES_MAX),
    "workers": (0, MESSAGES_MAX),
}


class WaitError(UsageError, ValueError):
    """A time to wait that is none; a ValueError, too, as it is of a socket."""


def check_count(name: str, value: object) -> int:
    """A number of things, within its limits."""
    low, high = _LIMITS[name]
    words = f"{name} is {value!r}; it is a whole number from {low} to {high}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(words)
    if not low <= value <= high:
        raise UsageError(words)
    return value


def check_lease(lease: object) -> float | None:
    """A lease in seconds, or None."""
    words = f"lease is {lease!r}; it is seconds, from {LEASE_MIN} to {LEASE_MAX}, or None"
    if lease is None:
        return None
    if not LEASE_MIN <= _number(lease, words) <= LEASE_MAX:
        raise UsageError(words)
    return _number(lease, words)


def check_silence(silence: object) -> float:
    """Seconds without a queue; infinity is for ever."""
    words = f"silence is {silence!r}; it is seconds, above 0"
    if not _number(silence, words) > 0:
        raise UsageError(words)
    return _number(silence, words)


def check_delay(delay: object) -> float:
    """Seconds to hold a batch back."""
    words = f"delay is {delay!r}; it is seconds, from 0 to {DELAY_MAX}"
    if not 0 <= _number(delay, words) <= DELAY_MAX:
        raise UsageError(words)
    return _number(delay, words)


def check_timeout(timeout: object) -> float | None:
    """Seconds to wait, or None: for ever."""
    words = f"timeout is {timeout!r}; seconds >= 0, or None to wait for ever"
    if timeout is None:
        return None
    if not _number(timeout, words) >= 0:
        raise WaitError(words)
    return min(_number(timeout, words), WAIT_MAX)


def _number(value: object, words: str) -> float:
    """A number as a float; one that is too large for that is as large as there is."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(words)
    try:
        return float(value)
    except OverflowError:
        return float("-inf") if value < 0 else float("inf")
