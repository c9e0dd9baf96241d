"""HDR histograms of latencies: what is told of a distribution, and what is kept of it."""

from __future__ import annotations

from typing import Any

from ..base.need import need
from .stats import PERCENTILES, Counted, told

HIGHEST_NS = 3_600_000_000_000
DIGITS = 3


def histogram(counted: Counted) -> Any:
    """An HdrHistogram of nanoseconds."""
    made = need("hdrh.histogram", "a fixed rate's histogram").HdrHistogram(1, HIGHEST_NS, DIGITS)
    for value, count in counted:
        made.record_value(min(max(value, 1), HIGHEST_NS), count)
    return made


def figures_of(made: Any) -> dict[str, float]:
    """Percentiles in microseconds, as far as there are samples, and the most."""
    total = made.get_total_count()
    found = {
        f"{name}_us": made.get_value_at_percentile(percent) / 1000
        for name, percent in PERCENTILES.items()
        if told(percent, total)
    }
    found["max_us"] = made.get_max_value() / 1000
    return found


def encoded(made: Any) -> str:
    """As other HDR tools read it (base64, compressed)."""
    return str(made.encode().decode("ascii"))
