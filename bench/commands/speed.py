"""The commands thr, acked, cpu and lat: how many messages a second, what each costs, and how long
a round trip takes."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from ..base.task import Task
from ..measure.launch import Measured, measure
from ..measure.rounds import Case, Figures, Row
from ..measure.stats import Distributions, latency_figures, merged
from ..measure.use import use_figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_size, add_transport, positive, whole
from .rate import one_way_load, rate_cases

PEERS = "meshmsg,meshmsg-batch,pyzmq,libzmq-c,raw-c"
ACKED_PEERS = "meshmsg,meshmsg-batch,meshmsg-acked,meshmsg-acked-batch"
"""Whose messages are acknowledged, and beside what: brokers are named when they are wanted."""
FIRST_MESSAGES = 20_000
"""Messages of the warm-up round, from which the count of the others is made."""
FIRST_BYTES = 20_000_000
"""The same for large messages."""
COUNT_MIN = 1000
WARM_MESSAGES = 1000
WARM_TRIPS = 100
TRIPS = 5000


def add_commands(commands: Any) -> None:
    """Put thr and lat among the commands."""
    thr = commands.add_parser(
        "thr", help="messages a second, one way; at the receiver from when the sender began"
    )
    thr.add_argument(
        "--count", type=whole(2), help="messages a measurement (default: for --seconds)"
    )
    thr.add_argument("--seconds", type=positive, default=1.0, help="about, a measurement")
    thr.set_defaults(run=throughput)
    lat = commands.add_parser("lat", help="round trips of requests, or (--one-way) messages alone")
    lat.add_argument("--count", type=whole(2), default=TRIPS, help="round trips a measurement")
    lat.add_argument("--one-way", action="store_true", help="1,000 messages a second, one way")
    lat.set_defaults(run=latency)
    cpu = commands.add_parser("cpu", help="CPU time of all processes, a message")
    cpu.add_argument(
        "--count", type=whole(2), help="messages a measurement (default: for --seconds)"
    )
    cpu.add_argument("--seconds", type=positive, default=1.0, help="about, a measurement")
    cpu.set_defaults(run=cpu_time)
    acked = commands.add_parser("acked", help="the same as thr, of messages that are acknowledged")
    acked.add_argument(
        "--count", type=whole(2), help="messages a measurement (default: for --seconds)"
    )
    acked.add_argument("--seconds", type=positive, default=1.0, help="about, a measurement")
    acked.set_defaults(run=acknowledged)
    for parser, sizes, transports, peers in (
        (acked, "64,1024", "tcp", ACKED_PEERS),
        (thr, "64,1024,16384", "tcp,ipc,inproc", PEERS),
        (lat, "64,1024", "tcp,ipc,inproc", PEERS.replace("meshmsg-batch,", "")),
        (cpu, "1024", "tcp", PEERS),
    ):
        add_transport(parser, transports)
        add_size(parser, sizes)
        add_common(parser, peers)


def throughput_figures(measured: Measured, task: Task) -> Figures:
    """Both ends' rates, and what they used."""
    sent, received = measured.sender, measured.receiver
    rate = received["count"] / received["seconds"]
    return {
        "sender_per_s": sent["count"] / sent["seconds"],
        "receiver_per_s": rate,
        "mb_per_s": rate * task.size / 1e6,
        **use_figures(measured, task.count),
    }


class Throughput:
    """Measures one peer; the warm-up finds out how many messages take the time wanted."""

    def __init__(self, peer: Peer, transport: str, task: Task, seconds: float | None) -> None:
        self._peer, self._transport, self._seconds = peer, transport, seconds
        self.task = replace(task, warm=min(WARM_MESSAGES, max(1, task.count // 10)))
        if seconds is not None:
            few = FIRST_BYTES // max(task.size, 1)
            self.task = replace(task, count=max(100, min(FIRST_MESSAGES, few)), warm=100)

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        figures = throughput_figures(measure(self._peer, self._transport, self.task), self.task)
        if warming and self._seconds is not None:
            count = max(COUNT_MIN, int(figures["receiver_per_s"] * self._seconds))
            self.task = replace(self.task, count=count, warm=min(WARM_MESSAGES, count // 10))
        return figures

    def known(self) -> Row:
        """For the row."""
        return {"count": self.task.count}


def throughput_case(
    peer: Peer, transport: str, size: int, chosen: argparse.Namespace, kind: str = "thr"
) -> Case:
    """One peer's case."""
    task = Task("thr", peer.name, True, "", size, chosen.count or 0, seed=chosen.seed)
    one = Throughput(peer, transport, task, None if chosen.count else chosen.seconds)
    return Case(peer, kind, transport, one, {"size": size}, extra=one.known, needs="thr")


def throughput(chosen: argparse.Namespace) -> int:
    """The command thr."""
    return _throughput(chosen, "thr")


def cpu_time(chosen: argparse.Namespace) -> int:
    """The command cpu: the same measurements, other columns."""
    return _throughput(chosen, "cpu")


def acknowledged(chosen: argparse.Namespace) -> int:
    """The command acked: the same measurements, of other peers."""
    return _throughput(chosen, "acked")


def _throughput(chosen: argparse.Namespace, kind: str) -> int:
    output = Output(chosen)
    output.measure_all(
        [
            [throughput_case(peer, transport, size, chosen, kind) for peer in chosen.peer]
            for transport in chosen.transport
            for size in chosen.size
        ]
    )
    return output.finish()


class Trips(Distributions):
    """Measures round trips of one peer and keeps their distribution."""

    def __init__(self, peer: Peer, transport: str, task: Task) -> None:
        super().__init__()
        self._peer, self._transport, self._task = peer, transport, task

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        task = replace(self._task, count=max(2, self._task.count // 10)) if warming else self._task
        measured = measure(self._peer, self._transport, task)
        counted = measured.sender["latency_ns"]
        if not warming:
            self._all.append(counted)
        return {**latency_figures(counted), **use_figures(measured, task.count)}

    def known(self) -> Row:
        """For the row."""
        return {"latency_ns": merged(self._all)}


def trips_case(peer: Peer, transport: str, size: int, chosen: argparse.Namespace) -> Case:
    """One peer's case."""
    warm = min(WARM_TRIPS, chosen.count)
    task = Task("lat", peer.name, True, "", size, chosen.count, warm, chosen.seed)
    one = Trips(peer, transport, task)
    facts = {"size": size, "count": chosen.count}
    return Case(peer, "lat", transport, one, facts, extra=one.known, forget=one.forget)


def latency(chosen: argparse.Namespace) -> int:
    """The command lat."""

    def cases(transport: str, size: int) -> list[Case]:
        if not chosen.one_way:
            return [trips_case(peer, transport, size, chosen) for peer in chosen.peer]
        load = one_way_load(size)
        return rate_cases(chosen.peer, transport, load, chosen.count / load.rate, chosen.seed)

    groups = [cases(transport, size) for transport in chosen.transport for size in chosen.size]
    output = Output(chosen)
    output.measure_all(groups)
    return output.finish()
