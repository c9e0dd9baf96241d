"""Records and reports: what they hold, that a page loads nothing, and that charts are drawn."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.facts import facts
from meshmsg.bench.base.need import BenchError, is_there
from meshmsg.bench.commands.report import record_in
from meshmsg.bench.peers.roster import PEERS
from tests.support.benched import bench

DRAWS = pytest.mark.skipif(not is_there("matplotlib"), reason="matplotlib is not installed")
KEEPS = pytest.mark.leaves_threads  # matplotlib keeps its fonts open
ROW_KEYS = {"kind", "peer", "version", "transport", "rounds", "missing", "figures", "each_round"}


def row(kind: str, peer: str, **more: Any) -> dict[str, Any]:
    """A row as a command makes it."""
    names = {
        "thr": ("sender_per_s", "receiver_per_s", "mb_per_s", "sender_cpu_us", "receiver_cpu_us"),
        "lat": ("p50_us", "p99_us", "max_us"),
        "rate": ("p50_us", "p99_us", "max_us"),
        "fanout": ("deliveries_per_s", "sender_per_s"),
        "connections": ("connects_per_s", "server_bytes"),
        "survey": ("p50_us", "p99_us", "max_us", "surveys_per_s"),
        "cpu": ("cpu_us", "sender_cpu_us", "receiver_cpu_us", "broker_cpu_us"),
    }[kind]
    figures = {name: {"median": 20.0, "min": 10.0, "max": 30.0} for name in (*names, "cpu_us")}
    return {
        "kind": kind, "peer": peer, "version": "1.0", "transport": "tcp", "size": 64, "rounds": 5,
        "missing": None, "figures": figures, "each_round": [], **more,
    }  # fmt: skip


def record(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A record as a command writes it."""
    return {
        "schema": 1,
        "title": "A <title>",
        "text": "Some & text.",
        "facts": facts(),
        "options": {"seed": 7, "base": None},
        "rows": list(rows),
        **more,
    }


class Page(HTMLParser):
    """What is in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note elements, and what they would load."""
        self.tags.append(tag)
        links = {"src", "href", "xlink:href"}
        self.loads += [v for k, v in attrs if k in links and v and not v.startswith("#")]

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.words.append(data.strip())


@DRAWS
@KEEPS
def test_a_report_holds_charts_tables_and_facts_and_loads_nothing() -> None:
    """One page for all kinds."""
    from meshmsg.bench.report.page import html

    late = [(1000, 90), (2000, 9), (9000, 1)]
    rows = [
        *(row("thr", peer, size=size) for size in (64, 1024) for peer in ("meshmsg", "pyzmq")),
        *(row("thr", peer, transport="ipc") for peer in ("meshmsg", "raw-c")),
        *(row("lat", peer, latency_ns=late) for peer in ("meshmsg", "raw-c")),
        *(row("rate", "meshmsg", load=f"bursts of {b}", burst=b, latency_ns=late) for b in (1, 10)),
        *(row("fanout", "pyzmq", load=f"to {n}", subscribers=n) for n in (1, 10)),
        row("connections", "meshmsg", load="1,000"),
        row("cpu", "redis"),
        *(row("survey", peer, load="64 B to 10", latency_ns=late) for peer in ("nanomsg", "pynng")),
    ]
    missing = row("thr", "zenoh", missing="not <installed>", figures={})
    page = Page(html([record(*rows, missing)]))
    assert page.tags.count("svg") >= 12
    assert page.tags.count("table") >= 9
    assert page.loads == []
    assert "script" not in page.tags
    assert {"A <title>", "Some & text.", "Throughput", "seed", "7"} <= set(page.words)
    assert {"Surveys", "Latency distribution, 64 B to 10 respondents tcp"} <= set(page.words)
    assert "1,000 connections tcp" in page.words
    assert "Latency against backlog, tcp" in page.words
    assert "Latency distribution, 64 B tcp" in page.words
    assert "tcp congestion control" in page.words
    assert any("zenoh: not <installed>" in words for words in page.words)


