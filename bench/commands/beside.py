"""The command beside: what a mesh costs the messages of a process that is a member of it.

Two processes send each other messages over connections that stay. Three pairs of them do so in
turn: of the first neither has imported the mesh, of the next both have, of the last both are
members, with a secret. The members are compared with themselves, too: while their mesh works, and
while it is stopped. Not here: what the processes do (ends/beside.py), the other members
(ends/resting.py). Law: what is compared is measured within a second, in the order A B B A; what the
threads of the mesh use is told apart. No two processes are as fast as each other: pairs are
compared before the import, too, when all three are alike, and that ratio is taken out of the later
one. They are new in each round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from meshmsg._cli.making import make_secret

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..measure.rounds import Case, Figures, Row
from ..measure.stats import median_interval, percentile, total_interval
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, number_list, positive, whole

MEMBERS = "100"
ROUNDS = 12
"""Of fewer than six there is no interval of what is compared between processes."""
SETTLE_S = 30.0
"""Pauses between syncs double from 1 s on: by then a node does what it does at rest."""
CYCLES = 20
PAIRS = 60
COUNT = 250_000
TRIPS = 4_000
"""So many take a tenth of a second: a mesh that is stopped for longer would seem to be gone."""
SIZE = 64
ENDS = 2
"""Members that are measured; the others do nothing."""
COST_MAX = 1.03
"""What a mesh may cost: the upper end of an interval is below it, or the target is not met."""
BARE, IMPORTED, JOINED, STOPPED = "bare", "imported", "joined", "stopped"
COMPARED = {
    "imported, not joined / not imported": (IMPORTED, BARE),
    "joined / not imported": (JOINED, BARE),
    "the mesh at work / stopped": (JOINED, STOPPED),
}
VALUES = {
    "message_ns": "time a message",
    "message_cpu_ns": "CPU a message",
    "p50_ns": "p50",
    "p99_ns": "p99",
    "trip_cpu_ns": "CPU a request",
}


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("beside", help="what a mesh costs the messages of a member")
    parser.add_argument("--members", type=number_list(ENDS + 1), default=MEMBERS)
    parser.add_argument(
        "--settle", type=positive, default=SETTLE_S, help="seconds after each join (%(default)s)"
    )
    parser.add_argument(
        "--cycles", type=whole(1), default=CYCLES, help="of all three, a round (%(default)s)"
    )
    parser.add_argument(
        "--pairs", type=whole(1), default=PAIRS, help="at work and stopped, a round (%(default)s)"
    )
    parser.add_argument("--count", type=whole(1), default=COUNT, help="messages a measurement")
    parser.add_argument("--trips", type=whole(1), default=TRIPS, help="requests a measurement")
    add_common(parser, "meshmsg", rounds=ROUNDS)
    parser.set_defaults(run=beside)


class Process:
    """One that does what it is told."""

    def __init__(self, *arguments: str, end: str = "beside") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{BENCH}.ends.{end}", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, do: str, **told: Any) -> None:
        """Tell it to do something."""
        assert self._process.stdin is not None
        try:
            print(json.dumps({"do": do, **told}), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise BenchError(f"a process ended before it could {do}") from None

    def end(self) -> dict[str, Any]:
        """What it says when it has done that."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise BenchError(f"a process ended, with {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    def do(self, do: str, **told: Any) -> dict[str, Any]:
        """Both."""
        self.begin(do, **told)
        return self.end()

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        with self._process:  # which waits, and closes its pipes
            pass


class Pair:
    """Two processes, one of which sends and asks, over two connections that stay."""

    def __init__(self, peer: str, chosen: argparse.Namespace) -> None:
        self._told = {"peer": peer, "size": SIZE}
        self._count, self._trips = chosen.count, chosen.trips
        self.binds, self.connects = self.both = (Process(), Process())

    def meet(self) -> None:
        """Have them connected, and warm."""
        urls = self.binds.do("bind", url="tcp://127.0.0.1:0", **self._told)["urls"]
        self.connects.do("connect", urls=urls, **self._told)
        self.measure()

    def measure(self, *, stopped: bool | None = None) -> Figures:
        """Messages first, then requests.

        stopped: Whether the mesh is stopped meanwhile, of members. Otherwise it is stopped before,
            so that both begin alike; None: it is let alone.
        """
        return {**self._messages(stopped), **self._requests(stopped)}

    def _messages(self, stopped: bool | None) -> Figures:
        told = {"count": self._count, "stopped": stopped}
        self.binds.begin("receive", **told)
        sent = self.connects.do("send", **told)
        came = self.binds.end()
        return {
            "message_ns": (came["end_ns"] - sent["start_ns"]) / self._count,
            "message_cpu_ns": (sent["cpu_ns"] + came["cpu_ns"]) / self._count,
        }

    def _requests(self, stopped: bool | None) -> Figures:
        told = {"count": self._trips, "stopped": stopped}
        self.binds.begin("answer", **told)
        asked = self.connects.do("ask", **told)
        answered = self.binds.end()
        return {
            "p50_ns": percentile(asked["latency_ns"], 50),
            "p99_ns": percentile(asked["latency_ns"], 99),
            "trip_cpu_ns": (asked["cpu_ns"] + answered["cpu_ns"]) / self._trips,
        }

    def stop(self) -> None:
        """End them."""
        for one in reversed(self.both):  # so that nobody dials who is gone
            one.stop()


Pairs = list[tuple[Figures, Figures]]


class Unit:
    """What was measured of two in turn, and counts as one: a pair, or those of one round.

    before: The same of the two while they were alike, if they are processes of their own.
    """

    def __init__(self, pairs: Pairs, before: Pairs | None = None) -> None:
        self._pairs, self._before = pairs, before

    def ratio(self, value: str) -> float:
        """The median of its ratios, by that of before."""
        alike = 1.0 if self._before is None else _ratio(self._before, value)
        return _ratio(self._pairs, value) / alike

    def sums(self, value: str) -> tuple[float, float]:
        """Those of both sides; the second one as if both had been as fast as each other before."""
        one, other = _sums(self._pairs, value)
        if self._before is None:
            return one, other
        was, other_was = _sums(self._before, value)
        return one, other * was / other_was


def _ratio(pairs: Pairs, value: str) -> float:
    return statistics.median(one[value] / other[value] for one, other in pairs)


def _sums(pairs: Pairs, value: str) -> tuple[float, float]:
    return sum(one[value] for one, _ in pairs), sum(other[value] for _, other in pairs)


def of_two(found: list[dict[str, Figures]], one: str, other: str) -> Pairs:
    """Of each cycle what two had."""
    return [(each[one], each[other]) for each in found]


def own_figures(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Figures:
    """What the threads of a mesh used, in percent of a core, and the fewest members it knew."""
    each = [
        (new["own_ns"] - old["own_ns"]) / 1e9 / (new["now"] - old["now"])
        for new, old in zip(after, before, strict=True)
    ]
    known = min(float(one["known"]) for one in (*before, *after))
    return {"own_percent": 100 * statistics.mean(each), "known": known}


class Beside:
    """Measures with so many members; the others stay until `close`."""

    def __init__(self, peer: Peer, count: int, chosen: argparse.Namespace) -> None:
        self._peer, self._members, self._chosen = peer, count, chosen
        self._rounds = 0
        self._units: list[dict[str, list[Unit]]] = []
        """By round and by what is compared."""
        self._open = ExitStack()
        weakref.finalize(self, self._open.close)

    def _begin(self) -> None:
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory()))
        make_secret(str(folder / "bench"))
        self._secret = str(folder / "bench.secret")
        others = Process("others", str(self._members - ENDS), self._secret, end="resting")
        self._open.callback(others.stop)
        self._seed = others.do("at")["at"]

    def close(self) -> None:
        """End its processes."""
        self._open.close()

    def __call__(self, warming: bool) -> Figures:
        """Measure three new pairs; the warm-up only starts the other members."""
        if warming:
            self._begin()
            return {}
        self._rounds += 1
        with ExitStack() as open_:
            pairs: dict[str, Pair] = {}
            for name in (BARE, IMPORTED, JOINED):
                pairs[name] = Pair(self._peer.name, self._chosen)
                open_.callback(pairs[name].stop)
            for one in pairs.values():
                one.meet()
            return self._round(pairs)

    def _round(self, pairs: dict[str, Pair]) -> Figures:
        alike = self._apart(pairs)
        for end in pairs[IMPORTED].both:
            end.do("imports")
        self._join(pairs[JOINED])
        for name, one in pairs.items():
            if any(end.do("bare")["bare"] != (name == BARE) for end in one.both):
                raise BenchError(f"whether the mesh is imported is not as it should be: {name}")
        time.sleep(self._chosen.settle)
        members = pairs[JOINED].both
        before = [end.do("own") for end in members]
        apart = self._apart(pairs)
        own = own_figures(before, [end.do("own") for end in members])
        itself = self._itself(pairs[JOINED])
        for end in members:
            end.do("leave")
        self._units.append(
            {
                name: [Unit(of_two(apart, a, b), of_two(alike, a, b))]
                if b == BARE
                else [Unit([(one[a], one[b])]) for one in itself]
                for name, (a, b) in COMPARED.items()
            }
        )
        bare = {value: statistics.median(one[BARE][value] for one in apart) for value in VALUES}
        return {
            **own,
            "bare_per_s": 1e9 / bare["message_ns"],
            "bare_cpu_us": bare["message_cpu_ns"] / 1e3,
            "bare_p50_us": bare["p50_ns"] / 1e3,
            "bare_p99_us": bare["p99_ns"] / 1e3,
            "bare_trip_cpu_us": bare["trip_cpu_ns"] / 1e3,
        }

    def _join(self, pair: Pair) -> None:
        for end, name in zip(pair.both, ("binds", "connects"), strict=True):
            end.begin(
                "join",
                seed=self._seed,
                name=f"{name}{self._rounds}",
                secret=self._secret,
                count=self._members,
            )
        for end in pair.both:
            end.end()

    def _apart(self, pairs: dict[str, Pair]) -> list[dict[str, Figures]]:
        """All three in turn, each cycle in the order of the last one turned round."""
        found = []
        for number in range(self._chosen.cycles):
            order = list(pairs) if number % 2 else list(reversed(pairs))
            found.append({name: pairs[name].measure() for name in order})
        return found

    def _itself(self, pair: Pair) -> list[dict[str, Figures]]:
        """Members whose mesh is at work, and is stopped, in turn."""
        found = []
        for number in range(self._chosen.pairs):
            order = (STOPPED, JOINED) if number % 2 else (JOINED, STOPPED)
            found.append({name: pair.measure(stopped=name == STOPPED) for name in order})
        return found

    def forget(self) -> None:
        """Have the last round not count."""
        self._units.pop()

    def intervals(self) -> Row:
        """Of all rounds: by what is compared and by value, ratios with their intervals."""
        return {
            "ratios": {
                name: {value: self._interval(name, value) for value in VALUES} for name in COMPARED
            }
        }

    def _interval(self, name: str, value: str) -> Row:
        units = [unit for one in self._units for unit in one[name]]
        median = median_interval([unit.ratio(value) for unit in units])
        return {
            "median": median and median.as_json(),
            "sums": total_interval([unit.sums(value) for unit in units]).as_json(),
            "of": len(units),
            "met": None if median is None else median.high < COST_MAX,
        }


