"""Whether others reach this node where it says that it is.

Not here: what they say of it, which may be nothing (opinion.py). Law: each who is there is asked by
the others, some times a second in all. Who knows of others that are there, and is not asked, cannot
be: they hold it unreachable.
"""

from __future__ import annotations

UNASKED = 30.0
"""Seconds without a question, while others are there, after which a node cannot be reached: by one
that is well it is some hundred questions, by the slowest a dozen."""


class Reached:
    """What one node knows of it."""

    def __init__(self, now: float) -> None:
        self._since = now

    def asked(self, now: float) -> None:
        """Take that it was asked; or that nobody would have: it knew of none, or was frozen."""
        self._since = now

    def unasked(self, now: float) -> float | None:
        """Return for how many seconds nobody reached it; None: it is reached."""
        silent = now - self._since
        return silent if silent >= UNASKED else None
