"""The command rate: latency at a fixed rate, open loop, from the moment a message was due."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.need import BenchError
from ..base.task import Task
from ..ends.schedule import HEAD
from ..measure.hiccups import distribution, hiccups_case
from ..measure.histogram import figures_of, histogram
from ..measure.launch import LIMIT, Measured, measure
from ..measure.rounds import Case, Figures, Row
from ..measure.stats import Counted, Distributions, merged
from ..measure.use import use_figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_transport, positive, whole, words

PEERS = "meshmsg,pyzmq"
WARM = 100
WARM_SECONDS = 1.0
ONE_WAY_PER_S = 1000.0


@dataclass(frozen=True)
class Load:
    """What is sent."""

    name: str
    size: int
    rate: float
    connections: int = 1
    burst: int = 1
    blocking: bool = True


LOADS = {
    load.name: load
    for load in (
        Load("256B-3k/s", 256, 3000),
        Load("1K-3k/s", 1024, 3000),
        Load("5K-2k/s", 5 * 1024, 2000),
        Load("1K-20k/s-25", 1024, 20_000, connections=25),
        Load("1M-100/s", 1024 * 1024, 100),
    )
}
"""The five loads of the published comparisons; the last number is connections."""


def load_list(text: str) -> list[Load]:
    """Names with commas between them."""
    unknown = [name for name in words(text) if name not in LOADS]
    if unknown or not words(text):
        raise argparse.ArgumentTypeError(f"{text!r}: loads are {', '.join(LOADS)}")
    return [LOADS[name] for name in words(text)]


def add_commands(commands: Any) -> None:
    """Put rate among the commands."""
    parser = commands.add_parser("rate", help="latency at a fixed rate, open loop")
    parser.add_argument("--load", type=load_list, help=f"named loads (default: {','.join(LOADS)})")
    parser.add_argument("--size", type=whole(HEAD.size), help="bytes, instead of named loads")
    parser.add_argument("--rate", type=positive, help="messages a second, with --size")
    parser.add_argument("--connections", type=whole(1), help="with --size")
    parser.add_argument("--burst", type=whole(1), help="due at once, with --size")
    parser.add_argument(
        "--nonblocking", action="store_true", help="a full queue loses; with --size"
    )
    parser.add_argument("--seconds", type=positive, default=30.0, help="a measurement")
    add_transport(parser)
    add_common(parser, PEERS)
    parser.set_defaults(run=rate)


class FixedRate(Distributions):
    """Measures one peer under one load and keeps the distribution of all rounds."""

    def __init__(self, peer: Peer, transport: str, load: Load, seconds: float, seed: int) -> None:
        super().__init__()
        self._peer, self._transport, self._load = peer, transport, load
        self._seconds, self._seed = seconds, seed

    def task(self, seconds: float) -> Task:
        """What both ends shall do."""
        load = self._load
        return Task(
            "rate",
            self._peer.name,
            True,
            "",
            load.size,
            count=max(load.burst, round(load.rate * seconds)),
            warm=max(1, WARM // load.connections),
            seed=self._seed,
            connections=load.connections,
            rate=load.rate,
            burst=load.burst,
            blocking=load.blocking,
            ends=load.connections,
        )

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        task = self.task(min(WARM_SECONDS, self._seconds) if warming else self._seconds)
        if task.connections > self._peer.connections_max:
            raise BenchError(f"has at most {self._peer.connections_max} connection")
        limit = LIMIT + 2 * self._seconds
        measured = measure(self._peer, self._transport, task, limit)
        counted = merged(list(measured.receiver["by_producer"].values()))
        if not warming:
            self._all.append(counted)
        return {
            **figures_of(histogram(counted)),
            "receiver_per_s": measured.receiver["count"] / max(measured.receiver["seconds"], 1e-9),
            "refused": measured.sender["refused"],
            **late_figures(measured.sender.get("late_ns")),
            **others_use(measured, task.count),
        }

    def known(self) -> Row:
        """For the row."""
        return distribution(self._all)


def late_figures(late: Counted | None) -> Figures:
    """How late the sender was itself, before it had handed anything over: nobody's latency."""
    figures = figures_of(histogram(late)) if late else {}
    wanted = ("p99_us", "p99.99_us", "max_us")
    return {f"sender_late_{name}": figures[name] for name in wanted if name in figures}


def others_use(measured: Measured, count: int) -> Figures:
    """What a message costs, without its sender: that watches the clock most of its time."""
    figures = use_figures(measured, count)
    for name in ("sender_cpu_us", "cpu_us", *([] if measured.sender_use else ["receiver_cpu_us"])):
        figures.pop(name, None)  # inproc: one process has both ends
    return figures


def rate_case(
    peer: Peer, transport: str, load: Load, seconds: float, seed: int, kind: str = "rate"
) -> Case:
    """One peer's case."""
    one = FixedRate(peer, transport, load, seconds, seed)
    facts = {
        "load": load.name,
        "size": load.size,
        "rate": load.rate,
        "connections": load.connections,
        "burst": load.burst,
        "count": one.task(seconds).count,
    }
    return Case(peer, kind, transport, one, facts, extra=one.known, forget=one.forget, needs="rate")


def custom(chosen: argparse.Namespace) -> list[Load]:
    """The loads asked for."""
    if chosen.size is None:
        for name in ("rate", "connections", "burst", "nonblocking"):
            if getattr(chosen, name):
                raise BenchError(f"--{name} goes with --size")
        return chosen.load or list(LOADS.values())
    if chosen.load:
        raise BenchError("--load or --size, not both")
    if chosen.rate is None:
        raise BenchError("--size goes with --rate")
    connections, burst = chosen.connections or 1, chosen.burst or 1
    name = f"{chosen.size}B-{chosen.rate:g}/s"
    name += f"-{connections}" if connections > 1 else ""
    name += f" in bursts of {burst}" if burst > 1 else ""
    return [Load(name, chosen.size, chosen.rate, connections, burst, not chosen.nonblocking)]


def rate_cases(
    peers: Sequence[Peer], transport: str, load: Load, seconds: float, seed: int
) -> list[Case]:
    """Those of all peers under one load, and how late the machine itself is."""
    cases = [rate_case(peer, transport, load, seconds, seed) for peer in peers]
    return [*cases, hiccups_case(transport, load.name, load.rate, load.burst, seconds)]


def rate(chosen: argparse.Namespace) -> int:
    """The command rate."""
    loads = custom(chosen)
    output = Output(chosen)
    output.measure_all(
        [
            rate_cases(chosen.peer, transport, load, chosen.seconds, chosen.seed)
            for transport in chosen.transport
            for load in loads
        ]
    )
    return output.finish()


def one_way_load(size: int) -> Load:
    """What `lat --one-way` sends."""
    if size < HEAD.size:
        raise BenchError(f"--one-way: --size is at least {HEAD.size}, for when a message was due")
    return Load(f"{size:,} B one way", size, ONE_WAY_PER_S)
