"""The command survey: one asks many at once, and waits for the answers of all."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import Any

from ..base.task import Task
from ..measure.launch import gather
from ..measure.rounds import Case, Figures, Row
from ..measure.stats import Distributions, latency_figures, merged
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, add_size, add_transport, number_list, whole
from .many import shares, suited

PEERS = "meshmsg,meshmsg-sp,meshmsg-asyncio,nanomsg,pynng,raw-c-epoll"
SURVEYS = 1000
WARM = 100


def add_commands(commands: Any) -> None:
    """Put survey among the commands."""
    parser = commands.add_parser("survey", help="time until all respondents have answered")
    parser.add_argument("--respondents", type=number_list(1), default="10,100")
    parser.add_argument(
        "--processes",
        type=whole(1),
        help="of respondents (default: cores or 1 or 2 less, as suits each peer)",
    )
    parser.add_argument("--count", type=whole(2), default=SURVEYS, help="surveys a measurement")
    add_transport(parser)
    add_size(parser, "64", least=2)
    add_common(parser, PEERS)
    parser.set_defaults(run=surveys)


class Surveys(Distributions):
    """Measures one peer and keeps the distribution.

    The warm-up finds out in how many processes the respondents answer soonest: each peer has its
    best, as the cores that its surveyor takes differ.
    """

    def __init__(self, peer: Peer, transport: str, task: Task, parts: list[int]) -> None:
        """parts: numbers of processes to try."""
        super().__init__()
        self._peer, self._transport, self._task, self._parts = peer, transport, task, parts
        self._processes = parts[0]

    def __call__(self, warming: bool) -> Figures:
        """Measure once."""
        if warming:
            self._processes, found = suited(self._once, self._parts, "surveys_per_s")
            self._all.clear()
            return found
        return self._once(self._processes)

    def _once(self, parts: int) -> Figures:
        task = self._task
        others = [
            replace(task, receives=True, connections=number)
            for number in shares(task.connections, parts)
        ]
        found = gather(self._peer, self._transport, [task, *others])
        asked = found.said[0]
        self._all.append(asked["latency_ns"])
        return {
            **latency_figures(asked["latency_ns"]),
            "surveys_per_s": asked["count"] / asked["seconds"],
            **found.use_figures(task.count),
        }

    def known(self) -> Row:
        """For the row."""
        return {"latency_ns": merged(self._all), "processes": self._processes}


def survey_parts(respondents: int, cores: int) -> list[int]:
    """In how many processes to try them: for who asks none, one or two cores are left."""
    return sorted({min(respondents, max(1, cores - left)) for left in (2, 1, 0)})


def survey_load(size: int, respondents: int) -> str:
    """The name of one case."""
    return f"{size:,} B to {respondents}"


def survey_case(
    peer: Peer, transport: str, size: int, respondents: int, chosen: argparse.Namespace
) -> Case:
    """One peer's case."""
    parts = survey_parts(respondents, len(os.sched_getaffinity(0)))
    if chosen.processes:
        parts = [min(respondents, chosen.processes)]
    warm = min(WARM, chosen.count)
    task = Task("survey", peer.name, False, "", size, chosen.count, warm, chosen.seed, respondents)
    one = Surveys(peer, transport, task, parts)
    facts = {"load": survey_load(size, respondents), "size": size, "count": chosen.count}
    facts["respondents"] = respondents
    return Case(peer, "survey", transport, one, facts, extra=one.known, forget=one.forget)


def surveys(chosen: argparse.Namespace) -> int:
    """The command survey."""
    output = Output(chosen)
    output.measure_all(
        [
            [survey_case(peer, transport, size, number, chosen) for peer in chosen.peer]
            for transport in chosen.transport
            for size in chosen.size
            for number in chosen.respondents
        ]
    )
    return output.finish()
