"""The command beside: pairs of processes that know no mesh, have imported it, and are members."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands import beside
from meshmsg.bench.commands.beside import (
    COMPARED,
    VALUES,
    Beside,
    Process,
    Unit,
    in_lines,
    own_figures,
)
from meshmsg.bench.ends.beside import Gate, Lasting, threads, used
from tests.support.benched import bench, record

pytest.importorskip("cryptography")
SHORT = ("--settle", "0.01", "--cycles", "2", "--pairs", "3", "--count", "1000", "--trips", "100")
MILLISECOND = 1_000_000


def test_what_a_mesh_costs_is_ratios_of_pairs_and_two_sizes_do_not_meet() -> None:
    """The members of the smaller one are gone before the larger one begins."""
    rows = record("beside", "--members", "4,5", "--rounds", "2", *SHORT)["rows"]
    assert [(row["missing"], row["load"]) for row in rows] == [
        (None, "4 members, secret"),
        (None, "5 members, secret"),
    ]
    for row in rows:
        assert len(row["each_round"]) == 2
        for figures in row["each_round"]:
            assert all(value > 0 for value in figures.values())
            assert figures["known"] == row["count"]
        of = {name: {one["of"] for one in found.values()} for name, found in row["ratios"].items()}
        assert of == dict(zip(COMPARED, ({2}, {2}, {6}), strict=True))
        *apart, itself = row["ratios"].values()
        assert all(one["median"] is None for values in apart for one in values.values())
        for found in itself.values():
            median = found["median"]
            assert 0 < median["low"] <= median["middle"] <= median["high"]
            assert found["met"] == (median["high"] < 1.03)


def test_few_rounds_are_not_judged() -> None:
    """What is compared between processes has no interval then."""
    done = bench("beside", "--members", "3", "--rounds", "1", *SHORT, "--cycles", "1")
    assert done.returncode == 0, done.stderr
    assert "time a message: too few rounds (1) [" in done.stdout


def told(middle: float, high: float) -> dict[str, Any]:
    """A ratio of a row."""
    median = {"middle": middle, "low": 0.99, "high": high}
    return {"median": median, "sums": median, "of": 8, "met": high < 1.03}


def test_lines_say_what_is_met() -> None:
    """And of how many it is."""
    values = {name: told(1.0, 1.02) for name in VALUES}
    values["p99_ns"] = told(1.01, 1.05)
    lines = in_lines({"ratios": {"joined / not imported": values}})
    assert lines[1] == "  joined / not imported:"
    met = "    p50: 1.000 (0.990 to 1.020) of 8: met [1.000 (0.990 to 1.020)]"
    assert met in lines
    assert "    p99: 1.010 (0.990 to 1.050) of 8: missed [1.010 (0.990 to 1.050)]" in lines


def measuring(units: dict[str, list[Unit]]) -> Beside:
    """A measurement of one round that found that."""
    made = Beside.__new__(Beside)
    made._units = [units]
    return made


def test_a_cost_of_a_tenth_is_missed_and_one_of_a_hundredth_is_met() -> None:
    """Noise is in both of a pair, and goes."""
    at_work, itself = "the mesh at work / stopped", {value: 1.0 for value in VALUES}
    noise = [1.0 + 0.5 * (number % 7) for number in range(40)]

    def units(cost: float) -> list[Unit]:
        noisy = [{value: one * by for value, one in itself.items()} for by in noise]
        return [Unit([({v: x * cost for v, x in one.items()}, one)]) for one in noisy]

    for cost, met in ((1.1, False), (1.01, True)):
        found = measuring({name: units(cost) for name in COMPARED}).intervals()["ratios"][at_work]
        for value in VALUES:
            assert found[value]["median"]["middle"] == pytest.approx(cost)
            assert found[value]["sums"]["middle"] == pytest.approx(cost)
            assert found[value]["met"] is met


def test_a_round_that_does_not_count_is_forgotten() -> None:
    """With all that was measured in it."""
    made = measuring({})
    made.forget()
    assert made._units == []


def test_a_unit_is_the_median_of_its_pairs() -> None:
    """Of ratios, not the ratio of medians; sums are of all."""
    unit = Unit([({"x": 2.0}, {"x": 1.0}), ({"x": 30.0}, {"x": 10.0}), ({"x": 4.0}, {"x": 4.0})])
    assert unit.ratio("x") == 2.0
    assert unit.sums("x") == (36.0, 15.0)


def test_a_process_that_is_slow_from_the_start_is_no_cost() -> None:
    """What was so before the import is taken out of its ratio, and of the sums."""
    slow = [({"x": 3.0}, {"x": 2.0}), ({"x": 6.0}, {"x": 4.0})]
    same = Unit([({"x": 12.0}, {"x": 8.0})], slow)
    assert same.ratio("x") == pytest.approx(1.0)
    assert same.sums("x") == pytest.approx((12.0, 12.0))
    tenth = Unit([({"x": 3.3}, {"x": 2.0})], slow)
    assert tenth.ratio("x") == pytest.approx(1.1)
    assert tenth.sums("x") == pytest.approx((3.3, 3.0))


def test_time_of_threads_is_theirs() -> None:
    """Those of the mesh are left out, and those that begin are counted from nothing."""
    assert used({1: 5, 2: 7}, {1: 9, 2: 100, 3: 2}, frozenset({2})) == 6
    go, end = threading.Event(), threading.Event()

    def busy() -> None:
        go.wait()
        while not end.is_set():
            pass

    other = threading.Thread(target=busy)
    other.start()
    before = threads()
    assert other.native_id in before
    go.set()
    while used(before, threads(), frozenset()) < 20 * MILLISECOND:
        pass
    end.set()
    other.join()


class Turning:
    """What turns as the thread of a mesh does."""

    def __init__(self) -> None:
        self.turns = 0
        self.rung = threading.Event()
        self.over = False

    def ring(self) -> None:
        """Have it look."""
        self.rung.set()

    def _sleep(self) -> bool:
        self.rung.wait()
        self.rung.clear()
        return True

    def run(self) -> None:
        """Turn until it is over."""
        while not self.over:
            assert self._sleep()
            self.turns += 1


def test_a_mesh_is_stopped_while_it_is_measured_if_that_is_asked_for() -> None:
    """It takes no turn, though it is rung; and goes on behind that."""
    mesh, end, seen = Turning(), Lasting(), []
    end._gate = Gate(mesh)
    thread = threading.Thread(target=mesh.run)
    thread.start()

    def does(_: int) -> dict[str, Any]:
        before = mesh.turns
        for _ in range(100):
            mesh.ring()
        seen.append(mesh.turns - before)
        return {}

    def turned() -> None:
        before = mesh.turns
        while mesh.turns == before:
            mesh.ring()

    turned()
    for _ in range(10):
        end._measured({"count": 1, "stopped": True}, does)
        turned()
    for stopped in (False, None):
        end._measured({"count": 1, "stopped": stopped}, lambda _: {"turned": turned()})
    assert seen == [0] * 10
    mesh.over = True
    mesh.ring()
    thread.join()


def test_an_end_has_the_mesh_only_when_it_is_told_to() -> None:
    """What is measured without it would be measured with it, else."""
    one = Process()
    try:
        assert one.do("bare") == {"bare": True}
        one.do("imports")
        assert one.do("bare") == {"bare": False}
    finally:
        one.stop()


def test_what_a_mesh_uses_is_of_both_and_they_know_as_many_as_the_fewest() -> None:
    """Half a core of one, none of the other."""
    before = [{"own_ns": 0, "now": 1.0, "known": 4}, {"own_ns": 7, "now": 1.0, "known": 4}]
    after = [{"own_ns": 10**9, "now": 3.0, "known": 3}, {"own_ns": 7, "now": 3.0, "known": 4}]
    assert own_figures(before, after) == {"own_percent": 25.0, "known": 3.0}


def test_a_process_that_ends_is_a_sentence() -> None:
    """Not a wait for ever."""
    one = Process()
    try:
        with pytest.raises(BenchError, match="a process ended, with 1"):
            one.do("receive", count=1)  # it has nothing that receives
    finally:
        one.stop()


def test_what_it_may_cost_is_three_percent() -> None:
    """As it was promised."""
    assert beside.COST_MAX == 1.03
