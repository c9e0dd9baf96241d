"""`format("meshmsg")` of producers that a mesh finds, with real Spark.

Not here: discovery without Spark (tests/unit/test_spark_discovery.py).
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.mesh import Mesh
from tests.spark.older import LIMITS, since
from tests.support.pairs import WAIT_S
from tests.support.sparked import filled, needs_spark
from tests.support.ways import secret_file

pytest.importorskip("cryptography")
pytestmark = [needs_spark, pytest.mark.leaves_threads]


class Producer:
    """A node of the mesh that shows a spool, until it is closed."""

    def __init__(self, folder: Path, count: int, seed: str | None = None) -> None:
        with ExitStack() as stack:
            self.spool = stack.enter_context(filled(folder, count))
            self.uuid = self.spool.info().uuid
            self.mesh = stack.enter_context(
                Mesh(
                    cluster="etl",
                    name=folder.name,
                    seeds=seed,
                    bind="tcp://127.0.0.1:0",
                    secret=secret_file(),
                )
            )
            server = mm.SpoolServer(
                self.spool, bind="tls+tcp://127.0.0.1:0", security=self.mesh.security
            )
            self.mesh.announce("orders", stack.enter_context(server))
            self._stack = stack.pop_all()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def reading(reader: Any, seed: str, **given: object) -> Any:
    """Return a reader of what the mesh finds."""
    mesh = {"cluster": "etl", "seeds": seed, "service": "orders", "secretFile": secret_file()}
    options = {f"mesh.{name}": value for name, value in mesh.items()}
    for name, value in {**options, "mesh.bind": "tcp://127.0.0.1:0", **given}.items():
        reader = reader.option(name, str(value))
    return reader.format("meshmsg")


def test_a_batch_has_as_many_producers_as_it_needs(spark: Any, tmp_path: Path) -> None:
    """Over protected connections of the one secret."""
    with Producer(tmp_path / "a", 100) as a:
        with Producer(tmp_path / "b", 50, a.mesh.endpoint) as b:
            least = {"mesh.minProducers": 2}
            rows = reading(spark.read, a.mesh.endpoint, **least).load().collect()
            assert sorted((row.producer, row.offset) for row in rows) == sorted(
                (one.uuid, seq) for one, count in ((a, 100), (b, 50)) for seq in range(1, count + 1)
            )


@since(*LIMITS, "a stream does not read what a mesh finds")
def test_producers_come_go_and_come_back_while_a_stream_runs(spark: Any, tmp_path: Path) -> None:
    """Each message once: of one that was there, of one that came, and of its next life."""
    with Producer(tmp_path / "a", 100) as a:
        query = (
            reading(spark.readStream, a.mesh.endpoint, startingOffsets="latest")
            .load()
            .writeStream.format("memory")
            .queryName("of_the_mesh")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        try:
            until(spark, query, a, range(0))
            a.spool.append_many([b"x"] * 5)
            until(spark, query, a, range(101, 106))
            with Producer(tmp_path / "b", 50, a.mesh.endpoint) as b:
                until(spark, query, b, range(1, 51))
            with Producer(tmp_path / "b", 30, a.mesh.endpoint) as again:
                assert again.uuid == b.uuid
                until(spark, query, b, range(1, 81))
            until(spark, query, a, range(101, 106))
        finally:
            query.stop()


def until(spark: Any, query: Any, producer: Producer, expected: range) -> None:
    """Wait until a query has so many rows of a producer, and see that they are those."""
    found: list[int] = []
    for _ in range(int(WAIT_S * 10)):
        query.processAllAvailable()
        rows = spark.sql("SELECT producer, offset FROM of_the_mesh").collect()
        found = sorted(row.offset for row in rows if row.producer == producer.uuid)
        if len(found) >= len(expected) and query.lastProgress:
            break
        query.awaitTermination(0.1)
    assert found == list(expected), query.exception()
