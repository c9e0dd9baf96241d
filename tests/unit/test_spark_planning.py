"""What the driver plans: beginnings, ends, waiting, losses, trims. Spools are told of, time is an
argument; with real ones test_spark_watch.py and tests/spark.
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark._source.offsets import Shown
from tests.support.sparked import A, B, C, Told, nexts, offset, options

pytest.importorskip("pyspark")
from meshmsg.spark._source.planning import Planner


class Clock:
    """A clock that stands still."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Query:
    """A planner of told spools."""

    def __init__(self, *, stream: bool = True, **given: object) -> None:
        self.told, self.clock = Told(), Clock()
        self.planner = Planner(
            options(stream=stream, **given), clock=self.clock, watch=lambda _: self.told
        )

    def latest(self, start: dict[str, Any], **limits: int) -> dict[str, int]:
        """Return where the next batch ends."""
        return nexts(self.planner.latest(start, **limits))


def test_latest_stands_still_though_more_comes_before_the_first_batch() -> None:
    """Spark asks more than once."""
    query = Query()
    query.told.say(a=(1, 10))
    first = query.planner.initial()
    query.told.say(a=(1, 20))
    assert query.planner.initial() == first == offset(a=10)


@pytest.mark.parametrize("given", [{}, {"groupId": "g", "retainBatches": 0}])
def test_a_first_batch_that_is_planned_again_begins_where_it_began(given: dict[str, Any]) -> None:
    """The run before died in it, and Spark asks anew where the query begins: `latest` is further by
    now. Without it what the batch had would be left out."""
    one, two = Query(**given), Query(**given)
    one.told.say(a=(1, 100), b=(1, 5))
    start = one.planner.initial()
    one.told.say(a=(1, 150), b=(1, 5))
    end = one.planner.latest(start)
    two.told.say(a=(1, 170), b=(1, 5), c=(1, 9))
    later = two.planner.initial()
    assert nexts(later) == {"a": 170, "b": 5, "c": 9}
    for query, asked in ((one, start), (two, later)):
        (task,) = query.planner.tasks(asked, end)
        assert (task.uuid, task.first, task.end) == (A, 100, 150)
    assert two.latest(end) == {"a": 170, "b": 5, "c": 1}
    assert two.told.held == ([({"a": 100, "b": 5, "c": 9}, {})] if given else [])


def test_a_spool_that_is_away_as_the_first_batch_is_planned_again_is_read_from_there() -> None:
    """And not from its first message on, as one that was never seen."""
    one, two = Query(), Query(failOnDataLoss=False)
    one.told.say(a=(1, 100), b=(1, 5))
    start = one.planner.initial()
    one.told.say(a=(1, 150), b=(1, 9))
    end = one.planner.latest(start)
    two.told.say(b=(1, 9))
    later = two.planner.initial()
    two.told.say(a=(1, 150))
    first, second = two.planner.tasks(later, end)
    assert [(one.first, one.end) for one in (first, second)] == [(100, 150), (5, 9)]


def test_a_number_is_the_same_for_a_run_whose_query_has_no_checkpoint_yet() -> None:
    """`latest` is not: nothing is left of the run that died before its first batch was planned."""
    found = []
    for said in ("latest", f'{{"{A}": 100}}'):
        for stable in (100, 150):
            query = Query(startingOffsets=said)
            query.told.say(a=(1, stable))
            found.append(nexts(query.planner.initial())["a"])
    assert found == [100, 150, 100, 100]


@pytest.mark.parametrize(
    ("said", "places"),
    [
        ("earliest", {"a": 3, "b": 1}),
        ("latest", {"a": 10, "b": 5}),
        (f'{{"{A}": 7}}', {"a": 7, "b": 1}),
        (f'{{"{A}": -1, "{B}": -2}}', {"a": 10, "b": 1}),
        (f'{{"{A}": 10}}', {"a": 10, "b": 1}),
    ],
)
def test_a_query_begins_where_it_is_told(said: str, places: dict[str, int]) -> None:
    """A spool that is not named begins with its first message: none is left out."""
    query = Query(startingOffsets=said)
    query.told.say(a=(3, 10), b=(1, 5))
    assert nexts(query.planner.initial()) == places


