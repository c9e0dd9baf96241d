"""Rows as text for people: aligned columns, medians with their range, the ratio to one peer.

A percentile for which each round has too few samples is that of all rounds together, and says so;
where those are too few, too, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..measure.rounds import MACHINE, Row
from ..measure.stats import ratio


@dataclass(frozen=True)
class Column:
    """One column: of which figure (or, lacking that, fact of the row), under what name."""

    figure: str
    head: str
    digits: int = 0
    range: bool = False
    """Whether least and most are shown, too."""

    def is_in(self, row: Row) -> bool:
        """Whether the row has it."""
        known = (row["figures"], row.get("all_rounds", {}), row)
        return any(self.figure in one for one in known)


COLUMNS: dict[str, tuple[Column, ...]] = {
    "thr": (
        Column("sender_per_s", "sender msg/s", range=True),
        Column("receiver_per_s", "receiver msg/s", range=True),
        Column("mb_per_s", "MB/s"),
        Column("sender_cpu_us", "CPU us/msg sender", 3),
        Column("receiver_cpu_us", "CPU us/msg receiver", 3),
        Column("broker_cpu_us", "CPU us/msg broker", 3),
        Column("sender_rss_mb", "RSS MB sender"),
        Column("receiver_rss_mb", "RSS MB receiver"),
        Column("broker_rss_mb", "RSS MB broker"),
    ),
    "lat": (
        Column("p50_us", "p50 us", 1, range=True),
        Column("p99_us", "p99 us", 1, range=True),
        Column("p99.9_us", "p99.9 us", 1),
        Column("max_us", "max us", 1),
        Column("sender_cpu_us", "CPU us/trip asker", 1),
        Column("receiver_cpu_us", "CPU us/trip answerer", 1),
        Column("sender_rss_mb", "RSS MB asker"),
        Column("receiver_rss_mb", "RSS MB answerer"),
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
        Column("sender_late_p99.99_us", "sender late p99.99 us", 1),
        Column("sender_late_max_us", "sender late max us", 1),
        Column("receiver_cpu_us", "CPU us/msg receiver", 1),
        Column("broker_cpu_us", "CPU us/msg broker", 1),
    ),
    "fanout": (
        Column("deliveries_per_s", "deliveries/s", range=True),
        Column("sender_per_s", "publisher msg/s", range=True),
        Column("processes", "processes"),
        Column("sender_cpu_us", "CPU us/delivery publisher", 3),
        Column("receiver_cpu_us", "CPU us/delivery subscribers", 3),
        Column("sender_rss_mb", "RSS MB publisher"),
        Column("receiver_rss_mb", "RSS MB subscribers"),
    ),
    "connections": (
        Column("connects_per_s", "connects/s", range=True),
        Column("server_bytes", "server B each", range=True),
        Column("client_bytes", "client B each"),
        Column("both_bytes", "B each, both ends", range=True),
        Column("receiver_cpu_us", "CPU us each, server", 1),
        Column("sender_cpu_us", "CPU us each, client", 1),
        Column("cpu_us", "CPU us each", 1),
    ),
    "survey": (
        Column("p50_us", "p50 us", 1, range=True),
        Column("p99_us", "p99 us", 1, range=True),
        Column("max_us", "max us", 1),
        Column("surveys_per_s", "surveys/s"),
        Column("processes", "processes"),
        Column("sender_cpu_us", "CPU us/survey surveyor", 1),
        Column("receiver_cpu_us", "CPU us/survey respondents", 1),
        Column("sender_rss_mb", "RSS MB surveyor"),
        Column("receiver_rss_mb", "RSS MB respondents"),
    ),
    "credits": (
        Column("held_up", "held up by the slow", range=True),
        Column("late_ms", "slow ends later, ms", 1, range=True),
        Column("slow_share", "share of the slow", 3),
        Column("done_per_s", "done/s", range=True),
        Column("of_possible", "of what is possible", 2),
    ),
    "unacked": (
        Column("held", "messages held", range=True),
        Column("message_bytes", "B each", 1, range=True),
        Column("sender_mb", "RSS MB", 1, range=True),
        Column("of_limits", "of the limits", 2, range=True),
    ),
    "append": (
        Column("p50_us", "p50 us", 1, range=True),
        Column("p99_us", "p99 us", 1, range=True),
        Column("messages_per_s", "msg/s", range=True),
        Column("mb_per_s", "MB/s", range=True),
        Column("t_sync_us", "T_sync us", 1, range=True),
        Column("cpu_us", "CPU us/msg", 3),
        Column("rss_mb", "RSS MB"),
    ),
    "source": (Column("messages_per_s", "msg/s", range=True), Column("mb_per_s", "MB/s")),
    "replay": (
        Column("messages_per_s", "msg/s", range=True),
        Column("mb_per_s", "MB/s", range=True),
        Column("t_sync_us", "T_sync us", 1, range=True),
        Column("cpu_us", "CPU us/msg", 3),
        Column("rss_mb", "RSS MB"),
    ),
    "trigger": (
        Column("p50_ms", "latency p50, ms", 1, range=True),
        Column("p99_ms", "latency p99, ms", 1, range=True),
        Column("trigger_ms", "a trigger, ms", 1, range=True),
        Column("latest_ms", "its latest offset", 1),
        Column("planning_ms", "its planning", 1),
        Column("wal_ms", "its log", 1),
        Column("batch_ms", "its batch", 1),
        Column("commit_ms", "its commit", 1),
        Column("idle_ms", "idle trigger, ms", 1, range=True),
        Column("driver_ms", "planning of 100, ms", 1, range=True),
    ),
    "opening": (
        Column("open_ms", "open ms", 1, range=True),
        Column("cold_ms", "from the disk, ms", 1, range=True),
        Column("t_sync_us", "T_sync us", 1, range=True),
    ),
    "backlog": (
        Column("rate_ratio", "msg/s, long / short", 3, range=True),
        Column("memory_ratio", "memory, long / short", 3, range=True),
        Column("put_ratio", "put/s, long / short", 3, range=True),
        Column("long_per_s", "msg/s, long"),
        Column("short_per_s", "msg/s, short"),
        Column("long_mb", "MB more, long", 1, range=True),
        Column("short_mb", "MB more, short", 1, range=True),
        Column("long_receiver_mb", "receiver, long", 1),
        Column("short_receiver_mb", "receiver, short", 1),
        Column("long_cpu_us", "CPU us/msg, long", 3),
        Column("short_cpu_us", "CPU us/msg, short", 3),
        Column("t_sync_us", "T_sync us", 1, range=True),
    ),
    "mesh": (
        Column("join_ms", "all see it join, ms", range=True),
        Column("sees_ms", "it sees all, ms", range=True),
        Column("crash_first_ms", "one knows it died, ms", 1, range=True),
        Column("crash_ms", "all know, ms", range=True),
        Column("idle_percent", "CPU idle, %", 2, range=True),
        Column("servers_percent", "of the servers, %", 2),
    ),
    "beside": (
        Column("known", "members known", range=True),
        Column("own_percent", "CPU of the mesh, %", 2, range=True),
        Column("bare_per_s", "msg/s, not imported", range=True),
        Column("bare_cpu_us", "CPU us/msg", 3, range=True),
        Column("bare_p50_us", "p50 us", 1, range=True),
        Column("bare_p99_us", "p99 us", 1, range=True),
        Column("bare_trip_cpu_us", "CPU us/trip", 1, range=True),
    ),
    "slow": (
        Column("p50_ratio", "p50, beside / alone", 3, range=True),
        Column("p99_ratio", "p99, beside / alone", 3, range=True),
        Column("alone_p50_us", "p50 us, alone", 1),
        Column("alone_p99_us", "p99 us, alone", 1, range=True),
        Column("beside_p99_us", "p99 us, beside", 1, range=True),
        Column("dropped", "dropped of the slow"),
        Column("beside_lost", "of the others"),
    ),
    "rest": (
        Column("idle_percent", "CPU idle, %", 2, range=True),
        Column("messages_per_s", "msg/s, in and out", 1),
        Column("connections_per_s", "new connections/s", 1),
        Column("suspects", "false suspects"),
    ),
    "cpu": (
        Column("cpu_us", "CPU s a million", 3, range=True),
        Column("sender_cpu_us", "sender", 3),
        Column("receiver_cpu_us", "receiver", 3),
        Column("broker_cpu_us", "broker", 3),
        Column("receiver_per_s", "receiver msg/s"),
    ),
}
COLUMNS["acked"] = COLUMNS["thr"]
COLUMNS["sink"] = COLUMNS["items"] = COLUMNS["source"]
COLUMNS["spooled"] = (*COLUMNS["thr"], Column("t_sync_us", "T_sync us", 1, range=True))
LEADING: dict[str, tuple[str, ...]] = {
    "thr": ("receiver_per_s",),
    "acked": ("receiver_per_s",),
    "lat": ("p50_us", "p99_us"),
    "rate": ("p99_us", "p99.9_us", "p99.99_us", "max_us"),
    "fanout": ("deliveries_per_s",),
    "connections": ("connects_per_s", "server_bytes", "both_bytes"),
    "survey": ("p50_us", "p99_us"),
    "credits": ("held_up", "done_per_s"),
    "unacked": ("sender_mb",),
    "append": ("p50_us", "messages_per_s", "mb_per_s"),
    "spooled": ("receiver_per_s",),
    "replay": ("messages_per_s",),
    "source": ("messages_per_s",),
    "sink": ("messages_per_s",),
    "items": ("messages_per_s",),
    "trigger": ("p50_ms", "p99_ms", "trigger_ms", "idle_ms"),
    "opening": ("open_ms", "cold_ms"),
    "backlog": (),
    "mesh": ("join_ms", "crash_ms"),
    "beside": (),
    "slow": (),
    "rest": ("idle_percent",),
    "cpu": ("cpu_us",),
}
"""The figures whose ratios are shown."""
ONE_PROCESS = re.compile(r"(receiver|answerer|subscribers|respondents)$")
"""Heads of what is, over inproc, of the one process there is."""
UNIT = re.compile(r"_(us|per_s)$")


def short(figure: str) -> str:
    """A figure's name over a ratio, which has no unit."""
    return UNIT.sub("", figure).replace("_bytes", " memory").replace("both ", "")


