"""The command backlog: whether a backlog that is many times as long costs memory, or throughput.

A sender with a spool keeps all, and then its receiver comes; or a spool is full, and is read. In
each round that is measured with a short backlog and with a long one, in turn: what is compared is
a peer with itself. Not here: what the ends do (ends/backlogs.py, ends/spools.py). Law: a figure is
a ratio within a round; memory is what an end's peak is above what it had before it opened anything.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.need import BenchError
from ..base.task import Task
from ..ends.lead import Gathered
from ..measure.launch import LIMIT, gather
from ..measure.rounds import Case, Figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, number_list, whole
from .spools import DISK, TCP, beside_sync

COUNT = 1_000_000
TIMES = 50
SIZE = 64
PEERS = "meshmsg-spooled,meshmsg-spool,meshmsg-spool-many"
SLOWEST_PER_S = 50_000.0
"""Messages a second; what is slower is given up."""
BESIDE_BYTES = 8
"""Of a message on the disk, at most, besides its body."""
SPARE_BYTES = 1024 * 1024 * 1024
"""Of the disk, that stays free."""
KIB_OF_MB = 1024
"""KiB of what the figures call a MB."""


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("backlog", help="what a long backlog in a spool costs")
    parser.add_argument("--count", type=whole(1), default=COUNT, help="of the short one")
    parser.add_argument(
        "--times", type=whole(2), default=TIMES, help="as many in the long one (%(default)s)"
    )
    parser.add_argument("--size", type=number_list(1), default=str(SIZE))
    add_common(parser, PEERS, rounds=3)
    parser.set_defaults(run=backlog)


@dataclass(frozen=True)
class Backlog:
    """What is measured of one backlog."""

    per_s: float
    """Messages a second, of who receives or reads."""
    put_per_s: float
    """Of who sends; 0: it was filled before."""
    mb: float
    """Of memory, of who keeps or reads."""
    receiver_mb: float
    """Of who receives."""
    cpu_us: float
    """A message, of who feeds or reads."""


def rate_of(said: dict[str, Any]) -> float:
    """Messages a second, as one end says it."""
    return float(said["count"]) / float(said["seconds"])


def grown_mb(found: Gathered, end: int) -> float:
    """What its peak is above what it had before."""
    return float(found.used[end]["rss_mb"]) - float(found.said[end]["before_kib"]) / KIB_OF_MB


def backlog_of(found: Gathered, count: int) -> Backlog:
    """Of one measurement: of a keeper and who came late, or of who reads alone."""
    last = len(found.said) - 1
    wired = last > 0
    return Backlog(
        rate_of(found.said[last]),
        rate_of(found.said[0]) if wired else 0.0,
        grown_mb(found, 0),
        grown_mb(found, last) if wired else 0.0,
        found.used[0]["cpu_s"] * 1e6 / count,
    )


class Backlogs:
    """Measures one peer."""

    def __init__(self, peer: Peer, task: Task, times: int) -> None:
        self._peer, self._task, self._times = peer, task, times
        self._rounds = 0

    def __call__(self, warming: bool) -> Figures:
        """Measure both, the short one first or last; to warm up, the short one twice."""
        self._rounds += 1
        counts = {False: self._task.count, True: self._task.count * (1 if warming else self._times)}
        order = (False, True) if self._rounds % 2 else (True, False)
        found = {long: self._once(counts[long]) for long in order}
        long, short = found[True], found[False]
        figures = {
            "rate_ratio": long.per_s / short.per_s,
            "memory_ratio": long.mb / short.mb,
            "long_per_s": long.per_s,
            "short_per_s": short.per_s,
            "long_mb": long.mb,
            "short_mb": short.mb,
            "long_cpu_us": long.cpu_us,
            "short_cpu_us": short.cpu_us,
        }
        if not short.put_per_s:
            return figures
        return {
            **figures,
            "put_ratio": long.put_per_s / short.put_per_s,
            "long_receiver_mb": long.receiver_mb,
            "short_receiver_mb": short.receiver_mb,
        }

    def _once(self, count: int) -> Backlog:
        task = replace(self._task, count=count)
        check_room(task)
        tasks = [task] if task.kind == "replay" else [task, replace(task, receives=True)]
        found = gather(self._peer, transport_of(self._peer), tasks, LIMIT + count / SLOWEST_PER_S)
        return backlog_of(found, count)


def check_room(task: Task) -> None:
    """Refuse to fill the disk."""
    needed = task.count * (task.size + BESIDE_BYTES) + SPARE_BYTES
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BenchError(f"{folder} has {free:,} octets free, and this wants {needed:,}")


def transport_of(peer: Peer) -> str:
    """By tcp, or by none where it has no other end."""
    return DISK if DISK in peer.transports else TCP


def backlog_load(size: int, times: int) -> str:
    """The name of one case."""
    return f"{size:,} B, {times:,} times as many"


def backlog_case(peer: Peer, count: int, times: int, size: int, seed: int) -> Case:
    """One peer's case."""
    kind = "replay" if "replay" in peer.kinds else "backlog"
    one = Backlogs(peer, Task(kind, peer.name, False, "", size, count, seed=seed), times)
    facts = {"load": backlog_load(size, times), "size": size, "count": count, "times": times}
    return beside_sync(Case(peer, "backlog", transport_of(peer), one, facts, needs=kind))


def backlog(chosen: argparse.Namespace) -> int:
    """The command backlog: those with an other end beside each other, and those without."""
    groups: list[Sequence[Case]] = []
    for size in chosen.size:
        cases = [
            backlog_case(peer, chosen.count, chosen.times, size, chosen.seed)
            for peer in chosen.peer
        ]
        for transport in (TCP, DISK):
            own = [case for case in cases if case.transport == transport]
            groups += [own] if own else []
    output = Output(chosen)
    output.measure_all(groups)
    return output.finish()
