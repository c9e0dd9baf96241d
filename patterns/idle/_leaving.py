"""Who left an `IdleQueue` a moment ago: what a worker said last is heard before it counts as lost.

That a connection ended is known at once; what came over it may still wait to be received.
Law: pure; the time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LAST_WORDS_S = 0.1
"""Seconds for which a worker that left still counts as connected."""


@dataclass
class Leaving:
    """Keeps the names of those that left, for a moment."""

    _told: Mapping[bytes, int] = field(default_factory=dict)
    _since: dict[bytes, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anybody is kept."""
        return bool(self._since)

    def here(self, connections: Mapping[bytes, int], now: float) -> Mapping[bytes, int]:
        """Who is connected, and who was until a moment ago; who came back is here anew."""
        gone = [name for name in self._told if name not in connections]
        self._since = {name: self._since.get(name, now) for name in gone}
        for name in gone:
            if self._since[name] + LAST_WORDS_S <= now:
                del self._since[name]
        self._told = {**{name: self._told[name] for name in self._since}, **connections}
        return self._told
