"""The command report: a page from records that were written before."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ._need import BenchError
from ._output import SCHEMA, written
from ._report import html


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
    return found


def report(chosen: argparse.Namespace) -> int:
    """The command."""
    written(chosen.out, html([record_in(path) for path in chosen.record]))
    return 0
