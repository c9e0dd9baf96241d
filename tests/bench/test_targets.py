"""Targets: judged on rows that the test makes, their table as text, and one tiny real run."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.__main__ import parser
from meshmsg.bench.base.facts import facts
from meshmsg.bench.commands.rate import LOADS
from meshmsg.bench.peers import mesh_spool
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.report import output
from meshmsg.bench.targets import baseline
from meshmsg.bench.targets.markdown import markdown
from meshmsg.bench.targets.targets import (
    GROUPS,
    SEALED,
    SHORT,
    TARGETS,
    WHOLE,
    Target,
    cases_of,
    fill,
    shown,
    verdicts,
)
from tests.support.benched import bench
from tests.support.benched import made_row as row

PACED = {"survey_rounds": 15, "surveys": 1000, "rate_rounds": 10, "rate_seconds": 10.0}

RATE = Target("P1", "thr tcp", "receiver_per_s", "meshmsg", "pyzmq", 2.0, at=64)
TIME = Target("P3", "lat tcp", "p50_us", "meshmsg", "pyzmq", 0.5, low=True, at=64)


@pytest.mark.parametrize(("value", "met"), [(200.0, True), (199.0, False)])
def test_a_rate_is_met_from_its_bound_on(value: float, met: bool) -> None:
    """The bound itself is enough."""
    (found,) = verdicts([row("meshmsg", value), row("pyzmq", 100.0)], [RATE])
    assert (found["measured"], found["met"], found["must"]) == (value / 100, met, ">= 2")


@pytest.mark.parametrize(("value", "met"), [(50.0, True), (51.0, False)])
def test_a_time_is_met_up_to_its_bound(value: float, met: bool) -> None:
    """Lower is better."""
    rows = [row(p, v, "p50_us", kind="lat") for p, v in (("meshmsg", value), ("pyzmq", 100.0))]
    (found,) = verdicts(rows, [TIME])
    assert (found["met"], found["must"]) == (met, "<= 0.5")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "not measured in this run"),
        ([row("meshmsg", 1.0, size=65), row("pyzmq", 1.0)], "not measured in this run"),
        ([row("meshmsg", 1.0, load="x"), row("pyzmq", 1.0)], "not measured in this run"),
        ([row("meshmsg", 1.0), row("pyzmq", 1.0, missing="gone")], "pyzmq: gone"),
        ([row("meshmsg", 1.0), row("pyzmq", 1.0, "other")], "too few samples"),
        ([row("meshmsg", 1.0), row("pyzmq", 0.0)], "pyzmq is 0"),
    ],
)
def test_what_was_not_measured_is_neither_met_nor_missed(
    rows: list[dict[str, Any]], reason: str
) -> None:
    """And says why."""
    (found,) = verdicts(rows, [RATE])
    assert (found["measured"], found["met"], found["reason"]) == (None, None, reason)


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        (2, 0, ""),
        (0, 2, ""),
        (3, 0, "meshmsg: the host disturbed 3 of 5"),
        (0, 3, "pyzmq: the host disturbed 3 of 5"),
        (5, 4, "meshmsg: the host disturbed 5 of 5, pyzmq: the host disturbed 4 of 5"),
    ],
)
def test_what_the_host_may_have_decided_is_neither_met_nor_missed(
    ours: int, theirs: int, reason: str
) -> None:
    """Fewer than half of the rounds do not move a median out of the others' range."""
    rows = [
        row(peer, value, rounds=5, rounds_disturbed=count)
        for peer, value, count in (("meshmsg", 300.0, ours), ("pyzmq", 100.0, theirs))
    ]
    (found,) = verdicts(rows, [RATE])
    assert (found["measured"], found["reason"]) == (3.0, reason)
    assert found["met"] is (None if reason else True)


def test_a_rare_percentile_is_taken_from_all_rounds_together() -> None:
    """One round may have too few samples."""
    target = Target("P10", "thr tcp", "p99.99_us", "meshmsg", "pyzmq", 1.0, low=True, at=64)
    rows = [row(p, 1.0, all_rounds={"p99.99_us": v}) for p, v in (("meshmsg", 3.0), ("pyzmq", 4.0))]
    assert verdicts(rows, [target])[0]["measured"] == 0.75


def test_a_target_may_stand_alone() -> None:
    """Bytes a connection have no rival."""
    target = Target("P9", "connections tcp", "server_bytes", "meshmsg", "", 8192, low=True, at="10")
    alone = row("meshmsg", 4000.0, "server_bytes", kind="connections", load="10")
    del alone["size"]
    assert verdicts([alone], [target])[0]["met"]


