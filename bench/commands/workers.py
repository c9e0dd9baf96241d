"""The commands credits and unacked: how much of the work a slow worker holds up, and what messages
take of memory that nobody is done with."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.need import BenchError
from ..base.task import Task
from ..measure.launch import gather
from ..measure.rounds import Case, Figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_transport, number_list, positive, whole

WORK_PER_S = 1000.0
"""What a worker does in a second."""
SLOWER = 10
"""How many times slower one of them is."""
WORKERS = 4
PREFETCH = 16
SECONDS = 1.0
SIZE = 64
CREDITS_PEERS = "meshmsg-acked,meshmsg"
UNACKED_PEERS = "meshmsg-acked"
UNACKED = 1_000_000
RECEIVERS = 16
PREFETCH_MAX = 65_536
"""What one receiver may have and not acknowledge, at most: that is why there are many."""
QUEUE_KIB = (8192, 2048)
"""Limits of a peer: where a million small messages just fit, and a quarter of it."""
KIB = 1024

Done = Sequence[Sequence[int]]
"""Numbers of messages, with when each was done."""


def add_commands(commands: Any) -> None:
    """Put both among the commands."""
    parser = commands.add_parser("credits", help="what one slow worker among others holds up")
    parser.add_argument("--workers", type=number_list(2), default=str(WORKERS))
    parser.add_argument(
        "--prefetch", type=number_list(1), default=str(PREFETCH), help="messages of a worker"
    )
    parser.add_argument(
        "--seconds", type=positive, default=SECONDS, help="about, a measurement without the slow"
    )
    add_transport(parser)
    add_common(parser, CREDITS_PEERS, rounds=3)
    parser.set_defaults(run=credits)
    parser = commands.add_parser("unacked", help="memory of messages that nobody is done with")
    parser.add_argument("--count", type=whole(1), help=f"messages (default: {UNACKED:,})")
    parser.add_argument("--size", type=whole(1), help=f"bytes a message (default: {SIZE})")
    parser.add_argument("--rate", type=positive, help="at most, a second (default: any)")
    parser.add_argument("--receivers", type=whole(1), help=f"how many (default: {RECEIVERS})")
    parser.add_argument(
        "--queue-kib", type=number_list(1), help="what is kept for a receiver, at most"
    )
    add_transport(parser)
    add_common(parser, UNACKED_PEERS, rounds=3)
    parser.set_defaults(run=unacked)


def held_up(slow: Done, others: Done) -> int:
    """The most messages that the slow one had at a time while later ones were done by others."""
    times = [(when, number, False) for number, when in others]
    times += [(when, number, True) for number, when in slow]
    coming = sorted((number for number, _ in slow), reverse=True)
    done: set[int] = set()
    waiting: set[int] = set()
    most, newest = 0, -1
    for _, number, is_slow in sorted(times):
        if is_slow:
            done.add(number)
            waiting.discard(number)
            continue
        newest = max(newest, number)
        while coming and coming[-1] < newest:
            waiting.update({coming.pop()} - done)
        most = max(most, len(waiting))
    return most


class Credits:
    """Measures one peer: workers of which the first is slow."""

    def __init__(self, peer: Peer, transport: str, task: Task) -> None:
        self._peer, self._transport, self._task = peer, transport, task

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        task = self._task
        if warming:
            task = replace(task, count=max(task.connections, task.count // 10))
        rates = [task.rate / SLOWER, *[task.rate] * (task.connections - 1)]
        workers = [replace(task, receives=True, rate=rate) for rate in rates]
        found = gather(self._peer, self._transport, [task, *workers])
        sent, slow, *others = found.said
        fast = [done for one in others for done in one["done"]]
        numbers = {number for number, _ in [*slow["done"], *fast]}
        if numbers != set(range(task.count)):
            raise BenchError(f"{len(numbers):,} of {task.count:,} messages were done")
        ends = [max((when for _, when in done), default=0) for done in (slow["done"], fast)]
        seconds = (max(ends) - sent["start_ns"]) / 1e9
        return {
            "held_up": held_up(slow["done"], fast),
            "late_ms": max(ends[0] - ends[1], 0) / 1e6,
            "slow_share": slow["count"] / task.count,
            "done_per_s": task.count / seconds,
            "of_possible": task.count / seconds / sum(rates),
        }


def credits_load(workers: int, prefetch: int) -> str:
    """The name of one case."""
    return f"{workers} workers, prefetch {prefetch}"


def credits_case(
    peer: Peer, transport: str, workers: int, prefetch: int, chosen: argparse.Namespace
) -> Case:
    """One peer's case."""
    count = max(workers, round(WORK_PER_S * (workers - 1 + 1 / SLOWER) * chosen.seconds))
    task = Task("credits", peer.name, False, "", SIZE, count, 0, chosen.seed, workers, WORK_PER_S)
    one = Credits(peer, transport, replace(task, prefetch=prefetch))
    facts = {"load": credits_load(workers, prefetch), "size": SIZE, "count": count}
    return Case(peer, "credits", transport, one, {**facts, "workers": workers})


