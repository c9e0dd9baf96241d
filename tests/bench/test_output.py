"""What is refused before anything is measured, and what a run prints while it goes on."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import pytest

import meshmsg
from meshmsg.bench import __main__ as command
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.commands import args
from meshmsg.bench.measure.rounds import Case, Figures
from meshmsg.bench.peers.seam import Peer
from meshmsg.bench.report import output, progress
from meshmsg.bench.report.output import Output, check_writable
from tests.support.benched import bench

FAST = ("--transport", "inproc", "--size", "8", "--count", "20", "--rounds", "1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("thr", "--peer", ""), "at least one name is wanted"),
        (("thr", "--peer", ","), "at least one name is wanted"),
        (("targets", "--only", ""), "at least one name is wanted"),
        (("thr", "--base", "nobody"), "no peer 'nobody'"),
        (("thr", "--base", ""), "no peer ''"),
        (("thr", "--peer", "meshmsg", "--base", "pyzmq"), "not among the peers of --peer"),
        (("rate", "--connections", "2"), "--connections goes with --size"),
        (("rate", "--burst", "2"), "--burst goes with --size"),
        (("rate", "--nonblocking"), "--nonblocking goes with --size"),
        (("rate", "--load", "1K-3k/s", "--size", "64", "--rate", "1"), "--load or --size"),
        (("connections", "--number", "10,100_001"), "--number 100,001 is more than 100,000"),
        (("lat", "--one-way", "--size", "8"), "--size is at least 16"),
    ],
)
def test_what_would_be_ignored_or_break_is_refused(arguments: tuple[str, ...], words: str) -> None:
    """By a sentence, before anything is measured."""
    done = bench(*arguments)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_place_that_cannot_be_written_is_found_before_measuring(
    tmp_path: Path, option: str
) -> None:
    """A folder that is not there, and one where a file should be."""
    for path in (tmp_path / "no" / "such", tmp_path):
        done = bench("thr", *FAST, "--peer", "meshmsg", option, str(path))
        assert done.returncode == 1
        assert str(path) in done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr


def test_looking_whether_a_file_can_be_written_changes_nothing(tmp_path: Path) -> None:
    """What was there stays, what was not is not there."""
    there, absent = tmp_path / "there", tmp_path / "absent"
    there.write_text("kept")
    check_writable(str(there))
    check_writable(str(absent))
    assert there.read_text() == "kept"
    assert not absent.exists()


def test_a_report_without_the_library_that_draws_is_refused_at_once(
    monkeypatch: Any, tmp_path: Path
) -> None:
    """Not when everything has been measured."""

    def gone(module: str, what_for: str) -> None:
        raise BenchError(f"{what_for} needs {module}")

    monkeypatch.setattr(output, "need", gone)
    with pytest.raises(BenchError, match="a report needs matplotlib"):
        Output(chosen(report=str(tmp_path / "r.html")))


def test_an_error_of_the_library_is_a_sentence(monkeypatch: Any, capsys: Any) -> None:
    """Whatever command it comes from."""

    def fails(_: argparse.Namespace) -> int:
        raise meshmsg.TimedOutError("nobody came")

    parsed = argparse.Namespace(run=fails)
    monkeypatch.setattr(command, "parser", lambda: argparse.Namespace(parse_args=lambda _: parsed))
    assert command.main([]) == 1
    assert capsys.readouterr().err == "python -m meshmsg.bench: nobody came\n"


def test_somebody_who_is_measured_may_be_the_base() -> None:
    """And without --peer nobody is known to be missing."""
    peers = args.peer_list("meshmsg,pyzmq")
    args.check_base(argparse.Namespace(peer=peers, base="pyzmq"))
    args.check_base(argparse.Namespace(peer=peers, base=None))
    args.check_base(argparse.Namespace(peer=None, base="pyzmq"))
    args.check_base(argparse.Namespace())


class FakePeer(Peer):
    """A peer that is measured by the test."""

    def __init__(self, name: str, reason: str | None = None) -> None:
        self.name, self._reason = name, reason

    def missing(self) -> str | None:
        """What the test wants."""
        return self._reason


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        """Somebody watches."""
        return True


def chosen(**more: Any) -> argparse.Namespace:
    """What a command line would have given."""
    return argparse.Namespace(
        **{"rounds": 1, "json": None, "report": None, "base": None, "seed": 1, **more}
    )


def groups() -> list[list[Case]]:
    """Two groups; of the second one peer is missing."""

    def measure(_: bool) -> Figures:
        return {"receiver_per_s": 1.0}

    def case(name: str, size: int, reason: str | None = None) -> Case:
        return Case(FakePeer(name, reason), "thr", "tcp", measure, {"size": size})

    return [[case("a", 1), case("b", 1)], [case("a", 2, "it is gone"), case("b", 2)]]


def test_one_count_goes_through_the_whole_run(monkeypatch: Any) -> None:
    """A line a measurement where nothing can draw; whoever is missing is counted as done."""
    told = Terminal()
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setattr(progress, "is_there", lambda _: False)
    Output(chosen()).measure_all(groups())
    assert told.getvalue().splitlines() == [
        "1 of 8: thr  a, warm-up",
        "2 of 8: thr  b, warm-up",
        "3 of 8: thr  a, round 1 of 1",
        "4 of 8: thr  b, round 1 of 1",
        "6 of 8: thr  b, warm-up",
        "8 of 8: thr  b, round 1 of 1",
    ]


def test_rounds_may_differ_by_group_and_something_may_be_done_between() -> None:
    """Before each."""
    seen: list[str] = []
    rows = Output(chosen(rounds=9)).measure_all(
        groups(), lambda cases: int(cases[0].facts["size"]), lambda: seen.append("between")
    )
    assert [row["rounds"] for row in rows] == [1, 1, 0, 2]
    assert seen == ["between", "between"]


def test_a_bar_is_one_a_run_and_leaves_only_the_tables(monkeypatch: Any, capsys: Any) -> None:
    """It is drawn on the error output, counts on through all groups, and is taken away."""
    pytest.importorskip("rich", reason="rich is not installed")
    told = Terminal()
    monkeypatch.setattr(sys, "stderr", told)
    monkeypatch.setenv("TERM", "xterm")
    made: list[progress.Bar] = []

    class Kept(progress.Bar):
        """The same, known to the test."""

        def __init__(self, total: int) -> None:
            super().__init__(total)
            made.append(self)

    monkeypatch.setattr(progress, "Bar", Kept)
    Output(chosen()).measure_all(groups())
    (bar,) = made
    (task,) = bar._bar.tasks
    assert (task.completed, task.total) == (7, 8)
    assert "thr  b, round 1 of 1" in task.description
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.count("peer") == 2
    assert "receiver msg/s" not in told.getvalue()


def test_where_nobody_watches_nothing_is_drawn(monkeypatch: Any) -> None:
    """Not a byte."""
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)
    Output(chosen()).measure_all(groups())
    assert told.getvalue() == ""
