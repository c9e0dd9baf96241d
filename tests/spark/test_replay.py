"""A driver that died between two steps of a batch: what its checkpoint has is all that is known.

The steps are those of Spark: the offsets are in the log, the sink has the batch, the log of commits
has it. A death is what stands in the folders after it; test_kill.py kills at random.
"""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._ranges.form import Op, request_of
from tests.spark.killing import Reads
from tests.spark.older import limit
from tests.spark.test_kill import COUNT, LIMIT, SPARK_S, Scene, is_whole, start, until_there
from tests.support.pairs import of_its_own
from tests.support.sparked import needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

LAST = (COUNT - 1) // LIMIT if limit(LIMIT) else 0
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


GROWTHS = 20
"""Questions of the driver before each of which something is put."""


def growing(spool: mm.Spool, server: mm.SpoolServer) -> None:
    """Put something before each question how far the spool is: `latest` is never the same."""
    answer, lock, left = server._answers.answer, threading.Lock(), [GROWTHS]

    def answering(data: bytes, load: Any) -> Any:
        if request_of(data).op == Op.INFO:
            with lock:
                if left[0] > 0:
                    left[0] -= 1
                    spool.append_many([b"x"] * 10)
        return answer(data, load)

    server._answers.answer = answering  # type: ignore[method-assign]


def test_a_first_batch_that_began_with_latest_is_read_again_from_there(
    spark: Any, tmp_path: Path
) -> None:
    """The driver died in it: Spark asks once more where the query begins, and `latest` is further
    by then."""
    with (
        mm.Spool(str(tmp_path / "spool")) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        spool.append_many([b"x"] * 100)
        reads = Reads(server)
        growing(spool, server)
        new = start(spark, tmp_path, server.endpoint, startingOffsets="latest")
        query = new.start()
        try:
            until_there(query, 1)
        finally:
            query.stop()
        first = min(reads.noted)
        log = tmp_path / "checkpoint" / "offsets"
        (place,) = json.loads((log / "0").read_text().splitlines()[-1])["p"].values()
        assert first < place["next"]  # it had messages
        for folder, spared in ((log, 0), (log.parent / "commits", -1)):
            for path in folder.glob("[0-9]*"):
                if int(path.name) > spared:
                    forget(folder, int(path.name))
        (tmp_path / "out").rename(tmp_path / "old")  # tasks that were stopped may write still
        again = start(spark, tmp_path, server.endpoint, startingOffsets="latest")
        assert again.trigger(availableNow=True).start().awaitTermination(SPARK_S)
        rows = spark.read.parquet(f"{tmp_path}/out").select("offset").collect()
    offsets = sorted(row.offset for row in rows)
    assert offsets == list(range(first, offsets[-1] + 1))
    assert offsets[-1] >= place["next"] - 1
