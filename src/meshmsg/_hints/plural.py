"""One message, two messages: the word behind a number, for texts.

Not here: how numbers alone are written.
"""

from __future__ import annotations


def plural(number: int, one: str, several: str = "") -> str:
    """Return the word for so many: `message`, `messages`; or `was`, `were`."""
    return one if number == 1 else several or f"{one}s"


def counted(number: int, one: str) -> str:
    """Write so many of something: `1 message`, `2,000 messages`."""
    return f"{number:,} {plural(number, one)}"
