"""`meshmsg spool export` and `tail` beside a retention that overtakes them: what is gone is told.

Not here: what was removed before they began, by name (test_cli_spool.py, test_cli_parts.py).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli import spool_export, spools
from meshmsg._cli.codes import Code
from meshmsg._spool.reader import SpoolReader
from tests.support.spooled import segments, small
from tests.unit.test_cli_spool import Told, run

COUNT = 3000
"""Messages: three times what a read has at once."""
INTERRUPTED = 130


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[mm.Spool]:
    """Return one of several files that is open, and shows all but its last message."""
    with small(tmp_path / "s", durability="disk") as spool:
        spool.append_many((b"%d" % seq + bytes(200) for seq in range(1, COUNT + 1)), key="one")
        spool.append(b"what is before is durable")
        yield spool


def at_first_row(monkeypatch: pytest.MonkeyPatch, does: Callable[[], Any]) -> None:
    """Have something done as the first message is written."""
    real, done = spool_export.row_of, list[bool]()

    def row_of(one: Any) -> Any:
        if not done:
            done.append(True)
            does()
        return real(one)

    monkeypatch.setattr(spool_export, "row_of", row_of)


def hole_of(seqs: list[int]) -> tuple[int, int]:
    """Return the first and the last number that are missing between those, in one place."""
    [hole] = [(a + 1, b - 1) for a, b in itertools.pairwise(seqs) if b != a + 1]
    return hole


def told_of(first: int, last: int) -> str:
    """Return what is told of it."""
    return f"removed, and not written: {first} to {last} ({last - first + 1:,} numbers)\n"


@pytest.mark.parametrize(
    "words",
    [
        ["export"],
        ["export", "--from", "earliest"],
        ["export", "--from", "last:2990"],
        ["export", "--since", "1h"],
        ["export", "--from", "1"],
        ["export", "--from", "1", "--to", "2990"],
        ["tail", "--json", "-n", "2990"],
        ["tail", "--json", "--from", "1"],
        ["tail", "--json", "--since", "1h"],
    ],
    ids=" ".join,
)
def test_a_hole_in_the_middle_is_told(
    spool: mm.Spool, capsys: Told, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """With its numbers, once, and with exit code 1, however its begin was said."""
    at_first_row(monkeypatch, lambda: spool.trim(COUNT))
    command, *more = words
    code, out, err = run(capsys, command, spool.path, *more)
    hole = hole_of([json.loads(line)["seq"] for line in out.splitlines()])
    assert hole[1] + 1 == int(segments(Path(spool.path))[0].stem)
    assert (code, err) == (Code.FAILED, told_of(*hole))


def test_no_more_is_told_than_was_asked_for(
    spool: mm.Spool, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hole that goes on behind the end ends there."""
    at_first_row(monkeypatch, lambda: spool.trim(COUNT))
    code, out, err = run(capsys, "export", spool.path, "--to", 2000)
    last = json.loads(out.splitlines()[-1])["seq"]
    assert last < 2000
    assert (code, err) == (Code.FAILED, told_of(last + 1, 2000))


@pytest.mark.leaves_threads
def test_parquet_tells_of_it_too(
    spool: mm.Spool, capsys: Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same, and what is there is written; it ends where it was to end."""
    parquet = pytest.importorskip("pyarrow.parquet")
    real = SpoolReader.read_batch

    def read_batch(self: SpoolReader, *options: Any) -> Any:
        batch = real(self, *options)
        spool.trim(COUNT)
        return batch

    monkeypatch.setattr(SpoolReader, "read_batch", read_batch)
    monkeypatch.setattr(spools, "BATCH_MAX_MESSAGES", 1)
    to = tmp_path / "out.parquet"
    code, _, err = run(capsys, "export", spool.path, to)
    hole = hole_of(parquet.read_table(to)["seq"].to_pylist())
    assert (code, err) == (Code.FAILED, told_of(*hole))


def test_tail_that_follows_tells_of_it_and_goes_on(
    spool: mm.Spool, capsys: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is interrupted, whose exit code it has."""
    at_first_row(monkeypatch, lambda: spool.trim(COUNT))
    real, seqs = spool_export.row_of, list[int]()

    def row_of(one: Any) -> Any:
        seqs.append(one.seq)
        if one.seq == COUNT:
            raise KeyboardInterrupt
        return real(one)

    monkeypatch.setattr(spool_export, "row_of", row_of)
    code, _, err = run(capsys, "tail", spool.path, "-f", "--json", "--from", "1")
    assert (code, err) == (INTERRUPTED, told_of(*hole_of(seqs)))


@pytest.mark.parametrize("command", ["export", "tail"])
def test_what_compaction_takes_meanwhile_is_no_loss(
    spool: mm.Spool, capsys: Told, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Its holes are there by design: no word, and exit code 0."""
    at_first_row(monkeypatch, spool.compact)
    more = ["--json"] if command == "tail" else []
    code, out, err = run(capsys, command, spool.path, "--from", "1", *more)
    first, last = hole_of([json.loads(line)["seq"] for line in out.splitlines()])
    assert 1 < first <= last
    assert (code, err) == (Code.OK, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [(["--from", "earliest"], False), (["--from", "1"], True), (["--to", "5"], True)],
    ids=["earliest", "a number", "all that was asked for"],
)
def test_what_goes_before_the_first_message(
    spool: mm.Spool,
    capsys: Told,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    told: bool,
) -> None:
    """Words mean what is there as it is read, so it is told if its number was said, or if nothing
    is left of what was asked for."""
    real = spools.exported

    def exported(*options: Any) -> Any:
        spool.trim(COUNT)
        return real(*options)

    monkeypatch.setattr(spools, "exported", exported)
    code, _, err = run(capsys, "export", spool.path, *words)
    first = int(segments(Path(spool.path))[0].stem)
    last = min(first - 1, 5) if "--to" in words else first - 1
    wanted = (Code.FAILED, told_of(1, last)) if told else (Code.OK, "")
    assert (code, err) == wanted
