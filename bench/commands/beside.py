"""The command beside: what a mesh at rest costs the processes that are members of it.

Two processes send each other messages, over sockets that stay. In each round they are measured as
members of a mesh and as no members, in turn: what is compared is one process with itself, on a
machine that has the same others to do. Not here: what the processes do (ends/beside.py). Law: each
time waits until the gossip about the join or the leave is over; a figure is a ratio within a round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import weakref
from typing import Any

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..measure.rounds import Case, Figures
from ..measure.stats import latency_figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, number_list, positive, whole

MEMBERS = "10,100"
SETTLE_S = 30.0
"""Pauses between syncs double from 1 s on: by then a node does what it does at rest."""
IDLE_S = 30.0
TIMES = 5
COUNT = 1_000_000
TRIPS = 10_000
SIZE = 64
ENDS = 2
"""Members that are measured; the others do nothing."""


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("beside", help="what a mesh at rest costs who is a member")
    parser.add_argument("--members", type=number_list(ENDS + 1), default=MEMBERS)
    parser.add_argument(
        "--settle", type=positive, default=SETTLE_S, help="seconds after each join and each leave"
    )
    parser.add_argument(
        "--idle", type=positive, default=IDLE_S, help="seconds that CPU is looked at"
    )
    parser.add_argument(
        "--times", type=whole(1), default=TIMES, help="measurements, each time (%(default)s)"
    )
    parser.add_argument("--count", type=whole(1), default=COUNT, help="messages a measurement")
    parser.add_argument("--trips", type=whole(1), default=TRIPS, help="requests a measurement")
    add_common(parser, "meshmsg")
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


class Beside:
    """Measures with so many members; its processes stay until `close`."""

    def __init__(self, peer: Peer, count: int, chosen: argparse.Namespace) -> None:
        self._peer, self._members, self._chosen = peer, count, chosen
        self._processes: list[Process] = []
        self._rounds = 0
        weakref.finalize(self, self._stop, self._processes)

    def _process(self, *arguments: str) -> Process:
        self._processes.append(Process(*arguments))
        return self._processes[-1]

    def _begin(self) -> None:
        self._crowd = self._process("members", str(self._members - ENDS))
        self._seed = self._crowd.do("at")["at"]
        self._binds, self._connects = self._process("end"), self._process("end")
        told = {"peer": self._peer.name, "size": SIZE}
        bound = self._binds.do("bind", url="tcp://127.0.0.1:0", **told)
        self._connects.do("connect", urls=bound["urls"], **told)

    @staticmethod
    def _stop(processes: list[Process]) -> None:
        while processes:
            processes.pop().stop()

    def close(self) -> None:
        """End its processes."""
        self._stop(self._processes)

    def __call__(self, warming: bool) -> Figures:
        """Measure it as no members and as members, in this order or the other."""
        if not self._processes:
            self._begin()
        self._rounds += 1
        order = (False, True) if self._rounds % 2 else (True, False)
        found = {joined: self._phase(joined) for joined in order}
        with_it, without = found[True], found[False]
        return {
            "rate_ratio": with_it["per_s"] / without["per_s"],
            "p50_ratio": with_it["p50_us"] / without["p50_us"],
            "p99_ratio": with_it["p99_us"] / without["p99_us"],
            "idle_percent": with_it["idle_percent"],
            "crowd_percent": with_it["crowd_percent"],
            **{f"joined_{name}": value for name, value in with_it.items()},
            **{f"left_{name}": value for name, value in without.items()},
        }

    def _phase(self, joined: bool) -> Figures:
        for end, name in ((self._binds, "binds"), (self._connects, "connects")):
            end.do("leave")
            if joined:
                end.do("join", seed=self._seed, name=name, count=self._members - ENDS + 1)
        time.sleep(self._chosen.settle)
        figures = self._idle() if joined else {}
        several = [self._once() for _ in range(self._chosen.times)]
        middle = {name: statistics.median(one[name] for one in several) for name in several[0]}
        return {**figures, **middle}

    def _idle(self) -> Figures:
        """CPU of who has nothing to do, in percent of a core."""
        processes = (self._binds, self._connects, self._crowd)
        before = [one.do("cpu")["cpu_s"] for one in processes]
        began = time.monotonic()
        time.sleep(self._chosen.idle)
        took = time.monotonic() - began
        after = [one.do("cpu")["cpu_s"] for one in processes]
        used = [100 * (new - old) / took for old, new in zip(before, after, strict=True)]
        each = used[-1] / (self._members - ENDS)
        return {"idle_percent": sum(used[:ENDS]) / ENDS, "crowd_percent": each}

    def _once(self) -> Figures:
        count, trips = self._chosen.count, self._chosen.trips
        self._binds.begin("receive", count=count)
        start = self._connects.do("send", count=count)["start_ns"]
        seconds = (self._binds.end()["end_ns"] - start) / 1e9
        self._binds.begin("answer", count=trips)
        latency = self._connects.do("ask", count=trips)["latency_ns"]
        self._binds.end()
        figures = latency_figures(latency)
        return {"per_s": count / seconds, **{n: figures[n] for n in ("p50_us", "p99_us")}}


def beside(chosen: argparse.Namespace) -> int:
    """The command beside."""
    output = Output(chosen)
    running: list[Beside] = []

    def case(peer: Peer, count: int) -> Case:
        running.append(Beside(peer, count, chosen))
        facts = {"count": count, "load": f"{count} members", "size": SIZE}
        return Case(peer, "beside", "tcp", running[-1], facts, needs="mesh")

    groups = [[case(peer, count)] for count in chosen.members for peer in chosen.peer]

    def between() -> None:
        for one in running:
            one.close()

    output.measure_all(groups, between=between)
    return output.finish()
