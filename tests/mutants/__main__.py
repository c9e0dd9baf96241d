"""make mutants SEED= COUNT=: changes one operator of the C core at a time, and sees a test fail.

For each change: build what depends on it, run the C programs (those of the changed file first),
then pytest, until something fails. What nothing notices survives, and is told at the end. Results
are kept in a file, so that a run that was cut off goes on where it stopped.
Law: the unchanged tree passes everything first, else nothing that follows would mean anything.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.build import BuildError, Tree
from tests.mutants.mutate import Mutant, sample

ROOT = Path(__file__).resolve().parents[2]
STAGES: dict[str, list[str]] = {
    "sim": ["tests/sim"],
    "unit": [
        "tests/unit",
        *("--ignore=tests/unit/test_c.py", "--ignore=tests/unit/test_typing.py"),
        "--ignore=tests/unit/test_demo_parts.py",
    ],
    "conformance": ["tests/conformance"],
    "hostile": ["tests/hostile"],
    "fault": ["tests/fault"],
    "interop": ["tests/interop"],
}
"""What pytest runs, in this order."""
PROGRAM_S = 120
"""Seconds a C program may take; a change that makes it longer is noticed."""
SLOWER = 6
"""How many times longer than unchanged a stage may take."""
SLACK_S = 60
"""Seconds on top of that."""
LEAST_KILLED = 95
"""Per cent of the changes that must be noticed."""


@dataclass
class Outcome:
    """What became of one change."""

    mutant: Mutant
    killed_by: str
    seconds: float

    @property
    def counts(self) -> bool:
        """Whether it compiled."""
        return self.killed_by != "compiler"


def passes(args: list[str], tree: Tree, seconds: float) -> bool:
    """Run a command in the tree; False when it fails or takes too long."""
    env = {**os.environ, "PYTHONPATH": f"{tree.folder / 'src'}:{tree.folder}"}
    env.update(ASAN_OPTIONS="detect_leaks=1", PYTHONDONTWRITEBYTECODE="1")
    process = subprocess.Popen(
        args,
        cwd=tree.folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def stage(name: str) -> list[str]:
    """Return the command of a stage."""
    return [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *STAGES[name]]


def programs_for(tree: Tree, path: str) -> list[str]:
    """Return the C programs, those named after the file first."""
    stem = Path(path).stem.split("_")[0]
    return sorted(tree.programs, key=lambda name: stem not in name)


def killer(tree: Tree, mutant: Mutant, limits: dict[str, float]) -> str:
    """Return what noticed the change, "" when nothing did."""
    original = tree.text(mutant.path)
    try:
        tree.replace(mutant.path, mutant.apply(original))
        if "python" not in Path(mutant.path).parts:
            for name in programs_for(tree, mutant.path):
                if not passes([f"sanitized/{name}"], tree, PROGRAM_S):
                    return name
        for name, seconds in limits.items():
            if not passes(stage(name), tree, seconds * SLOWER + SLACK_S):
                return name
        return ""
    except BuildError:
        return "compiler"
    finally:
        tree.replace(mutant.path, original)


def unchanged(tree: Tree, stages: list[str]) -> dict[str, float]:
    """Run everything on the unchanged tree; how long each stage takes."""
    for name in tree.programs:
        if not passes([f"sanitized/{name}"], tree, PROGRAM_S):
            raise SystemExit(f"{name} fails on the unchanged tree")
    taken = {}
    for name in stages:
        began = time.monotonic()
        if not passes(stage(name), tree, 3600):
            raise SystemExit(f"tests/{name} fails on the unchanged tree")
        taken[name] = time.monotonic() - began
        print(f"unchanged: {name} passes in {taken[name]:.0f} s", flush=True)
    return taken


def read_results(path: Path) -> dict[str, Outcome]:
    """Return what earlier runs found."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        raw = json.loads(line)
        outcome = Outcome(Mutant(**raw["mutant"]), raw["killed_by"], raw["seconds"])
        found[str(outcome.mutant)] = outcome
    return found


def report(outcomes: list[Outcome]) -> int:
    """Print the sum and the survivors; 1 when too many survived."""
    counted = [o for o in outcomes if o.counts]
    alive = [o for o in counted if not o.killed_by]
    killed = len(counted) - len(alive)
    share = 100 * killed / len(counted) if counted else 0.0
    stillborn = len(outcomes) - len(counted)
    print(f"{killed} of {len(counted)} killed ({share:.1f} %); {stillborn} did not compile")
    for outcome in alive:
        print(f"survived: {outcome.mutant}")
    return int(share < LEAST_KILLED)


def work(
    tree: Tree,
    todo: queue.SimpleQueue[Mutant],
    limits: dict[str, float],
    done: list[Outcome],
    log: Path,
) -> None:
    """Take changes until there are none."""
    while True:
        try:
            mutant = todo.get_nowait()
        except queue.Empty:
            return
        began = time.monotonic()
        by = killer(tree, mutant, limits)
        outcome = Outcome(mutant, by, round(time.monotonic() - began, 1))
        done.append(outcome)
        with log.open("a") as out:
            raw = {"mutant": vars(mutant), "killed_by": by, "seconds": outcome.seconds}
            out.write(json.dumps(raw) + "\n")
        print(f"[{len(done)}] {mutant}: {by or 'SURVIVED'} ({outcome.seconds:.0f} s)", flush=True)


def main() -> int:
    """Draw, change, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stages", default=",".join(STAGES), help="of pytest, in order")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build" / "mutants")
    options = parser.parse_args()
    stages = [name for name in options.stages.split(",") if name]
    files = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for suffix in ("*.c", "*.h")
        for path in sorted((ROOT / "csrc").rglob(suffix))
    }
    drawn = sample(files, options.seed, options.count)
    log = options.folder / f"results-{options.seed}.jsonl"
    options.folder.mkdir(parents=True, exist_ok=True)
    known = read_results(log)
    done = [known[str(m)] for m in drawn if str(m) in known]
    todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in drawn:
        if str(mutant) not in known:
            todo.put(mutant)
    if not todo.empty():
        trees = [Tree(ROOT, options.folder / f"tree{i}") for i in range(options.jobs)]
        limits = unchanged(trees[0], stages)
        threads = [
            threading.Thread(target=work, args=(tree, todo, limits, done, log)) for tree in trees
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return report(done)


if __name__ == "__main__":
    sys.exit(main())
