"""Rows as text for people: aligned columns, medians with their range, the ratio to one peer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ._rounds import Row
from ._stats import ratio


@dataclass(frozen=True)
class Column:
    """One column: of which figure, under what name, with how much of its range."""

    figure: str
    head: str
    digits: int = 0
    range: bool = False


COLUMNS: dict[str, tuple[Column, ...]] = {
    "thr": (
        Column("sender_per_s", "sender msg/s", range=True),
        Column("receiver_per_s", "receiver msg/s", range=True),
        Column("mb_per_s", "MB/s"),
        Column("sender_cpu_us", "CPU us/msg snd", 3),
        Column("receiver_cpu_us", "rcv", 3),
        Column("broker_cpu_us", "broker", 3),
        Column("sender_rss_mb", "RSS MB snd"),
        Column("receiver_rss_mb", "rcv"),
        Column("broker_rss_mb", "broker"),
    ),
    "lat": (
        Column("p50_us", "p50 us", 1, range=True),
        Column("p99_us", "p99 us", 1, range=True),
        Column("p99.9_us", "p99.9 us", 1),
        Column("max_us", "max us", 1),
        Column("sender_cpu_us", "CPU us/trip ask", 1),
        Column("receiver_cpu_us", "answer", 1),
        Column("sender_rss_mb", "RSS MB ask"),
        Column("receiver_rss_mb", "answer"),
    ),
    "rate": (
        Column("p50_us", "p50 us", 1),
        Column("p99_us", "p99 us", 1, range=True),
        Column("p99.9_us", "p99.9 us", 1),
        Column("p99.99_us", "p99.99 us", 1),
        Column("p99.999_us", "p99.999 us", 1),
        Column("p99.9999_us", "p99.9999 us", 1),
        Column("max_us", "max us", 1, range=True),
        Column("receiver_per_s", "received/s"),
        Column("refused", "refused"),
        Column("sender_late_p99_us", "sender late p99 us", 1),
        Column("cpu_us", "CPU us/msg", 1),
    ),
    "fanout": (
        Column("deliveries_per_s", "deliveries/s", range=True),
        Column("sender_per_s", "publisher msg/s", range=True),
        Column("sender_cpu_us", "CPU us/delivery pub", 3),
        Column("receiver_cpu_us", "subs", 3),
        Column("sender_rss_mb", "RSS MB pub"),
        Column("receiver_rss_mb", "subs"),
    ),
    "connections": (
        Column("connects_per_s", "connects/s", range=True),
        Column("server_bytes", "server B each", range=True),
        Column("client_bytes", "client B each"),
        Column("receiver_cpu_us", "CPU us each server", 1),
        Column("sender_cpu_us", "client", 1),
    ),
    "survey": (
        Column("p50_us", "p50 us", 1, range=True),
        Column("p99_us", "p99 us", 1, range=True),
        Column("max_us", "max us", 1),
        Column("surveys_per_s", "surveys/s"),
        Column("sender_cpu_us", "CPU us/survey ask", 1),
        Column("receiver_cpu_us", "answer", 1),
        Column("sender_rss_mb", "RSS MB ask"),
        Column("receiver_rss_mb", "answer"),
    ),
    "cpu": (
        Column("cpu_us", "CPU s a million", 3, range=True),
        Column("sender_cpu_us", "sender", 3),
        Column("receiver_cpu_us", "receiver", 3),
        Column("broker_cpu_us", "broker", 3),
        Column("receiver_per_s", "receiver msg/s"),
    ),
}
LEADING: dict[str, tuple[str, ...]] = {
    "thr": ("receiver_per_s",),
    "lat": ("p50_us", "p99_us"),
    "rate": ("p99_us", "p99.9_us", "p99.99_us", "max_us"),
    "fanout": ("deliveries_per_s",),
    "connections": ("connects_per_s", "server_bytes"),
    "survey": ("p50_us", "p99_us"),
    "cpu": ("cpu_us",),
}
"""The figures whose ratios are shown."""
SHORT = re.compile(r"_(us|per_s)$")


def number(value: float, digits: int) -> str:
    """For people: thousands apart, large ones in k and M."""
    if abs(value) >= 10_000_000:
        return f"{value / 1e6:,.1f}M"
    if abs(value) >= 1_000_000:
        return f"{value / 1e6:,.2f}M"
    if abs(value) >= 10_000:
        return f"{value / 1e3:,.1f}k"
    return f"{value:,.{digits}f}"


def cell(row: Row, column: Column) -> str:
    """One figure, with its range if the column has it."""
    figure = row["figures"].get(column.figure)
    if figure is None:
        return "-"
    text = number(figure["median"], column.digits)
    if not column.range:
        return text
    low, high = (number(figure[name], column.digits) for name in ("min", "max"))
    return f"{text} ({low} .. {high})"


def label(row: Row) -> str:
    """Which case of a kind it is."""
    size = f"{row['size']:,} B" if "size" in row else ""
    parts = [str(row["load"]) if row.get("load") else size, row["transport"]]
    return " ".join(part for part in parts if part)


def aligned(lines: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Pad cells so that columns stand under each other, some to the left."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return [
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def based_on(rows: Sequence[Row], base: str | None) -> Row | None:
    """The row others are compared with: the named peer's, or the first that was measured."""
    there = [row for row in rows if row["missing"] is None]
    named = [row for row in there if row["peer"] == base]
    return named[0] if base and named else None if base else there[0] if there else None


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns of a case: those of its kind that have figures, and those of each producer."""
    found = [c for c in COLUMNS[rows[0]["kind"]] if any(c.figure in row["figures"] for row in rows)]
    own = dict.fromkeys(name for row in rows for name in row["figures"] if "_us " in name)
    return found + [Column(name, name.replace("_us ", " us "), 1) for name in own]


def table(rows: Sequence[Row], base: str | None = None) -> list[str]:
    """The lines of one case: one row a peer; those that are not there say so below."""
    kind = rows[0]["kind"]
    columns = columns_of(rows)
    compared = based_on(rows, base)
    leading = [name for name in LEADING[kind] if any(name in row["figures"] for row in rows)]
    heads = [f"x {SHORT.sub('', name)}" for name in leading]
    lines = [["peer", *heads, *(column.head for column in columns)]]
    for row in rows:
        if row["missing"] is not None:
            continue
        ratios = [
            None if compared is None else ratio(row["figures"], compared["figures"], name)
            for name in leading
        ]
        shown = ["-" if value is None else f"{value:.2f}" for value in ratios]
        lines.append([row["peer"], *shown, *(cell(row, column) for column in columns)])
    absent = [f"{row['peer']}: not measured: {row['missing']}" for row in rows if row["missing"]]
    beside = f", ratios to {compared['peer']}" if compared else ""
    top = f"{kind} {label(rows[0])}{beside}"
    return [top, *(aligned(lines) if len(lines) > 1 else []), *absent, ""]
