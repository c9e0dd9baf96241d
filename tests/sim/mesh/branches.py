"""One simulated mesh, that goes on in many ways: for scenes whose first part takes long.

Not here: the scenes (scenes.py). Law: what a branch does is a function of the mesh that it begins
with and of its own seed; the mesh that it begins with stays as it is.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterator
from random import Random

from . import scenes
from .world import World


def branches(world: World, seeds: range, scene: Callable[[World, int], float]) -> Iterator[float]:
    """What a scene measures in each of many futures of a mesh.

    Each is a process of its own, forked off, one behind the other: a copy of a mesh of a thousand
    nodes would take minutes and a gigabyte. All chance from there on is of that branch's seed.

    Raises:
        RuntimeError: a branch failed; its traceback is on standard error.
    """
    for seed in seeds:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                os.close(reader)
                reseed(world, seed)
                os.write(writer, json.dumps(scene(world, seed)).encode())
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writer)
        with os.fdopen(reader, "rb") as file:
            said = file.read()
        _, status = os.waitpid(child, 0)
        if status or not said:
            raise RuntimeError(f"branch {seed} ended with status {status}")
        yield json.loads(said)


def reseed(world: World, seed: int) -> None:
    """Have all chance from now on be of that seed: that of the network, and of each node."""
    world.rng.seed(seed)
    for host in world.hosts:
        host.core.here.rng.seed(world.rng.getrandbits(64))


LONGER_S = 30.0
"""Seconds that parts may be parted longer, so that nodes are elsewhere in what they do by turns."""


def heal_later(world: World, seed: int) -> float:
    """The parts stay parted for up to `LONGER_S` more: seconds until all see all again."""
    world.run(world.now + LONGER_S * Random(seed).random())
    return scenes.heal(world)
