"""Targets and the stored line: judged on rows that the test makes, and one tiny real run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench import _baseline
from meshmsg.bench._need import BenchError
from meshmsg.bench._rate import LOADS
from meshmsg.bench._targets import GROUPS, TARGETS, Target, cases_of, shown, verdicts
from meshmsg.bench.peers import PEERS
from tests.support.benched import bench


def row(peer: str, value: float, figure: str = "receiver_per_s", **more: Any) -> dict[str, Any]:
    """A row of thr over tcp at 64 bytes, unless told otherwise."""
    figures = {figure: {"median": value, "min": value, "max": value}}
    facts = {"kind": "thr", "transport": "tcp", "size": 64, "missing": None}
    return {"peer": peer, "figures": figures, **facts, **more}


RATE = Target("P1", "thr tcp", "receiver_per_s", "meshmsg", "pyzmq", 2.0, at=64)
TIME = Target("P3", "lat tcp", "p50_us", "meshmsg", "pyzmq", 0.5, low=True, at=64)


@pytest.mark.parametrize(("value", "met"), [(200.0, True), (199.0, False)])
def test_a_rate_is_met_from_its_bound_on(value: float, met: bool) -> None:
    """The bound itself is enough."""
    (found,) = verdicts([row("meshmsg", value), row("pyzmq", 100.0)], [RATE])
    assert (found["measured"], found["met"], found["must"]) == (value / 100, met, ">= 2")


@pytest.mark.parametrize(("value", "met"), [(50.0, True), (51.0, False)])
def test_a_time_is_met_up_to_its_bound(value: float, met: bool) -> None:
    """Lower is better."""
    rows = [row(p, v, "p50_us", kind="lat") for p, v in (("meshmsg", value), ("pyzmq", 100.0))]
    (found,) = verdicts(rows, [TIME])
    assert (found["met"], found["must"]) == (met, "<= 0.5")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "not measured in this run"),
        ([row("meshmsg", 1.0, size=65), row("pyzmq", 1.0)], "not measured in this run"),
        ([row("meshmsg", 1.0, load="x"), row("pyzmq", 1.0)], "not measured in this run"),
        ([row("meshmsg", 1.0), row("pyzmq", 1.0, missing="gone")], "pyzmq: gone"),
        ([row("meshmsg", 1.0), row("pyzmq", 1.0, "other")], "too few samples"),
        ([row("meshmsg", 1.0), row("pyzmq", 0.0)], "pyzmq is 0"),
    ],
)
def test_what_was_not_measured_is_neither_met_nor_missed(
    rows: list[dict[str, Any]], reason: str
) -> None:
    """And says why."""
    (found,) = verdicts(rows, [RATE])
    assert (found["measured"], found["met"], found["reason"]) == (None, None, reason)


def test_a_rare_percentile_is_taken_from_all_rounds_together() -> None:
    """One round may have too few samples."""
    target = Target("P10", "thr tcp", "p99.99_us", "meshmsg", "pyzmq", 1.0, low=True, at=64)
    rows = [row(p, 1.0, all_rounds={"p99.99_us": v}) for p, v in (("meshmsg", 3.0), ("pyzmq", 4.0))]
    assert verdicts(rows, [target])[0]["measured"] == 0.75


def test_a_target_may_stand_alone() -> None:
    """Bytes a connection have no rival."""
    target = Target("P9", "connections tcp", "server_bytes", "meshmsg", "", 8192, low=True, at="10")
    alone = row("meshmsg", 4000.0, "server_bytes", kind="connections", load="10")
    del alone["size"]
    assert verdicts([alone], [target])[0]["met"]


def test_the_verdicts_are_shown_and_counted() -> None:
    """A line each."""
    rows = [row("meshmsg", 300.0), row("pyzmq", 100.0)]
    missed = Target("P1", "thr tcp", "receiver_per_s", "meshmsg", "pyzmq", 9.0, at=64)
    lines = shown(verdicts(rows, [RATE, missed, TIME]))
    assert [line.split()[-1] for line in lines[1:4]] == ["met", "MISSED", "run"]
    assert lines[4] == "1 met, 1 missed, 1 not measured"


def test_every_target_is_measured_by_some_case() -> None:
    """Its peers are in its group, and a case has the size or load it is about."""
    chosen = argparse.Namespace(count=None, seconds=1.0, seed=1, processes=None)
    chosen.trips, chosen.rate_seconds = 100, 1.0
    for group, names in GROUPS.items():
        own = [target for target in TARGETS if target.group == group]
        assert own, group
        assert set(names) <= set(PEERS)
        cases = [case for some in cases_of(group, own, chosen) for case in some]
        for target in own:
            for name in filter(None, (target.peer, target.beside)):
                where = [
                    case.facts.get("load") or case.facts.get("size")
                    for case in cases
                    if case.peer.name == name
                ]
                assert target.at in where, target
    assert {target.at for target in TARGETS if target.number == "P10"} == set(LOADS)


def test_the_promises_are_those_of_the_table() -> None:
    """P1 to P11; P8b and P8c are those of the second wire."""
    numbers = list(dict.fromkeys(target.number for target in TARGETS))
    assert numbers == [
        "P1",
        "P2",
        "P3",
        "P4",
        "P5",
        "P6",
        "P7",
        "P8",
        "P8b",
        "P8c",
        "P9",
        "P10",
        "P11",
    ]


def test_a_line_holds_multiples_of_the_calibration_loop_of_our_own_peers() -> None:
    """Rates as messages a loop, times as loops."""
    rows = [
        row("meshmsg", 1000.0),
        row("pyzmq", 1000.0),
        row("meshmsg", 50.0, "p50_us", kind="lat"),
        row("meshmsg", 1.0, missing="gone", kind="cpu"),
        row("meshmsg", 7.0, "p99.9_us", kind="rate", load="l"),
    ]
    assert _baseline.line_of(rows, 0.5) == {
        "thr tcp 64 B meshmsg receiver_per_s": 500.0,
        "lat tcp 64 B meshmsg p50_us": 50e-6 / 0.5,
    }


def test_changes_within_noise_are_not_told() -> None:
    """Faster and slower are, for rates and for times."""
    now = {"a receiver_per_s": 100.0, "b receiver_per_s": 100.0, "c p50_us": 3.0, "d p50_us": 1.0}
    before = {
        "a receiver_per_s": 110.0,
        "b receiver_per_s": 200.0,
        "c p50_us": 1.0,
        "d p50_us": 2.0,
    }
    assert _baseline.changes(now, before) == [
        "SLOWER: 0.50 x  b receiver_per_s",
        "SLOWER: 0.33 x  c p50_us",
        "faster: 2.00 x  d p50_us",
    ]


def test_a_line_is_stored_and_compared_with(tmp_path: Path, monkeypatch: Any) -> None:
    """The same run twice has no changes."""
    monkeypatch.setattr(_baseline, "calibration", lambda: 0.25)
    path = tmp_path / "line.json"
    chosen = argparse.Namespace(baseline=str(path), save_baseline=False)
    rows = [row("meshmsg", 1000.0)]
    assert "there is no stored line" in _baseline.compare(rows, chosen)[0]
    chosen.save_baseline = True
    assert _baseline.compare(rows, chosen) == [f"stored 1 figures in {path}"]
    chosen.save_baseline = False
    assert _baseline.compare(rows, chosen) == ["1 figures beside the stored line, 0 beyond noise"]
    path.write_text("[]")
    with pytest.raises(BenchError, match=r"line\.json"):
        _baseline.compare(rows, chosen)


def test_the_calibration_loop_takes_time() -> None:
    """Else nothing could be divided by it."""
    assert _baseline.calibration_loop() > 0


def test_the_command_measures_what_it_is_asked_for(tmp_path: Path) -> None:
    """One promise, tiny; the record holds the verdict."""
    out = tmp_path / "r.json"
    done = bench("targets", "--only", "P7", "--rounds", "1", "--seconds", "0.01", "--json",
                 str(out), "--baseline", str(tmp_path / "b"), "--save-baseline")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())["targets"]
    assert [one["number"] for one in found] == ["P7"] * 4
    assert "not measured" in done.stdout
    assert json.loads((tmp_path / "b").read_text())["line"]


def test_a_promise_nobody_made_is_an_error() -> None:
    """With its name."""
    done = bench("targets", "--only", "P1,P99")
    assert done.returncode == 1
    assert "no target P99" in done.stderr
