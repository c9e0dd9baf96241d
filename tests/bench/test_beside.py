"""The command beside: two processes that are members of a mesh and are not, in turn."""

from __future__ import annotations

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands.beside import Process
from tests.support.benched import record

SHORT = ("--settle", "0.01", "--idle", "0.05", "--times", "1", "--count", "1000", "--trips", "100")


def test_what_a_mesh_costs_is_a_ratio_of_each_round_and_two_sizes_do_not_meet() -> None:
    """The members of the smaller one are gone before the larger one begins."""
    rows = record("beside", "--members", "3,4", "--rounds", "2", *SHORT)["rows"]
    assert [(row["missing"], row["load"]) for row in rows] == [
        (None, "3 members"),
        (None, "4 members"),
    ]
    for row in rows:
        assert len(row["each_round"]) == 2
        for figures in row["each_round"]:
            joined, left = figures["joined_per_s"], figures["left_per_s"]
            assert figures["rate_ratio"] == pytest.approx(joined / left)
            assert figures["p50_ratio"] > 0
            assert figures["idle_percent"] >= 0


def test_a_process_that_ends_is_a_sentence() -> None:
    """Not a wait for ever."""
    one = Process("end")
    try:
        with pytest.raises(BenchError, match="a process ended, with 1"):
            one.do("receive", count=1)  # it has nothing that receives
    finally:
        one.stop()
