"""Rounds that the machine's host disturbed: which they are, and that they are measured again."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from meshmsg.bench._hiccups import Hiccups
from meshmsg.bench._markdown import disturbed
from meshmsg.bench._rate import FixedRate
from meshmsg.bench._rounds import Case, run
from meshmsg.bench._speed import Trips
from meshmsg.bench._stolen import Patience, Ticks, processor_time
from meshmsg.bench._surveys import Surveys
from meshmsg.bench.peers import peer_named


class Machine:
    """A machine whose rounds take two seconds; the shares of them that its host takes."""

    def __init__(self, *shares: float) -> None:
        self._shares = itertools.chain(shares, itertools.repeat(0.0))
        self._stolen, self._seconds = 0.0, 0.0
        self.measured, self.forgotten = 0, 0

    def read(self) -> Ticks:
        """Since it began; four processors of 100 ticks a second."""
        return Ticks(round(self._stolen), round(400 * self._seconds))

    def now(self) -> float:
        """Its clock."""
        return self._seconds

    def once(self) -> dict[str, float]:
        """Take one round."""
        self._seconds += 2
        self._stolen += 800 * next(self._shares)
        self.measured += 1
        return {"rate": float(self.measured)}

    def forget(self) -> None:
        """Note that one does not count."""
        self.forgotten += 1


@pytest.mark.parametrize(
    ("shares", "seconds", "counts", "again", "kept"),
    [
        ((0.0, 0.5), 100, 1, 0, 0),
        ((0.01,), 100, 1, 0, 0),
        ((0.02, 0.3, 0.0), 100, 3, 2, 0),
        ((0.02, 0.3, 0.0), 3, 2, 1, 1),
        ((0.02,), 0, 1, 0, 1),
    ],
)
def test_a_disturbed_round_is_measured_again_while_there_is_time(
    shares: tuple[float, ...], seconds: float, counts: int, again: int, kept: int
) -> None:
    """Up to one hundredth of the processor time disturbs nobody."""
    machine = Machine(*shares)
    patience = Patience(seconds, machine.read, machine.now)
    figures, calm = patience.measure(machine.once, machine.forget)
    assert figures == {"rate": float(counts)}
    assert calm == (kept == 0)
    assert (patience.again, patience.disturbed) == (again, kept)
    assert machine.forgotten == again


def test_rounds_are_as_many_as_were_asked_for_however_many_were_disturbed() -> None:
    """The warm-up counts for nothing, so it is not measured again."""
    machine = Machine(0.9, 0.0, 0.5, 0.0)
    case = Case(
        peer_named("meshmsg"), "thr", "tcp", lambda _: machine.once(), forget=machine.forget
    )
    patience = Patience(100, machine.read, machine.now)
    (row,) = run([case], 3, patience=patience)
    assert row["each_round"] == [{"rate": 2.0}, {"rate": 4.0}, {"rate": 5.0}]
    assert (machine.forgotten, patience.again, row["rounds_disturbed"]) == (1, 1, 0)


def test_a_row_says_how_many_of_its_rounds_were_disturbed() -> None:
    """Those that count although there was no time to measure them again."""
    machine = Machine(0.9, 0.0, 0.5, 0.0, 0.2)
    case = Case(
        peer_named("meshmsg"), "thr", "tcp", lambda _: machine.once(), forget=machine.forget
    )
    (row,) = run([case], 4, patience=Patience(0, machine.read, machine.now))
    assert (row["rounds"], row["rounds_disturbed"]) == (4, 2)


@pytest.mark.parametrize("kind", [FixedRate, Surveys, Trips, Hiccups])
def test_a_round_that_does_not_count_is_in_no_distribution(kind: Any) -> None:
    """The last is taken out; those before stay."""
    one = kind.__new__(kind)
    one._processes = 1
    one._all = [[[1000, 2]], [[5000, 1]]]
    one.forget()
    assert [list(pair) for pair in one.known()["latency_ns"]] == [[1000, 2]]


def test_what_was_taken_away_is_read_as_the_system_tells_it() -> None:
    """And a system that does not tell is taken as calm."""
    assert processor_time("cpu  1 2 3 4 5 6 7 8 9 10") == Ticks(8, 36)
    assert processor_time("") == processor_time("cpu 1 2 3") == Ticks(0, 0)
    assert processor_time().all >= processor_time().stolen


def test_the_table_says_what_was_disturbed() -> None:
    """Nothing, if nothing was."""
    assert disturbed({}) == disturbed({"rounds_again": 0, "rounds_disturbed": 0}) == ""
    told = disturbed({"rounds_again": 3, "rounds_disturbed": 1})
    assert told == "; the host disturbed 4 rounds, of which 3 were measured again"
