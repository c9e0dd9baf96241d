"""What a user is told where Spark is older than what is asked for, or an option is wrong: by words
of meshmsg that stand last, with no error of Spark's own behind them.

Not here: what such a Spark can do, which all other tests are run for (versions.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark import count_reads
from tests.spark.older import LIMITS, before
from tests.support.pairs import WAIT_S, of_its_own
from tests.support.sparked import filled, needs_spark

pytestmark = [needs_spark, pytest.mark.leaves_threads]

OTHERS = "UnboundLocalError|ModuleNotFoundError|AttributeError|During handling"
"""What would be read in place of the words."""


def said(spark: Any, folder: Path, **given: str) -> str:
    """Return how a stream with these options fails."""
    options = {"endpoints": "tcp://127.0.0.1:1", **given}
    query = (
        spark.readStream.format("meshmsg")
        .options(**options)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(Exception, match="UsageError") as caught:
        query.awaitTermination(WAIT_S)
    return str(caught.value)


@pytest.mark.parametrize("again", [False, True])
def test_a_wrong_option_of_a_stream_is_all_that_its_error_says(
    spark: Any, tmp_path: Path, again: bool
) -> None:
    """As a query begins, and as one goes on from its checkpoint."""
    if again:
        with (
            filled(tmp_path / "s", 10) as spool,
            mm.SpoolServer(spool, bind=of_its_own()) as server,
        ):
            done = spark.readStream.format("meshmsg").option("endpoints", server.endpoint).load()
            writer = done.writeStream.format("noop").trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
            assert query.awaitTermination(WAIT_S)
    words = said(spark, tmp_path, endingOffsets="latest")
    assert "endingOffsets" in words
    assert not re.search(OTHERS, words)


@before(*LIMITS)
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"maxOffsetsPerTrigger": "5"}, "need Spark 4.2 or later"),
        ({"maxBytesPerTrigger": "5m"}, "need Spark 4.2 or later"),
        ({"groupIdPrefix": "report"}, "groupIdPrefix needs Spark 4.2 or later"),
    ],
)
def test_what_a_stream_needs_a_later_spark_for_is_refused(
    spark: Any, tmp_path: Path, given: dict[str, str], why: str
) -> None:
    """In these words, which say from which version on it is there."""
    words = said(spark, tmp_path, **given)
    assert why in words
    assert not re.search(OTHERS, words)


@before(4, 1)
def test_counts_need_a_later_spark_and_say_what_is_there_in_their_place(spark: Any) -> None:
    """Spark 4.0 keeps the source that it has found."""
    with pytest.raises(mm.UsageError, match=r"Spark 4\.1 or later.*observe\(\)"):
        count_reads(spark)
