"""The picture: throughput at both ends, queue depth per socket, and what was found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import records
from .collector import Telemetry
from .meter import BACKLOG
from .table import Tally

Series = list[tuple[float, int]]
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")


def rates(series: Series, start: float, window: float = 0.5) -> tuple[list[float], list[float]]:
    """(seconds since start, count a second over the window before) of a growing count."""
    times: list[float] = []
    values: list[float] = []
    oldest = 0
    for index, (now, count) in enumerate(series):
        while now - series[oldest][0] > window and oldest < index:
            oldest += 1
        before, earlier = series[max(oldest - 1, 0)]
        if now > before:
            times.append(now - start)
            values.append((count - earlier) / (now - before))
    return times, values


def draw(path: Path, telemetry: Telemetry, tally: Tally, title: str) -> None:
    """Write the picture as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    start, end = _span(telemetry)
    figure, (speed, depth, result) = plt.subplots(
        3, 1, figsize=(11, 12), height_ratios=(4, 4, 3), layout="constrained"
    )
    figure.suptitle(title, fontsize=13)
    for name, label, colour in (
        ("sent", "sent: records handed to tasks", _COLOURS[0]),
        ("received", "received: results at the collector", _COLOURS[1]),
    ):
        times, values = rates(telemetry.numbers.get(name, []), start)
        speed.plot(times, [value / 1000 for value in values], label=label, color=colour)
    speed.set(title="Throughput", ylabel="thousand records a second", xlim=(0, end - start))
    speed.set_ylim(bottom=0)
    for colour, (name, series) in zip(_COLOURS, sorted(telemetry.depth.items()), strict=False):
        times, counts = [now - start for now, _ in series], [count for _, count in series]
        depth.plot(times, counts, label=name, color=colour)
    backlog = telemetry.numbers.get(BACKLOG, [])
    times, counts = [now - start for now, _ in backlog], [count for _, count in backlog]
    depth.plot(times, counts, "--", label=f"({BACKLOG})", color=_COLOURS[-1])
    depth.set_yscale("symlog", linthresh=1)
    depth.set(title="Queue depth of each socket", ylabel="messages queued (log scale)")
    depth.set(xlabel="seconds since the first record was sent", xlim=(0, end - start))
    depth.set_ylim(bottom=0)
    _temperatures(result, tally)
    for axes in (speed, depth, result):
        axes.grid(True, alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _temperatures(axes: Any, tally: Tally) -> None:
    months = range(1, 13)
    for file, colour in ((0, _COLOURS[2]), (1, _COLOURS[3])):
        axes.plot(months, tally.means(file), "o-", label=records.TITLES[file], color=colour)
    axes.set(title="What the job found: mean temperature by month", ylabel="°C", xticks=months)
    axes.set(xlabel="month")


def _span(telemetry: Telemetry) -> tuple[float, float]:
    """When the first record was sent and the last result came."""
    sent = telemetry.numbers.get("sent", [])
    received = telemetry.numbers.get("received", [])
    start = next((now for now, count in sent if count), 0.0) - 0.2
    last = received[-1][1] if received else 0
    end = next((now for now, count in received if count == last), start) + 0.3
    return start, max(end, start + 1.0)
