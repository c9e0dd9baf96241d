"""make mutants SEED= COUNT=: changes one operator of the C core at a time, and sees a test fail.

First every C program and every test of pytest runs once, and which blocks of the core it runs is
kept (cover.py). For each change: build what depends on it and run the tests that run its line,
the cheap and narrow ones first, until one fails, fails again alone, and passes without the change.
What nothing notices survives, and is told at the end. Results are kept in a file: a run that was
cut off goes on where it stopped.
Law: the unchanged tree passes everything first, else nothing that follows would mean anything.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.blocks import Blocks
from tests.mutants.build import BuildError, Tree
from tests.mutants.cover import Cover, blocks_of, digest, fill, together
from tests.mutants.mutate import Mutant, sample
from tests.mutants.run import Runner, worthwhile

ROOT = Path(__file__).resolve().parents[2]
LEAST_KILLED = 95
"""Per cent of the changes that must be noticed."""


@dataclass
class Outcome:
    """What became of one change."""

    mutant: Mutant
    killed_by: str
    """What noticed it; "" when nothing did, "compiler" when it does not compile."""
    seconds: float
    tests: int
    """How many programs and tests that run its line were chosen to notice it."""

    @property
    def counts(self) -> bool:
        """Whether it compiled."""
        return self.killed_by != "compiler"


def killer(tree: Tree, mutant: Mutant, cover: Cover, blocks: dict[str, Blocks]) -> Outcome:
    """Return what noticed the change: a test that fails with it, and passes without it."""
    began = time.monotonic()
    chosen = worthwhile(cover.that_run(mutant, blocks))
    left = {case.name: case for case in chosen}
    original = tree.text(mutant.path)
    by = ""
    while True:
        try:
            tree.replace(mutant.path, mutant.apply(original))
            by, doubted = Runner(tree).first_failed(list(left.values()))
        except BuildError:
            by = "compiler"
        finally:
            tree.replace(mutant.path, original)
        if by not in left or Runner(tree).passes(left[by]):
            break
        doubted.append(by)
        for name in doubted:
            print(f"  {mutant}: {name} fails now and then: not counted", flush=True)
            del left[name]
        by = ""
    return Outcome(mutant, by, round(time.monotonic() - began, 1), len(chosen))


def read_results(path: Path) -> dict[Mutant, Outcome]:
    """Return what earlier runs found."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        raw = json.loads(line)
        outcome = Outcome(**{**raw, "mutant": Mutant(**raw["mutant"])})
        found[outcome.mutant] = outcome
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
        print(f"survived {outcome.tests or 'no'} tests that run it: {outcome.mutant}")
    return int(share < LEAST_KILLED)


def main() -> int:
    """Draw, change, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    parser.add_argument("--folder", type=Path, default=ROOT / ".build" / "mutants")
    options = parser.parse_args()
    files = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for suffix in ("*.c", "*.h")
        for path in sorted((ROOT / "csrc").rglob(suffix))
    }
    drawn = sample(files, options.seed, options.count)
    options.folder.mkdir(parents=True, exist_ok=True)
    log = options.folder / f"results-{options.seed}-{digest(ROOT, ('csrc',))}.jsonl"
    known = read_results(log)
    if options.again:
        known = {m: outcome for m, outcome in known.items() if outcome.killed_by}
    done = [known[m] for m in drawn if m in known]
    left = [mutant for mutant in drawn if mutant not in known]
    if left:
        trees = [Tree(ROOT, options.folder / f"tree{i}") for i in range(options.jobs)]
        blocks = blocks_of(trees[0])
        everything = digest(ROOT, ("csrc", "src", "patterns", "spark_integration", "tests"))
        cover = Cover(options.folder / f"cover-{everything}.jsonl")
        fill(cover, trees, blocks)
        try_all(left, trees, cover, blocks, done, log)
    return report(done)


def try_all(
    left: list[Mutant],
    trees: list[Tree],
    cover: Cover,
    blocks: dict[str, Blocks],
    done: list[Outcome],
    log: Path,
) -> None:
    """Take the changes one by one, on all trees side by side, and keep what became of each."""
    todo: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in left:
        todo.put(mutant)

    def work(tree: Tree) -> None:
        while True:
            try:
                mutant = todo.get_nowait()
            except queue.Empty:
                return
            outcome = killer(tree, mutant, cover, blocks)
            done.append(outcome)
            with log.open("a") as out:
                out.write(json.dumps({**vars(outcome), "mutant": vars(mutant)}) + "\n")
            by = outcome.killed_by or f"SURVIVED {outcome.tests} tests"
            print(f"[{len(done)}] {mutant}: {by} ({outcome.seconds:.0f} s)", flush=True)

    together([threading.Thread(target=work, args=(tree,)) for tree in trees])


if __name__ == "__main__":
    sys.exit(main())
