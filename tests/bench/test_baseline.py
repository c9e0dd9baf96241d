"""The stored line: what it holds, what is a change, and when a file is looked at."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.targets import baseline
from meshmsg.bench.targets.baseline import StoredLine
from tests.support.benched import bench
from tests.support.benched import made_row as row


def test_a_line_holds_multiples_of_the_calibration_loop_of_our_own_peers() -> None:
    """Rates as messages a loop, times as loops."""
    rows = [
        row("meshmsg", 1000.0),
        row("pyzmq", 1000.0),
        row("meshmsg", 50.0, "p50_us", kind="lat"),
        row("meshmsg", 1.0, missing="gone", kind="cpu"),
        row("meshmsg", 7.0, "p99.9_us", kind="rate", load="l"),
    ]
    assert baseline.line_of(rows, 0.5) == {
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
    assert baseline.changes(now, before) == [
        "SLOWER: 0.50 x  b receiver_per_s",
        "SLOWER: 0.33 x  c p50_us",
        "faster: 2.00 x  d p50_us",
    ]


def of(path: Path, *, saves: bool = False) -> StoredLine:
    """The line of a file."""
    return StoredLine(argparse.Namespace(baseline=str(path), save_baseline=saves))


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the loop takes a quarter of a second."""
    monkeypatch.setattr(baseline, "calibration_loop", lambda: 0.25)


@pytest.mark.usefixtures("steady")
def test_a_line_is_stored_and_compared_with(tmp_path: Path) -> None:
    """The same run twice has no changes."""
    path = tmp_path / "line.json"
    rows = [row("meshmsg", 1000.0)]
    assert "there is no stored line" in of(path).compare(rows)[0]
    assert not path.exists()
    assert of(path, saves=True).compare(rows) == [f"stored 1 figures in {path}"]
    assert of(path).compare(rows) == ["1 figures beside the stored line, 0 beyond noise"]


@pytest.mark.usefixtures("steady")
def test_storing_a_part_keeps_the_rest(tmp_path: Path) -> None:
    """A run of one target, or of the micro-benchmarks, is not the whole line."""
    path = tmp_path / "line.json"
    of(path, saves=True).compare([row("meshmsg", 1.0), row("meshmsg-batch", 2.0)])
    of(path, saves=True).compare([row("meshmsg", 8.0)])
    assert json.loads(path.read_text())["line"] == {
        "thr tcp 64 B meshmsg receiver_per_s": 2.0,
        "thr tcp 64 B meshmsg-batch receiver_per_s": 0.5,
    }


def test_the_machine_is_looked_at_before_and_after(monkeypatch: Any, tmp_path: Path) -> None:
    """The median of all loops counts: one slow spell at the end says little."""
    path = tmp_path / "line.json"
    monkeypatch.setattr(baseline, "calibration_loop", lambda: 0.5)
    line = of(path, saves=True)
    line.calibrate()
    line.calibrate()
    monkeypatch.setattr(baseline, "calibration_loop", lambda: 9.0)
    line.compare([row("meshmsg", 1000.0)])
    assert list(json.loads(path.read_text())["line"].values()) == [500.0]


@pytest.mark.parametrize("text", ["[]", "{}", "x", '{"line": 7}', '{"line": {"a": "b"}}'])
def test_what_is_no_line_is_refused_before_anything_is_measured(tmp_path: Path, text: str) -> None:
    """With its name."""
    path = tmp_path / "line.json"
    path.write_text(text)
    with pytest.raises(BenchError, match=r"line\.json holds no stored line"):
        of(path)
    assert path.read_text() == text


def test_a_line_that_cannot_be_stored_is_found_before_measuring(tmp_path: Path) -> None:
    """Not after twenty minutes."""
    for command in (("targets", "--only", "P7"), ("micro",)):
        done = bench(*command, "--save-baseline", "--baseline", str(tmp_path / "no" / "such"))
        assert done.returncode == 1
        assert "No such file or directory" in done.stderr
        assert "Traceback" not in done.stderr
        assert "receiver" not in done.stdout


def test_a_fixed_rate_is_not_compared_by_the_cpu_of_who_watches_the_clock() -> None:
    """Most of that is the generator's."""
    rows = [row("meshmsg", 9.0, "cpu_us", kind=kind, load="l") for kind in ("rate", "fanout")]
    assert list(baseline.line_of(rows, 1.0)) == ["fanout tcp l meshmsg cpu_us"]


def test_the_stored_line_has_no_cpu_of_a_fixed_rate() -> None:
    """Of the file that comes with the bench."""
    line = json.loads(baseline.STORED.read_text())["line"]
    assert [key for key in line if key.startswith("rate") and key.endswith("cpu_us")] == []


def test_the_calibration_loop_takes_time() -> None:
    """Else nothing could be divided by it."""
    assert baseline.calibration_loop() > 0