def test_the_verdicts_are_shown_and_counted() -> None:
    """A line each."""
    rows = [row("meshmsg", 300.0), row("pyzmq", 100.0)]
    missed = Target("P1", "thr tcp", "receiver_per_s", "meshmsg", "pyzmq", 9.0, at=64)
    lines = shown(verdicts(rows, [RATE, missed, TIME]))
    assert [line.split()[-1] for line in lines[1:4]] == ["met", "MISSED", "run"]
    assert lines[4] == "1 met, 1 missed, 1 not judged"


@pytest.mark.parametrize("short", [False, True])
def test_every_target_is_measured_by_some_case(short: bool) -> None:
    """Its peers are in its group, and a case has the size or load it is about."""
    chosen = argparse.Namespace(seed=1, processes=None, short=short)
    fill(chosen)
    for group, names in GROUPS.items():
        own = [target for target in TARGETS if target.group == group]
        assert own, group
        assert set(names) <= set(PEERS)
        cases = [case for some in cases_of(group, own, chosen) for case in some]
        for target in own:
            if short and (target.at == "10,000" or group.startswith("backlog")):
                assert target.at not in [case.facts.get("load") for case in cases]
                continue  # these take the longest
            for name in filter(None, (target.peer, target.beside)):
                where = [
                    case.facts.get("load") or case.facts.get("size")
                    for case in cases
                    if case.peer.name == name
                ]
                assert target.at in where, target
    assert {target.at for target in TARGETS if target.number == "P10"} == set(LOADS)


def test_the_promises_are_those_of_the_table() -> None:
    """P1 to P11, P14 of CURVE and TLS, P15 of what is acknowledged, P16 of spools; P8b, P8c: SP."""
    numbers = list(dict.fromkeys(target.number for target in TARGETS))
    assert numbers == [
        "P1",
        "P2",
        "P3",
        "P4",
        "P5",
        "P6",
        "P7",
        "P8",
        "P8b",
        "P8c",
        "P9",
        "P10",
        "P11",
        "P14",
        "P15",
        "P16",
        "P17",
        "P18",
    ]


