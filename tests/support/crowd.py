"""A mesh of many processes on several machines, for tests: its network and all of it are its own.

Machines are network namespaces. They and the processes are in namespaces of a user and of processes
of their own, so that the kernel ends all of them with the first, however a test ends. Not here:
what is asserted. Law: nothing is measured by a limit here; every wait ends.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from tests.support.programs import ROOT, lines_of

CROWD_WAIT_S = 240.0
"""Seconds that anything may take; only a broken build needs them."""
END_WAIT_S = 30.0
APART = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
READ = 1_048_576


class Sight(NamedTuple):
    """What a node said last of another one; times are by the clock of the machine."""

    name: str
    state: str
    """SUSPECT is ALIVE here: it counts as there."""
    since: float
    where: str
    moved: float
    """Since when it is seen there."""


class Crowd:
    """Its members, by name. `with` ends all of them."""

    def __init__(self, machines: int) -> None:
        """Make so many machines, and nobody on them.

        Skips the test where namespaces are not allowed.
        """
        self.ids: dict[str, str] = {}
        """By name: the node that began last under it."""
        self.sights: dict[str, dict[str, Sight]] = defaultdict(dict)
        """By name of who sees, and the id of whom."""
        self.got: dict[tuple[str, str], list[str]] = defaultdict(list)
        """By name and service: what came, in order."""
        self.peers: dict[str, set[str]] = defaultdict(set)
        """By name: endpoints that the Push of a node is connected to."""
        self.changed: dict[str, float] = {}
        """By name: when its Push was connected somewhere last."""
        self.told: dict[tuple[str, str], list[Any]] = {}
        """By name and kind: the last word of any other kind."""
        self.gone_wrongly: list[tuple[str, str]] = []
        """Who said of whom that it is UNREACHABLE, though nothing was done to either."""
        self.disturbed: set[str] = set()
        """To whom something was done."""
        self._left = b""
        self._words, words = os.pipe()
        self._errors = tempfile.TemporaryFile()
        command = [*APART, sys.executable, "-m", "tests.support.crowd_leader"]
        try:
            self._leader = subprocess.Popen(
                [*command, str(words), str(machines)],
                cwd=ROOT, pass_fds=[words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._errors,
            )  # fmt: skip
        except OSError as error:
            os.close(self._words)
            self._errors.close()
            pytest.skip(f"there is no unshare: {error}")
        finally:
            os.close(words)
        self._says = lines_of(self._leader)
        if next(self._says, None) is None:
            why = self.errors
            self.close()
            pytest.skip(f"network namespaces are not allowed here: {why}")

    @property
    def errors(self) -> str:
        """What all of them said of errors."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    # What is done

    def do(self, verb: str, *rest: Any) -> Any:
        """Have the leader do something; return what it says."""
        return self._ask(verb, *rest)[1]

    def _ask(self, verb: str, *rest: Any) -> Any:
        assert self._leader.stdin is not None
        self._leader.stdin.write(json.dumps([verb, *rest]).encode() + b"\n")
        self._leader.stdin.flush()
        said = next(self._says, None)
        assert said is not None, f"the leader of the crowd ended: {self.errors}"
        return json.loads(said)

    def at(self, verb: str, *rest: Any) -> float:
        """Have the leader do something; return when it began."""
        return float(self._ask(verb, *rest)[0])

    def start(self, name: str, machine: int, *seeds: str, **options: Any) -> float:
        """Have a member on a machine; return when it was begun. Options are of its Mesh."""
        return self.at("start", name, machine, {"seeds": seeds, **options})

    def tell(self, name: str, *command: Any) -> float:
        """Have a member do something (crowd_member.py); return when it was told."""
        return self.at("tell", name, command)

    def signal(self, name: str, number: str) -> float:
        """Send a member a signal, by its name; return when."""
        self.disturbed.add(name)
        return self.at("send", name, number)

    # What is seen

    def take(self, wait_s: float) -> bool:
        """Take what members say, once there is something; false: there was nothing in time."""
        if not select.select([self._words], [], [], wait_s)[0]:
            return False
        read = os.read(self._words, READ)
        assert read, f"all of the crowd ended: {self.errors}"
        *lines, self._left = (self._left + read).split(b"\n")
        for line in lines:
            name, at, verb, *rest = json.loads(line)
            self._hear(name, at, verb, rest)
        return True

    def _hear(self, name: str, at: float, verb: str, rest: list[Any]) -> None:
        if verb == "begun":
            self.ids[name] = rest[0]
        elif verb == "sees":
            self._see(name, at, *rest)
        elif verb == "got":
            self.got[name, rest[0]].append(rest[1])
        elif verb == "peer":
            if rest[0] == "PEER_UP":
                self.peers[name].add(rest[1])
                self.changed[name] = at
            else:
                self.peers[name].discard(rest[1])
        else:
            self.told[name, verb] = rest

    def _see(self, name: str, at: float, node: str, whom: str, state: str, where: str) -> None:
        state = "ALIVE" if state == "SUSPECT" else state
        before = self.sights[name].get(node)
        since = before.since if before and before.state == state else at
        moved = before.moved if before and before.where == where else at
        self.sights[name][node] = Sight(whom, state, since, where, moved)
        if state == "UNREACHABLE" and not self.disturbed & {name, whom}:
            self.gone_wrongly.append((name, whom))

    def until(self, so: Callable[[], object], what: str) -> None:
        """Take what members say until something is so."""
        ends = time.monotonic() + CROWD_WAIT_S
        while not so():
            left = ends - time.monotonic()
            assert left > 0, f"it did not happen: {what}: {self.lacking()}"
            self.take(left)

    def lacking(self) -> str:
        """Tell how many see how many, for a test that fails."""
        count = [sum(s.state == "ALIVE" for s in seen.values()) for seen in self.sights.values()]
        return f"members see {sorted(count)}; wrongly gone: {self.gone_wrongly[:10]}"

    def nodes(self, name: str) -> set[str]:
        """Return the nodes that anybody has seen under a name."""
        seen = [pair for sights in self.sights.values() for pair in sights.items()]
        return {node for node, sight in seen if sight.name == name}

    def pairs(self, who: Iterable[str], whom: Iterable[str]) -> list[Sight | None]:
        """Return what each of these sees of each of those; nobody of himself."""
        ids = [(name, self.ids.get(name, "")) for name in whom]
        return [self.sights[one].get(node) for one in who for name, node in ids if name != one]

    def when(self, who: Iterable[str], whom: Iterable[str], state: str) -> float:
        """Wait until each of these sees each of those in this state; return since when."""
        who, whom = list(who), list(whom)

        def so() -> bool:
            return all(s is not None and s.state == state for s in self.pairs(who, whom))

        self.until(so, f"{len(who)} see {len(whom)} as {state}")
        return max((s.since for s in self.pairs(who, whom) if s is not None), default=0.0)

    def when_at(self, who: Iterable[str], whom: Iterable[str], where: str) -> float:
        """Wait until each of these sees each of those at an IP; return since when."""
        who, whom = list(who), list(whom)

        def so() -> bool:
            return all(s is not None and f"//{where}:" in s.where for s in self.pairs(who, whom))

        self.until(so, f"{len(who)} see {len(whom)} at {where}")
        return max((s.moved for s in self.pairs(who, whom) if s is not None), default=0.0)

    # The end

    def close(self) -> None:
        """End all; return once the last one is gone: then nobody has the pipe of words."""
        self._leader.kill()  # its child is killed by the kernel, and that one's namespace with it
        for pipe in (self._leader.stdin, self._leader.stdout):
            assert pipe is not None
            pipe.close()
        self._leader.wait(END_WAIT_S)
        while select.select([self._words], [], [], END_WAIT_S)[0]:
            if not os.read(self._words, READ):
                os.close(self._words)
                self._errors.close()
                return
        raise AssertionError("members of the crowd are still there")

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
