"""Where results go: the terminal as they come, then a JSON record and a report."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..base.facts import facts, in_words
from ..base.need import BenchError, need
from ..measure.rounds import MACHINE, Case, Row, run
from ..measure.stolen import Patience
from .progress import Progress, progress
from .table import table

SCHEMA = 1
"""Of the record; counts up when a reader of the last one would be wrong."""
UNRECORDED = ("run", "json", "report", "markdown")


class Output:
    """Collects the rows of one command."""

    def __init__(self, chosen: argparse.Namespace, title: str = "", text: str = "") -> None:
        self._chosen = chosen
        check(chosen)
        self.facts = facts()
        self._about = {"title": title, "text": text}
        self.rows: list[Row] = []
        self.targets: list[dict[str, Any]] = []
        """What was promised, where the command asks."""
        self._quiet = chosen.json == "-"
        self.patience = Patience()
        """With rounds that the machine's host disturbed: none, if the command sets no other."""
        for line in filter(None, (title, in_words(self.facts))):
            self.line(line)

    def line(self, text: str) -> None:
        """Say something to people."""
        print(text, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def measure(self, cases: Sequence[Case]) -> list[Row]:
        """Run cases against each other and show their table."""
        return self.measure_all([cases])

    def measure_all(
        self,
        groups: Sequence[Sequence[Case]],
        rounds_of: Callable[[Sequence[Case]], int] | None = None,
        between: Callable[[], None] = lambda: None,
    ) -> list[Row]:
        """The same for one group of cases after the other, with one bar for all.

        Args:
            groups: What is measured against each other, each.
            rounds_of: How many rounds a group has, if not as many as were chosen.
            between: Called before each group.
        """
        chosen: int = self._chosen.rounds
        many = [rounds_of(cases) if rounds_of else chosen for cases in groups]
        turns = [(rounds + 1) * len(cases) for rounds, cases in zip(many, groups, strict=True)]
        rows: list[Row] = []
        with progress(sum(turns)) as bar:
            for i, cases in enumerate(groups):
                between()
                found = self._measure(cases, many[i], bar, sum(turns[:i]))
                rows += found
                with bar.hidden():
                    for text in table(found, self._chosen.base):
                        self.line(text)
        self.rows += rows
        return rows

    def _measure(self, cases: Sequence[Case], rounds: int, bar: Progress, before: int) -> list[Row]:
        def words(number: int, case: Case) -> None:
            of = f"round {number} of {rounds}" if number else "warm-up"
            done = before + number * len(cases) + cases.index(case)
            bar.begin(done, f"{case.kind} {case.facts.get('load', '')} {case.peer.name}, {of}")

        return run(cases, rounds, words, self.patience)

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
            "facts": self.facts,
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
            from .page import html

            written(self._chosen.report, html([self.record()]))
        peers = [row for row in self.rows if row["peer"] != MACHINE]
        return 0 if any(row["missing"] is None for row in peers) else 1


def check(chosen: argparse.Namespace) -> None:
    """Refuse now what would fail when all has been measured."""
    for path in (chosen.json, chosen.report, getattr(chosen, "markdown", None)):
        if path and path != "-":
            check_writable(path)
    if chosen.report:
        need("matplotlib", "a report")


def check_writable(path: str) -> None:
    """Open it as if to write; what is in it stays, and what was not there is not there again."""
    new = not os.path.lexists(path)
    try:
        with open(path, "a", encoding="utf-8"):
            pass
        if new:
            os.unlink(path)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None


def written(path: str, text: str) -> None:
    """Write a file."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
