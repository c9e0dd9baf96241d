"""`meshmsg spool export` and `tail`: which messages, by numbers, by words and by time.

Not here: where to (test_cli_export.py), what the words come to (test_spool_starts.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from meshmsg._cli.codes import Code
from tests.support.spooled import segments, small
from tests.unit.test_cli_spool import run
from tests.unit.test_spool_starts import hour_old

Told = pytest.CaptureFixture[str]
COUNT = 20
OLD = 12
"""Messages that are an hour older than the others."""
BEGINS: dict[tuple[str, ...], int] = {
    ("--since", "5m"): OLD + 1,
    ("--since", "2h"): 1,
    ("--from", "since:5m"): OLD + 1,
    ("--from", "earliest"): 1,
    ("--from", "latest"): COUNT + 1,
    ("--from", "last:3"): COUNT - 2,
    ("--from", "seq:7"): 7,
    ("--from", "7"): 7,
    ("--first", "7"): 7,
}
ENDS: dict[tuple[str, ...], int] = {
    ("--to", "9"): 9,
    ("--to", "seq:9"): 9,
    ("--last", "9"): 9,
    ("--to", "since:5m"): OLD,
    ("--to", "last:3"): COUNT - 3,
    ("--to", "latest"): COUNT,
    ("--to", "earliest"): 0,
}


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """Return a spool whose first messages are an hour older."""
    with small(tmp_path / "s") as spool:
        for seq in range(1, COUNT + 1):
            spool.append(b"%d" % seq)
    hour_old(tmp_path / "s", OLD)
    return tmp_path / "s"


def exported(capsys: Told, spool: Path, *options: str) -> list[int]:
    """Return the numbers of what it writes."""
    code, out, err = run(capsys, "export", spool, *options)
    assert (code, err) == (Code.OK, "")
    return [json.loads(line)["seq"] for line in out.splitlines()]


@pytest.mark.parametrize("options", BEGINS, ids=" ".join)
def test_it_begins_there(spool: Path, capsys: Told, options: tuple[str, ...]) -> None:
    """`export` and `tail` alike."""
    wanted = list(range(BEGINS[options], COUNT + 1))
    assert exported(capsys, spool, *options) == wanted
    code, out, _ = run(capsys, "tail", spool, *options, "--json")
    assert code == Code.OK
    assert [json.loads(line)["seq"] for line in out.splitlines()] == wanted


@pytest.mark.parametrize("options", ENDS, ids=" ".join)
def test_it_ends_there(spool: Path, capsys: Told, options: tuple[str, ...]) -> None:
    """With a number; in front of what words mean. So two parts of a day have each message once."""
    assert exported(capsys, spool, *options) == list(range(1, ENDS[options] + 1))
    begun = exported(capsys, spool, "--from", "5", *options)
    assert begun == list(range(5, ENDS[options] + 1))


@pytest.mark.leaves_threads
def test_parquet_has_the_same_part(spool: Path, capsys: Told, tmp_path: Path) -> None:
    """As lines of JSON."""
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, options in (
        ("a", ["--since", "5m"]),
        ("b", ["--from", "last:9", "--to", "since:5m"]),
    ):
        to = tmp_path / f"{name}.parquet"
        assert run(capsys, "export", spool, to, *options)[0] == Code.OK
        assert parquet.read_table(to).column("seq").to_pylist() == exported(capsys, spool, *options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--since", "5"], "--since is '5'; it is a time, as 90s, 5m, 2h or 7d"),
        (["--since", "since:5m"], "--since is 'since:5m'; it is a time"),
        (["--since", "0s"], "--since is '0s'; it is a time"),
        (["--since", "9" * 30 + "d"], "it is a time"),
        (["--from", "now"], "--from (--first) is 'now'; it is 'earliest'"),
        (["--from", "0"], "--from (--first) is 0; it is 1 and more"),
        (["--from", "-3"], "--from (--first) is '-3'"),
        (["--to", "now"], "--to (--last) is 'now'"),
        (["--from", "5", "--to", "4"], "--to (--last) is 4; it is 5 and more"),
        (["--from", "5", "--since", "5m"], "not allowed with"),
    ],
)
def test_what_is_no_part_is_refused(
    spool: Path, capsys: Told, options: list[str], said: str
) -> None:
    """By the option's name, and nothing is written."""
    joined = [f"{name}={value}" for name, value in zip(options[::2], options[1::2], strict=True)]
    for command in ("export", "tail"):
        if command == "tail" and "--to" in options:
            continue
        code, out, err = called(capsys, command, spool, *joined)
        assert (code, out) == (Code.USAGE, "")
        assert said in err


