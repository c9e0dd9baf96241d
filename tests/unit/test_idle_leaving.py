"""A worker that left counts as connected until what it said last was heard."""

from __future__ import annotations

from meshmsg.patterns.idle._leaving import LAST_WORDS_S, Leaving


def test_who_left_is_kept_for_a_moment() -> None:
    """And forgotten after it."""
    leaving = Leaving()
    assert leaving.here({b"a": 1, b"b": 2}, 5.0) == {b"a": 1, b"b": 2}
    assert not leaving
    assert leaving.here({b"b": 2}, 6.0) == {b"a": 1, b"b": 2}
    assert leaving
    assert leaving.here({b"b": 2}, 6.0 + LAST_WORDS_S / 2) == {b"a": 1, b"b": 2}
    assert leaving.here({b"b": 2}, 6.0 + LAST_WORDS_S) == {b"b": 2}
    assert not leaving


def test_who_came_back_is_here_by_its_new_connection() -> None:
    """At once: what it had is lost, and it is ready by the new one."""
    leaving = Leaving()
    leaving.here({b"a": 1}, 0.0)
    leaving.here({}, 1.0)
    assert leaving.here({b"a": 7}, 1.0) == {b"a": 7}
    assert not leaving
