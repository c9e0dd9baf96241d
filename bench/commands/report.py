"""The command report: a page from records that were written before."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ..base.need import BenchError
from ..report.output import SCHEMA, check_writable, written
from ..report.page import html
from ..report.table import COLUMNS

PARTS = {"facts": dict, "options": dict, "rows": list}
DRAWN = {
    "thr": ("size",),
    "acked": ("size",),
    "spooled": ("size",),
    "lat": ("latency_ns",),
    "rate": ("latency_ns",),
    "survey": ("latency_ns",),
    "fanout": ("size", "subscribers"),
}
"""What charts of a kind need besides."""
FIGURES = {
    "thr": ("sender_per_s", "receiver_per_s", "cpu_us"),
    "acked": ("sender_per_s", "receiver_per_s", "cpu_us"),
    "spooled": ("sender_per_s", "receiver_per_s", "cpu_us"),
    "lat": ("p50_us", "p99_us"),
    "rate": ("p50_us", "p99_us"),
    "survey": ("p50_us",),
    "fanout": ("deliveries_per_s",),
    "cpu": ("cpu_us",),
}
ROW_PARTS = ("kind", "peer", "version", "transport", "missing", "figures")


def add_commands(commands: Any) -> None:
    """Put report among the commands."""
    parser = commands.add_parser("report", help="an HTML report from JSON records")
    parser.add_argument("record", nargs="+", help="files that --json wrote")
    parser.add_argument("-o", "--out", required=True, help="the HTML file to write")
    parser.set_defaults(run=report)


def record_in(path: str) -> dict[str, Any]:
    """Read one."""
    try:
        found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: {error}") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise BenchError(f"{path} is no record of this bench (schema {SCHEMA})")
    problem = wrong_with(found)
    if problem:
        raise BenchError(f"{path} is a record that was cut or changed: {problem}")
    return found


def wrong_with(record: dict[str, Any]) -> str:
    """What a record has not that a page needs; nothing, if all is there."""
    for name, kind in PARTS.items():
        if not isinstance(record.get(name), kind):
            return f"it has no {name}"
    for i, row in enumerate(record["rows"]):
        absent = [name for name in ROW_PARTS if not isinstance(row, dict) or name not in row]
        if absent:
            return f"row {i + 1} has no {', '.join(absent)}"
        kind = row["kind"]
        if kind not in COLUMNS:
            return f"row {i + 1} is of the kind {kind!r}"
        if row["missing"] is None:
            absent = [name for name in DRAWN.get(kind, ()) if name not in row]
            absent += [name for name in FIGURES.get(kind, ()) if name not in row["figures"]]
            if absent:
                return f"row {i + 1} has no {', '.join(absent)}"
    return ""


def report(chosen: argparse.Namespace) -> int:
    """The command."""
    check_writable(chosen.out)
    written(chosen.out, html([record_in(path) for path in chosen.record]))
    return 0
