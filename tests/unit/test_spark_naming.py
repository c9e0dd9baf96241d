"""Groups of which a query says the beginning: the rest is drawn, and stands in its checkpoint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.pairs import of_its_own
from tests.support.sparked import Told, filled, offset, options

pytest.importorskip("pyspark")
from meshmsg.spark._source.planning import Planner
from meshmsg.spark._source.readers import PlainStreamReader


class Run:
    """A run of a query: the spool A has so many messages."""

    def __init__(self, stable: int, **given: str) -> None:
        self.told = Told()
        self.told.say(a=(1, stable))
        asked = options(startingOffsets="earliest", **(given or {"groupIdPrefix": "report"}))
        self.planner = Planner(asked, watch=lambda _: self.told)

    @property
    def group(self) -> str:
        """What its group is called; it has one name only."""
        (name,) = set(self.told.groups)
        assert name is not None
        return name


def stored(found: dict[str, Any]) -> dict[str, Any]:
    """Return an offset as a checkpoint gives it back."""
    made: dict[str, Any] = json.loads(json.dumps(found))
    return made


def test_a_group_has_its_name_for_as_long_as_the_checkpoint() -> None:
    """In this run and later ones, whether a batch is planned again or another one is."""
    first = Run(10)
    start = first.planner.initial()
    assert first.planner.initial() == start
    end = first.planner.latest(start)
    assert first.planner.latest(end) == end
    assert re.fullmatch("report-[0-9a-f]{16}", first.group)
    later = Run(20)
    following = later.planner.latest(stored(end))
    assert later.group == first.group
    again = Run(20)
    again.planner.tasks(stored(end), stored(following))
    again.planner.latest(stored(following))
    assert again.group == first.group
    assert Run(10).planner.initial() != start  # another query


def test_the_first_batch_is_planned_again_under_its_own_name() -> None:
    """Its start is not in the checkpoint: Spark asks for another one, of another name."""
    first = Run(10)
    end = first.planner.latest(first.planner.initial())
    again = Run(20)
    start = again.planner.initial()
    assert start["g"] != end["g"]
    again.planner.tasks(start, stored(end))
    again.planner.latest(stored(end))
    assert again.group == first.group


def test_a_checkpoint_from_before_the_option_gets_a_name_once() -> None:
    """With a batch that may have no row."""
    run = Run(5)
    end = run.planner.latest(offset(a=5))
    assert end["p"] == offset(a=5)["p"]
    assert Run(5).planner.latest(end) == end


def test_a_name_that_is_none_is_refused() -> None:
    """It says what is there; who asked for none does not look."""
    with pytest.raises(mm.UsageError, match="the checkpoint has 'x', which is no name of a group"):
        Run(5).planner.latest({**offset(a=5), "g": "x"})
    assert Run(5, groupId="g").planner.latest({**offset(a=5), "g": "x"}) == offset(a=5)


def test_the_lease_has_that_name(tmp_path: Path) -> None:
    """At a real server, with that of the run beside it."""
    with filled(tmp_path / "s", 9) as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        asked = options(endpoints=server.endpoint, groupIdPrefix="report")
        planner = Planner(asked)
        try:
            start = planner.initial()
            planner.latest(start)
            name = f"report-{start['g']}"
            assert sorted(server._answers._leases) == [name, f"{name}..run"]
        finally:
            planner.close()


def test_before_spark_4_2_the_whole_name_is_needed() -> None:
    """There a batch does not say where it begins."""
    with pytest.raises(mm.UsageError, match="groupIdPrefix needs Spark 4.2"):
        PlainStreamReader(options(groupIdPrefix="report"))
