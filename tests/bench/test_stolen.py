"""Rounds that the machine's host disturbed: which they are, and that they are measured again."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from meshmsg.bench.commands.rate import FixedRate
from meshmsg.bench.commands.speed import Trips
from meshmsg.bench.commands.surveys import Surveys
from meshmsg.bench.measure.hiccups import Hiccups
from meshmsg.bench.measure.rounds import Case, run
from meshmsg.bench.measure.stolen import Patience, Ticks, processor_time
from meshmsg.bench.peers.roster import peer_named
from meshmsg.bench.targets.markdown import disturbed


class Machine:
    """A machine whose rounds take two seconds; the shares of them that its host takes."""

    def __init__(self, *shares: float) -> None:
        self._shares = itertools.chain(shares, itertools.repeat(0.0))
        self._stolen, self._seconds = 0.0, 0.0
        self.measured, self.forgotten, self.waited = 0, 0, 0

    def read(self) -> Ticks:
        """Since it began; four processors of 100 ticks a second."""
        return Ticks(round(self._stolen), round(400 * self._seconds))

    def now(self) -> float:
        """Its clock."""
        return self._seconds

    def wait(self, seconds: float) -> None:
        """Let time pass; the host goes on."""
        self.waited += 1
        self._pass(seconds)

    def _pass(self, seconds: float) -> None:
        self._seconds += seconds
        self._stolen += 400 * seconds * next(self._shares)

    def patience(self, seconds: float) -> Patience:
        """One that lives by its clock."""
        return Patience(seconds, self.read, self.now, self.wait)

    def once(self) -> dict[str, float]:
        """Take one round."""
        self._pass(2)
        self.measured += 1
        return {"rate": float(self.measured)}

    def forget(self) -> None:
        """Note that one does not count."""
        self.forgotten += 1


@pytest.mark.parametrize(
    ("shares", "seconds", "counts", "waited", "kept"),
    [
        ((0.0, 0.5), 100, 1, 0, 0),
        ((0.01,), 100, 1, 0, 0),
        ((0.02, 0.0, 0.3, 0.0, 0.0), 100, 3, 2, 0),  # a round, a wait, a round, a wait, a round
        ((0.02, 0.3, 0.4, 0.0, 0.0), 100, 2, 3, 0),  # a round, three waits, a round
        ((0.02, 0.0, 0.3), 5, 2, 1, 1),
        ((0.02, 0.3, 0.4, 0.0, 0.3), 6, 2, 2, 0),  # waited as long as it could
        ((0.02, 0.3), 3, 2, 0, 1),  # no time to wait
        ((0.02,), 0, 1, 0, 1),
    ],
)
def test_a_disturbed_round_is_measured_again_in_calm_while_there_is_time(
    shares: tuple[float, ...], seconds: float, counts: int, waited: int, kept: int
) -> None:
    """Up to one hundredth of the processor time disturbs nobody."""
    machine = Machine(*shares)
    patience, again = machine.patience(seconds), counts - 1
    figures, calm = patience.measure(machine.once, machine.forget)
    assert figures == {"rate": float(counts)}
    assert calm == (kept == 0)
    assert (patience.again, patience.disturbed) == (again, kept)
    assert (machine.forgotten, machine.waited) == (again, waited)


def test_rounds_are_as_many_as_were_asked_for_however_many_were_disturbed() -> None:
    """The warm-up counts for nothing, so it is not measured again."""
    machine = Machine(0.9, 0.0, 0.5, 0.0, 0.0)
    case = Case(
        peer_named("meshmsg"), "thr", "tcp", lambda _: machine.once(), forget=machine.forget
    )
    patience = machine.patience(100)
    (row,) = run([case], 3, patience=patience)
    assert row["each_round"] == [{"rate": 2.0}, {"rate": 4.0}, {"rate": 5.0}]
    assert (machine.forgotten, patience.again, row["rounds_disturbed"]) == (1, 1, 0)


def test_a_row_says_how_many_of_its_rounds_were_disturbed() -> None:
    """Those that count although there was no time to measure them again."""
    machine = Machine(0.9, 0.0, 0.5, 0.0, 0.2)
    case = Case(
        peer_named("meshmsg"), "thr", "tcp", lambda _: machine.once(), forget=machine.forget
    )
    (row,) = run([case], 4, patience=machine.patience(0))
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
