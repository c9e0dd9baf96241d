"""Hundreds of simulated worlds: what must hold, holds under every seed.

MESHMSG_SIM_SEEDS says how many (make sim: 2,000). A failure prints its seed and the end of its
trace; the seed then goes to seeds.txt.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sim.scenes import SCENES, play

SEEDS = int(os.environ.get("MESHMSG_SIM_SEEDS", "250"))
FAILED_BEFORE = [
    int(line.split()[0])
    for line in (Path(__file__).parent / "seeds.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
]
CHUNK = 10


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_what_must_hold_holds_under_these_seeds(first: int) -> None:
    """Safety under faults, liveness after them, the accounting identity, nothing left open."""
    for seed in range(first, min(first + CHUNK, SEEDS)):
        play(seed)


@pytest.mark.parametrize("seed", FAILED_BEFORE)
def test_a_seed_that_failed_before_does_not_fail_again(seed: int) -> None:
    """Bugs that were found stay fixed."""
    play(seed)


@pytest.mark.parametrize("seed", range(1000, 1000 + len(SCENES)))
def test_the_same_seed_gives_the_same_world(seed: int) -> None:
    """Two runs of a seed have the same trace hash, two seeds have different ones."""
    first = play(seed)
    assert play(seed) == first
    assert play(seed + len(SCENES)) != first
