"""How much of each scene runs: little in the suite, what was promised in `make sim`.

Not here: the scenes. Law: MESHMSG_SIM_SEEDS alone says it; without it, it is what `make test` runs.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

MANY = int(os.environ.get("MESHMSG_SIM_SEEDS", "0"))
"""0: the few of `make test`."""
SHARE = 20
"""Seeds asked for that make one of a scene: they take longer than those of sockets do."""
AT_SIZE_FROM = 1_000
"""Seeds asked for from which on scenes run at the size of the targets, too."""
AT_SIZE = pytest.mark.skipif(MANY < AT_SIZE_FROM, reason="minutes; make sim runs it")


def seeds(few: int, *, cost: int = 1) -> range:
    """At least so many; cost: how many times more a seed of it takes than of others."""
    return range(max(few, MANY // (SHARE * cost)))


def large(*values: Any) -> Any:
    """The arguments of a scene that runs under `make sim` only."""
    return pytest.param(*values, marks=AT_SIZE)
