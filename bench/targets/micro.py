"""The command micro: the micro-benchmarks of a source tree, compared with the stored line, too.

Not here: the benches (micro/), which pytest-benchmark runs and times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.need import BenchError, is_there
from ..commands.args import positive
from ..measure.rounds import Row
from ..measure.stats import Summary
from ..report.table import aligned
from .baseline import StoredLine, add_baseline

FOLDER = Path(__file__).resolve().parents[1] / "micro"


def add_commands(commands: Any) -> None:
    """Put micro among the commands."""
    parser = commands.add_parser("micro", help="codec, queues and crossings, of a source tree")
    parser.add_argument("--seconds", type=positive, default=1.0, help="at least, each")
    add_baseline(parser)
    parser.set_defaults(run=micro)


def named(test: str) -> str:
    """What a bench is called: the sentence of its name, and what it is given."""
    sentence, _, given = test.removeprefix("test_").partition("[")
    return f"{sentence.replace('_', ' ')} {given.removesuffix(']')}".strip()


def rows_of(told: dict[str, Any]) -> list[Row]:
    """A row a bench, of what pytest-benchmark wrote: microseconds a call."""
    rows = []
    for one in told["benchmarks"]:
        times = one["stats"]
        summary = Summary(times["median"] * 1e6, times["min"] * 1e6, times["max"] * 1e6)
        facts = {"kind": "micro", "transport": one["group"], "load": named(one["name"])}
        figures = {"p50_us": summary.as_json()}
        rows.append({**facts, "peer": "meshmsg", "missing": None, "figures": figures})
    return rows


def table_of(rows: Sequence[Row]) -> list[str]:
    """For people."""
    lines = [["group", "bench", "median us", "least us"]]
    for row in rows:
        times = row["figures"]["p50_us"]
        lines.append([row["transport"], row["load"], *(f"{times[n]:,.3f}" for n in TOLD)])
    return aligned(lines, left=(0, 1))


TOLD = ("median", "min")


def measured(seconds: float) -> list[Row]:
    """Run them all."""
    if not is_there("pytest_benchmark"):
        raise BenchError("the micro-benchmarks need pytest-benchmark: pip install pytest-benchmark")
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as scratch:
        out = Path(scratch) / "micro.json"
        timed = [f"--benchmark-json={out}", f"--benchmark-max-time={seconds}"]
        quiet = ["-q", "-p", "no:cacheprovider", "--benchmark-warmup=off"]
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *quiet, *timed, str(FOLDER)],
            capture_output=True, text=True, check=False, cwd=FOLDER.parents[1],
            env=own,  # under another pytest they would not be timed
        )  # fmt: skip
        if done.returncode:
            last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
            raise BenchError(f"pytest {FOLDER}: {' '.join(last)}")
        return rows_of(json.loads(out.read_text(encoding="utf-8")))


def micro(chosen: argparse.Namespace) -> int:
    """The command."""
    line = StoredLine(chosen)
    line.calibrate()
    rows = measured(chosen.seconds)
    for text in (*table_of(rows), "", *line.compare(rows)):
        print(text, flush=True)
    return 0
