"""Two nodes, for tests of one that follows another; files that need others have their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from meshmsg.mesh import Mesh
from tests.support.feeding import World
from tests.support.meshes import node, node_of


@pytest.fixture
def seed() -> Iterator[Mesh]:
    """A node that is there first."""
    with node("seed") as made:
        yield made


@pytest.fixture
def a(world: World, seed: Mesh) -> Iterator[Any]:
    """The node that follows, for threads or for a loop."""
    with node_of(world, "a", seed.endpoint) as made:
        yield made
