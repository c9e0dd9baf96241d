"""What retention removes from a spool before a command has come to it: told, and never passed over.

Not here: what reads (spools.py). Law: a hole behind what was given out is always told, and one in
front of it if its number was asked for; what compaction took is none of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from meshmsg._hints.plural import counted

Gone = Callable[[range, bool], None]
"""What is called with numbers that were removed, and whether anything was given out so far."""


@dataclass
class Removed:
    """Tells on standard error which numbers are left out, as it is found out.

    Attributes:
        named: Its begin was said by a number: what is missing from there on is told, too. Words
            mean what is there as it is read.
        last: The last number that was asked for; None: of all that there are.
        any: Whether some were told.
    """

    named: bool
    last: int | None = None
    any: bool = False

    def __call__(self, numbers: range, begun: bool) -> None:
        """Tell of those that were asked for."""
        behind = numbers.stop if self.last is None else min(numbers.stop, self.last + 1)
        all_of_it = self.last is not None and numbers.stop > self.last
        if numbers.start >= behind or not (begun or self.named or all_of_it):
            return
        self.any = True
        count = counted(behind - numbers.start, "number")
        where = f"{numbers.start} to {behind - 1} ({count})"
        print(f"removed, and not written: {where}", file=sys.stderr, flush=True)
