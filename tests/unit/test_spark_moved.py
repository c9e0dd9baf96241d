"""A task whose producer began again at another endpoint, after its batch was planned. Nodes,
servers and spools are real, Spark is not started.

Not here: what the driver finds as it plans (test_spark_discovery.py).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.sparked import options
from tests.support.ways import secret_file
from tests.unit.test_spark_discovery import Producer, of_mesh

pytest.importorskip("cryptography")
pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
from meshmsg.spark._source import reading
from meshmsg.spark._source.options import SourceOptions
from meshmsg.spark._source.planning import Planner


@pytest.fixture(autouse=True)
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of this process are closed; a mesh is asked soon."""
    monkeypatch.setattr(reading, "LOOK_S", 0.05)
    yield
    reading.CONNECTIONS.close()


def planned(given: SourceOptions) -> tuple[Planner, reading.RangePartition]:
    """Return a planner, and its one task as an executor gets it."""
    planner = Planner(given)
    start = planner.initial()
    (task,) = planner.tasks(start, planner.latest_of_all())
    found: reading.RangePartition = pickle.loads(pickle.dumps(task))
    return planner, found


def bodies(task: reading.RangePartition, given: SourceOptions) -> list[int]:
    """Return the numbers in the messages of a task."""
    batches = reading.read_range(task, given)
    return [int(value) for one in batches for value in one.column("value").to_pylist()]


@pytest.mark.parametrize("secret", [False, True])
def test_a_planned_range_is_read_where_its_producer_is_by_now(tmp_path: Path, secret: bool) -> None:
    """Each message once: the first task with the endpoint of before, and what was kept of it."""
    node: dict[str, Any] = {"secret": secret_file()} if secret else {}
    with Producer(tmp_path / "seed", 0, None, **node) as other:
        seed = other.mesh.endpoint
        more = {"mesh.secretFile": secret_file(), "mesh.bind": "tcp://127.0.0.1:0"}
        given = of_mesh(
            seed,
            startingOffsets="earliest",
            fetchTimeout="60s",
            **{"mesh.minProducers": 2, **(more if secret else {})},
        )
        with Producer(tmp_path / "a", 9, seed, **node) as a:
            planner, task = planned(given)
            assert bodies(task, given) == list(range(1, 10))
        try:
            with Producer(tmp_path / "a", 3, seed, **node) as again:
                assert again.server.endpoint != a.server.endpoint
                assert bodies(task, given) == list(range(1, 10))
                assert len(again.server.peers()) == 1
        finally:
            planner.close()


def test_who_is_nowhere_is_said_with_where_it_was(tmp_path: Path) -> None:
    """Once `fetchTimeout` is over; the task is tried again then."""
    with Producer(tmp_path / "seed", 0, None) as other:
        given = of_mesh(other.mesh.endpoint, fetchTimeout="200ms")
        task = reading.RangePartition(
            *("a" * 32, 1, 1, 2, ("tcp://127.0.0.1:9",), (other.mesh.endpoint,))
        )
        with pytest.raises(
            mm.TimedOutError, match="was planned at tcp://127.0.0.1:9, and the mesh"
        ):
            bodies(task, given)
        assert not reading.CONNECTIONS._open


def test_without_a_mesh_nobody_is_asked() -> None:
    """Endpoints that options name are those."""
    task = reading.RangePartition("a" * 32, 1, 1, 2, ("tcp://127.0.0.1:9",))
    with pytest.raises(mm.TimedOutError) as raised:
        bodies(task, options(fetchTimeout="100ms"))
    assert "mesh" not in str(raised.value).replace("meshmsg", "")
