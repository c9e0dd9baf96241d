"""Offsets of the Spark source: their text, the limits of a batch, and its tasks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg.spark._source.offsets import (
    Place,
    Places,
    Shown,
    Span,
    behind,
    done_before,
    from_json,
    limited,
    limited_bytes,
    on,
    rows_between,
    spans,
    split,
    to_json,
)
from tests.support.sparked import A, B, offset

UUIDS = st.text("0123456789abcdef", min_size=32, max_size=32)
SEQS = st.integers(1, 2**40)
PAIRS = st.dictionaries(UUIDS, st.tuples(SEQS, st.integers(0, 10**6)), max_size=8)
"""Of each spool where a batch begins, and how much there is."""


def ends_of(pairs: dict[str, tuple[int, int]]) -> tuple[Places, Places]:
    """Return a start and an end."""
    start = {uuid: Place(seq, 1) for uuid, (seq, _) in pairs.items()}
    return start, {uuid: Place(seq + lag, 2) for uuid, (seq, lag) in pairs.items()}


@given(PAIRS)
def test_an_offset_is_the_same_text_whatever_the_order(pairs: dict[str, tuple[int, int]]) -> None:
    """Spark compares it as text: another order would be a batch."""
    start, _ = ends_of(pairs)
    turned = dict(reversed(start.items()))
    assert json.dumps(to_json(start)) == json.dumps(to_json(turned))
    assert from_json(json.loads(json.dumps(to_json(start)))) == start


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"v": 2, "p": {}},
        {"live": 3},
        {"v": 1, "p": {"x": {"next": 1, "epoch": 1}}},
        {"v": 1, "p": {A: 5}},
        {"v": 1, "p": {A: {"next": 0, "epoch": 1}}},
        {"v": 1, "p": {A: {"next": 1.5, "epoch": 1}}},
        {"v": 1, "p": {A: {"next": True, "epoch": 1}}},
        {"v": 1, "p": {A: {"next": 1, "epoch": 2**40}}},
        {"v": 1, "p": {A: {"next": 5, "epoch": 1, "kept": 6}}},
        {"v": 1, "p": {A: {"next": 5, "epoch": 1, "kept": -1}}},
        {"v": 1, "p": {A: {"next": 5, "epoch": 1, "rows": -1}}},
    ],
)
def test_a_checkpoint_of_something_else_is_refused(wrong: dict[str, Any]) -> None:
    """It says what is there."""
    with pytest.raises(mm.UsageError, match="the checkpoint has"):
        from_json(wrong)


@given(PAIRS)
def test_an_end_says_where_its_batch_began(pairs: dict[str, tuple[int, int]]) -> None:
    """Also as it is kept; and what a later run trims is never of that batch."""
    start, end = ends_of(pairs)
    kept = from_json(json.loads(json.dumps(to_json(behind(start, end, told=True)))))
    assert {uuid: place._replace(kept=0) for uuid, place in kept.items()} == end
    assert {uuid: one.next for uuid, one in done_before(kept, 1).items()} == {
        uuid: one.next for uuid, one in start.items()
    }
    assert done_before(kept, 0) == kept
    assert done_before(end, 1) == done_before(kept, 2) == {}


def test_a_new_life_without_a_message_is_no_news() -> None:
    """An offset that differs is a batch, though it has no row."""
    place = Place(5, 1)
    assert on(place, Shown(1, 5, 2, ())) is place
    assert on(place, Shown(1, 4, 2, ())) is place  # nor does it go back
    assert on(place, Shown(1, 6, 2, ())) == Place(6, 2)


@given(PAIRS, st.integers(1, 10**7))
def test_a_limit_is_kept_and_used_up(pairs: dict[str, tuple[int, int]], rows: int) -> None:
    """No more, no less, and no spool goes back or beyond what is there."""
    start, end = ends_of(pairs)
    cut = limited(start, end, rows)
    assert rows_between(start, cut) == min(rows, rows_between(start, end))
    assert all(start[uuid].next <= cut[uuid].next <= end[uuid].next for uuid in end)
    behind = [uuid for uuid in end if end[uuid].next > start[uuid].next]
    if rows >= len(behind):
        assert all(cut[uuid].next > start[uuid].next for uuid in behind)


@given(PAIRS)
def test_what_is_read_by_a_low_limit_comes_to_the_end(pairs: dict[str, tuple[int, int]]) -> None:
    """One row at a time: each spool has its turn, so none waits for ever."""
    start, end = ends_of({uuid: (seq, lag % 5) for uuid, (seq, lag) in pairs.items()})
    place, total = start, rows_between(start, end)
    for _ in range(total):
        before, place = place, limited(place, end, 1)
        assert rows_between(before, place) == 1
    assert {uuid: one.next for uuid, one in place.items()} == {u: p.next for u, p in end.items()}


def test_spools_take_turns_though_one_has_always_more() -> None:
    """The one with a single message is not behind the others for ever."""
    place: Places = {uuid: Place(1, 1) for uuid in (A, B)}
    for turn in range(2):
        ahead = {A: Place(10**9 + turn, 1), B: Place(2, 1)}
        place = limited(place, ahead, 1)
    assert place[B].next == 2


@given(PAIRS, st.integers(1, 10**9), st.floats(1, 10**5))
def test_a_limit_of_bytes_is_kept_by_the_mean_and_goes_on(
    pairs: dict[str, tuple[int, int]], size: int, mean: float
) -> None:
    """One message at least, else nothing would ever be read."""
    start, end = ends_of(pairs)
    cut = limited_bytes(start, end, size, dict.fromkeys(pairs, mean))
    rows = rows_between(start, cut)
    assert rows * mean <= max(size, mean) * 1.0001
    assert (rows > 0) == (rows_between(start, end) > 0)
    assert all(start[uuid].next <= cut[uuid].next <= end[uuid].next for uuid in end)


def test_a_place_that_did_not_move_keeps_its_life() -> None:
    """So its text is the same."""
    start, end = ends_of({A: (5, 10**6), B: (5, 10**6)})
    cut = limited(start, end, 1)
    assert sorted(place.epoch for place in cut.values()) == [1, 2]


def test_what_is_between_offsets_is_ranges() -> None:
    """One that left stays where it is, and one that is not in the start begins at 1."""
    start, end = from_json(offset(a=5, b=7)), from_json(offset(a=9, b=7, c=3))
    assert spans(start, end) == [Span(A, 1, 5, 9), Span("c" * 32, 1, 1, 3)]
    assert spans(end, end) == []


SPANS = st.lists(st.tuples(SEQS, st.integers(1, 10**6)), max_size=6)


@given(SPANS, st.integers(1, 40), st.none() | st.integers(1, 10**6))
def test_tasks_have_each_number_once(
    ranges: list[tuple[int, int]], least: int, most: int | None
) -> None:
    """So many tasks at least as is asked for, or one for each number; none larger than allowed."""
    if most is not None:  # not a million tasks
        most = max(most, *(size // 50 + 1 for _, size in ranges), 1)
    found = [Span(f"{at:032x}", 1, seq, seq + size) for at, (seq, size) in enumerate(ranges)]
    limit = {} if most is None else {span.uuid: most for span in found}
    made = split(found, least, limit)
    for span in found:
        own = [one for one in made if one.uuid == span.uuid]
        assert (own[0].first, own[-1].end) == (span.first, span.end)
        assert all(a.end == b.first for a, b in pairwise(own))
        assert all(0 < one.end - one.first <= (most or 2**62) for one in own)
    assert len(made) >= min(least, sum(size for _, size in ranges))