def called(capsys: Told, *words: Any) -> tuple[int, str, str]:
    """Run a command, also one whose options are refused."""
    try:
        return run(capsys, *words)
    except SystemExit as ended:
        told = capsys.readouterr()
        return int(ended.code or 0), told.out, told.err


@pytest.mark.parametrize(
    ("start", "first"),
    [("seq:9", 9), ("9", 9), ("last:12", 9), ("since:5m", 2), ("latest", 21), ("earliest", 1)],
)
def test_trim_takes_what_is_in_front_of_such_words(
    tmp_path: Path, capsys: Told, start: str, first: int
) -> None:
    """And up to a number with it, as `--to` of `export` ends: whole files of that go."""
    with small(tmp_path / "s") as spool:
        for _ in range(COUNT):
            spool.append(bytes(40_000))  # each has a file
    hour_old(tmp_path / "s")  # its first file
    assert len(segments(tmp_path / "s")) == COUNT
    first += start in ("seq:9", "9")
    code, out, _ = run(capsys, "trim", tmp_path / "s", start, "--json")
    assert code == Code.OK
    assert json.loads(out)["first_seq"] == int(segments(tmp_path / "s")[0].stem) == first
    for wrong in ("now", "-1", "last:0"):
        code, _, err = called(capsys, "trim", tmp_path / "s", wrong)
        assert (code, f"SEQ is '{wrong}'; " in err) == (Code.USAGE, True)


@pytest.mark.leaves_threads
@pytest.mark.parametrize("to", [None, "out.jsonl", "out.parquet"])
def test_a_number_behind_the_end_is_told(
    spool: Path, capsys: Told, tmp_path: Path, to: str | None
) -> None:
    """Nothing is written, and it is no failure; of words that mean what is yet to come no word."""
    if to == "out.parquet":
        pytest.importorskip("pyarrow")
    file = [str(tmp_path / to)] if to else []
    said = f"nothing is written: the spool ends at {COUNT}, and it was to begin with "
    for start in (COUNT + 1, 999_999):
        code, _, err = run(capsys, "export", spool, *file, "--from", start)
        assert (code, err) == (Code.OK, f"{said}{start}\n")
    for start in ("latest", COUNT):
        assert run(capsys, "export", spool, *file, "--from", start)[::2] == (Code.OK, "")


def test_tail_tells_of_a_number_behind_the_end(spool: Path, capsys: Told) -> None:
    """As `export` does."""
    for start in (COUNT + 1, 999_999):
        told = f"nothing is printed: the spool ends at {COUNT}, and it was to begin with {start}\n"
        assert run(capsys, "tail", spool, "--from", start) == (Code.OK, "", told)
    for start in ("latest", COUNT):
        assert run(capsys, "tail", spool, "--from", start)[::2] == (Code.OK, "")


def test_tail_takes_a_number_or_a_place(spool: Path, capsys: Told) -> None:
    """Not both; without either it is the last ten."""
    assert called(capsys, "tail", spool, "-n", "3", "--since", "5m")[0] == Code.USAGE
    assert len(run(capsys, "tail", spool)[1].splitlines()) == 10


def test_what_was_removed_is_told_of_what_was_named(tmp_path: Path, capsys: Told) -> None:
    """Words mean what is there; a number, with or without its word, means that message."""
    with small(tmp_path / "s") as spool:
        for _ in range(30):
            spool.append(bytes(8_000))
        spool.trim(15)
        first = spool.info().first_seq
    assert first == int(segments(tmp_path / "s")[0].stem) > 1
    for start in ("earliest", "last:30", "since:1h"):
        code, out, err = run(capsys, "export", tmp_path / "s", "--from", start)
        assert (code, err, len(out.splitlines())) == (Code.OK, "", 31 - first)
    for start in ("1", "seq:1"):
        code, _, err = run(capsys, "export", tmp_path / "s", "--from", start)
        assert code == Code.FAILED
        assert f"removed, and not written: 1 to {first - 1}" in err
