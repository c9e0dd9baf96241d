"""The benchmarks as a command, and the record it writes.

Not here: what the figures must be.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

BENCH = [sys.executable, "-m", "meshmsg.bench"]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it."""
    return subprocess.run([*BENCH, *arguments], capture_output=True, text=True, timeout=600)


def record(*arguments: str) -> dict[str, Any]:
    """Run it; what it wrote."""
    done = bench(*arguments, "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows(*arguments: str) -> list[dict[str, Any]]:
    """Run one round of it; the rows of its record."""
    found: list[dict[str, Any]] = record(*arguments, "--rounds", "1")["rows"]
    return found


def measured(*arguments: str) -> list[dict[str, Any]]:
    """The same, all of which were measured."""
    found = rows(*arguments)
    assert [row["missing"] for row in found] == [None] * len(found)
    return found


def made_row(
    peer: str, value: float, figure: str = "receiver_per_s", **more: Any
) -> dict[str, Any]:
    """A row of thr over tcp at 64 bytes, unless told otherwise."""
    figures = {figure: {"median": value, "min": value, "max": value}}
    facts = {"kind": "thr", "transport": "tcp", "size": 64, "missing": None}
    return {"peer": peer, "figures": figures, **facts, **more}
