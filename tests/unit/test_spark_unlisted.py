"""A spool that no named endpoint shows any more: told once, and read on if it is back.

Not here: spools that leave a mesh (test_spark_leaving.py), real ones (tests/spark/test_source.py).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support.sparked import B, C, nexts, offset

pytest.importorskip("pyspark")
from tests.unit.test_spark_planning import Query


@pytest.mark.parametrize("first", [{}, {"groupId": "g"}])
def test_what_was_gone_on_without_is_no_loss_of_later_runs(
    first: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """One batch says so, also without rows; another that goes later is told with what it is."""
    going_on, after = Query(failOnDataLoss="false", **first), Query(**first)
    going_on.told.say(a=(1, 10), c=(1, 3))
    end = going_on.planner.latest(offset(a=10, b=5, c=3))
    assert nexts(end) == {"a": 10, "b": 5, "c": 3}
    assert end != offset(a=10, b=5, c=3)  # a batch of its own, so that it stands in the checkpoint
    assert going_on.planner.tasks(offset(a=10, b=5, c=3), end) == []
    assert going_on.planner.latest(end) == end
    said = [one.message for one in caplog.records if one.message.startswith("left out")]
    assert len(said) == 1
    assert f"{B}, read up to 4," in said[0]
    after.told.say(a=(1, 12), c=(1, 3))
    end = after.planner.latest(end)
    assert nexts(end) == {"a": 12, "b": 5, "c": 3}
    del after.told.shown[C]
    with pytest.raises(mm.SpoolChangedError, match=f"{C}, .* or its endpoint taken out"):
        after.latest(end)


@pytest.mark.parametrize(
    ("there", "tasks"), [((1, 5), []), ((1, 9), [(B, 5, 9)]), ((5, 9), [(B, 5, 9)])]
)
def test_a_spool_that_comes_back_is_read_on_from_its_place(
    there: tuple[int, int], tasks: list[tuple[str, int, int]]
) -> None:
    """Nothing of it is read twice, and nothing is left out; if it goes again that is told again."""
    query = Query(failOnDataLoss="false")
    query.told.say(a=(1, 10))
    gone = query.planner.latest(offset(a=10, b=5))
    after = Query()
    after.told.say(a=(1, 10), b=there)
    end = after.planner.latest(gone)
    assert nexts(end) == {"a": 10, "b": there[1]}
    assert [(one.uuid, one.first, one.end) for one in after.planner.tasks(gone, end)] == tasks
    del after.told.shown[B]
    with pytest.raises(mm.SpoolChangedError, match=f"{B}, read up to {there[1] - 1}"):
        after.latest(end)


def test_what_a_spool_lost_while_it_was_gone_is_a_loss_as_any() -> None:
    """It was trimmed meanwhile, or is a copy from before."""
    query = Query(failOnDataLoss="false")
    query.told.say(a=(1, 10))
    gone = query.planner.latest(offset(a=10, b=5))
    after = Query()
    after.told.say(a=(1, 10), b=(7, 9))
    with pytest.raises(mm.SpoolTrimmedError, match="messages 5 to 6"):
        after.latest(gone)