def credits(chosen: argparse.Namespace) -> int:
    """The command credits."""
    output = Output(chosen)
    output.measure_all(
        [
            [credits_case(peer, transport, number, prefetch, chosen) for peer in chosen.peer]
            for transport in chosen.transport
            for number in chosen.workers
            for prefetch in chosen.prefetch
        ]
    )
    return output.finish()


class Unacked:
    """Measures one peer: receivers that take all they may have, and are done with none."""

    def __init__(self, peer: Peer, transport: str, task: Task) -> None:
        self._peer, self._transport, self._task = peer, transport, task

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        task = self._task
        if warming:
            task = replace(task, count=max(1, task.count // 100))
        found = gather(self._peer, self._transport, [task, replace(task, receives=True)])
        held, kib = found.said[0]["count"], found.said[0]["kib"]
        limits = task.queue_bytes * (task.connections + 1)  # and one of what nobody may have yet
        return {
            "held": held,
            "message_bytes": kib * KIB / held,
            "sender_mb": kib * KIB / 1e6,
            "of_limits": kib * KIB / limits,
        }


@dataclass(frozen=True)
class Pile:
    """What is sent to receivers that are done with nothing."""

    count: int
    kib: int
    """Kept for a receiver, at most."""
    rate: float = 0.0
    """Messages a second, at most; 0 is as fast as it goes."""
    size: int = SIZE
    receivers: int = RECEIVERS

    @property
    def name(self) -> str:
        """The load's."""
        slowly = f", {self.rate:,.0f}/s" if self.rate else ""
        return f"{self.count:,} of {self.size:,} B{slowly}, {self.kib:,} KiB a peer"


PILES = {
    pile.name: pile
    for pile in (
        Pile(UNACKED, QUEUE_KIB[0]),
        Pile(UNACKED, QUEUE_KIB[1]),
        Pile(60_000, 512, 10_000.0),
    )
}
"""As many small messages as just fit, four times as many, and such that are written one by one."""


def unacked_case(peer: Peer, transport: str, pile: Pile, seed: int) -> Case:
    """One peer's case."""
    task = Task("unacked", peer.name, False, "", pile.size, pile.count, 0, seed, pile.receivers)
    task = replace(task, rate=pile.rate, prefetch=PREFETCH_MAX, queue_bytes=pile.kib * KIB)
    facts = {"load": pile.name, "size": pile.size, "count": pile.count, "rate": pile.rate}
    facts["receivers"] = pile.receivers
    return Case(peer, "unacked", transport, Unacked(peer, transport, task), facts)


def custom(chosen: argparse.Namespace) -> list[Pile]:
    """The piles asked for; nothing said: those of the targets."""
    said = {name: getattr(chosen, name) for name in ("count", "size", "rate", "receivers")}
    said = {name: value for name, value in said.items() if value is not None}
    if not said and chosen.queue_kib is None:
        return list(PILES.values())
    told = {"count": UNACKED, **said}
    return [Pile(kib=kib, **told) for kib in chosen.queue_kib or QUEUE_KIB]


def unacked(chosen: argparse.Namespace) -> int:
    """The command unacked."""
    output = Output(chosen)
    output.measure_all(
        [
            [unacked_case(peer, transport, pile, chosen.seed) for peer in chosen.peer]
            for transport in chosen.transport
            for pile in custom(chosen)
        ]
    )
    return output.finish()
