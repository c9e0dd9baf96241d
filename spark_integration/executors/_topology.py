"""Who of several tasks sends to whom: plain numbers.

Not here: sockets (_mesh.py).
"""

from __future__ import annotations

from enum import Enum


class Topology(Enum):
    """How tasks are wired."""

    RING = "ring"
    """Each sends to the next one, the last to the first."""
    ALL = "all"
    """Each sends to every other."""
    TREE = "tree"
    """Each sends to its parent and its children; 0 is the root."""

    def targets(self, rank: int, count: int) -> tuple[int, ...]:
        """Return whom a task sends to, in rising order.

        Args:
            rank: Which task, from 0 on.
            count: How many there are.
        """
        if self is Topology.RING:
            return ((rank + 1) % count,) if count > 1 else ()
        if self is Topology.ALL:
            return tuple(other for other in range(count) if other != rank)
        parent = ((rank - 1) // 2,) if rank > 0 else ()
        children = tuple(child for child in (2 * rank + 1, 2 * rank + 2) if child < count)
        return parent + children