def test_the_command_measures_what_it_is_asked_for(tmp_path: Path) -> None:
    """One promise, tiny; the record holds the verdict."""
    out = tmp_path / "r.json"
    done = bench("targets", "--only", "P7", "--rounds", "1", "--seconds", "0.01", "--json",
                 str(out), "--baseline", str(tmp_path / "b"), "--save-baseline",
                 "--markdown", str(tmp_path / "t.md"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = (tmp_path / "t.md").read_text()
    assert "1 round of 0.01 s (surveys: 15 of 1,000; fixed rates: 10 of 10 s)" in told
    assert told.count("| P7 | thr inproc") == 4
    found = json.loads(out.read_text())["targets"]
    assert [one["number"] for one in found] == ["P7"] * 4
    assert "not judged" in done.stdout
    assert json.loads((tmp_path / "b").read_text())["line"]


def test_the_table_is_the_one_of_the_document(tmp_path: Path) -> None:
    """Its own rows of docs/performance.md, made again from what they say."""
    text = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    _before, _head, below = text.partition("| # | what | must reach | measured | |\n")
    table, _blank, _after = below.partition("\n\n")
    lines = [line for line in table.splitlines() if re.match(r"\| P\d", line)]
    assert len(lines) == len(TARGETS)
    found = []
    for line in lines:
        number, what, must, measured, verdict = (c.strip() for c in line.strip("|").split("|"))
        met = {"met": True, "**missed**": False}.get(verdict)
        found.append(
            {
                "number": number,
                "what": what,
                "must": must.replace("≥", ">=").replace("≤", "<="),
                "measured": None if measured == "-" else float(measured.replace(",", "")),
                "met": met,
                "reason": verdict if met is None else "",
            }
        )
    assert [one["what"] for one in found] == [target.words() for target in TARGETS]
    chosen = argparse.Namespace(rounds=5, seconds=1.0, **PACED)
    made = markdown(found, facts(), chosen)
    assert [line for line in made.splitlines() if re.match(r"\| P\d", line)] == lines
    met = sum(one["met"] is True for one in found)
    absent = sum(one["met"] is None for one in found)
    assert f"{met} of {len(found)} are met" in made
    assert f", {absent} not judged." in made


def test_the_table_says_where_and_how_it_was_measured() -> None:
    """One line above it."""
    known = {
        "time": "2026-11-21T10:00:00+00:00", "processor": "A Chip", "cores": 4,
        "kernel": "6.18", "python": "3.11.7", "tcp_congestion_control": "bbr", "load_1_min": 0.1,
    }  # fmt: skip
    chosen = argparse.Namespace(rounds=5, seconds=1.0, **PACED)
    first, second, head, *_ = markdown([], known, chosen).splitlines()
    assert first == (
        "This table: 2026-11-21, A Chip, 4 cores, Linux 6.18, Python 3.11.7, TCP congestion "
        "control bbr, 5 rounds of 1 s (surveys: 15 of 1,000; fixed rates: 10 of 10 s), load 0.1 at "
        "the beginning."
    )
    assert (second, head) == ("", "| # | what | must reach | measured | |")


def test_the_short_set_is_less_of_everything_and_what_is_said_counts() -> None:
    """Defaults only."""
    chosen = argparse.Namespace(short=True, rounds=7, seconds=None)
    fill(chosen)
    assert (chosen.rounds, chosen.seconds) == (7, SHORT.seconds)
    assert chosen.connections == (1000,)
    for name, value in vars(WHOLE).items():
        assert vars(SHORT)[name] < value


def test_the_short_set_measures_whom_a_target_is_about() -> None:
    """The whole measures all of a group at each size."""
    for short, few in ((True, 5), (False, 18)):
        chosen = argparse.Namespace(seed=1, processes=None, short=short)
        fill(chosen)
        own = [target for target in TARGETS if target.group == "thr tcp"]
        cases = cases_of("thr tcp", own, chosen)
        (large,) = [some for some in cases if some[0].facts["size"] == 16384]
        assert len(large) == few


def test_brokers_are_measured_at_the_size_that_is_promised_and_last() -> None:
    """They are slow; once started they stay, and would be beside what is measured next."""
    chosen = argparse.Namespace(seed=1, processes=None, short=False)
    fill(chosen)
    own = [target for target in TARGETS if target.group == "acked tcp"]
    many = {c[0].facts["size"]: len(c) for c in cases_of("acked tcp", own, chosen)}
    assert many == {64: 4, 1024: len(GROUPS["acked tcp"]), 16384: 4}
    own = [target for target in TARGETS if target.group == "spooled tcp"]
    (cases,) = cases_of("spooled tcp", own, chosen)
    assert {case.peer.name for case in cases} == set(GROUPS["spooled tcp"])
    assert list(GROUPS)[-2:] == ["acked tcp", "spooled tcp"]


def test_fixed_rates_have_rounds_of_their_own(monkeypatch: Any, tmp_path: Path) -> None:
    """And the machine is calibrated before each group and at the end."""
    seen: list[tuple[str, int]] = []
    loops: list[int] = []

    def measured(cases: Any, rounds: int, *_: Any) -> list[Any]:
        seen.append((cases[0].kind, rounds))
        return []

    monkeypatch.setattr(output, "run", measured)
    monkeypatch.setattr(output, "table", lambda *_: [])
    monkeypatch.setattr(baseline, "calibration_loop", lambda: loops.append(1) or 1.0)
    chosen = parser().parse_args(
        ["targets", "--only", "P7,P8,P10", "--baseline", str(tmp_path / "none")]
    )
    assert chosen.run(chosen) == 0
    assert seen == [("thr", 5)] * 2 + [("survey", 15)] + [("rate", 10)] * len(LOADS)
    assert len(loops) == baseline.LOOPS * (len(seen) + 1)


def test_a_long_backlog_has_few_rounds(monkeypatch: Any, tmp_path: Path) -> None:
    """It takes minutes; with fewer rounds for all it has as few."""
    seen: list[tuple[str, int]] = []

    def measured(cases: Any, rounds: int, *_: Any) -> list[Any]:
        seen.append((cases[0].kind, rounds))
        return []

    monkeypatch.setattr(output, "run", measured)
    monkeypatch.setattr(output, "table", lambda *_: [])
    monkeypatch.setattr(baseline, "calibration_loop", lambda: 1.0)
    told = ["targets", "--only", "P16", "--baseline", str(tmp_path / "none")]
    for more, rounds in ((["--rounds", "7"], 3), (["--rounds", "2"], 2)):
        chosen = parser().parse_args([*told, *more])
        assert chosen.run(chosen) == 0
        assert [many for kind, many in seen if kind == "backlog"] == [rounds] * 2
        assert {many for kind, many in seen if kind == "replay"} == {int(more[1])}
        seen.clear()


def test_a_spool_of_the_100_gb_class_has_as_many_octets_as_its_name_says() -> None:
    """And the row is of those files, in the short set, too."""
    assert SEALED[1] * mesh_spool.SEALED_BYTES == 100 * 1024**3
    for short in (True, False):
        chosen = argparse.Namespace(seed=1, processes=None, short=short)
        fill(chosen)
        own = [target for target in TARGETS if target.group == "opening disk"]
        cases = [case for some in cases_of("opening disk", own, chosen) for case in some]
        assert [case.facts["load"] for case in cases] == ["1,024 MiB", "1,600 sealed files"]


def test_a_promise_nobody_made_is_an_error() -> None:
    """With its name."""
    done = bench("targets", "--only", "P1,P99")
    assert done.returncode == 1
    assert "no target P99" in done.stderr
