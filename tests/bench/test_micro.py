"""The micro-benchmarks run, once each and untimed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