@DRAWS
@KEEPS
def test_a_report_shows_targets() -> None:
    """Met, missed, and not measured."""
    from meshmsg.bench.report.page import html

    found = [
        {
            "number": "P1",
            "what": "w",
            "must": ">= 2",
            "measured": value,
            "met": met,
            "reason": "why",
        }
        for value, met in ((3.0, True), (1.0, False), (None, None))
    ]
    page = Page(html([record(row("cpu", "meshmsg"), targets=found)]))
    assert {"met", "missed", "why", "3.00"} <= set(page.words)


@DRAWS
@KEEPS
def test_nothing_measured_is_a_report_without_charts() -> None:
    """And no error."""
    from meshmsg.bench.report.page import html

    rows = [
        row(kind, "zenoh", missing="not there", figures={}, latency_ns=[])
        for kind in ("thr", "lat", "rate", "cpu", "connections")
    ]
    page = Page(html([record(*rows)]))
    assert "svg" not in page.tags


def test_a_distribution_becomes_points_of_growing_rarity() -> None:
    """One in a hundred is at 100."""
    from meshmsg.bench.report.charts import tail

    rare, late = tail([(1000, 90), (2000, 9), (9000, 1)])
    assert rare == pytest.approx([1, 10, 10, 100, 100, 100])
    assert late == [1, 1, 2, 2, 9, 9]


def test_axes_are_labelled_in_units_people_read() -> None:
    """Sizes, times, counts."""
    from meshmsg.bench.report import charts

    assert [charts.bytes_of(v) for v in (64, 1024, 1 << 20)] == ["64 B", "1 KiB", "1 MiB"]
    assert [charts.seconds(v) for v in (0.5, 10, 5000, 2e6)] == ["0.5 µs", "10 µs", "5 ms", "2 s"]
    assert [charts.short(v) for v in (5, 20_000, 1.5e6, 2e9)] == ["5", "20k", "1.5M", "2G"]


def test_a_record_holds_machine_versions_options_and_rows(tmp_path: Path) -> None:
    """In the form its schema number stands for; the report command takes it."""
    out = tmp_path / "r.json"
    done = bench("thr", "--transport", "tcp", "--size", "8", "--count", "50", "--rounds", "1",
                 "--seed", "3", "--peer", "meshmsg,raw-c-spin", "--json", str(out))  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = record_in(str(out))
    assert set(found) == {"schema", "title", "text", "facts", "options", "rows"}
    assert found["options"]["seed"] == 3
    assert found["options"]["peer"] == ["meshmsg", "raw-c-spin"]
    told = found["facts"]
    for name in ("processor", "cores", "memory_gib", "kernel", "python", "tcp_congestion_control"):
        assert told[name], name
    measured, missing = found["rows"]
    assert set(measured) >= ROW_KEYS
    assert set(missing) >= ROW_KEYS
    assert missing["missing"] == "has no thr"
    for figure in measured["figures"].values():
        assert set(figure) == {"median", "min", "max"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 99}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    """With its name."""
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(BenchError, match=r"x\.json"):
        record_in(str(path))
    with pytest.raises(BenchError, match="none"):
        record_in(str(tmp_path / "none"))


@DRAWS
@KEEPS
def test_a_step_of_several_producers_beside_one_with_bursts_is_drawn() -> None:
    """Only what has a burst is drawn against it; the machine has no backlog."""
    from meshmsg.bench.report.page import html

    late = [(1000, 90), (9000, 1)]
    rows = [
        row("rate", "meshmsg", load="several", latency_ns=late),
        *(row("rate", "pyzmq", load=f"b{b}", burst=b, latency_ns=late) for b in (1, 10)),
        *(row("rate", "machine", load=f"b{b}", burst=b, latency_ns=late) for b in (1, 10)),
    ]
    page = Page(html([record(*rows)]))
    assert "Latency against backlog, tcp" in page.words
    assert page.tags.count("svg") == 4
    alone = Page(html([record(*rows[:2], *rows[3:4])]))
    assert "Latency against backlog, tcp" not in alone.words


