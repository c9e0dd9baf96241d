"""The command rest: what a member of a large mesh uses that has nothing to do.

One member is a process, as a program is one. All others are played by a second process, with cores
of the library: what the member gets and answers is what it would be. Not here: the two
(ends/resting.py). Law: it is measured only when the gossip about the join is over, and only if the
member knows all of them by then, with their keys and services.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from meshmsg._cli.making import make_secret

from ..base.need import BenchError
from ..measure.rounds import Case, Figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, number_list, positive
from .beside import Process

MEMBERS = "1000"
SETTLE_S = 125.0
"""Pauses between syncs double from 1 s on: by then a node does what it does at rest, and has the
connections that it has at rest: the oldest are closed after 120 s."""
IDLE_S = 60.0
CLUSTER = "bench"
COUNTED = ("sent", "came", "dials", "dialed")


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("rest", help="what an idle member of a large mesh uses")
    parser.add_argument("--members", type=number_list(2), default=MEMBERS)
    parser.add_argument(
        "--settle", type=positive, default=SETTLE_S, help="seconds after the join (%(default)s)"
    )
    parser.add_argument(
        "--idle", type=positive, default=IDLE_S, help="seconds that CPU is looked at (%(default)s)"
    )
    parser.add_argument("--secret", action="store_true", help="with a secret: over TLS")
    add_common(parser, "meshmsg", rounds=3)
    parser.set_defaults(run=rest)


class Rest:
    """Measures one size; its processes stay until `close`."""

    def __init__(self, count: int, chosen: argparse.Namespace) -> None:
        self._count, self._chosen = count, chosen
        self._begun = False
        self._open = ExitStack()
        weakref.finalize(self, self._open.close)

    def _begin(self) -> None:
        self._begun = True
        secret: list[str] = []
        if self._chosen.secret:
            folder = Path(self._open.enter_context(tempfile.TemporaryDirectory()))
            make_secret(str(folder / CLUSTER))
            secret.append(str(folder / f"{CLUSTER}.secret"))
        self._others = self._process("others", str(self._count - 1), *secret)
        seed = self._others.do("at")["at"]
        self._member = self._process("member", *secret)
        self._check(self._member.do("join", seed=seed, count=self._count))
        time.sleep(self._chosen.settle)

    def _process(self, *arguments: str) -> Process:
        made = Process(*arguments, end="resting")
        self._open.callback(made.stop)
        return made

    def _check(self, known: dict[str, Any]) -> None:
        if (known["members"], known["keys"]) != (self._count, self._count):
            raise BenchError(f"the member knows {known['members']} of {self._count} nodes")
        if known["services"] != self._count - 1:
            raise BenchError(f"the member knows {known['services']} services")

    def close(self) -> None:
        """End its processes."""
        self._open.close()

    def __call__(self, warming: bool) -> Figures:
        """Look at the member for some time; the warm-up is the time until it is at rest."""
        if not self._begun:
            self._begin()
        if warming:
            return {}
        cpu, counts = self._member.do("cpu")["cpu_s"], self._others.do("counts")
        began = time.monotonic()
        time.sleep(self._chosen.idle)
        took = time.monotonic() - began
        used = self._member.do("cpu")["cpu_s"] - cpu
        after = self._others.do("counts")
        known = self._member.do("knows")
        self._check(known)
        sent, came, dials, dialed = ((after[one] - counts[one]) / took for one in COUNTED)
        return {
            "idle_percent": 100 * used / took,
            "messages_per_s": sent + came,
            "connections_per_s": dials + dialed,
            "suspects": known["suspects"],
        }


def rest(chosen: argparse.Namespace) -> int:
    """The command rest."""
    output = Output(chosen)
    running: list[Rest] = []

    def case(peer: Peer, count: int) -> Case:
        running.append(Rest(count, chosen))
        load = f"{count} members" + (", secret" if chosen.secret else "")
        return Case(peer, "rest", "tcp", running[-1], {"count": count, "load": load}, needs="mesh")

    def between() -> None:
        for one in running:
            one.close()

    groups = [[case(peer, count)] for count in chosen.members for peer in chosen.peer]
    output.measure_all(groups, between=between)
    between()
    return output.finish()