def test_a_beginning_that_is_not_there_is_refused() -> None:
    """Rather than a query that reads nothing."""
    query = Query(startingOffsets=f'{{"{B}": 7}}')
    query.told.say(a=(1, 5))
    with pytest.raises(mm.UsageError, match=f"names the spool {B}, which no endpoint shows"):
        query.planner.initial()
    query.told.say(b=(1, 6))
    with pytest.raises(mm.SpoolAheadError, match="what is durable ends with 5") as raised:
        query.planner.initial()
    assert raised.value.stable_seq == 6


def test_a_query_does_not_begin_without_any_answer() -> None:
    """And it says of each endpoint why."""
    query = Query()
    query.told.no_answer = ["tcp://a:1 (refused)"]
    with pytest.raises(mm.TimedOutError, match=r"tcp://a:1 \(refused\)"):
        query.planner.initial()
    with pytest.raises(mm.TimedOutError, match="did not answer within offsetTimeout"):
        query.planner.prepare()


def test_a_producer_that_comes_later_begins_with_its_first_message() -> None:
    """In two steps, so that the checkpoint has where it began, and a retry the same."""
    query = Query()
    query.told.say(a=(1, 10))
    start = query.planner.initial()
    query.told.say(a=(1, 12), b=(4, 9))
    assert query.latest(start) == {"a": 12, "b": 4}
    assert query.latest(offset(a=12, b=4)) == {"a": 12, "b": 9}


@pytest.mark.parametrize("given", [{}, {"groupId": "g"}])
def test_a_producer_that_comes_later_and_has_trimmed_is_read_from_what_it_has(
    given: dict[str, Any],
) -> None:
    """Its messages 1 to 3 are no loss: nobody was to read them."""
    query = Query(**given)
    query.told.say(a=(1, 10))
    start = query.planner.latest(query.planner.initial())
    query.told.say(a=(1, 12), b=(4, 9))
    tasks = []
    for _ in range(3):
        end = query.planner.latest(start)
        tasks += query.planner.tasks(start, end)
        start = end
    assert [(one.uuid, one.first, one.end) for one in tasks] == [(A, 10, 12), (B, 4, 9)]


def test_a_producer_that_is_away_stays_where_it_is() -> None:
    """Its place is not given up, and what others have is read meanwhile."""
    query = Query()
    query.told.say(a=(1, 12))
    query.told.no_answer = ["tcp://b:1 (down)"]
    assert query.latest(offset(a=10, b=5)) == {"a": 12, "b": 5}


def test_a_spool_that_no_endpoint_shows_any_more_is_a_loss() -> None:
    """All endpoints answer, and none has it: its folder is another one by now."""
    query = Query()
    query.told.say(a=(1, 12))
    with pytest.raises(mm.SpoolChangedError, match=f"{B}, read up to 4, .* made anew"):
        query.latest(offset(a=10, b=5))
    going_on = Query(failOnDataLoss="false")
    going_on.told.say(a=(1, 12))
    assert going_on.latest(offset(a=10, b=5)) == {"a": 12, "b": 5}


def test_what_was_removed_before_it_was_read_is_a_loss() -> None:
    """Said with its numbers; or left to the tasks, which go on behind it."""
    query = Query()
    query.told.say(a=(8, 12))
    with pytest.raises(mm.SpoolTrimmedError, match="messages 5 to 7 of") as raised:
        query.latest(offset(a=5))
    assert (raised.value.seq, raised.value.first) == (5, 8)
    going_on = Query(failOnDataLoss="false")
    going_on.told.say(a=(8, 12))
    assert going_on.latest(offset(a=5)) == {"a": 12}


def test_a_copy_from_before_is_noticed_and_a_view_that_is_behind_is_waited_for() -> None:
    """Both show less than was read; a view does so for a second."""
    query = Query(offsetTimeout="10s")
    query.told.say(a=(1, 4))
    assert query.latest(offset(a=5)) == {"a": 5}
    query.clock.now = 9.0
    query.told.say(a=(1, 6))
    assert query.latest(offset(a=5)) == {"a": 6}
    query.told.say(a=(1, 5))
    assert query.latest(offset(a=6)) == {"a": 6}
    query.clock.now = 19.0
    with pytest.raises(mm.SpoolChangedError, match="ends with message 4 .* read up to 5"):
        query.latest(offset(a=6))


