"""Tables for people: what stands in a cell, and over it."""

from __future__ import annotations

from typing import Any

import pytest

from meshmsg.bench.report.table import (
    COLUMNS,
    Column,
    cell,
    columns_of,
    leading_of,
    ratios_of,
    short,
    table,
)
from tests.support.benched import made_row as row

RARE = Column("p99.9999_us", "p99.9999 us", 1)


def heads(rows: list[dict[str, Any]]) -> list[str]:
    """Of the columns of a case."""
    return [column.head for column in columns_of(rows)]


def test_a_rare_percentile_is_that_of_all_rounds_where_one_has_too_few_samples() -> None:
    """Marked; that of rounds is preferred; where all are too few there is none."""
    few = row("a", 1.0, "p99_us", kind="rate", all_rounds={"p99.9999_us": 123.4})
    many = row("b", 50.0, "p99.9999_us", kind="rate", all_rounds={"p99.9999_us": 7.0})
    none = row("c", 1.0, "p99_us", kind="rate", all_rounds={"p99_us": 7.0})
    assert [cell(one, RARE) for one in (few, many, none)] == ["123.4 (all rounds)", "50.0", "-"]
    assert "p99.9999 us" in heads([few, none])
    assert "p99.9999 us" not in heads([none])
    assert "123.4 (all rounds)" in "\n".join(table([few, none]))


def test_rounds_together_have_the_tail_that_none_of_them_has() -> None:
    """A million samples in ten rounds: one in a million of all, and of none."""
    pytest.importorskip("hdrh", reason="hdrhistogram is not installed")
    from meshmsg.bench.measure.hiccups import distribution
    from meshmsg.bench.measure.histogram import figures_of, histogram

    one = [(1000, 99_999), (2000, 1)]
    assert "p99.9999_us" not in figures_of(histogram(one))
    assert "p99.9999_us" in distribution([one] * 10)["all_rounds"]
    assert "p99.9999_us" not in distribution([one] * 9)["all_rounds"]


def test_a_fact_of_the_row_may_be_a_column() -> None:
    """The number of processes of a fanout; it has no range."""
    rows = [row("a", 1.0, "deliveries_per_s", kind="fanout", load="l", processes=3)]
    (column,) = [column for column in columns_of(rows) if column.figure == "processes"]
    assert cell(rows[0], column) == "3"
    assert cell(row("b", 1.0), column) == "-"


def test_over_inproc_cpu_and_memory_are_of_both_ends() -> None:
    """There is one process, whose figures stand where the receiver's are elsewhere."""
    figures = ("receiver_cpu_us", "receiver_rss_mb")
    made = {name: {"median": 1.0, "min": 1.0, "max": 1.0} for name in figures}
    for kind, what in (("thr", "msg"), ("lat", "trip"), ("fanout", "delivery")):
        rows = [row("a", 1.0, kind=kind, transport="inproc", figures=made)]
        assert heads(rows) == [f"CPU us/{what} both ends", "RSS MB both ends"]
        rows[0]["transport"] = "tcp"
        assert "both ends" not in " ".join(heads(rows))


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_head_says_by_itself_what_its_column_is(kind: str) -> None:
    """No two are the same, and none leans on the one before it."""
    own = [column.head for column in COLUMNS[kind]]
    assert len(set(own)) == len(own)
    if kind != "cpu":  # its parts are those of the first column
        assert all(len(head.split()) > 1 or "/s" in head or head in ALONE for head in own)


ALONE = ("refused", "processes")


def test_the_machine_is_no_peer_to_be_compared_with() -> None:
    """Even where it alone was measured."""
    machine = row("machine", 5.0, "p99_us", kind="rate", load="l")
    gone = row("meshmsg", 5.0, "p99_us", kind="rate", load="l", missing="gone")
    assert "ratios" not in table([gone, machine])[0]
    assert "ratios to pyzmq" in table([machine, row("pyzmq", 1.0, "p99_us", kind="rate")])[0]


def test_a_base_that_was_not_measured_is_told() -> None:
    """Instead of dashes without a word."""
    assert table([row("a", 1.0)], "b")[0] == "thr 64 B tcp, no ratios: b was not measured"


def test_a_range_is_shown_where_rounds_differ() -> None:
    """One round has none."""
    one = row("a", 5.0)
    column = COLUMNS["thr"][1]
    assert cell(one, column) == "5"
    one["figures"]["receiver_per_s"]["max"] = 7.0
    assert cell(one, column) == "5 (5 .. 7)"


def test_a_ratio_has_a_name_without_a_unit() -> None:
    """For people."""
    names = ("receiver_per_s", "p99.9_us", "server_bytes", "both_bytes")
    assert [short(name) for name in names] == ["receiver", "p99.9", "server memory", "memory"]


def test_a_ratio_of_a_rare_percentile_is_that_of_all_rounds() -> None:
    """As a target takes it: of each side what it has."""
    rows = [
        row(peer, 1.0, "p99_us", kind="rate", load="l", all_rounds={"p99.99_us": value})
        for peer, value in (("a", 100.0), ("b", 300.0))
    ]
    rows.append(row("machine", 1.0, "p99_us", kind="rate", load="l"))
    assert leading_of(rows) == ["p99_us", "p99.99_us"]
    assert ratios_of(rows[1], rows[0], leading_of(rows)) == ["1.00", "3.00"]
    assert ratios_of(rows[2], rows[0], leading_of(rows)) == ["1.00", "-"]
    assert ratios_of(rows[1], None, ["p99_us"]) == ["-"]