def in_lines(row: Row) -> list[str]:
    """What all rounds say, for people."""
    lines = [f"at 95 %, and whether it is below {COST_MAX}; in brackets the ratio of all sums:"]
    for name, values in row["ratios"].items():
        lines.append(f"  {name}:")
        for value, found in values.items():
            if found["median"] is None:
                words = f"too few rounds ({found['of']})"
            else:
                met = "met" if found["met"] else "missed"
                words = f"{_told(found['median'])} of {found['of']}: {met}"
            lines.append(f"    {VALUES[value]}: {words} [{_told(found['sums'])}]")
    return lines


def _told(one: dict[str, float]) -> str:
    return f"{one['middle']:.3f} ({one['low']:.3f} to {one['high']:.3f})"


def beside(chosen: argparse.Namespace) -> int:
    """The command beside."""
    output = Output(chosen)
    running: list[Beside] = []

    def case(peer: Peer, count: int) -> Case:
        made = Beside(peer, count, chosen)
        running.append(made)
        facts = {"count": count, "load": f"{count} members, secret", "size": SIZE}
        return Case(
            *(peer, "beside", "tcp", made, facts),
            needs="mesh",
            extra=made.intervals,
            forget=made.forget,
        )

    def between() -> None:
        for one in running:
            one.close()

    groups = [[case(peer, count)] for count in chosen.members for peer in chosen.peer]
    rows = output.measure_all(groups, between=between)
    between()
    for row in rows:
        for line in in_lines(row) if row["missing"] is None else ():
            output.line(line)
    return output.finish()
