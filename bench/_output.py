"""Where results go: the terminal as they come, then a JSON record and a report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._facts import facts, in_words
from ._need import BenchError
from ._progress import progress
from ._rounds import Case, Row, run
from ._table import table

SCHEMA = 1
"""Of the record; counts up when a reader of the last one would be wrong."""
UNRECORDED = ("run", "json", "report")


class Output:
    """Collects the rows of one command."""

    def __init__(self, chosen: argparse.Namespace, title: str = "", text: str = "") -> None:
        self._chosen = chosen
        self._facts = facts()
        self._about = {"title": title, "text": text}
        self.rows: list[Row] = []
        self.targets: list[dict[str, Any]] = []
        """What was promised, where the command asks."""
        self._quiet = chosen.json == "-"
        for line in filter(None, (title, in_words(self._facts))):
            self.line(line)

    def line(self, text: str) -> None:
        """Say something to people."""
        print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def measure(self, cases: Sequence[Case]) -> list[Row]:
        """Run cases against each other and show their table."""
        rounds: int = self._chosen.rounds
        with progress((rounds + 1) * len(cases)) as told:

            def words(number: int, case: Case) -> None:
                of = f"round {number} of {rounds}" if number else "warm-up"
                told(f"{case.kind} {case.facts.get('load', '')} {case.peer.name}, {of}")

            rows = run(cases, rounds, words)
        self.rows += rows
        for text in table(rows, self._chosen.base):
            self.line(text)
        return rows

    def record(self) -> dict[str, Any]:
        """All of it."""
        options = {
            name: [getattr(one, "name", one) for one in value] if isinstance(value, list) else value
            for name, value in vars(self._chosen).items()
            if name not in UNRECORDED
        }
        return {
            "schema": SCHEMA,
            **self._about,
            "facts": self._facts,
            "options": options,
            "rows": self.rows,
            **({"targets": self.targets} if self.targets else {}),
        }

    def finish(self) -> int:
        """Write what was asked for; the exit status: 1 when nothing was measured."""
        if self._chosen.json:
            text = json.dumps(self.record(), indent=1)
            if self._quiet:
                print(text)
            else:
                written(self._chosen.json, text + "\n")
        if self._chosen.report:
            from ._report import html

            written(self._chosen.report, html([self.record()]))
        return 0 if any(row["missing"] is None for row in self.rows) else 1


def written(path: str, text: str) -> None:
    """Write a file."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
