"""Who of several tasks sends to whom: plain numbers.

Not here: sockets (_mesh.py).  Law: what a user says of it is checked before any task begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple, TypeAlias

from meshmsg import UsageError


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


class Edges(NamedTuple):
    """A topology of one's own."""

    of: tuple[tuple[int, ...], ...]
    """Whom each task sends to, by its rank."""

    def targets(self, rank: int, count: int) -> tuple[int, ...]:
        """Return whom a task sends to, in rising order."""
        return self.of[rank]


Wiring: TypeAlias = Topology | Iterable[tuple[int, int]] | Callable[[int, int], Iterable[int]]
"""What `executors_as_mesh` takes: see there."""


def wiring_of(topology: Wiring, count: int) -> Topology | Edges:
    """Return who of so many tasks sends to whom.

    Raises:
        UsageError: A task is not there, or sends to itself.
        TypeError: It is none of the three, or has what is no number.
    """
    if isinstance(topology, Topology):
        return topology
    found: list[set[int]] = [set() for _ in range(count)]
    if callable(topology):
        for rank in range(count):
            said = topology(rank, count)
            if not isinstance(said, Iterable):
                raise TypeError(
                    f"topology({rank}, {count}) returned {said!r}; it returns the ranks that task "
                    f"{rank} sends to"
                )
            found[rank] = {_there(rank, to, count) for to in said}
        return Edges(tuple(tuple(sorted(one)) for one in found))
    try:
        pairs = [(one, to) for one, to in topology]
    except (TypeError, ValueError):
        raise TypeError(
            f"topology is {topology!r}; it is a Topology, pairs of ranks (from, to), or a function "
            "of a rank and the count that returns ranks"
        ) from None
    for one, to in pairs:
        found[_there(to, one, count)].add(_there(one, to, count))
    return Edges(tuple(tuple(sorted(one)) for one in found))


def _there(one: object, other: int, count: int) -> int:
    """Return a rank that another task names, if it is one."""
    if isinstance(other, bool) or not isinstance(other, int):
        raise TypeError(f"topology: {other!r} is no rank; it is a whole number")
    if not 0 <= other < count:
        raise UsageError(f"topology: there is no task {other}; ranks are 0 to {count - 1}")
    if one == other:
        raise UsageError(f"topology: task {other} sends to itself")
    return other
