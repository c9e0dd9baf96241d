"""The command slow: what a subscriber that reads next to nothing costs the others.

One process publishes on a schedule, each of some others receives all of it. In each round that is
measured beside a subscriber that takes a message a second, and without it, in turn: what is
compared is the same subscribers with themselves. Not here: what the processes do (ends/slow.py).
Law: a figure is a ratio within a round; in a round in which nothing was dropped nobody was slow,
and it does not count.
"""

from __future__ import annotations

import argparse
import weakref
from typing import Any

from ..base.need import BenchError
from ..ends.schedule import HEAD
from ..measure.rounds import Case, Figures
from ..measure.stats import latency_figures, merged
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, number_list, positive, whole
from .beside import Process

RATE = 5000.0
SIZE = 1024
OTHERS = 2
SECONDS = 3.0
WARM_SECONDS = 1.0
QUEUES = 20_000_000
"""Octets that the slow one's queues and those of the system have room for, at most: so much is sent
before the first measurement beside it."""


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("slow", help="what a slow subscriber costs the others")
    parser.add_argument("--size", type=number_list(HEAD.size), default=str(SIZE))
    parser.add_argument("--rate", type=positive, default=RATE, help="messages a second")
    parser.add_argument("--others", type=whole(1), default=OTHERS, help="that read (%(default)s)")
    parser.add_argument("--seconds", type=positive, default=SECONDS, help="each of both, a round")
    add_common(parser, "meshmsg")
    parser.set_defaults(run=slow)


class Slow:
    """Measures with and without a slow one; its processes stay until `close`."""

    def __init__(self, rate: float, size: int, others: int, seconds: float) -> None:
        self._rate, self._size, self._seconds = rate, size, seconds
        self._others = others
        self._processes: list[Process] = []
        self._rounds = 0
        weakref.finalize(self, self._stop, self._processes)

    def _begin(self) -> None:
        self._processes += [Process(end="slow") for _ in range(self._others + 2)]
        self._pub, self._slow, *self._subs = self._processes
        self._url = self._pub.do("bind")["url"]
        for one in self._subs:
            one.do("subscribe", url=self._url)
        self._pub.do("wait", count=self._others)

    @staticmethod
    def _stop(processes: list[Process]) -> None:
        while processes:
            processes.pop().stop()

    def close(self) -> None:
        """End its processes."""
        self._stop(self._processes)

    def __call__(self, warming: bool) -> Figures:
        """Measure it with the slow one and without, in this order or the other."""
        if not self._processes:
            self._begin()
        self._rounds += 1
        seconds = min(WARM_SECONDS, self._seconds) if warming else self._seconds
        order = (False, True) if self._rounds % 2 else (True, False)
        found = {beside: self._phase(beside, seconds) for beside in order}
        with_it, without = found[True], found[False]
        return {
            "p50_ratio": with_it["p50_us"] / without["p50_us"],
            "p99_ratio": with_it["p99_us"] / without["p99_us"],
            "dropped": with_it["dropped"],
            **{f"beside_{name}": value for name, value in with_it.items()},
            **{f"alone_{name}": value for name, value in without.items()},
        }

    def _phase(self, beside: bool, seconds: float) -> Figures:
        if not beside:
            return self._once(seconds)
        self._slow.do("dawdle", url=self._url)
        self._pub.do("wait", count=self._others + 1)
        self._send(QUEUES // self._size, 0.0)  # it has all that it may
        figures = self._once(seconds)
        self._slow.do("leave")
        self._pub.do("wait", count=self._others)
        if not figures["dropped"]:
            raise BenchError("nothing was dropped: the slow subscriber had room for all")
        return figures

    def _send(self, count: int, rate: float) -> tuple[float, list[Any]]:
        """Have so many sent; how many were dropped, and what each of the others says."""
        for one in self._subs:
            one.begin("receive")
        dropped = self._pub.do("publish", count=count, rate=rate, size=self._size)["dropped"]
        return dropped, [one.end() for one in self._subs]

    def _once(self, seconds: float) -> Figures:
        count = max(1, round(self._rate * seconds))
        dropped, said = self._send(count, self._rate)
        late = merged([one["late_ns"] for one in said])
        if not late:
            raise BenchError("nobody received anything")
        figures = latency_figures(late)
        lost = count * len(said) - sum(one["count"] for one in said)
        return {
            "dropped": dropped - lost,
            "lost": lost,
            **{name: figures[name] for name in ("p50_us", "p99_us", "max_us")},
        }


def slow_load(rate: float, size: int, others: int) -> str:
    """The name of one case."""
    return f"{size:,} B, {rate:,.0f}/s to {others}"


def slow_case(
    peer: Peer, size: int, seconds: float, rate: float = RATE, others: int = OTHERS
) -> Case:
    """One peer's case."""
    one = Slow(rate, size, others, seconds)
    facts = {"load": slow_load(rate, size, others), "size": size, "rate": rate, "others": others}
    return Case(peer, "slow", "tcp", one, facts)


def slow(chosen: argparse.Namespace) -> int:
    """The command slow."""
    output = Output(chosen)
    groups = [
        [slow_case(peer, size, chosen.seconds, chosen.rate, chosen.others) for peer in chosen.peer]
        for size in chosen.size
    ]

    def between() -> None:
        for group in groups:
            for case in group:
                case.measure.close()  # type: ignore[attr-defined]

    output.measure_all(groups, between=between)
    return output.finish()
