"""A batch that is written again, and whose rows Spark gives in another order this time.

A state store does so after a restart; here a step in front of the sink does, so that it is certain.
Not here: the order itself (tests/unit/test_spark_ordering.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_sink import before_arrow, receiver, writing
from tests.spark.test_source import Shown
from tests.support.pairs import WAIT_S
from tests.support.sparked import needs_spark

__all__ = ["receiver"]
pytestmark = [needs_spark, pytest.mark.leaves_threads]
ROWS = 500


@pytest.mark.parametrize(
    ("writer", "order"),
    [("meshmsg", "content"), ("meshmsg_rows", "content"), ("meshmsg", "given")],
)
def test_a_row_has_the_same_name_though_it_comes_in_another_place(
    spark: Any, receiver: Any, tmp_path: Path, writer: str, order: str
) -> None:
    """By both writers. As the rows are given, one name is that of two of them."""
    turn = str(tmp_path / "turn")

    def turned(batches: Iterator[Any]) -> Iterator[Any]:
        """Give the rows backwards, once somebody says so."""
        from pathlib import Path

        some = [batch.slice(at, 1) for batch in batches for at in range(batch.num_rows)]
        yield from reversed(some) if Path(turn).exists() else some

    spark.dataSource.register(before_arrow())
    shown = Shown(tmp_path / "spool", ROWS)

    def run() -> list[int]:
        rows = spark.readStream.format("meshmsg").options(
            endpoints=shown.endpoint, startingOffsets="earliest", columns="value"
        )
        out = rows.load().mapInArrow(turned, "value binary").writeStream
        where = str(tmp_path / "checkpoint")
        query = (
            writing(out, receiver, rowOrder=order, checkpointLocation=where)
            .format(writer)
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(WAIT_S)
        return [one.batchId for one in query.recentProgress if one.numInputRows]

    try:
        assert run() == [0]
        for name in ("0", ".0.crc"):
            (tmp_path / "checkpoint" / "commits" / name).unlink()
        Path(turn).touch()
        assert run() == [0]
    finally:
        shown.close()
    assert Counter(receiver.came.values()) == Counter({2: ROWS})
    assert len(receiver.named) == ROWS
    assert (Counter(map(len, receiver.named.values())) == {1: ROWS}) is (order == "content")
