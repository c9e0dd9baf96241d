"""The command mesh: how soon members of a mesh see one that joins, and one that is killed.

Members are processes of this machine (ends/member.py, or programs of a rival). In each round one
more joins, is seen by all, and is killed by SIGKILL; or it is frozen, so that none of its
connections ends. Law: times are of one clock; a death is counted from just before it.
"""

from __future__ import annotations

import argparse
import os
import queue
import signal
import subprocess
import threading
import time
import weakref
from contextlib import ExitStack
from typing import Any

from ..base.need import BenchError
from ..base.task import PATIENCE
from ..measure.rounds import Case, Figures
from ..peers.seam import DOWN, UP, Peer
from ..report.output import Output
from .args import add_common, number_list, positive

PEERS = "meshmsg,zenoh,nats-cluster,serf,serf-local"
MEMBERS = "10"
IDLE_SECONDS = 10.0
HZ = os.sysconf("SC_CLK_TCK")
MS = 1000
ENDED: dict[str, Any] = {}
"""What is put behind all that a process has said."""


def add_commands(commands: Any) -> None:
    """Put it among the commands."""
    parser = commands.add_parser("mesh", help="when members see one join, and one die")
    parser.add_argument("--members", type=number_list(2), default=MEMBERS)
    parser.add_argument(
        "--idle", type=positive, default=IDLE_SECONDS, help="seconds that CPU is looked at"
    )
    parser.add_argument(
        "--silent",
        action="store_true",
        help="freeze the one that joined: it says nothing more, and its connections stay",
    )
    add_common(parser, PEERS)
    parser.set_defaults(run=meshes)


class Member:
    """A process, and what it has said."""

    def __init__(self, peer: Peer, name: str, seed: str | None) -> None:
        self.name, self._peer = name, peer
        self.process = subprocess.Popen(
            peer.member_command(name, seed),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._said: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if said := self._peer.member_said(line):
                self._said.put(said)
        self._said.put(ENDED)

    def until(self, word: str, name: str | None = None) -> dict[str, Any]:
        """What it said with this word, of this one, once it says so."""
        end = time.monotonic() + PATIENCE
        missed = f"{self.name} did not say {word} {name or ''}".rstrip()
        while True:
            try:
                said = self._said.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise BenchError(f"{missed} within {PATIENCE:.0f} s") from None
            if said is ENDED:
                raise BenchError(f"{missed}: it ended, with {self.process.wait()}")
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

    def freeze(self) -> None:
        """Have it do nothing more, and none of its connections end."""
        self.process.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        with self.process:  # which waits, and closes its pipes
            self._reading.join()


class Meshed:
    """Measures one peer; its members stay until `close`."""

    def __init__(self, peer: Peer, count: int, chosen: argparse.Namespace) -> None:
        self._peer, self._count = peer, count
        self._idle_s, self._silent = chosen.idle, chosen.silent
        self._members: list[Member] = []
        self._seed: str | None = None
        self._turn = 0
        self._open = ExitStack()
        weakref.finalize(self, self._open.close)

    def _begin(self) -> None:
        self._seed = self._open.enter_context(self._peer.meeting())
        for number in range(self._count):
            member = self._member(f"m{number}")
            self._members.append(member)
            self._open.callback(member.stop)
            if self._seed is None:
                self._seed = member.until("at")["at"]
        names = {member.name for member in self._members}
        for member in self._members:
            member.sees(names - {member.name})

    def _member(self, name: str) -> Member:
        return Member(self._peer, name, self._seed)

    def close(self) -> None:
        """End its processes."""
        self._open.close()

    def __call__(self, warming: bool) -> Figures:
        """One joins, and is killed."""
        if not self._members:
            self._begin()
        self._turn += 1
        name = f"late{self._turn}"
        late = self._member(name)
        try:
            began = late.until("joins")["t"]
            seen = [member.until(UP, name)["t"] for member in self._members]
            sees = late.sees({member.name for member in self._members})
            died = time.monotonic()
            gone = self._gone(late) if self._silent else []
        finally:
            late.stop()
        gone = gone or [member.until(DOWN, name)["t"] for member in self._members]
        return {
            "join_ms": (max(seen) - began) * MS,
            "sees_ms": (sees - began) * MS,
            "crash_first_ms": (min(gone) - died) * MS,
            "crash_ms": (max(gone) - died) * MS,
            **self._idle(),
        }

    def _gone(self, late: Member) -> list[float]:
        """When each knew that one is gone, which is frozen now."""
        late.freeze()
        return [member.until(DOWN, late.name)["t"] for member in self._members]

    def _idle(self) -> Figures:
        """CPU of a member with nothing to do, in percent of a core, and of what they meet at."""
        before, servers = sum(one.cpu_s() for one in self._members), self._peer.broker_use()
        time.sleep(self._idle_s)
        used = sum(one.cpu_s() for one in self._members) - before
        figures = {"idle_percent": used / len(self._members) / self._idle_s * 100}
        if servers:
            more = self._peer.broker_use()["cpu_s"] - servers["cpu_s"]
            figures["servers_percent"] = more / self._idle_s * 100
        return figures


def meshes(chosen: argparse.Namespace) -> int:
    """The command mesh."""
    output = Output(chosen)
    running: list[Meshed] = []

    def case(peer: Peer, count: int) -> Case:
        running.append(Meshed(peer, count, chosen))
        load = f"{count} members" + (", silent" if chosen.silent else "")
        return Case(peer, "mesh", "tcp", running[-1], {"count": count, "load": load})

    def between() -> None:
        for one in running:
            one.close()

    groups = [[case(peer, count) for peer in chosen.peer] for count in chosen.members]
    output.measure_all(groups, between=between)
    between()
    return output.finish()
