"""Charts of rows, drawn by matplotlib and handed out as SVG: one function a question.

Law: a peer has the same colour in all charts; every chart says its units; nothing is drawn for
peers that were not measured.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from ..base.need import need
from ..measure.rounds import MACHINE, Row
from ..measure.stats import Counted

COLOURS = {
    "meshmsg": "#0b5fa5",
    "meshmsg-batch": "#5aa9e6",
    "meshmsg-asyncio": "#5b3fa0",
    "meshmsg-spin": "#123a63",
    "meshmsg-acked": "#5b7d3a",
    "meshmsg-acked-batch": "#a9c48d",
    "meshmsg-acked-receipt": "#37521f",
    "meshmsg-spool": "#2f4b7c",
    "meshmsg-spool-many": "#8fa6cf",
    "meshmsg-spool-full": "#5f7cb5",
    "meshmsg-spooled": "#20639b",
    "meshmsg-spooled-os": "#86b6dd",
    "meshmsg-curve": "#3f8f9b",
    "meshmsg-curve-batch": "#9cc8cf",
    "meshmsg-curve-crowd": "#27626b",
    "meshmsg-tls": "#1f6f54",
    "meshmsg-tls-batch": "#7fc29f",
    "meshmsg-tls-crowd": "#0f4434",
    "meshmsg-sp": "#12a5b8",
    "meshmsg-sp-batch": "#7fd6d0",
    "meshmsg-spark": "#0a7d8c",
    "meshmsg-spark-stream": "#6cc3cc",
    "meshmsg-spark-put": "#3aa6a0",
    "meshmsg-spark-sink": "#0b6a74",
    "meshmsg-spark-items": "#57b8c4",
    "pyzmq-spark-rows": "#d9772b",
    "pyzmq-spark-items": "#f08a4b",
    "parquet-spark-stream": "#c3d17a",
    "pyzmq-spark": "#e2571e",
    "pyzmq-spark-batch": "#f5b971",
    "arrow-spark": "#b7c46a",
    "parquet-spark": "#7a8f2a",
    "socket-spark": "#8c6bb1",
    "kafka-spark": "#4d4d4d",
    "pyzmq": "#d1480f",
    "pyzmq-batch": "#f2a03d",
    "pyzmq-asyncio": "#a3266b",
    "pyzmq-curve": "#e88a8a",
    "libzmq-c": "#8a1c0c",
    "nanomsg": "#2c8c4f",
    "pynng": "#77b255",
    "pynng-tls": "#b5d99c",
    "zenoh": "#8a9a1b",
    "nats-cluster": "#3f6f52",
    "serf": "#9fb8c9",
    "serf-local": "#a8c3a0",
    "redis": "#b0304f",
    "redis-stream": "#8f1d5c",
    "redis-stream-batch": "#d98cb3",
    "redis-stream-always": "#6b1034",
    "redis-stream-everysec": "#c65a86",
    "nats-jetstream": "#b39a5e",
    "nats-jetstream-always": "#54400f",
    "nats": "#7a5c1e",
    "rabbitmq": "#c77700",
    "rabbitmq-acked": "#96591a",
    "rabbitmq-acked-batch": "#d9a05b",
    "rabbitmq-confirmed": "#5e3a12",
    "rabbitmq-confirmed-batch": "#b8935f",
    "rabbitmq-durable": "#7d4a00",
    "activemq": "#6d4c8c",
    "kafka": "#5c5c3d",
    "kafka-acked": "#8c8c66",
    "kafka-flushed": "#38381f",
    "raw-c": "#333333",
    "raw-c-64k": "#666666",
    "raw-c-8k": "#8c8c8c",
    "raw-c-each": "#adadad",
    "raw-c-spin": "#555555",
    "raw-c-epoll": "#4a4a4a",
    "raw-python": "#a08f80",
    "raw-fdatasync": "#6f6259",
    "raw-fdatasync-4m": "#c9bdb2",
    "raw-fdatasync-new": "#a8988a",
    "libsodium-c": "#c2b280",
    "openssl-c": "#9a7b4f",
    MACHINE: "#b9c2cb",
}
OTHER = "#777777"
OVER = {"size": "size of a message", "subscribers": "subscribers"}
"""What stands under an axis."""
FEW_DECADES = 5000
"""The range up to which an axis has marks at 2 and 5, too."""
WIDTH = 9.0
"""Inches."""
STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e6ea",
    "axes.edgecolor": "#9aa3ad",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}
Draw = Callable[[Sequence[Row]], Any]


def colour(peer: str) -> str:
    """Of a peer."""
    return COLOURS.get(peer, OTHER)


def pyplot() -> Any:
    """The library, drawing into files only."""
    need("matplotlib", "a report").use("Agg")
    return need("matplotlib.pyplot", "a report")


def svg(draw: Draw, rows: Sequence[Row]) -> str:
    """The chart as an element for a page."""
    plots = pyplot()
    with plots.rc_context(STYLE):
        figure = draw(rows)
        out = io.StringIO()
        figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
        plots.close(figure)
    text = out.getvalue()
    return text[text.index("<svg") :]


def short(value: float, _: Any = None) -> str:
    """A number on an axis: 1.5M, 20k, 300."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def seconds(us: float, _: Any = None) -> str:
    """Microseconds on an axis: 10 us, 5 ms, 1 s."""
    for unit, name in ((1e6, "s"), (1e3, "ms")):
        if abs(us) >= unit:
            return f"{us / unit:.3g} {name}"
    return f"{us:.3g} µs"


