"""Simulated worlds with links of SP: what must hold, holds under every seed.

MESHMSG_SIM_SEEDS says how many, as for test_seeds.py.
"""

from __future__ import annotations

import os

import pytest

from tests.sim.sp_scenes import SP_SCENES, play_sp

SEEDS = int(os.environ.get("MESHMSG_SIM_SEEDS", "150"))
CHUNK = 10


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_what_must_hold_holds_under_these_seeds_over_sp(first: int) -> None:
    """Safety under faults, liveness after them, nothing left open."""
    for seed in range(first, min(first + CHUNK, SEEDS)):
        play_sp(seed)


@pytest.mark.parametrize("seed", range(1000, 1000 + len(SP_SCENES)))
def test_the_same_seed_gives_the_same_world_over_sp(seed: int) -> None:
    """Two runs of a seed have the same trace hash, two seeds have different ones."""
    first = play_sp(seed)
    assert play_sp(seed) == first
    assert play_sp(seed + len(SP_SCENES)) != first
