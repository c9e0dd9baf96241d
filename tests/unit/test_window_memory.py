"""MemoryDedupeWindow: seen, add, and what it forgets.

Not here: any order of calls (test_window_model.py).
"""

from __future__ import annotations

import pytest

import meshmsg as mm
from tests.support.windows import all_at_once


def test_it_remembers_what_was_added() -> None:
    """To ask changes nothing."""
    window = mm.MemoryDedupeWindow(limit=10)
    assert not window.seen((1, 1))
    assert not window.seen((1, 1))
    assert window.add((1, 1))
    assert window.seen((1, 1))
    assert not window.add((1, 1))
    assert len(window) == 1


def test_it_forgets_the_oldest_and_tells() -> None:
    """By how long ago they were added, not by their numbers."""
    window = mm.MemoryDedupeWindow(limit=2)
    assert all(window.add((1, number)) for number in (9, 3, 4))
    assert window.seen((1, 3))
    assert len(window) == 2
    for call in (window.seen, window.add):
        with pytest.raises(mm.OutsideWindowError) as raised:
            call((1, 5))
        assert (raised.value.seq, raised.value.floor, raised.value.limit) == (5, 9, 2)
    assert window.add((1, 10))


def test_a_floor_does_not_sink() -> None:
    """When a smaller number is forgotten behind a larger one."""
    window = mm.MemoryDedupeWindow(limit=2)
    assert all(window.add((1, number)) for number in (9, 3, 10, 11))
    with pytest.raises(mm.OutsideWindowError, match="up to 9"):
        window.seen((1, 5))


def test_of_threads_that_add_one_message_one_is_first() -> None:
    """Each message is new to one of them."""
    window, count = mm.MemoryDedupeWindow(), 2000

    def work() -> list[int]:
        return [number for number in range(1, count + 1) if window.add((1, number))]

    new = [number for done in all_at_once([work] * 4) for number in done]
    assert sorted(new) == list(range(1, count + 1))
