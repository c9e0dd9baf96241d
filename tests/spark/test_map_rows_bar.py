"""What map_rows tells of its progress, without Spark and without a terminal: threads are tasks.

Not here: results (test_map_rows.py), the bar of a fan-out (test_fanout_bar.py).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark import ItemError, RowStats, aio, map_rows
from meshmsg.spark.rows._progress import PROGRESS_S, Progress
from tests.spark.rows import Rows
from tests.support.pairs import WAIT_S

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

ROWS = [b"a", b"bad", b"b"]


def half(row: bytes) -> bytes:
    """What tasks do: some they cannot."""
    if row == b"bad":
        raise ValueError("cannot be done")
    return row


def in_threads(**options: Any) -> list[Any]:
    """All results of three rows, of which one is given up."""
    rows: Any = Rows(ROWS)
    return list(map_rows(rows, half, errors="return", max_attempts=1, patience=WAIT_S, **options))


def in_a_loop(**options: Any) -> list[Any]:
    """The same, for asyncio."""

    async def main() -> list[Any]:
        rows: Any = Rows(ROWS)
        results = aio.map_rows(
            rows, half, errors="return", max_attempts=1, patience=WAIT_S, **options
        )
        return [one async for one in results]

    return asyncio.run(main())


both = pytest.mark.parametrize("mapped", [in_threads, in_a_loop])
Mapped = Callable[..., list[Any]]


@both
def test_a_bar_shows_all_rows_by_the_end(
    mapped: Mapped, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of so many, and what was given up; standard output has nothing of it."""
    pytest.importorskip("tqdm")
    assert len(mapped(progress=True, total=3)) == 3
    shown = capsys.readouterr()
    last = shown.err.splitlines()[-1]
    assert "3/3" in last
    assert "failed=1" in last
    assert not shown.out


@both
def test_without_a_total_a_bar_counts(mapped: Mapped, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody counts the rows before, as that is a job of its own."""
    pytest.importorskip("tqdm")
    mapped(progress=True)
    assert "3 rows" in capsys.readouterr().err.splitlines()[-1]


@both
def test_a_function_is_told_the_counts(mapped: Mapped) -> None:
    """The last ones are those of all rows."""
    told: list[RowStats] = []
    mapped(progress=told.append, total=3)
    assert told[-1] == RowStats(done=2, failed=1, total=3)


def test_who_ends_early_is_told_of_what_was_given() -> None:
    """By the error of the row: the job ends with it."""
    told: list[RowStats] = []
    rows: Any = Rows(ROWS)
    with pytest.raises(ItemError):
        list(map_rows(rows, half, max_attempts=1, patience=WAIT_S, progress=told.append))
    assert told[-1] == RowStats(done=1, failed=1, total=None)


@both
def test_what_a_function_raises_ends_nothing(
    mapped: Mapped, caplog: pytest.LogCaptureFixture
) -> None:
    """It is called no more, and the log says so."""
    calls: list[RowStats] = []

    def broken(counts: RowStats) -> None:
        calls.append(counts)
        raise ValueError("no terminal")

    assert len(mapped(progress=broken)) == 3
    assert len(calls) == 1
    assert "progress= of map_rows raised, and is called no more" in caplog.text


@both
def test_without_tqdm_it_says_what_to_install(
    mapped: Mapped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any task begins; nothing stays open."""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(mm.ResourceError, match=r"needs tqdm.*pip install 'meshmsg\[progress\]'"):
        mapped(progress=True)


def test_it_is_told_seldom_and_once_more_at_the_end() -> None:
    """By a clock of our own."""
    now, told = [0.0], list[int]()
    progress = Progress(lambda counts: told.append(counts.done), None, lambda: now[0])
    for _ in range(4):
        progress.count(failed=False)
        progress.tell()
        now[0] += PROGRESS_S / 2
    assert told == [1, 3]
    progress.close()
    progress.close()
    progress.tell()
    assert told == [1, 3, 4]
