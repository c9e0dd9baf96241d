"""Whom to speak to who is not a member that is there: seeds, and those who are gone.

Not here: what is said (sync.py). Law: however many addresses are known, a node tries few of them
at a time: one, in a mesh of `TRIES` or more; who sees nobody tries up to `SIDE_BY_SIDE` seeds and
`AT_ONCE` who are gone. A seed that was tried waits for all that were not.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from math import ceil

from ..here import Here
from ..limits import ENDPOINT_MAX, SEEDS_MAX
from ..probe import Prober
from ..sync import Syncer
from ..table import HERE, Row
from ..told import State

AT_ONCE = 3
"""Seeds that are tried at once by a node that sees nobody; others follow soon, if none answers. As
many of those who are gone are tried behind each pause."""
SIDE_BY_SIDE = 32
"""Seeds that are tried between two pauses, and wait for an answer side by side."""
REFUSED_MAX = 61
"""Places that refusals free between two pauses, each for one more seed."""

TRIES = 8
"""Tries of those who are not there, of all members together, in `Times.heal`: at least."""
LATELY_MAX = 8
"""Those who are gone, and went last: of them is every other try of one who is gone."""


class Dialer:
    """The tries of one node."""

    def __init__(self, here: Here, syncer: Syncer, prober: Prober) -> None:
        self.here, self.syncer, self.prober = here, syncer, prober
        self.seeds: list[str] = []
        self.next_at = float("inf")
        self._wait = here.times.join
        self._round = 1
        self._tried: dict[str, int] = {}
        """By seed: the round that it was tried in last; each seed has one try a round."""
        self._begun = 0
        """Seeds that were tried since the last pause."""
        self._free = 0
        """Places that refusals may still free before the next pause is over."""

    def take_seeds(self, now: float, addresses: Iterable[str]) -> None:
        """Take the addresses where nodes may be."""
        kept = dict.fromkeys(a for a in addresses if 0 < len(a) <= ENDPOINT_MAX)
        new = set(kept) - set(self.seeds)
        self.seeds = list(kept)[:SEEDS_MAX]
        self._tried = {a: self._tried[a] for a in self.seeds if a in self._tried}
        if new and not self.here.table.here:
            self._wait = self.here.times.join
            self.next_at = now
        elif self.next_at == float("inf"):
            self._plan(now)

    def _plan(self, now: float) -> None:
        times, rng = self.here.times, self.here.rng
        if self.here.table.here:
            self.next_at = now + times.heal * (0.75 + 0.5 * rng.random())
            self._wait = times.join
        else:
            self.next_at = now + self._wait * (0.75 + 0.5 * rng.random())

    def met(self, now: float) -> None:
        """Plan anew, as the first member is known."""
        self._plan(now)

    def tick(self, now: float) -> None:
        """Try whom it is time to try."""
        if self.next_at > now:
            return
        if not self.here.table.here:
            self._join(now)
        else:
            self._begun = 0
            self._heal(now)
            self._plan(now)

    def _others(self) -> list[str]:
        """The seeds that are not this node itself."""
        own = set(self.here.me.record.addresses)
        return [address for address in self.seeds if address not in own]

    def _waiting(self, seeds: list[str]) -> list[str]:
        """Return those that this round has not tried yet: who was never tried first."""
        order = [(self._tried.get(one, 0), self.here.rng.random(), one) for one in seeds]
        return [one for tried, _, one in sorted(order) if tried < self._round]

    def _try(self, address: str) -> None:
        self._tried[address] = self._round
        self.syncer.send_hello(address)

    def _join(self, now: float) -> None:
        """Try a few more; pause once so many wait for an answer, or all were tried.

        Who is gone may be back, too, and is tried behind each pause: maybe no seed is any more.
        """
        seeds = self._others()
        waiting = self._waiting(seeds)
        if not self._begun:  # a pause is over
            self._free = REFUSED_MAX
            self._try_some(now, self._gone(), [], AT_ONCE)
            if not waiting:  # all were: the next round, after a longer pause
                self._round += 1
                self._wait = min(self.here.times.join_max, self._wait * 1.5)
                waiting = self._waiting(seeds)
        few = min(AT_ONCE, SIDE_BY_SIDE - self._begun)
        for address in waiting[:few]:
            self._try(address)
        self._begun += few
        if len(waiting) > few and self._begun < SIDE_BY_SIDE:
            self.next_at = now + self.here.times.beside
        else:
            self._begun = 0
            self._plan(now)

    def missed(self, address: str) -> None:
        """Take that nobody can be reached at an address: its place is free for another seed."""
        if self._free == 0 or self.here.table.here or address not in self._tried:
            return
        for other in self._waiting(self._others())[:1]:
            self._free -= 1
            self._try(other)

    def _gone(self) -> list[Row]:
        """Return those who did not say that they leave."""
        return [row for row in self.here.table.absent.values() if row.state != State.LEFT]

    def _ask(self, now: float, row: Row) -> None:
        """Look whether one who is gone is back."""
        self.here.send(row, self.syncer.hello(row))
        self.prober.begin(now, row)

    def _heal(self, now: float) -> None:
        """Try some who are not there: one, and more in a mesh in which few do that."""
        table = self.here.table
        gone, seeds = self._gone(), self._others()
        if seeds:
            there = (row for row in table.rows.values() if row.state in HERE)
            known = {address for row in there for address in row.signed.record.addresses}
            seeds = [address for address in seeds if address not in known]
        self._try_some(now, gone, seeds, ceil(TRIES / self.here.members))

    def _try_some(self, now: float, gone: list[Row], seeds: list[str], count: int) -> None:
        """Try so many, each once: a seed, one of those who are gone, or of the last of these, each
        as often. Many are gone for good, and most of those longer than a cut lasts."""
        rng, last = self.here.rng, self._last(gone)
        for _ in range(count):
            ways: list[list[Row] | None] = [None] * bool(seeds)
            ways += [gone, last or gone] * bool(gone)
            if not ways:
                return
            some = ways[int(rng.random() * len(ways))]
            if some is None:
                self._try_seed(seeds)
                continue
            row = some[int(rng.random() * len(some))]
            gone.remove(row)
            if row in last:
                last.remove(row)
            self._ask(now, row)

    def _try_seed(self, seeds: list[str]) -> None:
        """Try one, and take it out of the list."""
        waiting = self._waiting(seeds)
        if not waiting:
            self._round += 1
            waiting = self._waiting(seeds)
        seeds.remove(waiting[0])
        self._try(waiting[0])

    def _last(self, gone: list[Row]) -> list[Row]:
        """Return those who went last. Not who has a next life, as far as its name tells."""
        if not gone:
            return []
        rows, times = self.here.table.rows.values(), self.here.times
        names = {row.signed.record.name for row in rows if row.state in HERE}
        names.add(self.here.me.record.name)

        def went(row: Row) -> float:
            """When it became unreachable: who is forgotten was so for long."""
            if row.state != State.FORGOTTEN:
                return row.since
            return row.since - (times.forget_unheard if row.heard is None else times.forget)

        alone = (row for row in gone if row.signed.record.name not in names)
        return nlargest(LATELY_MAX, alone, key=went)
