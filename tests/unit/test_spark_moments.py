"""Where a query begins and ends by time: the search, and that of a real spool that a server shows.

Not here: how a time is read from an option (test_spark_options.py).
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from random import Random
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark._source.moments import Row, first_at, number_at
from meshmsg.spark._source.offsets import Shown
from tests.support.pairs import of_its_own
from tests.support.sparked import A, B, Told, nexts, options, times_of

pytest.importorskip("pyspark")
from meshmsg.spark._source.planning import Planner


def found(times: dict[int, int], end: int, time: int, size: int) -> tuple[int, int]:
    """Return what is found in a spool of such messages, and in how many looks."""
    looks = 0

    def look(first: int, until: int) -> list[Row]:
        nonlocal looks
        looks += 1
        assert first < until <= end
        return [Row(seq, times[seq]) for seq in range(first, until) if seq in times][:size]

    return first_at(look, 1, end, time), looks


@pytest.mark.parametrize("seed", range(50))
def test_the_first_that_is_not_before_a_time_is_found(seed: int) -> None:
    """Among any times that do not decrease, with numbers missing, and in few looks."""
    dice = Random(seed)
    end = dice.choice((1, 2, 3, 50, 1000))
    seqs = [seq for seq in range(1, end) if dice.random() < dice.choice((0.3, 1.0))]
    times = sorted(dice.randrange(40) for _ in seqs)
    for time in range(-1, 42):
        seq, looks = found(dict(zip(seqs, times, strict=True)), end, time, dice.choice((1, 9)))
        at = bisect_left(times, time)
        before = seqs[at - 1] if at else 0
        after = seqs[at] if at < len(seqs) else end
        assert before < seq <= after
        assert looks <= end.bit_length() + 1


@pytest.mark.parametrize("seed", range(20))
def test_with_a_clock_that_was_put_back_the_search_ends_where_times_pass(seed: int) -> None:
    """At one of the places."""
    dice = Random(seed)
    times = {seq: dice.randrange(10) for seq in range(1, 200)}
    seq, looks = found(times, 200, 5, 3)
    assert seq == 200 or times[seq] >= 5
    assert seq == 1 or times[seq - 1] < 5
    assert looks <= 9


def spool_of(folder: Path) -> mm.Spool:
    """Return a spool that was put in some calls."""
    spool = mm.Spool(str(folder), segment_bytes=65_536)
    for _ in range(40):
        spool.append_many([b"x" * 500] * 25)
    return spool


def shown(spool: mm.Spool, *endpoints: str) -> Shown:
    """Return what is told of it."""
    info = spool.info()
    return Shown(info.first_seq, info.last_seq + 1, info.epoch, endpoints)


def test_a_server_that_is_there_already_suffices(tmp_path: Path) -> None:
    """Each time that a message has leads to the first one of that time; past all, to the end."""
    with spool_of(tmp_path / "s") as spool, mm.SpoolServer(spool, bind=of_its_own()) as server:
        told, uuid = shown(spool, server.endpoint), spool.info().uuid
        times = times_of(spool, 1000)
        assert times == sorted(times)
        for time in (0, times[0], *times[100::100], times[-1], times[-1] + 1):
            at = number_at(uuid, told, time, options())
            assert at == bisect_left(times, time) + 1, time
        spool.trim(500)
        first = spool.info().first_seq
        assert number_at(uuid, told, 0, options()) == first > 1
        later = max(first, bisect_left(times, times[700]) + 1)
        assert number_at(uuid, told, times[700], options()) == later


def test_messages_that_are_harmed_are_passed_over(tmp_path: Path) -> None:
    """The query may not come to them, or says so itself."""
    with spool_of(tmp_path / "s") as spool:
        time = times_of(spool, 1000)[-1]
    for path in sorted((tmp_path / "s").glob("*.seg"))[2:5]:
        octets = bytearray(path.read_bytes())
        for at in range(4096, len(octets), 4096):
            octets[at] ^= 0xFF
        path.write_bytes(octets)
    with (
        mm.Spool(str(tmp_path / "s")) as spool,
        mm.SpoolServer(spool, bind=of_its_own()) as server,
    ):
        told, uuid = shown(spool, server.endpoint), spool.info().uuid
        assert 975 < number_at(uuid, told, time, options()) <= 1000


def test_who_does_not_answer_is_an_error(tmp_path: Path) -> None:
    """Rather than another beginning."""
    told = Shown(1, 10, 1, (of_its_own(f"ipc://{tmp_path}/nobody"),))
    with pytest.raises(mm.TimedOutError):
        number_at(A, told, 5, options(offsetTimeout="100ms"))


class Query:
    """A planner of told spools, whose times are ten of each number."""

    def __init__(self, *, stream: bool = True, **given: object) -> None:
        self.told = Told()
        self.told.say(a=(1, 10), b=(1, 20))
        self.asked: list[str] = []
        self.planner = Planner(
            options(stream=stream, **given), watch=lambda _: self.told, find=self._find
        )

    def _find(self, uuid: str, one: Shown, time: int, _: Any) -> int:
        self.asked.append(uuid[0])
        return min(max(-(-time // 10_000), one.first), one.stable)


def test_a_query_begins_at_a_time_and_stays_there() -> None:
    """Each spool at its own number; asked once, though Spark asks more often."""
    query = Query(startingTimestamp="50")
    assert nexts(query.planner.initial()) == {"a": 5, "b": 5}
    query.told.say(a=(1, 30))
    assert nexts(query.planner.initial()) == {"a": 5, "b": 5}
    assert query.asked == ["a", "b"]
    assert nexts(Query(startingTimestamp="150").planner.initial()) == {"a": 10, "b": 15}


def test_times_of_some_spools_leave_the_others_whole() -> None:
    """As numbers of some do."""
    by = f'{{"{B}": 70}}'
    assert nexts(Query(startingOffsetsByTimestamp=by).planner.initial()) == {"a": 1, "b": 7}
    query = Query(stream=False, startingTimestamp="40", endingOffsetsByTimestamp=by)
    assert [(t.uuid[0], t.first, t.end) for t in query.planner.all()] == [
        ("a", 4, 10),
        ("b", 4, 7),
    ]
    unknown = Query(startingOffsetsByTimestamp=f'{{"{"c" * 32}": 70}}')
    with pytest.raises(mm.UsageError, match="option startingOffsetsByTimestamp names the spool c"):
        unknown.planner.initial()


def test_an_end_that_is_not_behind_the_beginning_is_nothing() -> None:
    """Nor is it an error: between two times there may be none. One in front of it is refused."""
    query = Query(stream=False, startingTimestamp="120", endingTimestamp="120")
    assert query.planner.all() == []
