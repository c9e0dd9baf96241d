"""The line of a batch, and the listener that writes it; what is told is made up here."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from meshmsg.spark import SourceCounts, progress_listener
from meshmsg.spark._progress import SHOWN_MAX, counted, lag_of, line_of
from tests.support.sparked import A, B, offset


def progress(end: Any, latest: Any, **more: Any) -> Any:
    """Return what Spark tells of a batch."""
    source = SimpleNamespace(endOffset=json.dumps(end), latestOffset=json.dumps(latest))
    made = {
        "name": "q",
        "id": "0123456789",
        "batchId": 7,
        "numInputRows": 1234,
        "durationMs": {"triggerExecution": 250},
        "processedRowsPerSecond": 4936.0,
        "sources": [source],
    }
    return SimpleNamespace(**{**made, **more})


def test_a_line_says_what_a_query_is_behind() -> None:
    """The most first."""
    line = line_of(progress(offset(a=10, b=5), offset(a=12, b=1005)))
    assert line == (
        "q: batch 7, 1,234 rows in 0.25 s (4,936 rows/s); behind by 1,002: "
        "bbbbbbbb 1,000, aaaaaaaa 2"
    )


def test_a_query_that_has_all_is_behind_nothing() -> None:
    """And one without a name has its number."""
    line = line_of(progress(offset(a=10), offset(a=10), name=None, processedRowsPerSecond=0))
    assert line == "01234567: batch 7, 1,234 rows in 0.25 s; nothing is behind"


def test_a_line_names_so_many_spools_and_no_more() -> None:
    """It is one line."""
    names = "abcdef0123456789"[: SHOWN_MAX + 2]
    start = {name: 1 for name in names}
    line = line_of(progress(offset(**start), offset(**dict.fromkeys(names, 3))))
    assert line.endswith(" and 2 more")
    assert line.count(" 2,") + line.count(" 2 and") == SHOWN_MAX


@pytest.mark.parametrize("other", [None, "", "x", "[]", "3", '{"p": 3}', '{"p": {"x": 1}}'])
def test_other_sources_have_no_lag(other: Any) -> None:
    """Nor has one that says nothing: Spark before 4.2."""
    assert lag_of(json.dumps(offset(a=1)), other) == {}
    assert lag_of(other, json.dumps(offset(a=3))) == {A: 0}
    source = SimpleNamespace(endOffset=other)
    assert "behind" not in line_of(progress({}, {}, sources=[source]))


def test_a_spool_that_is_ahead_of_the_report_is_not_behind() -> None:
    """The report is from before the batch."""
    assert lag_of(offset(a=9, b=1), offset(a=5, b=4)) == {A: 0, B: 3}


def test_a_listener_writes_a_line_for_each_batch_and_never_raises() -> None:
    """Of a query that begins, rests and ends it says nothing."""
    pytest.importorskip("pyspark")
    lines: list[str] = []
    listener: Any = progress_listener(lines.append)
    event = SimpleNamespace(progress=progress(offset(a=1), offset(a=1)))
    listener.onQueryStarted(None)
    listener.onQueryProgress(event)
    listener.onQueryIdle(None)
    listener.onQueryTerminated(None)
    assert [line[:10] for line in lines] == ["q: batch 7"]
    listener.onQueryProgress(SimpleNamespace(progress=None))
    failing: Any = progress_listener(lambda line: lines[9])  # type: ignore[index]
    failing.onQueryProgress(event)
    assert len(lines) == 1


def test_a_line_ends_with_what_is_counted() -> None:
    """If somebody counts."""

    class Count:
        """Stands in for an accumulator."""

        def __init__(self, value: int) -> None:
            self.value = value

    names = ("rows", "bytes", "retries", "skipped")
    counts = SourceCounts({name: Count(at * 1000) for at, name in enumerate(names, 1)})
    assert counted(None) == ""
    assert counted(counts) == (
        "; in all 1,000 rows, 2,000 bytes, 3,000 attempts again, 4,000 messages left out"
    )
