"""A promise: which figure of which rows, against whom, and the bound.

Not here: what was promised (targets.py). Law: a value that was not measured, or that the machine's
host disturbed, says why, and is no verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..measure.rounds import Row


@dataclass(frozen=True)
class Target:
    """One promise."""

    number: str
    group: str
    figure: str
    peer: str
    beside: str
    """The peer it is compared with; nothing: the figure itself counts."""
    bound: float
    low: bool = False
    """Whether the bound is the most it may be; else it is the least."""
    at: str | int | None = None
    """The size, load, or number of subscribers or connections."""

    def holds(self, value: float) -> bool:
        """Whether it is met."""
        return value <= self.bound if self.low else value >= self.bound

    def words(self) -> str:
        """For people."""
        at = f" {self.at:,} B" if isinstance(self.at, int) else f" {self.at}" if self.at else ""
        figure = self.figure.removesuffix("_us").removesuffix("_per_s")
        beside = f" ÷ {self.beside}" if self.beside else ""
        return f"{self.group}{at}: {figure}, {self.peer}{beside}"

    def of(self, rows: Sequence[Row]) -> tuple[float | None, str]:
        """The value measured, and why it does not count, or why there is none."""
        found = {row["peer"]: row for row in rows if self._is_about(row)}
        names = [self.peer, *([self.beside] if self.beside else [])]
        for name in names:
            row = found.get(name)
            if row is None:
                return None, "not measured in this run"
            if row["missing"] is not None:
                return None, f"{name}: {row['missing']}"
        values = [self._value(found[name]) for name in names]
        if None in values:
            return None, "too few samples"
        own, *others = (float(value) for value in values if value is not None)
        if others and not others[0]:
            return None, f"{self.beside} is 0"
        return own / others[0] if others else own, disturbed(found[name] for name in names)

    def _value(self, row: Row) -> float | None:
        """The median of rounds; where one round has too few samples, that of all together."""
        figure = row["figures"].get(self.figure)
        together: dict[str, float] = row.get("all_rounds", {})
        return figure["median"] if figure else together.get(self.figure)

    def _is_about(self, row: Row) -> bool:
        where = f"{row['kind']} {row['transport']}"
        return where == self.group and self.at in (row["size"] if "load" not in row else None,
                                                   row.get("load"))  # fmt: skip


def disturbed(rows: Iterable[Row]) -> str:
    """Which medians may be of rounds that the machine's host disturbed."""
    return ", ".join(
        f"{row['peer']}: the host disturbed {count} of {row['rounds']}"
        for row in rows
        if (count := row.get("rounds_disturbed", 0)) and 2 * count >= row["rounds"]
    )


def least(
    number: str, group: str, peer: str, beside: str, bounds: dict[Any, float]
) -> list[Target]:
    """Rates at the receiver, by size."""
    return [
        Target(number, group, "receiver_per_s", peer, beside, b, at=a) for a, b in bounds.items()
    ]
