"""What waits in a Push to go later, and its limits, in words.

Not here: what is sent so (pushing.py). Law: what is so at that moment; of a socket that
was closed, nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshmsg._binding.core import ffi, lib
from meshmsg._hints.plural import plural

_MS = 1000
"""Milliseconds in a second."""
_LEAST_S = 0.1
"""Seconds to which it is told when something is due."""
OPTIONS = "delayed_messages, delayed_bytes"
"""What raises the limits."""


def many(count: int, what: str) -> str:
    """Write so many of them."""
    return f"{count:,} {plural(count, what)}"


@dataclass(frozen=True)
class Later:
    """What waits to go later: sent so (`delay=`, `at=`), or given back so (`nack(delay=)`)."""

    sent: int
    sent_most: int
    sent_bytes_most: int
    returned: int
    returned_most: int
    returned_bytes_most: int
    next_s: float | None
    """Seconds until the first is due."""
    refuses: bool
    """Whether so much was given back that nothing new is taken."""

    @property
    def count(self) -> int:
        """All of it."""
        return self.sent + self.returned

    @property
    def next_due(self) -> str:
        """When the first goes."""
        if self.next_s is None:
            return ""
        return f"{'the next ' if self.count > 1 else ''}in {max(self.next_s, _LEAST_S):,.1f} s"

    def choked(self) -> str:
        """Say why nothing new is taken; nothing, if it is."""
        if not self.refuses:
            return ""
        wait = plural(self.returned, "waits", "wait")
        were = plural(self.returned, "was", "were")
        when = "" if self.sent else f", {self.next_due}"  # else one of those may be next
        return (
            f"{many(self.returned, 'message')} that {were} given back {wait} to go later "
            f"(nack(delay=)){when}; from {many(self.returned_most, 'message')} on, and "
            f"above {many(self.returned_bytes_most, 'byte')}, nothing new is taken ({OPTIONS})"
        )

    def no_room(self) -> str:
        """Say why what is to go later finds no room."""
        wait = plural(self.sent, "waits", "wait")
        return (
            f"{many(self.sent, 'message')} {wait} to go later, as many as may: "
            f"{many(self.sent_most, 'message')}, {many(self.sent_bytes_most, 'byte')} ({OPTIONS}),"
        )


def later_of(handle: int) -> Later:
    """Read what waits in a socket to go later."""
    out = ffi.new("mm_later *")
    if lib.mm_socket_later(handle, out) < 0:
        return Later(0, 0, 0, 0, 0, 0, None, refuses=False)
    return Later(
        sent=int(out.sent),
        sent_most=int(out.sent_max),
        sent_bytes_most=int(out.sent_bytes_max),
        returned=int(out.returned),
        returned_most=int(out.returned_max),
        returned_bytes_most=int(out.returned_bytes_max),
        next_s=None if out.next_ms < 0 else out.next_ms / _MS,
        refuses=bool(out.refuses),
    )