def bytes_of(size: float, _: Any = None) -> str:
    """A size on an axis: 64 B, 1 KiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.3g} B"


def median(row: Row, figure: str) -> float:
    """Of a row that has it."""
    return float(row["figures"][figure]["median"])


def spread(row: Row, figure: str) -> list[list[float]]:
    """How far down and up from the median the rounds went, as error bars want it."""
    found = row["figures"][figure]
    return [[found["median"] - found["min"]], [found["max"] - found["median"]]]


def by_peer(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows of each peer, in the order in which peers come first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["peer"], []).append(row)
    return found


def lines_over(
    rows: Sequence[Row], over: str, figure: str, name: str, label: Callable[..., str]
) -> Any:
    """A figure over something, a line a peer, both axes logarithmic, rounds as error bars."""
    plots = pyplot()
    made, axes = plots.subplots(figsize=(WIDTH, 4.4))
    values = sorted({row[over] for row in rows})
    for peer, own in by_peer(rows).items():
        own = sorted(own, key=lambda row: int(row[over]))
        at = [max(row[over], 1) for row in own]
        high = [median(row, figure) for row in own]
        error = [[spread(row, figure)[side][0] for row in own] for side in (0, 1)]
        axes.errorbar(
            at, high, yerror(error), marker="o", markersize=4, capsize=2, label=peer,
            color=colour(peer), elinewidth=0.9,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([max(value, 1) for value in values], [label(value) for value in values])
    log_ticks(axes, short)
    axes.set_xlabel(OVER[over])
    axes.set_ylabel(name)
    beside(axes)
    return made


def log_ticks(axes: Any, label: Callable[..., str]) -> None:
    """Marks at 1, 2 and 5 up a logarithmic axis, so that a short one has marks, too."""
    ticker = need("matplotlib.ticker", "a report")
    axes.minorticks_off()
    low, high = axes.get_ylim()
    steps = (1.0, 2.0, 5.0) if high / low < FEW_DECADES else (1.0,)
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=steps, numticks=30))
    axes.yaxis.set_major_formatter(label)


def yerror(error: list[list[float]]) -> list[list[float]]:
    """Bars never reach below nothing."""
    return [[max(value, 0.0) for value in side] for side in error]


def beside(axes: Any) -> None:
    """The legend at the right, in the order of the tables."""
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def throughput_by_size(rows: Sequence[Row]) -> Any:
    """Messages a second at the receiver."""
    return lines_over(rows, "size", "receiver_per_s", "messages/s received", bytes_of)


def deliveries(rows: Sequence[Row]) -> Any:
    """Deliveries a second by number of subscribers."""
    return lines_over(rows, "subscribers", "deliveries_per_s", "deliveries/s", short)


def rates(rows: Sequence[Row]) -> Any:
    """Sender and receiver rates at one size, a pair of bars a peer, the fastest on top."""
    rows = sorted(rows, key=lambda row: median(row, "receiver_per_s"))
    plots = pyplot()
    made, axes = plots.subplots(figsize=(WIDTH, 0.9 + 0.46 * len(rows)))
    top = max(median(row, name) for row in rows for name in ("receiver_per_s", "sender_per_s"))
    for i, row in enumerate(rows):
        for name, shift, alpha in (("sender_per_s", 0.19, 0.45), ("receiver_per_s", -0.19, 1.0)):
            axes.barh(
                i + shift, median(row, name), 0.36, xerr=yerror(spread(row, name)), alpha=alpha,
                color=colour(row["peer"]), error_kw={"elinewidth": 0.9, "ecolor": "#444"},
            )  # fmt: skip
            most = row["figures"][name]["max"]
            axes.text(most + top * 0.01, i + shift, short(median(row, name)), va="center", size=8)
    axes.set_yticks(range(len(rows)), [row["peer"] for row in rows])
    axes.xaxis.set_major_formatter(short)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("messages/s: pale bar sender, full bar receiver; the line is least to most")
    return made


def cpu(rows: Sequence[Row]) -> Any:
    """CPU seconds a million messages, parts of a bar a process, the cheapest on top."""
    rows = sorted(rows, key=lambda row: -median(row, "cpu_us"))
    plots = pyplot()
    made, axes = plots.subplots(figsize=(WIDTH, 0.9 + 0.36 * len(rows)))
    top = max(median(row, "cpu_us") for row in rows)
    for i, row in enumerate(rows):
        left = 0.0
        for name, alpha in (("sender", 1.0), ("receiver", 0.6), ("broker", 0.3)):
            if f"{name}_cpu_us" not in row["figures"]:
                continue
            wide = median(row, f"{name}_cpu_us")
            axes.barh(i, wide, 0.66, left=left, color=colour(row["peer"]), alpha=alpha)
            left += wide
        axes.text(left + top * 0.01, i, f"{left:.3g}", va="center", size=8)
    axes.set_yticks(range(len(rows)), [row["peer"] for row in rows])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("CPU seconds per million messages: sender, receiver (paler), broker (palest)")
    return made


def tail(counted: Counted) -> tuple[list[float], list[float]]:
    """A distribution as points: how rare (1 / (1 - quantile)), and microseconds."""
    total = sum(count for _, count in counted)
    rare, late = [], []
    seen = 0
    for value, count in counted:
        rare.append(total / (total - seen))
        late.append(value / 1000)
        seen += count
        rare.append(total / max(total - seen, 1))
        late.append(value / 1000)
    return rare, late


def distributions(rows: Sequence[Row]) -> Any:
    """The whole latency distribution: the rarer to the right, microseconds up, both logarithmic."""
    plots = pyplot()
    made, axes = plots.subplots(figsize=(WIDTH, 4.4))
    most = 1.0
    for row in rows:
        rare, late = tail(row["latency_ns"])
        most = max(most, rare[-1])
        style = ":" if row["peer"] == MACHINE else "-"
        axes.plot(rare, late, style, label=row["peer"], color=colour(row["peer"]))
    axes.set_xscale("log")
    axes.set_yscale("log")
    marks = [(1, "0"), (2, "50"), (10, "90"), (100, "99"), (1e3, "99.9"), (1e4, "99.99")]
    marks += [(1e5, "99.999"), (1e6, "99.9999"), (1e7, "99.99999")]
    there = [(at, name) for at, name in marks if at <= most * 1.5]
    axes.set_xticks([at for at, _ in there], [f"{name} %" for _, name in there])
    log_ticks(axes, seconds)
    axes.set_xlabel("percentile")
    axes.set_ylabel("latency")
    beside(axes)
    return made


def against_backlog(rows: Sequence[Row]) -> Any:
    """Latency over the number of messages that were due together."""
    plots = pyplot()
    made, axes = plots.subplots(figsize=(WIDTH, 4.4))
    for peer, own in by_peer(rows).items():
        own = sorted(own, key=lambda row: int(row["burst"]))
        at = [row["burst"] for row in own]
        for name, style in (("p50_us", "-"), ("p99_us", "--")):
            label = peer if name == "p50_us" else None
            high = [median(row, name) for row in own]
            axes.plot(at, high, style, marker="o", markersize=4, color=colour(peer), label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    bursts = sorted({row["burst"] for row in rows})
    axes.set_xticks(bursts, [short(burst) for burst in bursts])
    log_ticks(axes, seconds)
    axes.set_xlabel("messages due at the same moment")
    axes.set_ylabel("latency: p50, dashed p99")
    beside(axes)
    return made
