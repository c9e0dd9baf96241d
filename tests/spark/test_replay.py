"""A driver that died between two steps of a batch: what its checkpoint has is all that is known.

The steps are those of Spark: the offsets are in the log, the sink has the batch, the log of commits
has it. A death is what stands in the folders after it; test_kill.py kills at random.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_kill import COUNT, LIMIT, Scene, is_whole, start
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

LAST = (COUNT - 1) // LIMIT
"""The number of the last batch."""


def forget(log: Path, number: int) -> None:
    """Take a batch out of a log of Spark; a checksum lies beside it."""
    (log / str(number)).unlink()
    (log / f".{number}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize("sink_has_it", [True, False])
def test_a_batch_that_was_not_told_as_done_is_read_again_and_is_there_once(
    spark: Any, tmp_path: Path, sink_has_it: bool
) -> None:
    """The driver died behind the log of offsets, before the sink had it or after that: the batch is
    planned with the same ranges, which no trim has taken."""
    with ExitStack() as stack:
        scene = Scene(spark, stack, tmp_path)
        scene.query()
        before = len(scene.reads.noted)
        forget(tmp_path / "checkpoint" / "commits", LAST)
        if not sink_has_it:
            forget(tmp_path / "out" / "_spark_metadata", LAST)
        scene.query()
        again = scene.reads.noted[before:]
        assert (again == []) == sink_has_it  # a sink that has it does not ask for it
        assert set(again) <= set(scene.reads.noted[:before])
        is_whole(spark, tmp_path, COUNT)


def test_a_run_that_was_told_as_done_is_not_read_again(spark: Any, tmp_path: Path) -> None:
    """The driver died behind the log of commits, or ended: what came since is all that is read."""
    with ExitStack() as stack:
        scene = Scene(spark, stack, tmp_path)
        scene.query()
        before = len(scene.reads.noted)
        scene.query()
        assert len(scene.reads.noted) == before
        assert scene.reads.again() == 0
        is_whole(spark, tmp_path, COUNT)


def test_without_its_checkpoint_a_query_is_a_new_one(spark: Any, tmp_path: Path) -> None:
    """It begins where `startingOffsets` says, with what is there."""
    with ExitStack() as stack:
        scene = Scene(spark, stack, tmp_path)
        scene.query()
        shutil.rmtree(tmp_path / "checkpoint")
        first = scene.spool.info().first_seq
        start(spark, tmp_path / "new", scene.endpoint).trigger(
            availableNow=True
        ).start().awaitTermination()
        rows = spark.read.parquet(f"{tmp_path}/new/out").select("offset").collect()
        assert sorted(row.offset for row in rows) == list(range(first, COUNT + 1))
