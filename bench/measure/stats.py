"""Medians with their range, percentiles of counted latencies, and ratios.

Law: a figure of a row is always median, least and most of its rounds; never one run.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Counted = Sequence[Sequence[int]]
"""Pairs of nanoseconds and how often they were seen, ascending."""
CONFIDENCE = 0.95
RESAMPLED = 2_000
"""How often a sample is drawn again from itself."""

PERCENTILES = {
    "p50": 50.0,
    "p90": 90.0,
    "p99": 99.0,
    "p99.9": 99.9,
    "p99.99": 99.99,
    "p99.999": 99.999,
    "p99.9999": 99.9999,
}


@dataclass(frozen=True)
class Summary:
    """One figure over its rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Of at least one value."""
        return cls(statistics.median(values), min(values), max(values))

    def as_json(self) -> dict[str, float]:
        """For the record."""
        return {"median": self.median, "min": self.least, "max": self.most}


def percentile(counted: Counted, percent: float) -> int:
    """The value which so many percent do not pass, in the unit of the values."""
    total = sum(count for _, count in counted)
    wanted = total * percent / 100
    seen = 0
    for value, count in counted:
        seen += count
        if seen >= wanted - 1e-9:
            return value
    raise ValueError("a percentile of nothing")


def told(percent: float, total: int) -> bool:
    """Whether so many samples say anything about that percentile."""
    return total * (100 - percent) / 100 >= 1 - 1e-9 or percent <= 99


def latency_figures(counted: Counted) -> dict[str, float]:
    """Percentiles in microseconds, as far as there are samples, and the most."""
    total = sum(count for _, count in counted)
    figures = {
        f"{name}_us": percentile(counted, percent) / 1000
        for name, percent in PERCENTILES.items()
        if told(percent, total)
    }
    figures["max_us"] = counted[-1][0] / 1000
    return figures


def merged(many: Sequence[Counted]) -> list[tuple[int, int]]:
    """Several rounds as one distribution."""
    counts: dict[int, int] = {}
    for counted in many:
        for value, count in counted:
            counts[value] = counts.get(value, 0) + count
    return sorted(counts.items())


class Distributions:
    """The distribution of each round that counts, of who measures one."""

    def __init__(self) -> None:
        self._all: list[Counted] = []

    def forget(self) -> None:
        """Have the last round not count."""
        self._all.pop()


def ratio(own: dict[str, Any], other: dict[str, Any], figure: str) -> float | None:
    """Median by median of two rows; None where one has none."""
    ours, theirs = own.get(figure), other.get(figure)
    if not ours or not theirs or not theirs["median"]:
        return None
    return float(ours["median"] / theirs["median"])


@dataclass(frozen=True)
class Interval:
    """A figure of a sample, and between what that of all it was drawn from is, at 95 %."""

    middle: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """For the record."""
        return {"middle": self.middle, "low": self.low, "high": self.high}


def median_interval(values: Sequence[float]) -> Interval | None:
    """The median, by order statistics, whatever the distribution; None of fewer than six values.

    Between the k-th least and the k-th most is the median of all, but if fewer than k of the values
    are on one side of it: which is so often as fewer than k of so many coins show heads.
    """
    count, ordered = len(values), sorted(values)
    below, k = 0.0, 0
    while k < count // 2:
        below += math.comb(count, k) / 2**count
        if 2 * below > 1 - CONFIDENCE:
            break
        k += 1
    if not k:
        return None
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[-k])


def total_interval(pairs: Sequence[tuple[float, float]], seed: int = 1) -> Interval:
    """The ratio of the sums of both sides, by drawing as many of the pairs again (bootstrap)."""

    def ratio_of(drawn: Sequence[tuple[float, float]]) -> float:
        return math.fsum(one for one, _ in drawn) / math.fsum(other for _, other in drawn)

    rng = random.Random(seed)
    again = sorted(ratio_of(rng.choices(pairs, k=len(pairs))) for _ in range(RESAMPLED))
    out = int(RESAMPLED * (1 - CONFIDENCE) / 2)
    return Interval(ratio_of(pairs), again[out], again[-1 - out])
