"""Plain SWIM, to compare with: the same core, without what Lifeguard and this project add to it.

Not here: what is compared (slow.py). Law: the times are the same, and where one has to choose, it
is given what makes it blame fewer: who is gone for it is not believed, and an answer clears a name.
"""

from __future__ import annotations

from dataclasses import replace

from meshmsg._mesh.core import Core
from meshmsg._mesh.limits import Times
from meshmsg._mesh.messages import PROBE, Kind
from meshmsg._mesh.octets import Rumour, Statement
from meshmsg._mesh.opinion import Opinions
from meshmsg._mesh.probe import Prober
from meshmsg._mesh.table import HERE, Row

PLAIN = replace(
    Times(),
    health_max=0,  # a node that is slow itself waits no longer
    suspicion_max=1.0,  # a suspicion that nobody confirms takes as long as one that three do
    confirmers=1,
    checkers=0.0,  # who hears of a suspicion does not look for itself
    fresh=0.0,  # nor trust what it heard of its own
    frozen=float("inf"),  # nor see that it stood still
    behind=0.0,  # nor that it is behind with what comes
)
"""The times of plain SWIM: that of a suspicion is the least of ours."""
DEAD = Rumour.REFUSED
"""How it is passed on that somebody's time is over: nobody is refused in these scenes."""


class PlainOpinions(Opinions):
    """A suspicion ends by its time, and whoever hears of that believes it."""

    def _look(self, now: float, row: Row) -> None:
        """Ask nobody a last time."""
        if row.suspicion is not None:
            row.suspicion.looked = row.suspicion.silent = True
            self._plan(row)

    def _unreachable(self, now: float, row: Row) -> None:
        incarnation = row.suspicion.incarnation if row.suspicion else row.signed.record.incarnation
        self._pass_on(self.here.state(DEAD, row.signed.handle, incarnation))
        super()._unreachable(now, row)

    def _hear_accuser(self, now: float, row: Row, said: Statement) -> None:
        if said.kind != DEAD:
            super()._hear_accuser(now, row, said)
            return
        accuser = self.here.table.rows.get(said.by)
        if accuser is not None and accuser.state in HERE and self._signed_by(said, accuser):
            self._pass_on(said)
            super()._unreachable(now, row)

    def warn(self, row: Row, incarnation: int | None = None) -> None:
        """Tell nobody what is said of it but by rumours."""


class PlainProber(Prober):
    """A probe says nothing of a suspicion: Lifeguard calls that the buddy system."""

    def _ping(self, row: Row, number: int, way: int = 0) -> None:
        data = self.here.head(Kind.PING) + PROBE.pack(number, row.signed.handle)
        self.here.send(row, self.here.with_rumours(data), way)


def make_plain(core: Core) -> None:
    """Have a core that did nothing yet be of plain SWIM; its times are to be `PLAIN`."""
    opinions = PlainOpinions(core.here)
    prober = PlainProber(core.here, opinions)
    prober.next_at = core.prober.next_at
    core.opinions = core.syncer.opinions = opinions
    core.prober = core.dialer.prober = prober
