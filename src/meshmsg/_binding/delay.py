"""How long a message may be held back, in what C takes.

Law: rounded up: nothing is handed out sooner than was said.
"""

from __future__ import annotations

import math

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError

MS = 1000
"""Milliseconds in a second."""
DELAY_MAX: float = lib.MM_DELAY_MAX_MS / MS
"""Seconds a message may be held back: 23 days."""


def delay_ms(value: object) -> int:
    """Return a delay in milliseconds; raises TypeError, or UsageError beyond the limit."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"delay is {value!r}; it is seconds, as a number")
    if not 0 <= value <= DELAY_MAX:
        raise UsageError(f"delay is {value!r}; it is seconds, from 0 to {DELAY_MAX:,.0f}")
    return math.ceil(value * MS)
