"""The members that a node knows, and what it thinks of each.

Not here: why a state changes (opinion.py). Law: the digests are always those of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from math import log, log10
from random import Random

from .limits import Times
from .messages import BUCKETS, VERSION_ENTRY
from .octets import Rumour, Signed, Statement
from .told import Member, State

STANDING = {
    State.ALIVE: 0,
    State.SUSPECT: 0,
    State.UNREACHABLE: 1,
    State.LEFT: 2,
    State.FORGOTTEN: 3,
}
"""What a sync tells of a state; who is forgotten is not told of."""
HERE = (State.ALIVE, State.SUSPECT)
"""The states in which a node is taken to be there."""

PROVEN_TURN = 4
"""Of so many turns one is of those who answered this node once. More of them would have those wait
that did not: then a crash of one of a hundred that had just met took 4.8 s."""

UNKNOWN = float("inf")
"""How long the way to a member is that has not answered yet."""


class Suspicion:
    """That a member may be gone: who says so, and until when it may refute it."""

    __slots__ = ("accusers", "deadline", "incarnation", "looked", "refused", "silent", "start")

    def __init__(self, incarnation: int, start: float) -> None:
        self.incarnation, self.start = incarnation, start
        self.accusers: dict[bytes, Statement] = {}
        self.refused = 0
        self.looked = False
        """Whether this node asks it a last time, or has."""
        self.silent = False
        """Whether that was not answered, or nobody listens there: this node's own finding."""
        self.deadline = start

    def add(self, said: Statement) -> None:
        """Count a statement, the first of each node."""
        before = self.accusers.get(said.by)
        self.accusers[said.by] = said
        if said.kind == Rumour.REFUSED and (before is None or before.kind != Rumour.REFUSED):
            self.refused += 1

    def refused_to(self, handle: bytes) -> bool:
        """Whether that node said that nobody listens there."""
        said = self.accusers.get(handle)
        return said is not None and said.kind == Rumour.REFUSED

    def set_deadline(self, times: Times, members: int) -> None:
        """Say until when it lasts, from how many accuse and how many members there are."""
        least = times.suspicion * log10(max(10, members))
        enough = observers(times, members)
        accusers = min(max(1, len(self.accusers)), enough)
        share = log(accusers) / log(enough) if enough > 1 else 1.0
        self.deadline = self.start + least * (
            times.suspicion_max - (times.suspicion_max - 1) * share
        )


def observers(times: Times, members: int) -> int:
    """Return how many distinct members are enough to ask one a last time, and soon."""
    return max(1, min(times.confirmers, members - 2))


def version_digest(signed: Signed, state: State) -> int:
    """Return the 64 bits that stand for what a sync tells of a member."""
    record = signed.record
    version = (signed.handle, record.incarnation, record.seq, STANDING[state])
    return int.from_bytes(blake2b(VERSION_ENTRY.pack(*version), digest_size=8).digest(), "big")


class Row:
    """A member."""

    __slots__ = (
        *("heard", "proof", "quickest", "rtt", "signed", "since", "source", "state", "told_by"),
    )

    def __init__(self, signed: Signed, state: State, since: float, told_by: bytes) -> None:
        self.signed, self.state, self.since, self.told_by = signed, state, since, told_by
        self.rtt: float | None = None
        self.quickest = UNKNOWN
        """Seconds that its quickest answer took, of the last ones."""
        self.heard: float | None = None
        self.source = ""
        """The host that told of it first, as long as it has not answered this node."""
        self.proof: Suspicion | Statement | None = None
        """Of SUSPECT and UNREACHABLE: a suspicion; of LEFT: what it said."""

    @property
    def suspicion(self) -> Suspicion | None:
        """The suspicion, if there is one."""
        return self.proof if isinstance(self.proof, Suspicion) else None

    def member(self) -> Member:
        """Return it as a user sees it."""
        return Member(
            self.signed.record, self.state, self.since, self.rtt, self.heard, self.told_by
        )


