"""`python -m tests.sim.mesh.table [--seeds N] [--sizes 10,100,1000] [--rows crash,heal]`: what the
mesh is to reach, beside what it reaches in simulations, as a table of Markdown.

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
from .branches import LONGER_S, branches, heal_later
from .memory import SERVICE, table_mib
from .slow import SECONDS, slow

QUIET_S = 60.0
"""Seconds that a mesh at rest is looked at."""
HOUR_S = 3600.0


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
    worst, half = (
        f"{value:.2f} {unit}" if unit else f"{value:.0f}" for value in (p99(values), middle)
    )
    return f"| {what} | {target} | {worst} | {half} | {len(values)} |"


def joins(size: int, seeds: int) -> Iterator[str]:
    """Of all that start at once: one run a seed, as a thousand nodes take a third of a minute."""
    ran = [scenes.join(size, seed) for seed in range(few(seeds, size, 1))]
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


def crashes(size: int, seeds: int) -> Iterator[str]:
    """Of a machine that vanishes."""
    target = f"<= {targets.CRASH[size]} s" if size in targets.CRASH else "-"
    what = f"crash known by all, {size}, 1 % loss"
    yield row(what, target, seeds, lambda seed: scenes.crash(size, seed), "s")


def rest(size: int, seeds: int) -> Iterator[str]:
    """Of a mesh in which nothing happens."""
    ran = [scenes.quiet(size, seed, QUIET_S) for seed in range(few(seeds, size, 5))]
    octets = [octets for _, octets in ran]
    yield line(
        f"octets a second of a node at rest, {size}", f"<= {targets.STEADY:.0f} B", octets, "B"
    )
    alarms = [float(alarms) for alarms, _ in ran]
    yield line(f"false alarms in {QUIET_S:.0f} s, {size}, 1 % loss", "0", alarms, "")


def hours(size: int, seeds: int) -> Iterator[str]:
    """Of a mesh in which nothing happens for an hour."""
    ran = [float(scenes.quiet(size, seed, HOUR_S)[0]) for seed in range(few(seeds, size, 100))]
    yield line(f"false alarms in an hour, {size}, 1 % loss", "0", ran, "")


def ones(size: int, seeds: int) -> Iterator[str]:
    """Of one that joins."""
    target = f"<= {targets.JOIN_ONE} s"
    yield row(f"one joins {size}", target, seeds, lambda seed: scenes.join_one(size, seed), "s")


def heals(size: int, seeds: int) -> Iterator[str]:
    """Of halves that were parted for ten minutes, and of one of a hundred that was for one."""
    for share, apart in ((0.5, 600.0), (0.01, 60.0)):
        part = max(1, int(size * share))
        what = f"{part} and {size - part} are one again, after {apart:.0f} s"
        count = few(seeds, size, apart / 10)
        if count == seeds:
            parted = (scenes.split(size, seed, apart=apart, share=share) for seed in range(seeds))
            ran = [scenes.heal(world) for world in parted]
        else:
            what += f" or up to {LONGER_S:.0f} more, of {count} that were parted"
            ran = []
            for seed in range(count):
                world = scenes.split(size, seed, apart=apart, share=share)
                ran += branches(world, range(seeds // count), heal_later)
        yield line(what, f"<= {targets.HEAL:.0f} s", ran, "s")


def slows(size: int, seeds: int) -> Iterator[str]:
    """Of a mesh with slow members: the worst seed, and the sum of all beside that of plain SWIM."""
    count = few(seeds, size, 10)
    ours = [sum(slow(size, seed)) for seed in range(count)]
    plain = [sum(slow(size, seed, plain=True)) for seed in range(count)]
    what = f"false alarms in {SECONDS:.0f} s, 5 % of {size} are slow: plain SWIM {sum(plain)}, here"
    yield line(f"{what} {sum(ours)}", f"1/{targets.SLOW_SHARE}", [float(n) for n in ours], "")


def memories(size: int, seeds: int) -> Iterator[str]:
    """Of the table of one node."""
    target = f"<= {targets.MEMORY_MIB} MiB" if size == 10_000 else "-"
    yield line(f"memory of {size} members that offer nothing", target, [table_mib(size)], "MiB")
    offers = table_mib(size, (SERVICE,))
    yield line(f"memory of {size} members with a service each", "-", [offers], "MiB")


def speeds(size: int, seeds: int) -> Iterator[str]:
    """Of the simulator."""
    target = f"<= {targets.SPEED_S} s" if size == 1_000 else "-"
    yield line(f"processor for {QUIET_S:.0f} s of {size}", target, [speed(size, QUIET_S)], "s")


def few(seeds: int, size: int, cost: float) -> int:
    """How many seeds of a scene that takes so many times longer: at least one."""
    return max(1, min(seeds, int(seeds * 100 / (size * cost))))


ROWS: dict[str, Callable[[int, int], Iterator[str]]] = {
    "crash": crashes,
    "kill": kills,
    "rest": rest,
    "hour": hours,
    "one": ones,
    "join": joins,
    "heal": heals,
    "slow": slows,
    "memory": memories,
    "speed": speeds,
}
LARGEST = {"join": 3_000, "heal": 1_000, "hour": 1_000, "slow": 1_000}
"""Nodes of scenes that take memory or time by their square, or an hour."""


def rows(seeds: int, sizes: list[int], wanted: list[str]) -> Iterator[str]:
    """All lines, each as soon as it is measured."""
    yield "| what | target | p99 | median | seeds |"
    yield "|---|---|---|---|---|"
    for size in sizes:
        for name in wanted:
            if size <= LARGEST.get(name, size):
                yield from ROWS[name](size, seeds)


def speed(size: int, seconds: float) -> float:
    """Seconds of a processor that the simulation of a mesh at rest takes."""
    world = scenes.formed(size, 1)
    began = time.process_time()
    world.run(world.now + seconds)
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--sizes", default="10,100")
    parser.add_argument("--rows", default=",".join(ROWS), help="which of them; all, if not said")
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    for told in rows(asked.seeds, sizes, asked.rows.split(",")):
        sys.stdout.write(told + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
