"""The commands fanout and connections: one publisher with many subscribers, and many peers."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..base.need import BenchError
from ..base.task import Task
from ..measure.launch import gather
from ..measure.rounds import Case, Figures, Row
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_size, add_transport, number_list, positive, whole

FANOUT_PEERS = "meshmsg,meshmsg-batch,pyzmq"
CONNECTION_PEERS = "meshmsg,pyzmq"
FIRST_DELIVERIES = 50_000
"""Deliveries of the warm-up round, from which the count of the others is made."""
TURNS = 200
"""Messages a fanout has at least."""
TRIAL_SECONDS = 0.5
"""How long each number of processes is tried at a time, at most."""
TRIALS = 2
"""How often."""
WARM = 10
KIB = 1024
CONNECTIONS_MAX = 100_000
"""Connections a measurement may want: no receiver takes more at once."""
CLIENT_CONNECTIONS_MAX = 5000
"""Connections of one client process: some libraries take several descriptors for each."""


def add_commands(commands: Any) -> None:
    """Put both among the commands."""
    parser = commands.add_parser("fanout", help="deliveries a second to many subscribers")
    parser.add_argument("--subscribers", type=number_list(1), default="1,10,100")
    parser.add_argument(
        "--processes",
        type=whole(1),
        help="of subscribers; inproc: threads (default: cores less 1 or 2, as suits each peer)",
    )
    parser.add_argument("--count", type=whole(2), help="messages (default: for --seconds)")
    parser.add_argument("--seconds", type=positive, default=1.0, help="about, a measurement")
    add_transport(parser)
    add_size(parser, "64,1024")
    add_common(parser, FANOUT_PEERS)
    parser.set_defaults(run=fanout)
    parser = commands.add_parser("connections", help="connects a second, memory of idle ones")
    parser.add_argument("--number", type=number_list(1), default="1000,10000")
    add_transport(parser)
    add_common(parser, CONNECTION_PEERS, rounds=3)
    parser.set_defaults(run=connections)


def shares(total: int, parts: int) -> list[int]:
    """Cut a number into equal parts, as far as that goes."""
    parts = min(total, parts)
    return [total // parts + (i < total % parts) for i in range(parts)]


def suited(
    once: Callable[[int], Figures], parts: Sequence[int], figure: str
) -> tuple[int, Figures]:
    """Try numbers of processes; return the one with the highest figure, and its figures.

    In turn, and the best of each counts: one trial may have met something else.
    """
    trials = [(number, once(number)) for _ in range(TRIALS) for number in parts]
    return max(trials, key=lambda trial: trial[1][figure])


class Fanout:
    """Measures one peer; the warm-up finds out what suits it.

    That is how many messages take the time wanted, and in how many processes its subscribers get
    most: each peer has its best, as the cores that its publisher takes differ.
    """

    def __init__(
        self, peer: Peer, transport: str, task: Task, parts: list[int], seconds: float | None
    ) -> None:
        """parts: numbers of processes to try; seconds: None if the task has its count."""
        self._peer, self._transport, self._parts = peer, transport, parts
        self._seconds = seconds
        self.task = task
        self.processes = parts[0]

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        return self._chosen() if warming else self._once(self.processes)

    def _chosen(self) -> Figures:
        if self._seconds is not None:
            self._count_for(FIRST_DELIVERIES)
            found = self._once(self.processes)
            self._count_for(found["deliveries_per_s"] * min(TRIAL_SECONDS, self._seconds))
        self.processes, best = suited(self._once, self._parts, "deliveries_per_s")
        if self._seconds is not None:
            self._count_for(best["deliveries_per_s"] * self._seconds)
        return best

    def _count_for(self, deliveries: float) -> None:
        count = max(TURNS, int(deliveries / self.task.connections))
        self.task = replace(self.task, count=count)

    def _once(self, parts: int) -> Figures:
        task = self.task
        others = [
            replace(task, receives=True, connections=number)
            for number in shares(task.connections, parts)
        ]
        found = gather(self._peer, self._transport, [task, *others])
        sent, *received = found.said
        deliveries = sum(one["count"] for one in received)
        seconds = max(one["end_s"] for one in received) - sent["start_s"]
        return {
            "sender_per_s": sent["count"] / sent["seconds"],
            "deliveries_per_s": deliveries / seconds,
            **found.use_figures(deliveries),
        }

    def known(self) -> Row:
        """For the row."""
        return {"count": self.task.count, "processes": self.processes}


def fanout_parts(subscribers: int, cores: int) -> list[int]:
    """In how many processes to try so many subscribers: one or two cores left for the publisher."""
    tried = (max(1, cores - 2), max(1, cores - 1))
    return sorted({min(subscribers, parts) for parts in tried})


def fanout_load(size: int, subscribers: int) -> str:
    """The name of one case."""
    return f"{size:,} B to {subscribers}"


def fanout_case(
    peer: Peer, transport: str, size: int, subscribers: int, chosen: argparse.Namespace
) -> Case:
    """One peer's case."""
    parts = fanout_parts(subscribers, len(os.sched_getaffinity(0)))
    if chosen.processes:
        parts = [min(subscribers, chosen.processes)]
    count = chosen.count or TURNS
    task = Task("fanout", peer.name, False, "", size, count, WARM, chosen.seed, subscribers)
    one = Fanout(peer, transport, task, parts, None if chosen.count else chosen.seconds)
    facts = {"load": fanout_load(size, subscribers), "size": size, "subscribers": subscribers}
    return Case(peer, "fanout", transport, one, facts, extra=one.known)


