"""What the machine does by itself: how late a process is that only watches a schedule.

It keeps the schedule of a fixed rate as a sender does, and sends nothing; a tail that it has, too,
is nobody's. Law: it runs in turns with the peers, in a process of its own, never beside one.
"""

from __future__ import annotations

import json
import sys

from ..base.rooms import BENCH
from ..ends.schedule import Clock, RealClock
from ..ends.works import counted
from ..peers.seam import Peer
from .histogram import encoded, figures_of, histogram
from .launch import processes
from .rounds import MACHINE, Case, Figures, Row
from .stats import Counted, Distributions, merged

SECONDS = 2.0
"""How long it watches, each round."""


class Machine(Peer):
    """Nobody."""

    name = MACHINE
    kinds = ("rate",)


def lateness(rate: float, count: int, clock: Clock) -> list[int]:
    """How late so many moments of a schedule were noticed, in nanoseconds."""
    start, late = clock.now(), []
    for i in range(count):
        due = start + int(i * 1e9 / rate)
        clock.wait_until(due)
        late.append(clock.now() - due)
    return late


def distribution(many: list[Counted]) -> Row:
    """What is told of all rounds together."""
    every = merged(many)
    made = histogram(every)
    return {"latency_ns": every, "hdr": encoded(made), "all_rounds": figures_of(made)}


class Hiccups(Distributions):
    """Measures the machine and keeps the distribution of all rounds."""

    def __init__(self, rate: float, seconds: float) -> None:
        super().__init__()
        self.rate, self.count = rate, max(1, round(rate * min(seconds, SECONDS)))

    def __call__(self, warming: bool) -> Figures:
        """Measure once; there is nothing to warm."""
        if warming:
            return {}
        command = [
            sys.executable,
            "-m",
            f"{BENCH}.measure.hiccups",
            str(self.rate),
            str(self.count),
        ]
        with processes() as start:
            late: Counted = start(command).line()["late_ns"]
        self._all.append(late)
        return figures_of(histogram(late))

    def known(self) -> Row:
        """For the row."""
        return distribution(self._all)


def hiccups_case(transport: str, load: str, rate: float, burst: int, seconds: float) -> Case:
    """The machine's own row beside peers at a fixed rate."""
    one = Hiccups(rate / burst, seconds)
    facts = {"load": load, "rate": rate, "burst": burst, "count": one.count}
    return Case(Machine(), "rate", transport, one, facts, extra=one.known, forget=one.forget)


def main() -> None:
    """Run as a process."""
    rate, count = float(sys.argv[1]), int(sys.argv[2])
    print(json.dumps({"late_ns": counted(lateness(rate, count, RealClock()))}), flush=True)


if __name__ == "__main__":
    main()