def test_a_lower_life_is_a_copy_though_it_has_more() -> None:
    """As epochs only grow."""
    query = Query(offsetTimeout="1s")
    query.told.shown[A] = Shown(1, 50, 1, ())
    start = offset(a=5)
    start["p"][A]["epoch"] = 7
    query.latest(start)
    query.clock.now = 1.0
    with pytest.raises(mm.SpoolChangedError, match="of life 1, and was read .* of life 7"):
        query.latest(start)


def test_few_messages_are_waited_for_until_the_delay_is_over() -> None:
    """And the delay begins anew with each batch."""
    query = Query(maxTriggerDelay="60s")
    query.told.say(a=(1, 10))
    start = offset(a=8)
    assert query.latest(start, least=3) == {"a": 8}
    query.told.say(a=(1, 11))
    assert query.latest(start, least=3) == {"a": 11}
    query.told.say(a=(1, 12))
    query.clock.now = 59.0
    assert query.latest(offset(a=11), least=3) == {"a": 11}
    query.clock.now = 60.0
    assert query.latest(offset(a=11), least=3) == {"a": 12}


def test_the_end_of_available_now_is_reached_by_few_messages_too() -> None:
    """And what comes meanwhile is for the next run."""
    query = Query(minOffsetsPerTrigger=100)
    query.told.say(a=(1, 10))
    query.planner.prepare()
    query.told.say(a=(1, 20), b=(1, 5))
    assert query.latest(offset(a=1), rows=6, least=100) == {"a": 7}
    assert query.latest(offset(a=7), rows=6, least=100) == {"a": 10}
    assert query.latest(offset(a=10), rows=6, least=100) == {"a": 10}


def test_a_spool_that_came_back_after_available_now_began_is_for_the_next_run() -> None:
    """It is not there at the beginning, and all endpoints answer later: that is no loss."""
    query = Query()
    query.told.say(a=(1, 10))
    query.told.no_answer = ["tcp://b:1 (down)"]
    query.planner.prepare()
    query.told.say(b=(1, 9))
    query.told.no_answer = []
    assert query.latest(offset(a=5, b=4)) == {"a": 10, "b": 4}


def test_limits_of_rows_and_bytes_hold_together() -> None:
    """The lower one counts."""
    query = Query(maxBytesPerTrigger="1k")
    query.told.say(a=(1, 101))
    query.told.mean = {A: 100.0}
    assert query.latest(offset(a=1), rows=50, size=1024) == {"a": 11}
    assert query.latest(offset(a=1), rows=5, size=1024) == {"a": 6}


def test_spools_that_are_assigned_are_read_and_no_others() -> None:
    """Also where others are shown; a batch read needs each of them, a stream waits for it."""
    query = Query(assign=f"{A},{C}", startingOffsets="earliest", groupId="g")
    query.told.say(a=(1, 10), b=(1, 10))
    start = query.planner.initial()
    assert nexts(start) == {"a": 1}
    query.told.say(c=(4, 6))
    assert query.latest(start) == {"a": 10, "c": 4}
    assert nexts(query.planner.report() or {}) == {"a": 10, "c": 6}
    batch = Query(stream=False, assign=f"{A},{C}")
    batch.told.say(a=(1, 10), b=(1, 10))
    with pytest.raises(mm.UsageError, match=f"option assign names the spool {C}"):
        batch.planner.all()
    batch.told.say(c=(4, 6))
    assert [(one.uuid, one.first, one.end) for one in batch.planner.all()] == [
        (A, 1, 10),
        (C, 4, 6),
    ]


def test_who_is_assigned_no_more_keeps_its_place_and_is_not_missed() -> None:
    """It is neither read, nor held, nor a loss once nobody shows it."""
    query = Query(assign=A, groupId="g", retainBatches=0)
    query.told.say(a=(1, 10), b=(1, 10))
    assert query.latest(offset(a=5, b=5)) == {"a": 10, "b": 5}
    del query.told.shown[B]
    assert query.latest(offset(a=5, b=5)) == {"a": 10, "b": 5}
    query.planner.commit(offset(a=10, b=5))
    assert query.told.held == [({"a": 5}, {"a": 5}), ({"a": 10}, {"a": 10})]
    query.planner.prepare()
    assert query.latest(offset(a=5, b=5)) == {"a": 10, "b": 5}


