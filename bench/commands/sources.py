"""The commands source, sink, items and trigger: messages a second that Spark reads by its sources,
writes, or works on; and what a stream of few messages takes.

The session of Spark is in this process, and stays: the first round starts its Python workers.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import weakref
from dataclasses import replace
from typing import Any

from ..base.task import Task
from ..measure.rounds import Case, Figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_size, whole

SPARK = "spark"
"""Where there is no other end, in the place of a transport."""
PEERS = (
    "meshmsg-spark,pyzmq-spark,pyzmq-spark-batch,arrow-spark,parquet-spark,socket-spark,kafka-spark"
    ",meshmsg-spark-stream,parquet-spark-stream,meshmsg-spark-put"
)
SINKS = "meshmsg-spark-sink,pyzmq-spark-rows"
ITEMS = "meshmsg-spark-items,pyzmq-spark-items"
STREAMS = "meshmsg-spark,kafka-spark,arrow-spark"
TRIGGER_ROWS = 4000
"""Rows of a stream whose latency is measured, at 200 a second."""
COUNT = 400_000
"""Messages of a measurement."""
ITEM_COUNT = 100_000
"""Items of one."""


def add_commands(commands: Any) -> None:
    """Put them among the commands."""
    for kind, peers, count, size, what in (
        ("source", PEERS, COUNT, 1024, "reading into Spark, by its sources"),
        ("sink", SINKS, COUNT, 1024, "writing out of Spark, by its sinks"),
        ("items", ITEMS, ITEM_COUNT, 64, "work items to tasks of Spark, and results back"),
    ):
        parser = commands.add_parser(kind, help=what)
        parser.add_argument("--count", type=whole(2), default=count, help="messages a measurement")
        add_size(parser, str(size), least=2)
        add_common(parser, peers)
        parser.set_defaults(run=source, kind=kind)
    parser = commands.add_parser("trigger", help="a stream of few messages into Spark")
    parser.add_argument("--count", type=whole(200), default=TRIGGER_ROWS, help="rows that count")
    add_size(parser, "1024", least=8)
    add_common(parser, STREAMS)
    parser.set_defaults(run=trigger)


class Sourced:
    """Measures one peer; its folder has what is read, is filled once, and goes with this."""

    def __init__(self, peer: Peer, size: int, count: int, seed: int) -> None:
        self._peer = peer
        self._task = Task("source", peer.name, True, "", size, count, seed=seed)

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        if not self._task.folder:
            folder = tempfile.mkdtemp(prefix="meshmsg-bench-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._task = replace(self._task, folder=folder)
        rate = self._peer.source_rate(self._task)
        return {"messages_per_s": rate, "mb_per_s": rate * self._task.size / 1e6}


def trigger_case(peer: Peer, size: int, count: int, seed: int) -> Case:
    """One peer's case; what it needs is fetched now."""
    peer.fetch()
    task = Task("trigger", peer.name, True, "", size, count, seed=seed)
    facts = {"size": size, "count": count}
    return Case(peer, "trigger", SPARK, lambda _warming: peer.trigger_costs(task), facts)


def trigger(chosen: argparse.Namespace) -> int:
    """The command trigger."""
    output = Output(chosen)
    output.measure_all(
        [
            [trigger_case(p, size, chosen.count, chosen.seed) for p in chosen.peer]
            for size in chosen.size
        ]
    )
    return output.finish()


def source_case(
    peer: Peer, size: int, count: int, seed: int, load: str = "", *, kind: str = "source"
) -> Case:
    """One peer's case; what it needs is fetched now."""
    peer.fetch()
    facts = {"size": size, "count": count, **({"load": load} if load else {})}
    return Case(peer, kind, SPARK, Sourced(peer, size, count, seed), facts)


def source(chosen: argparse.Namespace) -> int:
    """The commands source, sink and items."""
    output = Output(chosen)
    output.measure_all(
        [
            [source_case(p, size, chosen.count, chosen.seed, kind=chosen.kind) for p in chosen.peer]
            for size in chosen.size
        ]
    )
    return output.finish()