def fanout(chosen: argparse.Namespace) -> int:
    """The command fanout."""
    output = Output(chosen)
    output.measure_all(
        [
            [fanout_case(peer, transport, size, number, chosen) for peer in chosen.peer]
            for transport in chosen.transport
            for size in chosen.size
            for number in chosen.subscribers
        ]
    )
    return output.finish()


class Connections:
    """Measures one peer's connects."""

    def __init__(self, peer: Peer, transport: str, number: int) -> None:
        self._peer, self._transport = peer, transport
        self._task = Task("connections", peer.name, True, "", connections=number)

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        task = self._task
        if warming:
            task = replace(task, connections=min(task.connections, 100))
        number = task.connections
        inproc = self._transport == "inproc"
        parts = [number] if inproc else shares(number, -(-number // CLIENT_CONNECTIONS_MAX))
        task = replace(task, ends=len(parts))
        clients = [replace(task, receives=False, connections=part) for part in parts]
        found = gather(self._peer, self._transport, [task, *clients])
        served, *came = found.said
        figures = {"connects_per_s": number / (served["end_s"] - min(o["start_s"] for o in came))}
        if inproc:
            figures["both_bytes"] = served["kib"] * KIB / number
            figures["cpu_us"] = found.used[0]["cpu_s"] * 1e6 / number
            return figures
        server, *others = found.used
        figures["server_bytes"] = served["kib"] * KIB / number
        figures["client_bytes"] = sum(one["kib"] for one in came) * KIB / number
        figures["sender_cpu_us"] = sum(one["cpu_s"] for one in others) * 1e6 / number
        figures["receiver_cpu_us"] = server["cpu_s"] * 1e6 / number
        return figures


def connections_case(peer: Peer, transport: str, number: int) -> Case:
    """One peer's case."""
    one = Connections(peer, transport, number)
    return Case(peer, "connections", transport, one, {"load": f"{number:,}", "count": number})


def connections(chosen: argparse.Namespace) -> int:
    """The command connections."""
    if max(chosen.number) > CONNECTIONS_MAX:
        raise BenchError(f"--number {max(chosen.number):,} is more than {CONNECTIONS_MAX:,}")
    output = Output(chosen)
    output.measure_all(
        [
            [connections_case(peer, transport, number) for peer in chosen.peer]
            for transport in chosen.transport
            for number in chosen.number
        ]
    )
    return output.finish()