def test_tasks_carry_all_that_executors_need() -> None:
    """By the mean size so many that none has more than it may."""
    query = Query(maxBytesPerPartition="1k")
    query.told.say(a=(1, 101))
    query.told.mean = {A: 100.0}
    tasks = query.planner.tasks(offset(a=1), query.planner.latest(offset(a=1)))
    assert len(tasks) == 10
    assert (tasks[0].uuid, tasks[0].first, tasks[-1].end, tasks[0].epoch) == (A, 1, 101, 1)
    assert tasks[0].endpoints == ("tcp://a:1",)
    assert query.planner.tasks(offset(a=5), offset(a=5)) == []


def test_a_batch_of_a_spool_that_nobody_shows_is_not_planned() -> None:
    """As after a restart: the query fails, and the next one tries again."""
    query = Query()
    query.told.no_answer = ["tcp://a:1 (down)"]
    with pytest.raises(mm.TimedOutError, match=f"shows the spool {A}: tcp://a:1"):
        query.planner.tasks(offset(a=1), offset(a=5))


def test_a_batch_read_has_what_is_there_and_asks_no_more() -> None:
    """Between its ends, in so many tasks."""
    query = Query(stream=False, minPartitions=2, endingOffsets=f'{{"{A}": 9}}')
    query.told.say(a=(3, 12), b=(1, 3))
    tasks = query.planner.all()
    assert [(one.uuid, one.first, one.end) for one in tasks] == [(A, 3, 9), (B, 1, 3)]
    assert query.told.closed == 1


def test_a_batch_read_needs_every_endpoint() -> None:
    """A table that lacks a producer without a word would be worse than an error."""
    query = Query(stream=False)
    query.told.say(a=(1, 5))
    query.told.no_answer = ["tcp://b:1 (down)"]
    with pytest.raises(mm.TimedOutError, match="tcp://b:1"):
        query.planner.all()
    assert query.told.closed == 1


def test_a_batch_read_cannot_end_where_it_begins() -> None:
    """It is a mistake in spelling."""
    query = Query(stream=False, endingOffsets="earliest")
    query.told.say(a=(1, 5))
    with pytest.raises(mm.UsageError, match="nothing would be read"):
        query.planner.all()


def test_a_batch_read_does_not_end_in_front_of_its_beginning() -> None:
    """That is a mistake, also of what is latest; one that is as far reads nothing, as said. What is
    earliest may be behind the end: the rest was removed."""
    for first, end, begins in (
        *((9, 5, 9), (5, 5, 0), (5, -1, 0), (-1, 5, 12)),
        *((-2, 5, 0), (-2, 2, 0), ("latest", 5, 12), ("earliest", 2, 0)),
    ):
        starting = f'{{"{A}": {first}}}' if isinstance(first, int) else first
        given = {"startingOffsets": starting, "endingOffsets": f'{{"{A}": {end}}}'}
        query = Query(stream=False, **given)
        query.told.say(a=(4, 12))
        if not begins:
            query.planner.all()
            continue
        said = rf"spool {A} the read begins at {begins} \(startingOffsets\) and ends in front of 5 "
        with pytest.raises(mm.UsageError, match=said):
            query.planner.all()
        assert query.told.closed == 1


def test_trims_are_behind_commits_by_the_batches_that_are_kept() -> None:
    """What a query begins with is held at once; what is committed goes a batch later."""
    query = Query(groupId="g", retainBatches=2)
    query.told.say(a=(1, 50))
    query.latest(offset(a=3))
    assert query.told.held == [({"a": 3}, {})]
    for seq in (10, 20, 30, 40):
        query.planner.commit(offset(a=seq))
    assert query.told.held[1:] == [({"a": 10}, {"a": 10}), ({"a": 20}, {"a": 20})]


def run_of_one_batch(start: dict[str, Any], stable: int, **given: object) -> tuple[Any, Any]:
    """Return where a run ends that has one batch, as with availableNow, and what it held first."""
    query = Query(groupId="g", **given)
    query.told.say(a=(1, stable))
    query.planner.prepare()
    end = query.planner.latest(start)
    query.planner.commit(start)  # Spark: the last batch of the run before
    assert query.planner.latest(end) == end  # as text: no batch follows
    assert len(query.told.held) == 1 + (given.get("retainBatches") == 0)
    return end, query.told.held[0]


