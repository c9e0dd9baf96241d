"""The command mesh: how soon members of a mesh see one that joins, and one that is killed.

Members are processes of this machine (ends/member.py). In each round one more joins, is seen by
all, and is killed by SIGKILL. Law: times are of one clock; a kill is counted from just before it.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

from ..base.need import BenchError
from ..base.rooms import BENCH
from ..base.task import PATIENCE
from ..ends.member import DOWN, UP
from ..measure.rounds import Case, Figures
from ..peers.seam import Peer
from ..report.output import Output
from .args import add_common, number_list, positive

PEERS = "meshmsg,zenoh"
MEMBERS = "10"
IDLE_SECONDS = 10.0
HZ = os.sysconf("SC_CLK_TCK")
MS = 1000


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("mesh", help="when members see one join, and one die")
    parser.add_argument("--members", type=number_list(2), default=MEMBERS)
    parser.add_argument(
        "--idle", type=positive, default=IDLE_SECONDS, help="seconds that CPU is looked at"
    )
    add_common(parser, PEERS)
    parser.set_defaults(run=meshes)


class Member:
    """A process, and what it has said."""

    def __init__(self, kind: str, name: str, seed: str | None) -> None:
        command = [
            sys.executable,
            "-m",
            f"{BENCH}.ends.member",
            kind,
            name,
            *([seed] if seed else []),
        ]
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(json.loads(line))

    def until(self, word: str, name: str | None = None) -> dict[str, Any]:
        """What it said with this word, of this one, once it says so."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                said = self._said.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise BenchError(
                    f"{self.name} did not say {word} {name or ''} within {PATIENCE:.0f} s"
                ) from None
            if word in said and name in (None, said[word]):
                return said

    def sees(self, names: set[str]) -> float:
        """When it had seen all of them come."""
        left, last = set(names), 0.0
        while left:
            said = self.until(UP)
            left.discard(said[UP])
            last = said["t"]
        return last

    def cpu_s(self) -> float:
        """What it has used of processors so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / HZ

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        with self.process:  # which waits, and closes its pipes
            self._reading.join()


class Meshed:
    """Measures one peer; its members stay until the end of this."""

    def __init__(self, peer: Peer, count: int, idle_s: float) -> None:
        self._kind, self._count, self._idle_s = peer.name, count, idle_s
        self._members: list[Member] = []
        self._turn = 0
        weakref.finalize(self, _stop, self._members)

    def _begin(self) -> None:
        first = Member(self._kind, "m0", None)
        self._members.append(first)
        self._seed = first.until("at")["at"]
        for number in range(1, self._count):
            self._members.append(Member(self._kind, f"m{number}", self._seed))
        names = {member.name for member in self._members}
        for member in self._members:
            member.sees(names - {member.name})

    def __call__(self, warming: bool) -> Figures:
        """One joins, and is killed."""
        if not self._members:
            self._begin()
        self._turn += 1
        name = f"late{self._turn}"
        late = Member(self._kind, name, self._seed)
        try:
            began = late.until("joins")["t"]
            seen = [member.until(UP, name)["t"] for member in self._members]
            sees = late.sees({member.name for member in self._members})
            killed = time.monotonic()
        finally:
            late.stop()
        gone = [member.until(DOWN, name)["t"] for member in self._members]
        return {
            "join_ms": (max(seen) - began) * MS,
            "sees_ms": (sees - began) * MS,
            "crash_first_ms": (min(gone) - killed) * MS,
            "crash_ms": (max(gone) - killed) * MS,
            "idle_percent": self._idle(),
        }

    def _idle(self) -> float:
        """CPU of a member that has nothing to do, in percent of a core."""
        before = sum(member.cpu_s() for member in self._members)
        time.sleep(self._idle_s)
        used = sum(member.cpu_s() for member in self._members) - before
        return used / len(self._members) / self._idle_s * 100


def _stop(members: list[Member]) -> None:
    for member in members:
        member.stop()


def meshes(chosen: argparse.Namespace) -> int:
    """The command mesh."""
    output = Output(chosen)
    output.measure_all(
        [
            [
                Case(
                    peer,
                    "mesh",
                    "tcp",
                    Meshed(peer, count, chosen.idle),
                    {"count": count, "load": f"{count} members"},
                )
                for peer in chosen.peer
            ]
            for count in chosen.members
        ]
    )
    return output.finish()
