"""The table of targets as docs/performance.md has it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

SIGNS = {">=": "≥", "<=": "≤"}


def header(facts: dict[str, Any], chosen: argparse.Namespace) -> str:
    """Where, when and how it was measured: one line."""
    cores = f"{facts['cores']} core{'s' if facts['cores'] != 1 else ''}"
    return (
        f"This table: {facts['time'][:10]}, {facts['processor']}, {cores}, "
        f"Linux {facts['kernel']}, Python {facts['python']}, "
        f"TCP congestion control {facts['tcp_congestion_control'] or 'unknown'}, "
        f"{chosen.rounds} round{'s' if chosen.rounds != 1 else ''} of {chosen.seconds:g} s "
        f"(surveys: {chosen.survey_rounds} of {chosen.surveys:,}; "
        f"fixed rates: {chosen.rate_rounds} of {chosen.rate_seconds:g} s), "
        f"load {facts['load_1_min']} at the beginning{disturbed(facts)}."
    )


def disturbed(facts: dict[str, Any]) -> str:
    """What the host of the machine took away, as far as it mattered."""
    again, kept = facts.get("rounds_again", 0), facts.get("rounds_disturbed", 0)
    if not again + kept:
        return ""
    return f"; the host disturbed {again + kept} rounds, of which {again} were measured again"


def line(one: dict[str, Any]) -> str:
    """One target."""
    sign, _, bound = one["must"].partition(" ")
    measured = "-" if one["measured"] is None else f"{one['measured']:,.2f}"
    verdict = {True: "met", False: "**missed**", None: one["reason"]}[one["met"]]
    cells = (one["number"], one["what"], f"{SIGNS[sign]} {bound}", measured, verdict)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def markdown(
    found: Sequence[dict[str, Any]], facts: dict[str, Any], chosen: argparse.Namespace
) -> str:
    """The header, the table, and how many are met."""
    met = sum(one["met"] is True for one in found)
    absent = sum(one["met"] is None for one in found)
    count = f"{met} of {len(found)} are met" + (f", {absent} not judged." if absent else ".")
    head = ["| # | what | must reach | measured | |", "|---|---|---|---|---|"]
    return "\n".join([header(facts, chosen), "", *head, *map(line, found), "", count, ""])