@pytest.mark.parametrize(
    ("retain", "trimmed"),
    [
        (0, [{"a": 1}, {"a": 11}, {"a": 21}, {"a": 31}]),
        (1, [{}, {"a": 1}, {"a": 11}, {"a": 21}]),
        (2, [{}, {}, {}, {}]),
    ],
)
def test_a_run_trims_as_it_begins_what_the_checkpoint_says_was_done(
    retain: int, trimmed: list[dict[str, int]]
) -> None:
    """Though each run has one batch, whose end is never committed. The last one done stays."""
    end, found = offset(a=1), []
    for stable in (11, 21, 31, 41):
        end, (held, done) = run_of_one_batch(end, stable, retainBatches=retain)
        found.append(done)
        assert {**held, **done} == held  # the lease holds from there on
    assert found == trimmed


def test_a_new_query_trims_nothing_as_it_begins() -> None:
    """Though it begins with what comes: what is there was not read by anybody."""
    query = Query(groupId="g", retainBatches=0)
    query.told.say(a=(1, 11))
    start = query.planner.initial()
    assert query.latest(start) == {"a": 11}
    assert query.told.held == [({"a": 11}, {})]


def test_a_batch_that_is_planned_again_is_not_trimmed() -> None:
    """A run that begins with it reads from its start, whatever the end of it says."""
    end, _ = run_of_one_batch(offset(a=1), 11, retainBatches=0)
    again, _ = run_of_one_batch(end, 21, retainBatches=0)
    query = Query(groupId="g", retainBatches=0)
    query.told.say(a=(1, 30))
    (task,) = query.planner.tasks(end, again)
    assert (task.first, task.end) == (11, 21)
    query.planner.latest(again)
    assert query.told.held == [({"a": 11}, {"a": 11})]


def test_an_end_without_a_group_says_no_more_than_before() -> None:
    """Its text is that of earlier versions; but the first one says where the query began, which the
    next has forgotten, of spools as well that have nothing new."""
    query = Query()
    query.told.say(a=(1, 50))
    assert query.planner.latest(offset(a=3)) == offset(a=50)
    query.told.say(b=(1, 9))
    start = query.planner.initial()
    query.told.say(a=(1, 60), b=(1, 10))
    first = query.planner.latest(start)
    assert {uuid[0]: one["kept"] for uuid, one in first["p"].items()} == {"a": 50, "b": 9}
    query.told.say(a=(1, 70))
    assert query.planner.latest(first) == offset(a=70, b=10)


def test_a_query_whose_group_another_one_has_fails() -> None:
    """Before it plans anything more."""
    query = Query(groupId="g")
    query.told.say(a=(1, 50))
    assert query.latest(offset(a=3)) == {"a": 50}
    query.told.clashing = "another query reads with groupId 'g'"
    with pytest.raises(mm.UsageError, match="another query reads with groupId 'g'"):
        query.latest(offset(a=50))


def test_without_a_group_nothing_is_held_or_removed() -> None:
    """Readers leave no trace."""
    query = Query()
    query.told.say(a=(1, 50))
    query.latest(offset(a=3))
    for seq in (10, 20, 30, 40):
        query.planner.commit(offset(a=seq))
    assert query.told.held == []


def test_spark_before_admission_control_gets_all_that_is_there() -> None:
    """Once all endpoints have answered: what was read of one that has not is not known."""
    query = Query()
    query.told.say(a=(1, 10))
    query.told.never = ["tcp://b:1 (down)"]
    with pytest.raises(mm.TimedOutError, match="before 4.2 needs all endpoints"):
        query.planner.latest_of_all()
    query.told.never = []
    assert nexts(query.planner.latest_of_all()) == {"a": 10}
    query.told.shown.clear()
    query.told.say(b=(1, 4))
    assert nexts(query.planner.latest_of_all()) == {"a": 10, "b": 4}


def test_what_is_there_is_reported_without_a_limit() -> None:
    """So that the progress of a query says what it is behind."""
    query = Query()
    assert query.planner.report() is None
    query.told.say(a=(1, 10))
    query.latest(offset(a=1), rows=2)
    assert nexts(query.planner.report() or {}) == {"a": 10}
