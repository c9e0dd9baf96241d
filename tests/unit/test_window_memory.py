"""MemoryDedupeWindow: seen, add, and what it forgets.

Not here: any order of calls (test_window_model.py).
"""

from __future__ import annotations

import threading

import pytest

import meshmsg as mm


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


def test_of_threads_that_add_one_message_one_is_first() -> None:
    """Each message is new to one of them."""
    window, threads, count = mm.MemoryDedupeWindow(), 4, 2000
    together, new = threading.Barrier(threads), []

    def work() -> None:
        together.wait()
        new.extend([number for number in range(1, count + 1) if window.add((1, number))])

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(new) == list(range(1, count + 1))
