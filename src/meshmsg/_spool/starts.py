"""Where in a spool somebody begins: "earliest", "latest", "seq:N", "last:N", "since:5m", or a
number.

Not here: who begins there. Law: one grammar for cursors, readers, groups, replays and the command
line; what says nothing is refused before anything is made.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from meshmsg._binding.core import ffi
from meshmsg._binding.errors import SpoolTrimmedError, UsageError
from meshmsg._spool.arguments import whole
from meshmsg._spool.held import Held, first_and_last

Start = int | str
"""Where one begins: a number, or one of the words of `begin_of`."""
Kind = Literal["earliest", "latest", "seq", "last", "since"]

NUMBER_MAX = 2**63 - 1
"""What N may be, and the milliseconds of a time."""
_SPAN_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DIGITS_MAX = 19
"""Of a number: one of 64 bits has no more."""
_FORM = re.compile(r"(seq|last):([0-9]+)|(since):([0-9]+)([smhd])", re.ASCII)
_WORDS = (
    "'earliest', 'latest', 'seq:N', 'last:N', or 'since:' and a time, as 'since:5m' (s, m, h, d)"
)
_US, _US_PER_MS = 1_000_000, 1000
"""Microseconds in a second, and in a millisecond."""
_FoundT = TypeVar("_FoundT")


@dataclass(frozen=True)
class Begin:
    """Where one begins.

    Attributes:
        kind: "seq": with a number; "last": with the last so many; "since": with what was put in the
            last so many milliseconds; or as its word says.
        value: That number; of "earliest" and "latest" 0.
    """

    kind: Kind
    value: int = 0


def begin_of(name: str, start: object, *, numbers: bool = True) -> Begin:
    """Return where that says that one begins.

    Args:
        name: Of the argument, for errors.
        start: What was given.
        numbers: A number may be given as an int, too.

    Raises:
        UsageError: It says nothing that there is, or a number that is out of its range.
        TypeError: It is no text, or no number either.
    """
    known = f"it is {_WORDS}" + (", or a number" if numbers else "")
    if not isinstance(start, str):
        if not numbers or isinstance(start, bool) or not isinstance(start, int):
            raise TypeError(f"{name} is {start!r}; {known}")
        return Begin("seq", whole(name, start, 1))
    if start in ("earliest", "latest"):
        return Begin(cast("Kind", start))
    found = _FORM.fullmatch(start)
    if found is None:
        raise UsageError(f"{name} is {start!r}; {known}")
    kind, digits, unit = found[1] or found[3], found[2] or found[4], found[5]
    unit_ms = _SPAN_MS[unit] if unit else 1
    if len(digits) > _DIGITS_MAX or int(digits) * unit_ms > NUMBER_MAX:
        most = NUMBER_MAX // unit_ms
        raise UsageError(
            f"{name} is {start!r}, which is too large: at most '{kind}:{most}{unit or ''}'"
        )
    if int(digits) == 0:
        raise UsageError(f"{name} is {start!r}; the number is 1 and more: {known}")
    return Begin(cast("Kind", kind), int(digits) * unit_ms)


def first_since(spool: Held, since_ms: int) -> int:
    """Return the number of the first message that was put in the last so many milliseconds; what
    comes next, if none was. It reads files."""
    out = ffi.new("uint64_t *")
    from_us = max(int(time.time() * _US) - since_ms * _US_PER_MS, 0)
    with spool._in_use() as pointer:
        rc = int(type(spool)._young(pointer, from_us, out))
    spool._raise_for(rc, "looking for a time in it")
    return int(out[0])


def number_of(spool: Held, begin: Begin, known: tuple[int, int] | None = None) -> int:
    """Return the number that it begins with, as it is at this moment, or was when the first and
    the last number were those: 1 behind the last one for what is yet to come."""
    if begin.kind == "seq":
        return begin.value
    if begin.kind == "since":
        return first_since(spool, begin.value)
    first, last = known or first_and_last(spool)
    wanted = {"earliest": first, "latest": last + 1}.get(begin.kind, last + 1 - begin.value)
    return max(wanted, first)


def end_of(spool: Held, end: Begin) -> int:
    """Return a last number: that which was said, or the one in front of what words mean."""
    return end.value if end.kind == "seq" else number_of(spool, end) - 1


def check_end(seq: Start) -> None:
    """Refuse what is neither a last number nor such words."""
    if isinstance(seq, str):
        begin_of("seq", seq)
    else:
        whole("seq", seq, 0)


def find(self: Held, start: Start) -> int:
    """Return the number of the message that a start means at this moment.

    So `reader(spool.find("since:5m"))` reads what was put in the last 5 minutes. Thread-safe: yes.
    Of a time it reads the heads of files, and up to one segment file.

    Args:
        start: "earliest", "latest", "seq:42" or 42, "last:100", "since:5m", as of a cursor.

    Returns:
        The number; 1 behind the last one, if what is meant is yet to come.

    Raises:
        UsageError, TypeError: It says nothing that there is.
        SpoolFailedError: The disk failed.
        ClosedError: It was closed.
    """
    return number_of(self, begin_of("start", start))


def begun(spool: Held, begin: Begin, at: Callable[[int], _FoundT]) -> _FoundT:
    """Do something with the number that it begins with. What was removed since that was found out
    is no error, unless it was named."""
    while True:
        try:
            return at(number_of(spool, begin))
        except SpoolTrimmedError:
            if begin.kind == "seq":
                raise
