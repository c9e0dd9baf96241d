"""The commands fanout and connections: one publisher with many subscribers, and many peers."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import Any

from ._args import add_common, add_size, add_transport, number_list, positive, whole
from ._launch import gather, processes, url_for
from ._output import Output
from ._rounds import Case, Figures, Row
from ._task import Task
from .peers.seam import Peer

FANOUT_PEERS = "meshmsg,meshmsg-batch,pyzmq"
CONNECTION_PEERS = "meshmsg,pyzmq"
FIRST_DELIVERIES = 50_000
"""Deliveries of the warm-up round, from which the count of the others is made."""
WARM = 10
KIB = 1024
CLIENT_CONNECTIONS_MAX = 5000
"""Connections of one client process: some libraries take several descriptors for each."""


def add_commands(commands: Any) -> None:
    """Put both among the commands."""
    parser = commands.add_parser("fanout", help="deliveries a second to many subscribers")
    parser.add_argument("--subscribers", type=number_list(1), default="1,10,100")
    parser.add_argument("--processes", type=whole(1), help="of subscribers (default: by cores)")
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


class Fanout:
    """Measures one peer; the warm-up finds out how many messages take the time wanted."""

    def __init__(self, peer: Peer, transport: str, task: Task, shares: list[int]) -> None:
        self._peer, self._transport, self._shares = peer, transport, shares
        self.task = task
        self.seconds: float | None = None

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        task = self.task
        if self.seconds is not None and warming:
            self.task = task = replace(task, count=max(TURNS, FIRST_DELIVERIES // task.connections))
        figures = self._once(task)
        if self.seconds is not None and warming:
            count = int(figures["deliveries_per_s"] * self.seconds / task.connections)
            self.task = replace(task, count=max(TURNS, count))
        return figures

    def _once(self, task: Task) -> Figures:
        found = gather(self._peer, self._transport, task, self._shares)
        sent, received, use, uses = found.one, found.others, found.one_use, found.other_uses
        deliveries = sum(one["count"] for one in received)
        seconds = max(one["end_s"] for one in received) - sent["start_s"]
        cpu = sum(one["cpu_s"] for one in uses)
        return {
            "sender_per_s": sent["count"] / sent["seconds"],
            "deliveries_per_s": deliveries / seconds,
            "sender_cpu_us": use["cpu_s"] * 1e6 / deliveries,
            "receiver_cpu_us": cpu * 1e6 / deliveries,
            "cpu_us": (cpu + use["cpu_s"]) * 1e6 / deliveries,
            "sender_rss_mb": use["rss_mb"],
            "receiver_rss_mb": sum(one["rss_mb"] for one in uses),
        }

    def known(self) -> Row:
        """For the row."""
        return {"count": self.task.count}


TURNS = 200
"""Messages a fanout has at least."""


def fanout_case(
    peer: Peer, transport: str, size: int, subscribers: int, chosen: argparse.Namespace
) -> Case:
    """One peer's case."""
    parts = shares(subscribers, chosen.processes or max(1, len(os.sched_getaffinity(0)) - 2))
    count = chosen.count or TURNS
    task = Task("fanout", peer.name, False, "", size, count, WARM, chosen.seed, subscribers)
    one = Fanout(peer, transport, task, parts)
    one.seconds = None if chosen.count else chosen.seconds
    facts = {"load": f"{size:,} B to {subscribers}", "size": size, "subscribers": subscribers}
    return Case(peer, "fanout", transport, one, facts, extra=one.known)


def fanout(chosen: argparse.Namespace) -> int:
    """The command fanout."""
    output = Output(chosen)
    for transport in chosen.transport:
        for size in chosen.size:
            for number in chosen.subscribers:
                output.measure(
                    [fanout_case(peer, transport, size, number, chosen) for peer in chosen.peer]
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
        parts = shares(number, -(-number // CLIENT_CONNECTIONS_MAX))
        task = replace(task, ends=len(parts))
        with url_for(self._peer, self._transport) as url, processes() as start:
            server = start(self._peer.command(replace(task, url=url)))
            there = server.line()["endpoint"]
            first = replace(task, receives=False, url=there)
            clients = [start(self._peer.command(replace(first, connections=n))) for n in parts]
            for process in (server, *clients):
                process.line()  # ready
            for client in clients:
                client.word("go")
            served = server.line()  # all are there, and have been idle
            for client in clients:
                client.word("idle")
            opened = [client.line() for client in clients]
            for process in (server, *clients):
                process.word("end")
            server_use, uses = server.line(), [client.line() for client in clients]
        begun = min(one["start_s"] for one in opened)
        return {
            "connects_per_s": number / (served["end_s"] - begun),
            "server_bytes": served["kib"] * KIB / number,
            "client_bytes": sum(one["kib"] for one in opened) * KIB / number,
            "sender_cpu_us": sum(one["cpu_s"] for one in uses) * 1e6 / number,
            "receiver_cpu_us": server_use["cpu_s"] * 1e6 / number,
        }


def connections_case(peer: Peer, transport: str, number: int) -> Case:
    """One peer's case."""
    one = Connections(peer, transport, number)
    return Case(peer, "connections", transport, one, {"load": f"{number:,}", "count": number})


def connections(chosen: argparse.Namespace) -> int:
    """The command connections."""
    output = Output(chosen)
    for transport in chosen.transport:
        for number in chosen.number:
            output.measure([connections_case(peer, transport, number) for peer in chosen.peer])
    return output.finish()
