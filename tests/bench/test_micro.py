"""The micro-benchmarks run, and what they say is compared with the stored line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.targets import micro
from meshmsg.bench.targets.baseline import line_of
from tests.support.benched import bench

ROOT = Path(__file__).resolve().parents[2]


def test_each_micro_benchmark_does_what_it_would_time() -> None:
    """A smoke run."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--benchmark-disable",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, str(ROOT / "bench" / "micro")],
        capture_output=True, text=True, timeout=600, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout


def told(name: str, median: float) -> dict[str, Any]:
    """As pytest-benchmark writes it."""
    stats = {"median": median, "min": median / 2, "max": median * 2}
    return {"name": name, "group": "codec", "stats": stats}


def test_a_bench_is_a_row_with_a_name_for_people() -> None:
    """Its median is part of the line, as loops a call."""
    rows = micro.rows_of({"benchmarks": [told("test_a_reader_reads[64]", 2e-6)]})
    assert micro.table_of(rows)[1].split() == ["codec", "a", "reader", "reads", "64", "2.000",
                                                "1.000"]  # fmt: skip
    (key,) = line_of(rows, 0.5)
    assert key == "micro codec a reader reads 64 meshmsg p50_us"
    assert line_of(rows, 0.5)[key] == pytest.approx(4e-6)


def test_without_the_library_that_times_them_there_are_none(monkeypatch: Any) -> None:
    """And it is named."""
    monkeypatch.setattr(micro, "is_there", lambda _: False)
    with pytest.raises(BenchError, match="need pytest-benchmark"):
        micro.measured(1.0)


def test_a_bench_that_fails_is_a_sentence(monkeypatch: Any, tmp_path: Path) -> None:
    """The last of what pytest said."""
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    folder = tmp_path / "bench" / "micro"
    folder.mkdir(parents=True)
    (folder / "test_x.py").write_text("def test_x():\n    assert False\n")
    monkeypatch.setattr(micro, "FOLDER", folder)
    with pytest.raises(BenchError, match="1 failed"):
        micro.measured(0.01)


def test_the_command_times_each_and_stores_its_part(tmp_path: Path) -> None:
    """As short as it goes."""
    pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")
    line = tmp_path / "line.json"
    done = bench("micro", "--seconds", "0.001", "--baseline", str(line), "--save-baseline")
    assert done.returncode == 0, done.stderr
    groups = {text.split()[0] for text in done.stdout.splitlines()[1:] if text}
    assert {"codec", "queues", "subscriptions", "crossings"} <= groups
    assert all(key.startswith("micro ") for key in json.loads(line.read_text())["line"])
