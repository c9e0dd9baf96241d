"""Where results go: the terminal as they come, then a JSON record and a report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._facts import facts, in_words
from ._rounds import Case, Row, run
from ._table import table

SCHEMA = 1
"""Of the record; counts up when a reader of the last one would be wrong."""


class Output:
    """Collects the rows of one command."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._chosen = chosen
        self._facts = facts()
        self.rows: list[Row] = []
        self._quiet = chosen.json == "-"
        self.line(in_words(self._facts))

    def line(self, text: str) -> None:
        """Say something to people."""
        print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def measure(self, cases: Sequence[Case]) -> list[Row]:
        """Run cases against each other and show their table."""
        rows = run(cases, self._chosen.rounds, self._progress)
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self.rows += rows
        for text in table(rows, self._chosen.base):
            self.line(text)
        return rows

    def _progress(self, number: int, case: Case) -> None:
        if sys.stderr.isatty():
            of = "warm-up" if number == 0 else f"round {number} of {self._chosen.rounds}"
            print(f"\r\x1b[K{of}: {case.peer.name}", end="", file=sys.stderr, flush=True)

    def record(self) -> dict[str, Any]:
        """All of it."""
        options = {
            name: [getattr(one, "name", one) for one in value] if isinstance(value, list) else value
            for name, value in vars(self._chosen).items()
            if name not in ("run", "json", "report")
        }
        return {"schema": SCHEMA, "facts": self._facts, "options": options, "rows": self.rows}

    def finish(self) -> int:
        """Write what was asked for; the exit status: 1 when nothing was measured."""
        if self._chosen.json:
            text = json.dumps(self.record(), indent=1)
            if self._quiet:
                print(text)
            else:
                Path(self._chosen.json).write_text(text + "\n", encoding="utf-8")
        return 0 if any(row["missing"] is None for row in self.rows) else 1
