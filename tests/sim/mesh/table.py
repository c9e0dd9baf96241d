"""`python -m tests.sim.mesh.table [--seeds N] [--sizes 10,100,1000]`: what the mesh is to reach,
beside what it reaches in simulations, as a table of Markdown.

Not here: the scenes (scenes.py), the targets (targets.py). Law: each figure is the p99 over the
seeds, or the worst of them if they are fewer than a hundred.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from math import ceil

from . import scenes, targets

JOINS_MAX = 3_000
"""Nodes of a join of all at once, which takes memory and time by their square."""
QUIET_S = 60.0
"""Seconds that a mesh at rest is looked at."""


def p99(values: list[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(0.99 * len(ordered)) - 1)]


def row(what: str, target: str, seeds: int, scene: Callable[[int], float], unit: str) -> str:
    """One line of the table."""
    return line(what, target, [scene(seed) for seed in range(seeds)], unit)


def line(what: str, target: str, values: list[float], unit: str) -> str:
    """One line, of what was measured."""
    middle = sorted(values)[len(values) // 2]
    worst = f"{p99(values):.2f} {unit}"
    return f"| {what} | {target} | {worst} | {middle:.2f} {unit} | {len(values)} |"


def joins(size: int, seeds: int) -> Iterator[str]:
    """Of all that start at once: one run a seed, as a thousand nodes take a third of a minute."""
    ran = [scenes.join(size, seed) for seed in range(seeds)]
    promised = size <= max(targets.JOIN)
    took = f"<= {scenes.JOIN_S} s" if promised else "-"
    rate = f"<= {targets.JOIN_RATE:.0f} KB/s" if promised else "-"
    kinds = (
        ("until all know all", took, "s", [one.took for one in ran]),
        ("a node sends till then", rate, "KB/s", [one.rate for one in ran]),
        (f"a node sends in {scenes.JOIN_S} s", "-", "KB/s", [one.window for one in ran]),
        ("in the busiest second", "-", "KB/s", [one.busiest for one in ran]),
    )
    for what, target, unit, values in kinds:
        yield line(f"{size} start at once: {what}", target, values, unit)


def kills(size: int, seeds: int) -> Iterator[str]:
    """Of a process that is killed: both lines are of the same runs."""
    ran = [scenes.kill(size, seed) for seed in range(seeds)]
    connected, everyone = [one for one, _ in ran], [two for _, two in ran]
    target = f"<= {targets.KILL_CONNECTED} s"
    yield line(f"kill known by connected peers, {size}", target, connected, "s")
    yield line(f"kill known by all, {size}", f"<= {targets.KILL_ALL} s", everyone, "s")


def rows(seeds: int, sizes: list[int]) -> Iterator[str]:
    """All lines, each as soon as it is measured."""
    yield "| what | target | p99 | median | seeds |"
    yield "|---|---|---|---|---|"
    for size in sizes:
        yield row(
            f"crash known by all, {size}, 1 % loss",
            f"<= {targets.CRASH[size]} s" if size in targets.CRASH else "-",
            seeds,
            lambda seed, size=size: scenes.crash(size, seed),
            "s",
        )
        yield from kills(size, seeds)
        yield row(
            f"octets a second of a node at rest, {size}",
            f"<= {targets.STEADY:.0f} B",
            1,
            lambda seed, size=size: scenes.quiet(size, seed, QUIET_S)[1],
            "B",
        )
        yield row(
            f"one joins {size}",
            f"<= {targets.JOIN_ONE} s",
            seeds,
            lambda seed, size=size: scenes.join_one(size, seed),
            "s",
        )
        if size <= JOINS_MAX:
            yield from joins(size, max(1, min(seeds, seeds * 100 // size)))


def speed(size: int, seconds: float) -> str:
    """How fast the simulation of a mesh at rest is, in processor time."""
    world = scenes.formed(size, 1)
    began, before = time.process_time(), world.delivered
    world.run(world.now + seconds)
    took = time.process_time() - began
    each = took / (world.delivered - before) * 1e6
    return (
        f"{size} nodes, {seconds:.0f} s simulated: {took:.1f} s of processor, "
        f"{each:.0f} us a message with the simulation of the network"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--sizes", default="10,100")
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    for line in rows(asked.seeds, sizes):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
    sys.stdout.write("\n" + speed(max(sizes), 10.0) + "\n")


if __name__ == "__main__":
    main()
