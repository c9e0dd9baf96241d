"""What starts the programs that are killed, again and again.

Not here: the programs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.forks import Forks

PROGRAMS = (
    *("keeper", "marker", "producer", "booker", "numberer"),
    *("compactor", "founder", "publisher", "worker"),
)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    """Return what starts them, once for all tests."""
    made = Forks(*(f"tests.crash.{name}" for name in PROGRAMS))
    yield made
    made.close()
