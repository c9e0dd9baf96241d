"""The report: one HTML file with everything in it, charts as inline SVG, tables, machine facts."""

from __future__ import annotations

import html as escaping
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..measure.rounds import MACHINE, Row
from . import charts
from .table import based_on, cell, columns_of, label, leading_of, ratios_of, short

CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; max-width: 1060px;
       margin: 2.5em auto; padding: 0 1.2em; }
h1 { font-size: 1.7em; margin-bottom: .2em; } h2 { font-size: 1.25em; margin-top: 2.2em; }
h2.record { font-size: 1.5em; border-top: 2px solid #c9d0d7; margin-top: 2.5em; padding-top: .6em; }
h3 { font-size: 1em; margin: 1.8em 0 .3em; } p { max-width: 46em; }
svg { width: 100%; height: auto; } .note, .missing { color: #5d6b79; font-size: .9em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85em; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25em .55em; vertical-align: top; white-space: nowrap;
         border-bottom: 1px solid #e3e6ea; }
th { color: #5d6b79; font-weight: 600; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; } tr:first-child td { border-top: 0; }
td.peer { font-weight: 600; } .range { color: #8794a1; font-size: .85em; }
.targets td:nth-child(2), .targets th:nth-child(2) { text-align: left; }
td.met { color: #1c7a3c; } td.missed { color: #b3261e; font-weight: 600; }
.facts td { text-align: left; border: 0; padding: .1em 1em .1em 0; }
.facts td:first-child { color: #5d6b79; }
"""
HOW = """Sender and receiver are processes of their own (threads for inproc); peers take turns round
by round, the first round is thrown away, and figures are medians with least and most of the others.
Nothing counts as sent before it was received. At a fixed rate "machine" is a process that only
watches the schedule: how late the machine is by itself. Absolute figures drift with the machine:
compare within one run only."""
TITLES = {
    "thr": "Throughput",
    "lat": "Latency of requests",
    "rate": "Latency at a fixed rate",
    "fanout": "Fanout",
    "connections": "Connections",
    "survey": "Surveys",
    "acked": "Throughput, acknowledged",
    "credits": "A slow worker among others",
    "unacked": "Memory of what is not acknowledged",
    "append": "Keeping on the disk",
    "spooled": "Throughput, kept by the sender",
    "replay": "Reading a full spool",
    "source": "Reading into Spark",
    "sink": "Writing out of Spark",
    "items": "Work items of Spark's tasks",
    "trigger": "Streams of few messages into Spark",
    "opening": "Opening after a kill",
    "backlog": "A long backlog beside a short one",
    "cpu": "CPU time",
}


COUNTED = {"connections": "connections", "fanout": "subscribers", "survey": "respondents"}
"""What the number at the end of a load is of."""


def text(value: object) -> str:
    """For a page."""
    return escaping.escape(str(value))


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows with the same key together, in the order in which keys come first."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def case_of(row: Row) -> str:
    """Which case of its kind a row is of, for people."""
    what = COUNTED.get(row["kind"])
    return label({**row, "load": f"{row.get('load', '')} {what}"} if what else row)


def measured(rows: Iterable[Row]) -> list[Row]:
    """Those that have figures."""
    return [row for row in rows if row["missing"] is None]


def table_html(rows: Sequence[Row], base: str | None) -> str:
    """One case: a row a peer, and who was not measured."""
    columns = columns_of(rows)
    leading = leading_of(rows)
    compared = based_on(rows, base)
    to = compared["peer"] if compared else "-"
    heads = ["peer", *(f"{short(name)} ÷ {to}" for name in leading)]
    lines = [f"<tr>{''.join(f'<th>{text(h)}</th>' for h in (*heads, *(c.head for c in columns)))}"]
    for row in measured(rows):
        cells = [f'<td class="peer">{text(row["peer"])}</td>']
        cells += [f"<td>{value}</td>" for value in ratios_of(row, compared, leading)]
        for column in columns:
            shown, _, range_ = cell(row, column).partition(" (")
            small = f'<br><span class="range">{text(range_[:-1])}</span>' if range_ else ""
            cells.append(f"<td>{text(shown)}{small}</td>")
        lines.append(f"<tr>{''.join(cells)}")
    absent = [row for row in rows if row["missing"] is not None]
    gone = "; ".join(f"{text(row['peer'])}: {text(row['missing'])}" for row in absent)
    note = f'<p class="missing">Not measured: {gone}.</p>' if gone else ""
    return f'<div class="wide"><table>{"".join(lines)}</table></div>{note}'


def chart(draw: charts.Draw, rows: Sequence[Row], title: str) -> str:
    """A chart under its heading; nothing without rows."""
    there = measured(rows)
    return f"<h3>{text(title)}</h3>{charts.svg(draw, there)}" if there else ""


def throughput_charts(rows: Sequence[Row]) -> str:
    """By size, where there are several; else both ends' rates; and what it cost."""
    parts = []
    for transport, own in grouped(rows, lambda row: row["transport"]).items():
        sizes = {row["size"] for row in own}
        if len(sizes) > 1:
            title = f"Messages received a second, by size, {transport}"
            parts.append(chart(charts.throughput_by_size, own, title))
        for size, same in grouped(own, lambda row: row["size"]).items():
            named = f"{charts.bytes_of(size)}, {transport}"
            if len(sizes) == 1:
                parts.append(chart(charts.rates, same, f"Rates of both ends, {named}"))
            title = f"CPU per million messages, {named}"
            parts.append(chart(charts.cpu, same, title))
    return "".join(parts)


def latency_charts(rows: Sequence[Row]) -> str:
    """Distributions, and latency over bursts where there are several."""
    parts = []
    loads = [row for row in rows if "burst" in row and row["peer"] != MACHINE]
    if len({row["burst"] for row in loads}) > 1:
        for transport, own in grouped(loads, lambda row: row["transport"]).items():
            title = f"Latency against backlog, {transport}"
            parts.append(chart(charts.against_backlog, own, title))
    for name, own in grouped(rows, case_of).items():
        parts.append(chart(charts.distributions, own, f"Latency distribution, {name}"))
    return "".join(parts)


def fanout_charts(rows: Sequence[Row]) -> str:
    """Deliveries by subscribers."""
    parts = []
    for key, own in grouped(rows, lambda row: (row["size"], row["transport"])).items():
        title = f"Deliveries a second, {charts.bytes_of(key[0])}, {key[1]}"
        parts.append(chart(charts.deliveries, own, title))
    return "".join(parts)


def cpu_charts(rows: Sequence[Row]) -> str:
    """Bars."""
    groups = grouped(rows, case_of).items()
    return "".join(chart(charts.cpu, own, f"CPU per million messages, {n}") for n, own in groups)


CHARTS: dict[str, Callable[[Sequence[Row]], str]] = {
    "thr": throughput_charts,
    "acked": throughput_charts,
    "spooled": throughput_charts,
    "lat": latency_charts,
    "rate": latency_charts,
    "fanout": fanout_charts,
    "survey": latency_charts,
    "cpu": cpu_charts,
}


def section(kind: str, rows: Sequence[Row], base: str | None) -> str:
    """All of one kind."""
    charts = CHARTS[kind](rows) if kind in CHARTS else ""
    tables = "".join(
        f"<h3>{text(name)}</h3>{table_html(own, base)}"
        for name, own in grouped(rows, case_of).items()
    )
    return f"<h2>{text(TITLES.get(kind, kind))}</h2>{charts}{tables}"


def known_of(record: dict[str, Any]) -> dict[str, str]:
    """Machine, system, versions, by the name they are told under."""
    peers = [row for row in record["rows"] if row["missing"] is None and row["peer"] != MACHINE]
    told = {**record["facts"], **{row["peer"]: row["version"] for row in peers if row["version"]}}
    told["seed"] = record["options"].get("seed", "")
    return {name.replace("_", " "): str(value) for name, value in told.items() if value != ""}


def facts_html(records: Sequence[dict[str, Any]]) -> str:
    """Where it was measured: what is the same of all records, then a row each for what differs."""
    known = [known_of(record) for record in records]
    names = dict.fromkeys(name for one in known for name in one)
    differ = [name for name in names if len({one.get(name) for one in known}) > 1]
    same = "".join(
        f"<tr><td>{text(name)}</td><td>{text(known[0][name])}</td></tr>"
        for name in names
        if name not in differ
    )
    parts = [f'<table class="facts">{same}</table>']
    if differ:
        lines = ["".join(f"<th>{text(name)}</th>" for name in ("", *differ))]
        for record, one in zip(records, known, strict=True):
            cells = (name_of(record), *(one.get(name, "-") for name in differ))
            lines.append("".join(f"<td>{text(cell)}</td>" for cell in cells))
        rows = "".join(f"<tr>{line}</tr>" for line in lines)
        parts.append(f'<div class="wide"><table>{rows}</table></div>')
    return f"<h2>Where this was measured</h2>{''.join(parts)}"


def targets_html(found: Sequence[dict[str, Any]]) -> str:
    """What was promised beside what was measured."""
    lines = ["<tr><th></th><th>target</th><th>must be</th><th>measured</th><th></th></tr>"]
    for one in found:
        value = "-" if one["measured"] is None else f"{one['measured']:,.2f}"
        verdict = "met" if one["met"] else one["reason"] if one["met"] is None else "missed"
        kind = {True: "met", False: "missed", None: "missing"}[one["met"]]
        cells = [one["number"], one["what"], one["must"], value]
        lines.append(
            f"<tr>{''.join(f'<td>{text(c)}</td>' for c in cells)}"
            f'<td class="{kind}">{text(verdict)}</td></tr>'
        )
    return (
        f'<h2>Targets</h2><div class="wide"><table class="targets">{"".join(lines)}</table></div>'
    )


def name_of(record: dict[str, Any]) -> str:
    """Its title; without one, when it was made."""
    when = str(record["facts"].get("time", ""))[:16].replace("T", " ")
    return record.get("title") or f"Measured {when} UTC"


def record_html(record: dict[str, Any], *, alone: bool) -> str:
    """What stands in a record; beside others under its own name."""
    parts = [] if alone else [f'<h2 class="record">{text(name_of(record))}</h2>']
    if record.get("text"):
        parts.append(f"<p>{text(record['text'])}</p>")
    if record.get("targets"):
        parts.append(targets_html(record["targets"]))
    base = record["options"].get("base")
    for kind, rows in grouped(record["rows"], lambda row: row["kind"]).items():
        parts.append(section(kind, rows, base))
    return "".join(parts)


def html(records: Sequence[dict[str, Any]]) -> str:
    """The page of one or more records; several have the title that all of them have, if any."""
    titles = {record.get("title") or "" for record in records}
    title = titles.pop() if len(titles) == 1 else ""
    title = title or "Measurements of meshmsg and others"
    alone = len(records) == 1
    parts = [record_html(record, alone=alone) for record in records]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{text(title)}</title>'
        f"<style>{CSS}</style></head><body><h1>{text(title)}</h1>"
        f'<p class="note">{HOW}</p>{"".join(parts)}{facts_html(records)}</body></html>\n'
    )
