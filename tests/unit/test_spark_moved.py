"""A task whose producer began again at another endpoint, after its batch was planned, and what is
kept of connections to who has ended. Nodes, servers and spools are real, Spark is not started.

Not here: what the driver finds as it plans (test_spark_discovery.py).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.meshes import eventually
from tests.support.pairs import of_its_own
from tests.support.sparked import filled, options
from tests.support.ways import secret_file
from tests.unit.test_spark_discovery import Producer, of_mesh

pytest.importorskip("cryptography")
pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
from meshmsg.spark._source import reading
from meshmsg.spark._source.opening import connected
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


def left_by_probes(one: Producer) -> bool:
    """Whether its server has one peer: what asked which spool it shows is gone by then."""
    return eventually(lambda: len(one.server.peers()) == 1)


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
                assert left_by_probes(again)
        finally:
            planner.close()


def test_a_producer_that_goes_as_it_is_read_is_looked_for_at_once(tmp_path: Path) -> None:
    """Not once `fetchTimeout` is over: the connection that was lost tells."""
    with Producer(tmp_path / "seed", 0, None) as other:
        seed = other.mesh.endpoint
        given = of_mesh(
            seed,
            startingOffsets="earliest",
            fetchTimeout="1h",
            batchBytes=4096,
            **{"mesh.minProducers": 2},
        )
        with Producer(tmp_path / "a", 0, seed) as a:
            for _ in range(100):  # so many batches, of which an answer has one
                a.spool.append_many([b"x" * 500] * 10)
            planner, task = planned(given)
            begun = reading.read_range(task, given)
            rows = next(begun).num_rows
        try:
            with Producer(tmp_path / "a", 1, seed) as again:
                assert again.server.endpoint != a.server.endpoint
                assert rows + sum(batch.num_rows for batch in begun) == 1_000
                assert left_by_probes(again)
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


def test_a_connection_to_who_has_ended_is_not_kept(tmp_path: Path) -> None:
    """The next task, of another spool, closes it rather than have it dial for ever."""
    given = options()
    with filled(tmp_path / "s", 5) as spool, filled(tmp_path / "t", 3) as other:
        with mm.SpoolServer(other, bind=of_its_own()) as server:
            info = other.info()
            task = reading.RangePartition(info.uuid, info.epoch, 1, 4, (server.endpoint,))
            assert bodies(task, given) == [1, 2, 3]
            (kept,) = reading.CONNECTIONS._open.values()
        with mm.SpoolServer(spool, bind=of_its_own()) as server:
            assert eventually(lambda: not connected(kept))
            info = spool.info()
            task = reading.RangePartition(info.uuid, info.epoch, 1, 6, (server.endpoint,))
            assert bodies(task, given) == [1, 2, 3, 4, 5]
            (still,) = reading.CONNECTIONS._open.values()
            assert connected(still)
            with pytest.raises(mm.ClosedError):
                kept.info()


def test_a_connection_that_a_task_has_is_kept_though_it_is_lost(tmp_path: Path) -> None:
    """It goes on once its producer is back, whoever reads beside it."""
    given = options(batchBytes=4096)
    with filled(tmp_path / "s", 5) as spool, filled(tmp_path / "t", 1_000) as other:
        where = of_its_own()
        info = other.info()
        with mm.SpoolServer(other, bind=where) as server:
            where = server.endpoint
            task = reading.RangePartition(info.uuid, info.epoch, 1, 1_001, (where,))
            begun = reading.read_range(task, given)
            rows = next(begun).num_rows
            (kept,) = reading.CONNECTIONS._open.values()
        with mm.SpoolServer(spool, bind=of_its_own()) as server:
            assert eventually(lambda: not connected(kept))
            one = spool.info()
            beside = reading.RangePartition(one.uuid, one.epoch, 1, 6, (server.endpoint,))
            assert bodies(beside, given) == [1, 2, 3, 4, 5]
        with mm.SpoolServer(other, bind=where):
            assert rows + sum(batch.num_rows for batch in begun) == 1_000
