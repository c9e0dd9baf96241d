"""What is told of a node that others hear, and cannot reach where it says that it is.

Not here: how that is known (_mesh/joining/reached.py). Law: one warning an hour at most.
"""

from __future__ import annotations

from meshmsg.mesh._finding.unreached import AGAIN_S
from meshmsg.mesh._place import Place


def nobody_reaches(place: Place, unasked: float | None) -> str:
    """Say that no member has reached this node for so many seconds; "": that is not so."""
    if unasked is None:
        return ""
    where = ", ".join(place.addresses) or "no address"
    says = f"it says that it is at {where}{' (advertise=)' if place.advertised else ''}"
    return (
        f"no other node has reached this one for {unasked:.0f} s, though they answer it, so they "
        f"hold it UNREACHABLE: {says}, and is bound to {place.bound}; either that is not where "
        "they find it, or connections to it are dropped"
    )


class Unasked:
    """When that was told."""

    def __init__(self) -> None:
        self._told = float("-inf")

    def look(self, now: float, words: str) -> list[str]:
        """Return what is to be told now.

        Args:
            now: Seconds, of a clock that only goes on.
            words: What `nobody_reaches` says now.
        """
        if not words or now - self._told < AGAIN_S:
            return []
        self._told = now
        return [f"{words}; see mesh.explain"]
