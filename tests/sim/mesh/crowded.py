"""Nodes that share the processors of one machine, which may have too much to do for them.

Not here: how long a message travels (world.py), what becomes of such a mesh (test_crowded.py).
Law: a node takes what has come, does what is due, and sends what follows once it had the time for
it. Processors take turns with those that want one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from meshmsg._mesh.seam import Evidence
from meshmsg._mesh.told import Answer, Arrival, Send

from .world import Host, World


@dataclass(frozen=True)
class Costs:
    """Seconds of a processor: as measured of a hundred processes on two cores."""

    turn: float = 0.0002
    taken: float = 0.00015
    """A message that came."""
    sent: float = 0.000055
    verified: float = 0.000145
    """A signature."""
    slice: float = 0.003
    """What one has before it is the turn of the next."""

    def times(self, load: float) -> Costs:
        """All but the slice that many times over."""
        four = (self.turn, self.taken, self.sent, self.verified)
        return Costs(*(load * one for one in four), slice=self.slice)


class Work:
    """What one node has to do."""

    def __init__(self) -> None:
        self.arrivals: deque[Arrival] = deque()
        self.evidence: deque[tuple[bytes, Evidence]] = deque()
        self.due = False
        self.left = 0.0
        """Seconds of a processor, of the turn that it is in."""
        self.out: list[Send | Answer] = []
        """What it sends at the end of that."""
        self.waits = False
        """Whether it is in the queue, or has a processor."""

    def __bool__(self) -> bool:
        return self.due or bool(self.arrivals) or bool(self.evidence)


class Crowd(World):
    """The simulation, of one machine."""

    def __init__(
        self, seed: int, *, processors: int = 2, costs: Costs | None = None, loss: float = 0.0
    ) -> None:
        super().__init__(seed, loss=loss)
        self.costs = costs or Costs()
        self.used = 0.0
        """Seconds of the processors."""
        self._free = processors
        self._queue: deque[Host] = deque()
        self._works: dict[Host, Work] = {}
        self._verified = 0

    def verify(self, key: bytes, data: bytes, signature: bytes) -> bool:
        """Count it, too."""
        self._verified += 1
        return super().verify(key, data, signature)

    def _work(self, host: Host) -> Work:
        return self._works.setdefault(host, Work())

    def _deliver(self, target: Host, host: Host, data: bytes) -> None:
        if target.up:
            self.delivered += 1
            self._work(target).arrivals.append(Arrival(host.address, data, host.index + 1))
            self._wants(target)

    def _tick(self, host: Host, due: float) -> None:
        if host.up and due == host.tick_at:
            host.tick_at = float("inf")
            self._work(host).due = True
            self._wants(host)

    def _saw(self, host: Host, node: bytes, evidence: Evidence) -> None:
        if host.up:
            self._work(host).evidence.append((node, evidence))
            self._wants(host)

    def _wants(self, host: Host) -> None:
        work = self._work(host)
        if not work.waits:
            work.waits = True
            self._queue.append(host)
            self._give()

    def _give(self) -> None:
        """Give processors that are free to who waits."""
        while self._free and self._queue:
            host = self._queue.popleft()
            work = self._work(host)
            if not work.left:
                self._turn(host, work)
            share = min(self.costs.slice, work.left)
            work.left -= share
            self.used += share
            self._free -= 1
            self.call(self.now + share, self._given, host)

    def _given(self, host: Host) -> None:
        self._free += 1
        work = self._work(host)
        if work.left <= 0:
            work.left = 0.0
            self._end(host, work)
        if host.up and (work.left or work):
            self._queue.append(host)
        else:
            work.waits = False
        self._give()

    def _turn(self, host: Host, work: Work) -> None:
        """Do all that there is; it takes its time, and what is sent waits for its end."""
        core, costs, before = host.core, self.costs, self._verified
        arrivals, work.arrivals = work.arrivals, deque()
        evidence, work.evidence, work.due = work.evidence, deque(), False
        now = self.clock(host)
        for node, what in evidence:
            core.saw(now, node, what)
        for arrival in arrivals:
            core.arrived(now, arrival)
        if core.due() <= now:
            core.tick(now)
        work.out = core.take()
        work.left = costs.turn + costs.taken * len(arrivals) + costs.sent * len(work.out)
        work.left += costs.verified * (self._verified - before)

    def _end(self, host: Host, work: Work) -> None:
        if host.up:
            host.core.here.out[:0] = work.out
            self.acted(host)
        work.out = []
