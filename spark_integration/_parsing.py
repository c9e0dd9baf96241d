"""What stands in the options of a source or sink: words, numbers, sizes, times.

Not here: which options there are. Law: what is wrong is told by the option's name, what it has, and
what it may have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from meshmsg import UsageError

TIMES_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}
"""Seconds of each unit of time."""
SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
"""Bytes of each unit of size."""
TIMEOUT_MAX_S = 86_400.0
"""Seconds that a query may wait for an answer."""
ENDPOINTS_MAX = 1_000
"""Endpoints of a source."""


def text(name: str, value: str) -> str:
    """Return it, without spaces around it."""
    if not value.strip():
        raise UsageError(f"option {name} is empty")
    return value.strip()


def flag(name: str, value: str) -> bool:
    """Return what is true or false."""
    word = value.strip().lower()
    if word not in ("true", "false"):
        raise UsageError(f"option {name} is {value!r}; it is true or false")
    return word == "true"


def one_of(*words: str) -> Callable[[str, str], str]:
    """Return what reads one of some words."""

    def parsed(name: str, value: str) -> str:
        word = value.strip().lower()
        if word not in words:
            raise UsageError(f"option {name} is {value!r}; it is {' or '.join(words)}")
        return word

    return parsed


def whole(least: int, most: int) -> Callable[[str, str], int]:
    """Return what reads a whole number of that range."""

    def parsed(name: str, value: str) -> int:
        word = value.strip()
        if not re.fullmatch(r"[0-9]{1,19}", word) or not least <= int(word) <= most:
            raise UsageError(
                f"option {name} is {value!r}; it is a whole number, {least:,} to {most:,}"
            )
        return int(word)

    return parsed


def size(least: int, most: int) -> Callable[[str, str], int]:
    """Return what reads bytes of that range."""

    def parsed(name: str, value: str) -> int:
        found = re.fullmatch(r"([0-9]{1,19})\s*([kmg]?)b?", value.strip().lower())
        size = int(found[1]) * SIZES[found[2]] if found else -1
        if not least <= size <= most:
            raise UsageError(
                f"option {name} is {value!r}; it is bytes, such as 65536, 64k or 8m, "
                f"{least:,} to {most:,}"
            )
        return size

    return parsed


def seconds(most: float) -> Callable[[str, str], float]:
    """Return what reads a time up to that, as seconds."""

    def parsed(name: str, value: str) -> float:
        found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(ms|s|m|h|d|)", value.strip())
        seconds = float(found[1]) * TIMES_S[found[2]] if found else -1.0
        if not 0 < seconds <= most:
            raise UsageError(
                f"option {name} is {value!r}; it is a time such as 10, 500ms, 15m or 24h, above 0, "
                f"to {most:,.0f} s"
            )
        return seconds

    return parsed


def listed(name: str, value: str) -> tuple[str, ...]:
    """Return what stands between commas, each once."""
    found = tuple(part.strip() for part in value.split(",") if part.strip())
    if not found:
        raise UsageError(f"option {name} is empty")
    if len(set(found)) < len(found):
        raise UsageError(f"option {name} is {value!r}; it names something twice")
    return found


def endpoints(name: str, value: str) -> tuple[str, ...]:
    """Return endpoints."""
    found = listed(name, value)
    if len(found) > ENDPOINTS_MAX:
        raise UsageError(f"option {name} has {len(found):,}; there may be {ENDPOINTS_MAX:,}")
    return found


def near(word: str, names: Iterable[str]) -> str:
    """Return a question that names what was meant, or nothing."""
    lower = {name.lower(): name for name in names}
    found = get_close_matches(word.lower(), list(lower), n=1)
    return f"; did you mean {lower[found[0]]}?" if found else ""
