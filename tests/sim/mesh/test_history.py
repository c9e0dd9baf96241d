"""After anything that happened for long, a mesh is whole soon."""

from __future__ import annotations

import pytest

from .history import History, exact
from .sizes import large, seeds
from .targets import HEAL

LONG_S = 1_200.0
"""Seconds of a history: some of who is gone is forgotten by then."""


@pytest.mark.parametrize("size", [2, 3, 8, large(30)])
def test_a_mesh_is_whole_in_time_after_whatever_happened_to_it(size: int) -> None:
    """Parts, ends, starts at old and new addresses, moves, loss one way and both, and all at once.

    Whole: who is up sees exactly those that are up.
    """
    for seed in seeds(6):
        history = History(size, seed)
        history.run(LONG_S)
        history.calm()
        whole = history.world.run_until(lambda history=history: exact(history.world), 60.0, 0.1)
        assert whole <= HEAL, f"seed {seed}: {whole} s after {history.log}"


def test_one_seed_gives_one_history() -> None:
    """So that what failed once can be looked at."""
    logs = []
    for seed in (1, 1, 2):
        history = History(8, seed)
        history.run(60.0)
        logs.append(history.log)
    assert logs[0] == logs[1] != logs[2]
