"""Spools that leave a mesh: what was not read of them is a loss once they are gone for long enough.

Not here: how it is found out that they left (test_spark_discovery.py). Time is an argument.
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support.sparked import A, B, Told, nexts, offset, options

pytest.importorskip("pyspark")
from meshmsg.spark._source.leaving import PLACES_TOLD
from meshmsg.spark._source.offsets import Place, to_json
from meshmsg.spark._source.planning import Planner
from meshmsg.spark._source.readers import PlainStreamReader
from meshmsg.spark._source.reading import read_range

MESH = {"mesh.cluster": "etl", "mesh.seeds": "s:1", "mesh.service": "orders"}


class Query:
    """A planner of a mesh that is told of."""

    def __init__(self, **given: str) -> None:
        self.told, self.now = Told(), 0.0
        asked = options(offsetTimeout="10s", **MESH, **given)
        self.planner = Planner(asked, clock=lambda: self.now, watch=lambda _: self.told)

    def latest(self, start: dict[str, Any], now: float) -> dict[str, int]:
        """Return where the next batch ends, at a time."""
        self.now = now
        return nexts(self.planner.latest(start))

    def leaves(self) -> None:
        """Have the spool B leave."""
        del self.told.shown[B]


@pytest.fixture(params=["true", "false"])
def query(request: pytest.FixtureRequest) -> Query:
    """A query that has read A and B up to 9, of which B has 14."""
    made = Query(failOnDataLoss=request.param)
    made.told.say(a=(1, 10), b=(1, 15))
    assert made.latest(offset(a=10, b=10), 0.0) == {"a": 10, "b": 15}
    made.leaves()
    return made


def test_what_was_not_read_of_who_has_left_is_a_loss(query: Query, caplog: Any) -> None:
    """After a time to come back; said with its numbers, or logged once."""
    assert query.latest(offset(a=10, b=10), 5.0) == {"a": 10, "b": 10}
    assert query.latest(offset(a=10, b=10), 14.9) == {"a": 10, "b": 10}
    if query.planner._options.fail_on_loss:
        with pytest.raises(mm.SpoolChangedError, match=f"{B} has left .* 10 to 14") as raised:
            query.latest(offset(a=10, b=10), 15.0)
        assert raised.value.uuid == B
        return
    query.told.say(a=(1, 12))
    for now in (15.0, 16.0):
        assert query.latest(offset(a=10, b=10), now) == {"a": 12, "b": 10}
    assert [r.message for r in caplog.records] == [
        f"left out: the spool {B} has left the mesh, and its messages 10 to 14 were not read"
    ]


def test_who_was_read_to_the_end_may_go(query: Query, caplog: Any) -> None:
    """Its place stays in the offset, and nothing is said."""
    for now in (5.0, 50.0, 500.0):
        assert query.latest(offset(a=10, b=15), now) == {"a": 10, "b": 15}
    assert caplog.records == []


def test_who_comes_back_in_time_was_not_gone(query: Query) -> None:
    """The time begins anew as it goes again."""
    query.latest(offset(a=10, b=10), 5.0)
    query.told.say(b=(1, 15))
    assert query.latest(offset(a=10, b=10), 14.0) == {"a": 10, "b": 15}
    query.leaves()
    for now in (20.0, 29.9):
        assert query.latest(offset(a=10, b=10), now) == {"a": 10, "b": 10}


def test_who_has_never_answered_may_be_the_one_that_is_gone(query: Query) -> None:
    """As a spool may come back at another endpoint."""
    query.told.never = ["tcp://b:2 (refused)"]
    for now in (5.0, 50.0):
        assert query.latest(offset(a=10, b=10), now) == {"a": 10, "b": 10}


def test_a_run_that_begins_later_knows_of_no_end_and_says_so(caplog: Any) -> None:
    """A producer that has left before may have had more, or not: the query goes on."""
    query = Query()
    query.told.say(a=(1, 12))
    for now in (0.0, 9.0, 10.0, 11.0):
        assert query.latest(offset(a=10, b=10), now) == {"a": 12, "b": 10}
    [record] = caplog.records
    assert f"{B}, read up to 9, is shown by nobody" in record.message


def test_places_of_who_is_gone_for_long_go_with_the_next_batch(caplog: Any) -> None:
    """Not before, as an offset that differs is a batch; and not unless that was asked for."""
    for given, left in (({}, {"a": 12, "b": 15}), ({"retireAfter": "1h"}, {"a": 12})):
        query = Query(**given)
        query.told.say(a=(1, 10), b=(1, 15))
        query.latest(offset(a=10, b=15), 0.0)
        query.leaves()
        for now in (1.0, 3600.9, 3601.0):
            assert query.latest(offset(a=10, b=15), now) == {"a": 10, "b": 15}
        assert caplog.records == []
        query.told.say(a=(1, 12))
        assert query.latest(offset(a=10, b=15), 3602.0) == left
    assert nexts(query.planner.report() or {}) == {"a": 12}
    assert [r.message for r in caplog.records] == [
        f"retired: the spool {B}, read up to 14, has been gone for retireAfter; should it come "
        "back, it is read from its first message on"
    ]


def test_what_was_retired_and_comes_back_is_not_measured_by_what_it_had() -> None:
    """What of it is read from its first message on, and has left again, is no loss."""
    query = Query(retireAfter="1h")
    query.told.say(a=(1, 10), b=(1, 15))
    query.latest(offset(a=10, b=15), 0.0)
    query.leaves()
    query.latest(offset(a=10, b=15), 1.0)
    query.told.say(a=(1, 12))
    assert query.latest(offset(a=10, b=15), 3602.0) == {"a": 12}
    query.told.say(b=(1, 5))
    query.latest(offset(a=12), 3603.0)
    query.leaves()
    for now in (3604.0, 3620.0):
        assert query.latest(offset(a=12, b=5), now) == {"a": 12, "b": 5}


@pytest.mark.parametrize("away", ["a little", "perhaps"])
def test_who_may_be_there_keeps_its_place(away: str) -> None:
    """Not gone for so long yet; or an endpoint has never answered, which may show it."""
    query = Query(retireAfter="1s")  # counted from offsetTimeout on, which is longer
    query.told.say(a=(1, 10), b=(1, 15))
    query.latest(offset(a=10, b=15), 0.0)
    query.leaves()
    query.latest(offset(a=10, b=15), 1.0)
    if away == "perhaps":
        query.told.never = ["tcp://b:2 (refused)"]
    query.told.say(a=(1, 12))
    now = 10.9 if away == "a little" else 3600.0
    assert query.latest(offset(a=10, b=15), now) == {"a": 12, "b": 15}


def test_an_offset_of_many_spools_is_told_of(caplog: Any) -> None:
    """Each time that there are twice as many: all of them stand in each line of a checkpoint."""
    query, told = Query(failOnDataLoss="false"), []
    query.told.say(a=(1, 10))
    for count in (PLACES_TOLD - 1, PLACES_TOLD, PLACES_TOLD + 1, 2 * PLACES_TOLD):
        places = {f"{at:032x}": Place(5, 1) for at in range(count - 1)}
        query.planner.latest(to_json({**places, A: Place(10, 1)}))
        told.append(sum("spools in each of its offsets" in r.message for r in caplog.records))
    assert told == [0, 1, 1, 2]
    [first, _] = [r.message for r in caplog.records if "in each of its offsets" in r.message]
    assert f"has {PLACES_TOLD} spools" in first
    assert f"{PLACES_TOLD - 1} of them are shown by nobody" in first


def test_a_planned_task_of_who_is_gone_is_left_out_only_if_losses_may_be(caplog: Any) -> None:
    """And if nobody is silent, who might have it. A task without rows is in its place: a sink knows
    the rows of those behind it by their numbers."""
    start, end = offset(a=10, b=10), offset(a=12, b=15)
    for given, silent in ((("true"), []), ("false", ["tcp://b:1 (refused)"])):
        query = Query(failOnDataLoss=given)
        query.told.say(a=(1, 12))
        query.told.no_answer = silent
        with pytest.raises(mm.TimedOutError, match=f"shows the spool {B}"):
            query.planner.tasks(start, end)
    going_on = Query(failOnDataLoss="false")
    going_on.told.say(b=(1, 15))
    tasks = going_on.planner.tasks(start, end)
    assert [(one.uuid, one.first, one.end) for one in tasks] == [(A, 12, 12), (B, 10, 15)]
    assert f"left out: messages 10 to 11 of {A}, which nobody shows" in caplog.text
    assert list(read_range(tasks[0], options())) == []


def test_before_spark_4_2_a_mesh_is_refused() -> None:
    """There a batch says not where it begins: who is not found yet would begin anew."""
    with pytest.raises(mm.UsageError, match=r"mesh\.\* of a stream needs Spark 4.2"):
        PlainStreamReader(options(**MESH))
