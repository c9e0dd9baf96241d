"""Whom to speak to who is not a member that is there: seeds, and those who are gone.

Not here: what is said (sync.py). Law: however many addresses are known, one is tried at a time,
but for the first tries of a node that knows nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from .here import Here
from .limits import ENDPOINT_MAX, SEEDS_MAX
from .probe import Prober
from .sync import Syncer
from .table import HERE
from .told import State

AT_ONCE = 3
"""Seeds that are tried at once by a node that knows nobody."""


class Dialer:
    """The tries of one node."""

    def __init__(self, here: Here, syncer: Syncer, prober: Prober) -> None:
        self.here, self.syncer, self.prober = here, syncer, prober
        self.seeds: list[str] = []
        self.next_at = float("inf")
        self._wait = here.times.join

    def take_seeds(self, now: float, addresses: Iterable[str]) -> None:
        """Take the addresses where nodes may be."""
        kept = dict.fromkeys(a for a in addresses if 0 < len(a) <= ENDPOINT_MAX)
        new = set(kept) - set(self.seeds)
        self.seeds = list(kept)[:SEEDS_MAX]
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
            self._wait = min(times.join_max, self._wait * 1.5)

    def met(self, now: float) -> None:
        """Plan anew, as the first member is known."""
        self._plan(now)

    def tick(self, now: float) -> None:
        """Try whom it is time to try."""
        if self.next_at > now:
            return
        if self.here.table.here:
            self._heal(now)
        else:
            self._join()
        self._plan(now)

    def _others(self) -> list[str]:
        """The seeds that are not this node itself."""
        own = set(self.here.me.record.addresses)
        return [address for address in self.seeds if address not in own]

    def _join(self) -> None:
        seeds = self._others()
        for address in self.here.rng.sample(seeds, min(AT_ONCE, len(seeds))):
            self.syncer.send_hello(address)

    def _heal(self, now: float) -> None:
        table = self.here.table
        gone = [row for row in table.absent.values() if row.state != State.LEFT]
        seeds = self._others()
        if seeds:
            there = (row for row in table.rows.values() if row.state in HERE)
            known = {address for row in there for address in row.signed.record.addresses}
            seeds = [address for address in seeds if address not in known]
        count = len(gone) + len(seeds)
        if not count:
            return
        index = self.here.rng.randrange(count)
        if index < len(gone):
            self.here.send(gone[index], self.syncer.hello())
            self.prober.begin(now, gone[index])
        else:
            self.syncer.send_hello(seeds[index - len(gone)])