class Table:
    """All members but this node itself, which is in the digests, too."""

    def __init__(self, rng: Random) -> None:
        self.own = b""
        """The id of this node."""
        self.rows: dict[bytes, Row] = {}
        self.absent: dict[bytes, Row] = {}
        """Those that are not alive and not suspect."""
        self._names: dict[str, bytes] = {}
        self._twins: dict[str, set[bytes]] = {}
        """Of names that several have: who."""
        self.here = 0
        """Rows that are alive or suspect."""
        self.digest = 0
        self.buckets = [0] * BUCKETS
        self._rng = rng
        self._order: list[bytes] = []
        self._next = 0
        self._proven: list[bytes] = []
        """Those that are there and answered this node once, in the order of their probes."""
        self._next_proven = 0
        self._turn = 0

    @property
    def known(self) -> int:
        """How many there are, whatever they are taken for."""
        return self.here + len(self.absent)

    def add(self, row: Row) -> None:
        """Take a new member."""
        handle = row.signed.handle
        self.rows[handle] = row
        row.told_by = self._whole(row.told_by)
        self._name(row)
        if row.state in HERE:
            self._entered(handle)
        else:
            self.absent[handle] = row
        self.toggle(row.signed, row.state)

    def _whole(self, handle: bytes) -> bytes:
        """The id that a handle is of; ours, if it is nobody's any more."""
        row = self.rows.get(handle)
        return self.own if row is None else row.signed.record.node_id

    def _entered(self, handle: bytes) -> None:
        self.here += 1
        self._order.insert(self._rng.randint(self._next, len(self._order)), handle)
        if self.rows[handle].heard is not None:
            self._proven.append(handle)

    def heard(self, row: Row, now: float) -> None:
        """Take that a member answered this node."""
        if row.heard is None and row.state in HERE:
            self._proven.append(row.signed.handle)
        row.heard = now

    def change(self, row: Row, state: State, now: float, told_by: bytes) -> None:
        """Put a member into another state."""
        handle = row.signed.handle
        if row.state in HERE and state not in HERE:
            self.here -= 1
            self.absent[handle] = row
        elif row.state not in HERE and state in HERE:
            self._entered(handle)
            del self.absent[handle]
        if STANDING[row.state] != STANDING[state]:
            self.toggle(row.signed, row.state)
            self.toggle(row.signed, state)
        row.state, row.since, row.told_by = state, now, self._whole(told_by)

    def replace(self, row: Row, signed: Signed) -> None:
        """Take what a member says anew."""
        if signed.record.name != row.signed.record.name:
            self._unname(row)
            self.toggle(row.signed, row.state)
            row.signed = signed
            self._name(row)
        else:
            self.toggle(row.signed, row.state)
            row.signed = signed
        self.toggle(signed, row.state)

    def remove(self, row: Row) -> None:
        """Know it no more."""
        if row.state in HERE:
            self.here -= 1
        else:
            del self.absent[row.signed.handle]
        self.toggle(row.signed, row.state)
        self._unname(row)
        del self.rows[row.signed.handle]

    def _unname(self, row: Row) -> None:
        name, handle = row.signed.record.name, row.signed.handle
        twins = self._twins.get(name)
        if twins is None:
            del self._names[name]
            return
        twins.discard(handle)
        self._names[name] = next(iter(twins))
        if len(twins) == 1:
            del self._twins[name]

    def _name(self, row: Row) -> None:
        name, handle = row.signed.record.name, row.signed.handle
        other = self._names.setdefault(name, handle)
        if other != handle:
            self._twins.setdefault(name, {other}).add(handle)

    def shared_names(self) -> list[str]:
        """Return the names that several members have: nearly none is."""
        return list(self._twins)

    def named(self, name: str) -> list[Row]:
        """Return the members of that name."""
        one = self._names.get(name)
        if one is None:
            return []
        return [self.rows[handle] for handle in self._twins.get(name, (one,))]

    def toggle(self, signed: Signed, state: State) -> None:
        """Put a version into the digests, or take it out."""
        if state == State.FORGOTTEN:
            return
        version = version_digest(signed, state)
        self.digest ^= version
        self.buckets[signed.handle[0]] ^= version & 0xFFFF_FFFF

    def next_probed(self) -> Row | None:
        """Return whose turn it is; each comes once a round, in another order each time.

        Some turns are of those who answered once: so that they are not lost among many that never
        do, whoever tells of such.
        """
        self._turn = (self._turn + 1) % PROVEN_TURN
        row = self._next_of_proven() if self._turn == 0 else None
        return row or self._next_of_all()

    def _next_of_all(self) -> Row | None:
        for _ in range(2):
            while self._next < len(self._order):
                row = self.rows.get(self._order[self._next])
                self._next += 1
                if row is not None and row.state in HERE:
                    return row
            self._order = [h for h, row in self.rows.items() if row.state in HERE]
            self._rng.shuffle(self._order)
            self._next = 0
        return None

    def _next_of_proven(self) -> Row | None:
        for _ in range(2):
            while self._next_proven < len(self._proven):
                row = self.rows.get(self._proven[self._next_proven])
                self._next_proven += 1
                if row is not None and row.state in HERE:
                    return row
            there = dict.fromkeys(self._proven)
            self._proven = [h for h in there if h in self.rows and self.rows[h].state in HERE]
            self._rng.shuffle(self._proven)
            self._next_proven = 0
        return None

    def some(self, count: int, but: bytes = b"") -> list[Row]:
        """Return that many members that are there, distinct and at random; fewer if there are.

        Half of them are of those who answered once, as long as there are enough.
        """
        found: dict[bytes, Row] = {}
        order, rng = self._order, self._rng
        if not order:
            return []
        for _ in range(4 * count):
            pool = self._proven if self._proven and rng.random() < 0.5 else order
            handle = pool[int(rng.random() * len(pool))]
            row = self.rows.get(handle)
            if row is not None and row.state == State.ALIVE and handle != but:
                found[handle] = row
                if len(found) == count:
                    break
        return list(found.values())

    def in_buckets(self, buckets: list[int]) -> Iterator[Row]:
        """Yield the members of these buckets that a sync tells of."""
        wanted = set(buckets)
        for handle, row in self.rows.items():
            if handle[0] in wanted and row.state != State.FORGOTTEN:
                yield row
