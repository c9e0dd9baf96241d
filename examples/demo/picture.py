"""The picture: throughput at both ends, queue depth per socket, and what was found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import records
from .collector import Telemetry
from .meter import BACKLOG
from .table import Tally

Series = list[tuple[float, int]]
_SENT, _RECEIVED, _QUEUE, _ONE, _TWO = "#0072b2", "#d55e00", "#5b5b5b", "#009e73", "#cc79a7"


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

    start, end = span(telemetry)
    depth = {BACKLOG: telemetry.numbers.get(BACKLOG, []), **dict(sorted(telemetry.depth.items()))}
    strips = 0.55 * len(depth)  # inches
    figure = plt.figure(figsize=(11, 7.5 + strips))
    figure.subplots_adjust(left=0.24, right=0.9, top=0.93, bottom=0.05)
    figure.suptitle(title, fontsize=13)
    rows = figure.add_gridspec(3, 1, height_ratios=(3.2, strips, 2.4), hspace=0.28)
    _throughput(figure.add_subplot(rows[0]), telemetry, start, end)
    inner = rows[1].subgridspec(len(depth), 1, hspace=0.35)
    queues = [figure.add_subplot(inner[index]) for index in range(len(depth))]
    for axes, (name, series) in zip(queues, depth.items(), strict=True):
        _depth(axes, name, series, start, end)
    queues[0].set_title("Queued messages, each row on its own scale (stats(), ten times a second)")
    queues[-1].tick_params(labelbottom=True)
    queues[-1].set_xlabel("seconds")
    _temperatures(figure.add_subplot(rows[2]), tally)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def span(telemetry: Telemetry) -> tuple[float, float]:
    """When the first record was sent and the last result came."""
    sent = telemetry.numbers.get("sent", [])
    received = telemetry.numbers.get("received", [])
    start = next((now for now, count in sent if count), 0.0) - 0.2
    last = received[-1][1] if received else 0
    end = next((now for now, count in received if count == last), start)
    return start, max(end, start + 1.0)


def _throughput(axes: Any, telemetry: Telemetry, start: float, end: float) -> None:
    for name, label, colour in (
        ("sent", "sent: records handed to tasks", _SENT),
        ("received", "received: results at the collector", _RECEIVED),
    ):
        times, values = rates(telemetry.numbers.get(name, []), start)
        axes.plot(times, [value / 1000 for value in values], label=label, color=colour)
    axes.set(title="Throughput, mean of the last half second", ylabel="thousand a second")
    axes.set(xlim=(0, end - start))
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.3)
    axes.legend(loc="lower center", frameon=False)


def _depth(axes: Any, name: str, series: Series, start: float, end: float) -> None:
    """One strip: the name on the left, the highest value on the right."""
    times, counts = [now - start for now, _ in series], [count for _, count in series]
    most = max(counts, default=0)
    axes.fill_between(times, counts, step="post", color=_QUEUE, alpha=0.5, linewidth=0)
    axes.step(times, counts, where="post", color=_QUEUE, linewidth=0.8)
    axes.set(xlim=(0, end - start), ylim=(0, max(most, 1) * 1.1), yticks=[])
    axes.tick_params(labelbottom=False)
    axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    axes.text(1.005, 0.5, f"max {most:,}", transform=axes.transAxes, va="center", fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _temperatures(axes: Any, tally: Tally) -> None:
    months = range(1, 13)
    for file, colour in ((0, _ONE), (1, _TWO)):
        axes.plot(months, tally.means(file), "o-", label=records.TITLES[file], color=colour)
    axes.set(title="What the job found: mean temperature by month", ylabel="°C", xticks=months)
    axes.grid(True, alpha=0.3)
    axes.legend(loc="lower center", frameon=False)
