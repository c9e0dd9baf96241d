"""The picture: throughput at both ends, lag, queue depth, and what was found out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples.demo import records
from examples.demo.picture import rates

from .consumer import Consumer, Series

_KEPT, _COUNTED, _LAG, _ONE, _TWO = "#0072b2", "#d55e00", "#5b5b5b", "#009e73", "#cc79a7"


def draw(path: Path, consumer: Consumer, title: str) -> None:
    """Write the picture as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    told = consumer.told
    start = next((now for now, kept in told.sent if kept), 0.0) - 0.2
    end = max(consumer.counted[-1][0], start + 1.0)
    figure, axes = plt.subplots(4, 1, figsize=(11, 12), height_ratios=(3, 2, 1, 2.4))
    figure.suptitle(title, fontsize=13)
    for series, label, colour in (
        (told.sent, "kept: records in the producers' spools", _KEPT),
        (consumer.counted, "counted: records in the sums at the consumer", _COUNTED),
    ):
        times, values = rates(series, start, window=2.0)
        axes[0].plot(times, [value / 1000 for value in values], label=label, color=colour)
    axes[0].set(title="Throughput, mean of the last two seconds", ylabel="thousand a second")
    axes[0].legend(loc="upper right", frameon=False)
    _area(axes[1], told.waiting, start, "Lag: records kept and not in the table yet")
    _area(axes[2], consumer.queue, start, "Rows queued at the consumer (stats())")
    for one in axes[:3]:
        one.set(xlim=(0, end - start))
        one.set_ylim(bottom=0)
        one.grid(True, alpha=0.3)
    axes[2].set_xlabel("seconds")
    for file, colour in ((0, _ONE), (1, _TWO)):
        means = consumer.sums.means(file)
        axes[3].plot(range(1, 13), means, "o-", label=records.TITLES[file], color=colour)
    axes[3].set(title="What was found: mean temperature by month", ylabel="°C", xticks=range(1, 13))
    axes[3].grid(True, alpha=0.3)
    axes[3].legend(loc="lower center", frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _area(axes: Any, series: Series, start: float, title: str) -> None:
    times, counts = [now - start for now, _ in series], [count for _, count in series]
    axes.fill_between(times, counts, step="post", color=_LAG, alpha=0.5, linewidth=0)
    axes.set(title=f"{title}; the most was {max(counts, default=0):,}")
