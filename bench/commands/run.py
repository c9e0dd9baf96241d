"""The command run: a scenario, on this machine, or as the sender or the receiver of two."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ..base.need import BenchError
from ..ends.works import whole_way
from ..measure.histogram import encoded, figures_of, histogram
from ..measure.meet import Distant, Served
from ..measure.rounds import Case, Figures, Row
from ..measure.stage import Consumers, Facts, produce
from ..measure.stats import Counted, merged
from ..peers.roster import peer_named
from ..peers.seam import Peer
from ..report.output import Output
from ..scenarios.scenario import Scenario, Step, known, load
from .args import add_output, peer_list, whole


def add_commands(commands: Any) -> None:
    """Put run among the commands."""
    parser = commands.add_parser("run", help="a scenario from a YAML file")
    parser.add_argument("scenario", help=f"a file, or one of {', '.join(known())}")
    parser.add_argument("--role", choices=("both", "sender", "receiver"), default="both")
    parser.add_argument(
        "--meet",
        metavar="URL",
        help="where the two meet, tcp://HOST:PORT, the HOST of the receiver",
    )
    parser.add_argument(
        "--insecure", action="store_true", help="bind outside loopback, unprotected"
    )
    parser.add_argument("--peer", type=peer_list, help="instead of the scenario's")
    parser.add_argument("--rounds", type=whole(1), help="instead of the scenario's")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of counts and seconds; 0.1: a tenth"
    )
    add_output(parser)
    parser.set_defaults(run=run)


def scaled(scenario: Scenario, factor: float) -> Scenario:
    """The same with so much more, or less, to send."""
    if not 0 < factor <= 1000:
        raise BenchError(f"--scale is {factor}; it is above 0")

    def step(one: Step) -> Step:
        producers = tuple(
            replace(
                p,
                count=max(2, round(p.count * factor)) if p.count else 0,
                seconds=p.seconds * factor,
            )
            for p in one.producers
        )
        return replace(one, producers=producers)

    return replace(scenario, steps=tuple(step(one) for one in scenario.steps))


class Played:
    """One step with one peer, round by round."""

    def __init__(self, scenario: Scenario, number: int, peer: Peer, side: Any) -> None:
        self._scenario, self._number, self._peer, self._side = scenario, number, peer, side
        self._step = scenario.steps[number]
        self._late: dict[str, list[Counted]] = {one.name: [] for one in self._step.producers}

    def __call__(self, warming: bool) -> Figures:
        """Run it once."""
        for one in self._step.producers:
            if one.connections > self._peer.connections_max:
                raise BenchError(f"has at most {self._peer.connections_max} connection")
        said = produce(self._scenario, self._number, self._peer.name, warming, self._side)
        total = sum(one["count"] for one in said["sent"].values())
        figures = (
            self._throughput(said)
            if self._step.kind == "thr"
            else self._latencies(said, warming=warming)
        )
        for end, used in (("sender", said["used"]), ("receiver", said["received_use"])):
            figures[f"{end}_cpu_us"] = sum(one["cpu_s"] for one in used.values()) * 1e6 / total
            figures[f"{end}_rss_mb"] = sum(one["rss_mb"] for one in used.values())
        broker = said["broker_use"]
        if broker:
            figures["broker_cpu_us"] = broker["cpu_s"] * 1e6 / total
            figures["broker_rss_mb"] = broker["rss_mb"]
        figures["cpu_us"] = sum(v for name, v in figures.items() if name.endswith("_cpu_us"))
        return figures

    def _throughput(self, said: Facts) -> Figures:
        (sent,), (received,) = said["sent"].values(), said["received"].values()
        received = whole_way(sent, received)
        rate = received["count"] / received["seconds"]
        return {
            "sender_per_s": sent["count"] / sent["seconds"],
            "receiver_per_s": rate,
            "mb_per_s": rate * self._step.producers[0].size / 1e6,
        }

    def _latencies(self, said: Facts, *, warming: bool) -> Figures:
        several = len(self._step.producers) > 1
        every: list[Counted] = []
        figures: Figures = {}
        for index, one in enumerate(self._step.producers):
            late = said["received"][one.to].get("by_producer", {}).get(str(index), [])
            if not late:
                raise BenchError(f"nothing of {one.name} arrived")
            every.append(late)
            if not warming:
                self._late[one.name].append(late)
            if several:
                found = figures_of(histogram(late))
                figures[f"p50_us {one.name}"] = found["p50_us"]
                figures[f"p99_us {one.name}"] = found["p99_us"]
        seconds = max(one["seconds"] for one in said["received"].values())
        figures.update(figures_of(histogram(merged(every))))
        figures["receiver_per_s"] = sum(o["count"] for o in said["received"].values()) / max(
            seconds, 1e-9
        )
        figures["refused"] = sum(one["refused"] for one in said["sent"].values())
        return figures

    def known(self) -> Row:
        """For the row."""
        found: Row = {}
        if isinstance(self._side, Distant):
            found["clock_uncertain_ns"] = self._side.uncertain_ns
        if self._step.kind == "thr":
            return found
        by_producer = {name: merged(late) for name, late in self._late.items()}
        every = merged(list(by_producer.values()))
        made = histogram(every)
        found |= {"latency_ns": every, "hdr": encoded(made), "all_rounds": figures_of(made)}
        if len(by_producer) > 1:
            found["producers"] = {name: {"latency_ns": late} for name, late in by_producer.items()}
        return found


def case_of(scenario: Scenario, number: int, peer: Peer, side: Any) -> Case:
    """One step with one peer."""
    step, one = scenario.steps[number], Played(scenario, number, peer, side)
    first = step.producers[0]
    facts: Row = {"load": step.name, "count": sum(p.messages for p in step.producers)}
    if len({p.size for p in step.producers}) == 1:
        facts["size"] = first.size
    if len(step.producers) == 1:
        facts |= {"rate": first.rate, "burst": first.burst, "connections": first.connections}
    return Case(peer, step.kind, step.transport, one, facts, extra=one.known)


def run(chosen: argparse.Namespace) -> int:
    """The command run."""
    scenario = scaled(load(chosen.scenario), chosen.scale)
    if chosen.peer:
        scenario = replace(scenario, peers=tuple(peer.name for peer in chosen.peer))
    if (chosen.role == "both") == bool(chosen.meet):
        raise BenchError("--meet goes with --role sender and --role receiver")
    if chosen.role == "receiver":
        served = Served(scenario, chosen.meet, insecure=chosen.insecure)
        print(f"waiting for the sender at {served.endpoint}", flush=True)
        served.serve()
        return 0
    chosen.rounds = chosen.rounds or scenario.rounds
    chosen.seed = scenario.seed
    chosen.base = chosen.base or scenario.base
    return play(scenario, chosen)


def play(scenario: Scenario, chosen: argparse.Namespace) -> int:
    """Run all steps with all peers, and tell."""
    output = Output(chosen, scenario.title, scenario.text)
    with ExitStack() as stack:
        side: Consumers | Distant = Consumers(scenario, insecure=chosen.insecure)
        if chosen.role == "sender":
            output.line(f"looking for the receiver at {chosen.meet}")
            side = stack.enter_context(Distant(chosen.meet, scenario))
        for number in range(len(scenario.steps)):
            peers = [peer_named(name) for name in scenario.peers]
            output.measure([case_of(scenario, number, peer, side) for peer in peers])
    return output.finish()
