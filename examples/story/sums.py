"""The table at the consumer: the newest sums of each file and month, as Spark sends them.

Pure: no sockets. Law: a row of an older batch never replaces one of a newer; a batch that comes
twice changes nothing, and is counted.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from examples.demo import records

Cell = tuple[int, int]
"""File and month."""
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


@dataclass
class Sums:
    """What the consumer knows."""

    cells: dict[Cell, dict[str, Any]] = field(default_factory=dict)
    rows: int = 0
    again: int = 0
    """Rows of a batch that had come before."""

    @property
    def counted(self) -> int:
        """Records that are in the sums."""
        return sum(row["count"] for row in self.cells.values())

    def take(self, body: bytes) -> None:
        """Take a row as it comes."""
        row = json.loads(body)
        cell = row["file"], row["month"]
        self.rows += 1
        before = self.cells.get(cell)
        if before is not None and row["batch"] <= before["batch"]:
            self.again += 1
        else:
            self.cells[cell] = row

    def agrees(self, once: Sums, passes: int) -> bool:
        """Whether this says the same as the sums of one pass, so many times over."""
        return self.cells.keys() == once.cells.keys() and all(
            _same(self.cells[cell], row, passes) for cell, row in once.cells.items()
        )

    def means(self, file: int) -> list[float]:
        """The mean of the first value, month by month."""
        rows = [self.cells.get((file, month)) for month in range(1, 13)]
        return [row["first"] / row["count"] if row else math.nan for row in rows]

    def text(self, passes: int) -> str:
        """The table, counts per pass."""
        out = [
            "          San Francisco 2010         Seattle 2010           Seattle 2012-2015",
            "          mean    low   high         mean    low   high      rain    wet   wind",
            "            °C     °C     °C           °C     °C     °C    mm/day   days    m/s",
        ]
        for month, name in enumerate(_MONTHS, 1):
            one, two, three = (self.cells[file, month] for file in range(len(records.FILES)))
            hourly = "      ".join(
                f"{row['first'] / row['count']:7.1f}{row['low']:7.1f}{row['high']:7.1f}"
                for row in (one, two)
            )
            out.append(
                f"    {name} {hourly}   {three['first'] / three['count']:7.2f}"
                f"{three['positive'] / passes:7.0f}{three['second'] / three['count']:7.1f}"
            )
        return "\n".join(out)


def _same(found: dict[str, Any], once: dict[str, Any], passes: int) -> bool:
    counts = all(found[name] == once[name] * passes for name in ("count", "positive"))
    limits = all(found[name] == once[name] for name in ("low", "high"))
    sums = (math.isclose(found[name], once[name] * passes) for name in ("first", "second"))
    return counts and limits and all(sums)


def direct() -> Sums:
    """The sums of one pass, added up without any messages: what the table is checked against."""
    found = Sums()
    for record in records.stream(1):
        file, month, first, second = records.parse(record)
        row = found.cells.setdefault(
            (file, month),
            {"count": 0, "positive": 0, "first": 0.0, "second": 0.0, "low": first, "high": first},
        )
        row["count"] += 1
        row["positive"] += first > 0
        row["first"] += first
        row["second"] += second
        row["low"], row["high"] = min(row["low"], first), max(row["high"], first)
    return found
