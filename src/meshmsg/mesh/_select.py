"""Which nodes of a service a socket connects to: `select=`.

Not here: connecting (_follow.py). Law: pure; who is chosen depends on the members alone, and what
was chosen before stays as long as it may.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Set
from dataclasses import dataclass

from meshmsg._binding.errors import UsageError

COUNT_MAX = 10_000
"""Of `select="n=..."`."""
KINDS = ("all", "nearest", "hash")


@dataclass(frozen=True)
class Choice:
    """What `select=` says: its kind, and for "n" how many."""

    kind: str
    count: int = 0


def choice_of(select: str) -> Choice:
    """Read `select=`.

    Raises:
        UsageError: It is none of those there are.
    """
    if select in KINDS:
        return Choice(select)
    if isinstance(select, str) and select.startswith("n="):
        digits = select[2:]
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 5 else 0
        if 0 < number <= COUNT_MAX:
            return Choice("n", number)
    raise UsageError(
        f'select is {select!r}; it is "all", "nearest", "hash" or "n=3", up to {COUNT_MAX:,}'
    )


@dataclass(frozen=True)
class Candidate:
    """A node that offers the service, and may be connected to."""

    url: str
    node: bytes
    distance: int
    """0 the same machine, 1 the same zone, 2 elsewhere."""
    weight: int


def _score(one: Candidate, own: str) -> float:
    """Of rendezvous hashing, with weights: the same for each who computes it."""
    octets = hashlib.blake2b(one.node + own.encode(), digest_size=8).digest()
    part = (int.from_bytes(octets, "big") + 1) / 2**64  # above 0, up to 1
    return float(part ** (1.0 / one.weight))


def chosen(
    choice: Choice, candidates: Iterable[Candidate], kept: Set[str], own: str
) -> dict[str, Candidate]:
    """Return whom to connect to, by endpoint.

    Args:
        choice: What was asked for.
        candidates: Who is there, this node never among them by itself.
        kept: Endpoints that are connected to already: "n=3" stays with those.
        own: What tells this node from others, for "hash" and "n=3".
    """
    there = [one for one in candidates if one.weight > 0]
    if choice.kind == "nearest" and there:
        best = min(one.distance for one in there)
        there = [one for one in there if one.distance == best]
    elif choice.kind in ("hash", "n"):
        order = sorted(there, key=lambda one: (one.url not in kept, -_score(one, own)))
        if choice.kind == "hash":
            order = sorted(there, key=lambda one: -_score(one, own))
        there = order[: choice.count or 1]
    return {one.url: one for one in there}