@DRAWS
@KEEPS
def test_several_records_keep_their_names_and_their_facts() -> None:
    """The page is named after none of them, unless all have one name."""
    from meshmsg.bench.report.page import html

    two = [record(row("cpu", "meshmsg"), title=title) for title in ("First", "")]
    two[0]["facts"] = {**two[0]["facts"], "time": "2026-01-02T03:04:05+00:00", "kernel": "6.1"}
    two[1]["facts"] = {**two[1]["facts"], "time": "2026-01-03T03:04:05+00:00", "kernel": "6.2"}
    page = Page(html(two))
    heading = page.words.index("Measurements of meshmsg and others")
    assert heading < page.words.index("First") < page.words.index("Measured 2026-01-03 03:04 UTC")
    assert {"6.1", "6.2"} <= set(page.words)
    assert page.words.count("processor") == 1
    assert page.tags.count("h1") == 1
    same = Page(html([record(row("cpu", "meshmsg"), title="One") for _ in range(2)]))
    assert same.words.count("Measurements of meshmsg and others") == 0


def test_the_machine_of_a_rate_does_not_hide_the_machine_it_is() -> None:
    """A row's name is that of a fact, too."""
    from meshmsg.bench.report.page import known_of

    late = [(1000, 90)]
    made = record(row("rate", "machine", version="", latency_ns=late), row("cpu", "meshmsg"))
    assert known_of(made)["machine"] == facts()["machine"]
    assert known_of(made)["meshmsg"] == "1.0"


def test_every_peer_has_a_colour_of_its_own() -> None:
    """Else two lines of a chart look the same."""
    from meshmsg.bench.report import charts

    colours = [charts.colour(name) for name in (*PEERS, "machine")]
    assert charts.OTHER not in colours
    assert len(set(colours)) == len(colours)


def whole() -> dict[str, Any]:
    """A record of which nothing is missing."""
    return record(row("thr", "meshmsg"), row("rate", "pyzmq", latency_ns=[[1, 1]]))


def test_a_whole_record_is_taken(tmp_path: Path) -> None:
    """So that the refusals below have one reason."""
    path = tmp_path / "x.json"
    told = whole()
    path.write_text(json.dumps(told))
    assert record_in(str(path)) == told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda told: told.pop("rows"), "it has no rows"),
        (lambda told: told.pop("facts"), "it has no facts"),
        (lambda told: told.pop("options"), "it has no options"),
        (lambda told: told.update(rows={}), "it has no rows"),
        (lambda told: told["rows"].insert(0, 7), "row 1 has no kind"),
        (lambda told: told["rows"][1].pop("figures"), "row 2 has no figures"),
        (lambda told: told["rows"][1].pop("latency_ns"), "row 2 has no latency_ns"),
        (lambda told: told["rows"][0]["figures"].clear(), "row 1 has no sender_per_s"),
        (lambda told: told["rows"][0].update(kind="new"), "row 1 is of the kind 'new'"),
    ],
)
def test_a_record_that_was_cut_is_a_sentence(tmp_path: Path, change: Any, words: str) -> None:
    """Which names what is not there."""
    told = whole()
    change(told)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(told))
    with pytest.raises(BenchError, match=words):
        record_in(str(path))


def test_a_record_with_nothing_but_its_number_is_a_sentence(tmp_path: Path) -> None:
    """As the command says it."""
    path = tmp_path / "x.json"
    path.write_text('{"schema": 1}')
    done = bench("report", str(path), "-o", str(tmp_path / "out.html"))
    assert done.returncode == 1
    assert "it has no facts" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.html").exists()


@DRAWS
@KEEPS
def test_the_report_command_writes_a_page(tmp_path: Path) -> None:
    """From several records."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(json.dumps(record(row("cpu", "meshmsg"), title=name)))
    out = tmp_path / "r.html"
    done = bench("report", str(tmp_path / "a"), str(tmp_path / "b"), "-o", str(out))
    assert done.returncode == 0, done.stderr
    page = Page(out.read_text())
    assert page.tags.count("svg") == 2
    assert {"a", "b"} <= set(page.words)


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """And no traceback."""
    done = bench("thr", "--transport", "inproc", "--size", "8", "--count", "20", "--rounds",
                 "1", "--peer", "meshmsg", "--json", str(tmp_path / "no/such"))  # fmt: skip
    assert done.returncode == 1
    assert "No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr
