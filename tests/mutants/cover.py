"""Which C programs and tests run which blocks of the core, and which of them to run for a change.

Each file of tests is run once on the unchanged tree, and what it ran is kept in a file. Not here:
how blocks are noted (trace.c) and numbered (blocks.py). Law: the unchanged tree passes all of it,
else nothing that follows would mean anything.
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from dataclasses import replace
from pathlib import Path

from tests.mutants.blocks import Blocks
from tests.mutants.build import LIBRARIES, Tree
from tests.mutants.mutate import Mutant
from tests.mutants.run import Case, Runner, output

PLACES = ("sim", "unit", "conformance", "hostile", "fault", "interop")
"""The folders of tests that pytest runs."""
LEFT_OUT = ("test_c.py", "test_typing.py", "test_demo_parts.py", "test_mutants.py")
"""Files that compile the core themselves, or do not run it."""
TRIES = 3
"""How often a test may be run on the unchanged tree until it passes: the machine may be busy."""
UNCHANGED_LIMIT_S = 600
"""Seconds one test may take then."""


def digest(root: Path, parts: tuple[str, ...]) -> str:
    """Return a short name for the present content of these folders."""
    summed = hashlib.sha256()
    for part in parts:
        for path in sorted((root / part).rglob("*")):
            if path.suffix in {".c", ".h", ".py"}:
                summed.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return summed.hexdigest()[:12]


def names(tree: Tree) -> list[str]:
    """Return the C programs and the files of tests."""
    found = list(tree.programs)
    for place in PLACES:
        for path in sorted((tree.folder / "tests" / place).glob("test_*.py")):
            if path.name not in LEFT_OUT:
                found.append(str(path.relative_to(tree.folder)))
    return found


def look(runner: Runner, tree: Tree, name: str) -> list[Case]:
    """Run one of them on the unchanged tree.

    Raises:
        RuntimeError: It does not pass.
    """
    passed: dict[str, Case] = {}
    for _ in range(TRIES):
        if not name.endswith(".py"):
            case = runner.program(name, UNCHANGED_LIMIT_S)
            if case is not None:
                return [case]
            continue
        ran = runner.tests([name], limit_s=UNCHANGED_LIMIT_S)
        for case in ran.passed:
            passed.setdefault(case.name, case)
        if not ran.fault:
            return list(passed.values())
    raise RuntimeError(f"{name} fails on the unchanged tree:\n{output(tree)}")


class Cover:
    """What each test runs, kept in a file; a run that was cut off goes on where it stopped."""

    def __init__(self, path: Path) -> None:
        """Read what there is."""
        self._path = path
        self._lock = threading.Lock()
        self.cases: dict[str, list[Case]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            raw = json.loads(line)
            longest = max((seconds for _, seconds, _ in raw["cases"]), default=0.0)
            self.cases[raw["name"]] = [
                Case(name, seconds, int(blocks, 16), longest)
                for name, seconds, blocks in raw["cases"]
            ]

    def add(self, name: str, cases: list[Case]) -> None:
        """Keep what a program or a file of tests runs."""
        raw = {"name": name, "cases": [(c.name, c.seconds, f"{c.blocks:x}") for c in cases]}
        with self._lock, self._path.open("a") as out:
            longest = max((case.seconds for case in cases), default=0.0)
            self.cases[name] = [replace(case, setup_s=longest) for case in cases]
            out.write(json.dumps(raw) + "\n")

    def that_run(self, mutant: Mutant, blocks: dict[str, Blocks]) -> list[Case]:
        """Return the programs and tests that run the line of a change."""
        wanted = {kind: known.of_line(mutant.path, mutant.line) for kind, known in blocks.items()}
        return [
            case
            for cases in self.cases.values()
            for case in cases
            if case.blocks & wanted[case.kind]
        ]


def blocks_of(tree: Tree) -> dict[str, Blocks]:
    """Return the blocks of both builds of an unchanged tree."""
    return {
        kind: Blocks.of(tree.folder / target, tree.folder) for kind, target in LIBRARIES.items()
    }


def fill(cover: Cover, trees: list[Tree], blocks: dict[str, Blocks]) -> None:
    """Run everything that the cover does not know yet, on all trees side by side.

    Raises:
        SystemExit: Something does not pass on the unchanged tree.
    """
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names(trees[0]):
        if name not in cover.cases:
            todo.put(name)
    faults: list[str] = []

    def work(tree: Tree) -> None:
        runner = Runner(tree, blocks)
        while not faults:
            try:
                name = todo.get_nowait()
                cases = look(runner, tree, name)
            except queue.Empty:
                return
            except RuntimeError as fault:
                faults.append(str(fault))
                return
            cover.add(name, cases)
            seconds = sum(case.seconds for case in cases)
            print(f"unchanged: {name}: {len(cases)} pass in {seconds:.1f} s", flush=True)

    together([threading.Thread(target=work, args=(tree,)) for tree in trees])
    if faults:
        raise SystemExit("\n".join(faults))


def together(threads: list[threading.Thread]) -> None:
    """Start them and wait for all."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
