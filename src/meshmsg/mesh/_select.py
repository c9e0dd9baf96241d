"""Which nodes of a service a socket connects to: `select=`.

Not here: connecting (_follow.py). Law: pure; who is chosen depends on the members alone, and what
was chosen before stays as long as it may.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Set
from dataclasses import dataclass

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._binding.snapshots import text
from meshmsg._mesh.told import Member, State
from meshmsg.mesh._addresses import name_of, unusable
from meshmsg.mesh._offers import SPOOL_ROLE
from meshmsg.mesh._watch import is_there

_ROLES: dict[str, int] = {
    text(lib.mm_role_name(role)).lower(): role for role in range(1, lib.MM_ROLE_COUNT)
}
"""What records call roles. The core's table decides which can talk to each other; one that it does
not know may be of a later version, and is tried."""

COUNT_MAX = 10_000
"""Of `select="n=..."`."""
KINDS = ("all", "nearest", "hash")


@dataclass(frozen=True)
class Choice:
    """What `select=` says: its kind, and how many; 0: it does not say that."""

    kind: str
    count: int = 0


def choice_of(select: str) -> Choice:
    """Read `select=`.

    Raises:
        UsageError: It is none of those there are.
    """
    if select in KINDS:
        return Choice(select, int(select == "hash"))
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
        there = order[: choice.count]
    return {one.url: one for one in there}


def fits(role: int, offered: str) -> bool:
    """Whether a socket of a role can talk to what a record calls so."""
    other = _ROLES.get(offered)
    if other is None:
        return offered != SPOOL_ROLE
    return bool(lib.mm_roles_fit(role, other))


def cannot(role: int, offered: str, by: Member) -> str:
    """Say that it cannot."""
    mine = text(lib.mm_role_name(role))
    if offered == SPOOL_ROLE:
        return f"{name_of(by)} offers a SpoolServer there, which a RemoteSpool reads, not a {mine}"
    return f"{mine} cannot talk to {offered.upper()}, which {name_of(by)} offers there"


def misfit(role: int, service: str, members: Iterable[Member]) -> str:
    """Say why nobody who offers a service fits a role; "": somebody does, or nobody offers it."""
    said = ""
    for member in filter(is_there, members):
        for one in member.record.services:
            if one.name != service:
                continue
            if fits(role, one.role):
                return ""
            said = said or cannot(role, one.role, member)
    return said


def why_nobody(role: int, service: str, members: list[Member]) -> str:
    """Say why a socket that follows a service may have no peer of it; "": no reason is known."""
    wrong = misfit(role, service, members)
    if wrong:
        return f"{service!r}: {wrong}"
    return not_offered(service, members)


def without_weight(role: int, service: str, members: Iterable[Member]) -> str:
    """Say that all who offer a service, and fit a role, take nobody new; "": some do, or there are
    none."""
    there = [
        (member, one)
        for member in filter(is_there, members)
        for one in member.record.services
        if one.name == service and fits(role, one.role)
    ]
    if not there or any(one.weight for _, one in there):
        return ""
    if len(there) > 1:
        how_many = f"{len(there)} nodes, all with weight=0: they take"
    else:
        how_many = f"{name_of(there[0][0])} with weight=0: it takes"
    return f"{service!r} is offered by {how_many} nobody new"


def out_of_reach(role: int, service: str, members: Iterable[Member], ours: str) -> str:
    """Say that nothing of what is offered, and fits a role, can be connected to from here; "": some
    can, or nothing is offered.

    Args:
        role: Of the socket.
        service: The name.
        members: Who is known.
        ours: The host of this node (`here`).
    """
    said = ""
    for member in filter(is_there, members):
        for one in member.record.services:
            if one.name != service or not fits(role, one.role):
                continue
            for url in one.endpoints:
                why = unusable(url, member.record.host, ours)
                if not why:
                    return ""
                said = said or f"{service!r} is offered by {name_of(member)} at {url}: {why}"
    return said


def not_offered(service: str, members: list[Member]) -> str:
    """Say that nobody who is there offers a service; "": somebody does."""
    offering = [one for one in members if any(s.name == service for s in one.record.services)]
    if any(map(is_there, offering)):
        return ""
    gone = [one for one in offering if one.state == State.UNREACHABLE]
    if gone:
        return f"{service!r} is offered by {name_of(gone[0])}, which is UNREACHABLE"
    there = sum(map(is_there, members))
    return f"nobody offers {service!r}, of {there} member{'s' if there != 1 else ''}"
