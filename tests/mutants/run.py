"""Runs C programs and single tests of pytest in one tree, and says which failed.

Not here: which are run (cover.py), what is changed (mutate.py). Law: a test counts as failed when
it fails, dies or takes much longer than it did, and does so again alone: other work on the machine
does not decide.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.blocks import TRACE_SIZE, Blocks, noted
from tests.mutants.build import Tree

SLOWER = 6
"""How many times longer than unchanged a test may take."""
SLACK_S = 20
"""Seconds on top of that, also for pytest to start and to end."""
LOOK_S = 0.1
"""Seconds between two looks at a running command."""
FIRST_BATCH_S = 4.0
"""Seconds of tests that the first pytest of a change runs; each further one runs GROWTH as many."""
GROWTH = 5
ENOUGH_S = 60.0
"""Seconds of tests of pytest for one change; what they do not notice counts as not noticed."""
NO_TESTS = 5
"""The status of pytest when a file holds none."""


@dataclass(frozen=True)
class Case:
    """A C program, or one test of pytest: how long it takes and which blocks it runs."""

    name: str
    seconds: float = 0.0
    blocks: int = 0
    setup_s: float = 0.0
    """Seconds that the longest of its file takes, which made what all of them use."""

    @property
    def kind(self) -> str:
        """The build it runs on."""
        return "plain" if "::" in self.name else "sanitized"

    @property
    def effort(self) -> float:
        """What it costs to ask it: who runs little else is the likelier to notice a change."""
        return self.seconds * self.blocks.bit_count()

    @property
    def limit_s(self) -> float:
        """Seconds it may take."""
        return max(self.seconds, self.setup_s) * SLOWER + SLACK_S


@dataclass
class Ran:
    """What one command of pytest did."""

    passed: list[Case] = field(default_factory=list)
    fault: bool = False
    """Whether something failed, or took too long."""
    failed: str = ""
    """The test that ran last then; "" when none had started."""


class Command:
    """A command that runs in the tree, in a group of processes that ends with it."""

    def __init__(self, args: list[str], tree: Tree, env: dict[str, str]) -> None:
        """Start it."""
        whole = {
            **os.environ,
            "PYTHONPATH": f"{tree.folder / 'src'}:{tree.folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "ASAN_OPTIONS": "detect_leaks=1",
            **env,
        }
        with (tree.folder / "output").open("wb") as out:
            self._process = subprocess.Popen(
                args,
                cwd=tree.folder,
                env=whole,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, seconds: float) -> int | None:
        """Return its status; None when it still runs after so many seconds."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Kill what is left of the group."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()


