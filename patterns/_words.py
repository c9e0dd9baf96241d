"""The word behind a number, for texts of queues.

Not here: how numbers are written. The library has its own (meshmsg/_hints/plural.py), which is
private to it.
"""

from __future__ import annotations


def counted(number: int, one: str) -> str:
    """Write so many of something: `1 record`, `2 records`."""
    return f"{number} {one}{'s' * (number != 1)}"
