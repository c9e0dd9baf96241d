"""A batch that is planned again: it has the same tasks, whatever the driver knows of sizes by then.

Not here: which ranges it has (test_spark_planning.py).
"""

from __future__ import annotations

import pytest

from tests.support.sparked import A, B, offset

pytest.importorskip("pyspark")
from tests.unit.test_spark_planning import Query


@pytest.mark.parametrize("then", [{A: 50.0}, {A: 900.0}, {}])
@pytest.mark.parametrize("first", [{A: 100.0}, {}])
def test_a_batch_that_is_planned_again_has_the_same_tasks(
    first: dict[str, float], then: dict[str, float]
) -> None:
    """Though sizes are others by then, or are not known: a sink names rows by task and place, so
    in other tasks they would have the names of other rows."""
    found = []
    one, two = (Query(maxBytesPerPartition="1k") for _ in range(2))
    one.told.say(a=(1, 51), b=(1, 5))
    one.told.mean, two.told.mean = first, then
    start = one.planner.initial()
    one.told.say(a=(1, 101), b=(1, 5))
    end = one.planner.latest(start)
    two.told.say(a=(1, 5000), b=(1, 5))
    for query in (one, two):
        found.append([(task.first, task.end) for task in query.planner.tasks(start, end)])
    assert found[0] == found[1]
    assert len(found[0]) == (5 if first else 1)


def test_a_size_that_changes_is_no_news() -> None:
    """An offset that differs is a batch, though it has no row."""
    query = Query(maxBytesPerPartition="1k")
    query.told.say(a=(1, 101), b=(1, 5))
    query.told.mean = {A: 100.0}
    end = query.planner.latest(offset(a=1, b=5))
    query.told.mean = {A: 200.0, B: 10.0}
    assert query.planner.latest(end) == end


def test_spark_before_admission_control_has_the_size_of_tasks_in_its_checkpoint_too() -> None:
    """As long as nothing comes the text is the same, whatever the sizes are by then."""
    query = Query(maxBytesPerPartition="1k")
    query.told.say(a=(1, 101))
    query.told.mean = {A: 100.0}
    end = query.planner.latest_of_all()
    query.told.mean = {A: 900.0}
    assert query.planner.latest_of_all() == end
    assert len(query.planner.tasks(offset(a=1), end)) == 10