class Runner:
    """Runs tests in one tree; with the blocks of its builds it also notes what they run."""

    def __init__(self, tree: Tree, blocks: dict[str, Blocks] | None = None) -> None:
        """Take a tree; blocks only while it is unchanged."""
        self._tree = tree
        self._blocks = blocks
        self._journal = tree.folder / "journal"
        self._only = tree.folder / "only"
        self._starts = tree.folder / "starts"
        self._notes = tree.folder / "notes"
        if blocks is not None:
            self._starts.write_text(json.dumps(blocks["plain"].starts))

    def _traced(self) -> dict[str, str]:
        if self._blocks is None:
            return {}
        self._notes.write_bytes(bytes(TRACE_SIZE))
        return {"MESHMSG_TRACE": str(self._notes), "MUTANTS_STARTS": str(self._starts)}

    def program(self, name: str, limit_s: float) -> Case | None:
        """Run a C program; None when it fails."""
        traced = self._traced()
        began = time.monotonic()
        command = Command([f"sanitized/{name}"], self._tree, traced)
        try:
            if command.wait(limit_s) != 0:
                return None
        finally:
            command.end()
        seconds = round(time.monotonic() - began, 3)
        if self._blocks is None:
            return Case(name, seconds)
        return Case(
            name, seconds, noted(self._blocks["sanitized"].starts, self._notes.read_bytes())
        )

    def tests(self, files: Sequence[str], cases: Sequence[Case] = (), limit_s: float = 0) -> Ran:
        """Run these tests of pytest, or all of the files, up to the first that fails."""
        env = {**self._traced(), "MUTANTS_JOURNAL": str(self._journal)}
        self._journal.write_text("")
        if cases:
            self._only.write_text("".join(f"{case.name}\n" for case in cases), encoding="utf-8")
            env["MUTANTS_ONLY"] = str(self._only)
        args = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command = Command([*args, "-p", "tests.mutants.plugin", *files], self._tree, env)
        limits = {case.name: case.limit_s for case in cases}
        try:
            status = self._watch(command, limits, limit_s or SLACK_S)
        finally:
            command.end()
        return self._read(status)

    def _watch(self, command: Command, limits: dict[str, float], other_s: float) -> int | None:
        """Wait for the end, or until a test takes too long."""
        size, since = 0, time.monotonic()
        while True:
            status = command.wait(LOOK_S)
            if status is not None:
                return status
            now, grown = time.monotonic(), self._journal.stat().st_size
            if grown != size:
                size, since = grown, now
            elif now - since > limits.get(self._running(), other_s):
                return None

    def _running(self) -> str:
        lines = self._journal.read_text(encoding="utf-8").splitlines()
        return str(json.loads(lines[-1]).get("start", "")) if lines else ""

    def _read(self, status: int | None) -> Ran:
        ran = Ran()
        running, ended = "", True
        for line in self._journal.read_text(encoding="utf-8").splitlines():
            raw = json.loads(line)
            if "missing" in raw:
                raise RuntimeError(f"these tests are not there any more: {raw['missing']}")
            ended = "end" in raw
            running = str(raw["end"] if ended else raw["start"])
            if ended and raw["ok"]:
                ran.passed.append(Case(running, raw["seconds"], int(raw["blocks"], 16)))
        ran.fault = not ended or status not in (0, NO_TESTS)
        ran.failed = running if ran.fault else ""
        return ran

    def passes(self, case: Case) -> bool:
        """Run one alone."""
        if case.kind == "sanitized":
            return self.program(case.name, case.limit_s) is not None
        return not self.tests(files_of([case]), [case]).fault

    def first_failed(self, cases: Sequence[Case]) -> tuple[str, list[str]]:
        """Run the cases in this order until one fails, and fails again alone.

        Returns:
            Its name, "" when none did; and those that failed once but passed alone.
        """
        doubted: list[str] = []
        for case in (case for case in cases if case.kind == "sanitized"):
            if not self.passes(case):
                if not self.passes(case):
                    return case.name, doubted
                doubted.append(case.name)
        for batch in batches([case for case in cases if case.kind == "plain"]):
            left = batch
            while left:
                ran = self.tests(files_of(left), left)
                if not ran.fault:
                    break
                name = ran.failed or left[0].name
                if not self.passes(next(case for case in left if case.name == name)):
                    return name, doubted
                doubted.append(name)
                done = {name, *(case.name for case in ran.passed)}
                left = [case for case in left if case.name not in done]
        return "", doubted


def files_of(cases: Sequence[Case]) -> list[str]:
    """Return the files of these tests, each once."""
    return list(dict.fromkeys(case.name.partition("::")[0] for case in cases))


def worthwhile(cases: Sequence[Case]) -> list[Case]:
    """Return what is to be run for one change: programs first, and those first that cost least."""
    ordered = sorted(cases, key=lambda case: (case.kind == "plain", case.effort))
    chosen: list[Case] = []
    seconds = 0.0
    for case in ordered:
        seconds += case.seconds if case.kind == "plain" else 0.0
        if seconds <= ENOUGH_S:
            chosen.append(case)
    return chosen


def batches(cases: Sequence[Case]) -> list[list[Case]]:
    """Cut a list, in its order, into parts that take longer and longer."""
    found: list[list[Case]] = []
    seconds, room = 0.0, FIRST_BATCH_S
    for case in cases:
        if not found or seconds + case.seconds > room:
            room = room * GROWTH if found else room
            found.append([])
            seconds = 0.0
        found[-1].append(case)
        seconds += case.seconds
    return found


def output(tree: Tree) -> str:
    """Return the end of what the last command said."""
    return Path(tree.folder / "output").read_text(errors="replace")[-3000:]
