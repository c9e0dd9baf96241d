"""A simulated mesh that goes on in many ways."""

from __future__ import annotations

import os

import pytest

from . import scenes
from .branches import branches, heal_later
from .targets import HEAL
from .world import World

SIZE = 20
MANY = 8
"""Branches: that all of them take as long by chance does not happen with these seeds."""


def test_each_branch_is_of_its_seed_and_leaves_the_mesh_as_it_is() -> None:
    """The same seeds give the same; other ones heal at other times, and all do."""
    world = scenes.split(SIZE, 1, apart=60.0)
    now, sent = world.now, [host.sent for host in world.hosts]
    took = list(branches(world, range(MANY), heal_later))
    assert list(branches(world, range(MANY), heal_later)) == took
    assert len(set(took)) > 1
    assert max(took) <= HEAL
    assert (world.now, [host.sent for host in world.hosts]) == (now, sent)
    assert not scenes.complete(world)


def test_a_branch_that_fails_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    """And its traceback is told, as one of the process that began it would be."""

    def fails(_: World, seed: int) -> float:
        raise ValueError(f"seed {seed}")

    world = scenes.formed(3, 1)
    with pytest.raises(RuntimeError, match=r"^branch 7 ended with status \d+$"):
        list(branches(world, range(7, 9), fails))
    assert "ValueError: seed 7" in capfd.readouterr().err


def test_a_branch_that_dies_is_an_error() -> None:
    """A process may end without a word."""

    def dies(world: World, _: int) -> float:
        os._exit(0)

    with pytest.raises(RuntimeError, match="branch 0 ended with status 0"):
        list(branches(scenes.formed(3, 1), range(1), dies))