def all_known(row: Row) -> dict[str, Any]:
    """Its figures, and those that only all rounds together have."""
    together = {name: {"median": value} for name, value in row.get("all_rounds", {}).items()}
    return {**together, **row["figures"]}


def leading_of(rows: Sequence[Row]) -> list[str]:
    """The figures of a case whose ratios are shown."""
    return [name for name in LEADING[rows[0]["kind"]] if any(name in all_known(r) for r in rows)]


def ratios_of(row: Row, compared: Row | None, leading: Sequence[str]) -> list[str]:
    """To the row it is compared with, for people."""
    found = [
        None if compared is None else ratio(all_known(row), all_known(compared), name)
        for name in leading
    ]
    return ["-" if value is None else f"{value:.2f}" for value in found]


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
        alone = row.get(column.figure)
        if alone is not None:
            return number(alone, column.digits)
        together = row.get("all_rounds", {}).get(column.figure)
        return "-" if together is None else f"{number(together, column.digits)} (all rounds)"
    text = number(figure["median"], column.digits)
    if not column.range or figure["min"] == figure["max"]:
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
    there = [row for row in rows if row["missing"] is None and row["peer"] != MACHINE]
    named = [row for row in there if row["peer"] == base]
    return named[0] if base and named else None if base else there[0] if there else None


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns of a case: those of its kind that have figures, and those of each producer."""
    found = [c for c in COLUMNS[rows[0]["kind"]] if any(map(c.is_in, rows))]
    if rows[0]["transport"] == "inproc":
        found = [replace(c, head=ONE_PROCESS.sub("both ends", c.head)) for c in found]
    own = dict.fromkeys(name for row in rows for name in row["figures"] if "_us " in name)
    return found + [Column(name, name.replace("_us ", " us "), 1) for name in own]


def table(rows: Sequence[Row], base: str | None = None) -> list[str]:
    """The lines of one case: one row a peer; those that are not there say so below."""
    kind = rows[0]["kind"]
    columns = columns_of(rows)
    compared = based_on(rows, base)
    leading = leading_of(rows)
    heads = [f"x {short(name)}" for name in leading]
    lines = [["peer", *heads, *(column.head for column in columns)]]
    for row in rows:
        if row["missing"] is not None:
            continue
        shown = ratios_of(row, compared, leading)
        lines.append([row["peer"], *shown, *(cell(row, column) for column in columns)])
    absent = [f"{row['peer']}: not measured: {row['missing']}" for row in rows if row["missing"]]
    beside = f", no ratios: {base} was not measured" if base else ""
    if compared:
        beside = f", ratios to {compared['peer']}"
    top = f"{kind} {label(rows[0])}{beside}"
    return [top, *(aligned(lines) if len(lines) > 1 else []), *absent, ""]
