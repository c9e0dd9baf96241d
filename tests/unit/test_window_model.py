"""Any order of messages, transactions, errors and trims, against a model that is easy to believe.

Not here: several connections at a time (test_window.py, test_window_postgres.py).
"""

from __future__ import annotations

import contextlib
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import meshmsg as mm
from meshmsg._dedupe.tables import TRIM_SHARE
from tests.support.windows import effect, effects, make_effects

IDS = st.tuples(st.sampled_from([0, 7, 2**63, 2**64 - 1]), st.integers(1, 12))
BATCHES = st.lists(
    st.tuples(st.lists(IDS, min_size=1, max_size=5), st.sampled_from(["commit", "error"])),
    max_size=40,
)
MODES = [None, "DEFERRED", "IMMEDIATE", "EXCLUSIVE"]


class Model:
    """Messages in the order they were added, and of each connection the largest forgotten."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ids: list[tuple[int, int]] = []
        self.floors: dict[int, int] = {}

    def say(self, one: tuple[int, int]) -> str:
        """What a window says of a message, and remembers."""
        if one in self.ids:
            return "seen"
        if one[1] <= self.floors.get(one[0], 0):
            return "outside"
        self.ids.append(one)
        return "new"

    def trim(self) -> None:
        """Forget the oldest beyond the limit."""
        while len(self.ids) > self.limit:
            epoch, seq = self.ids.pop(0)
            self.floors[epoch] = max(seq, self.floors.get(epoch, 0))


def said(transaction: mm.DedupeTransaction, one: tuple[int, int]) -> str:
    """What a window says of a message."""
    try:
        return "new" if transaction.add(one) else "seen"
    except mm.OutsideWindowError:
        return "outside"


@given(batches=BATCHES, limit=st.integers(1, 20), mode=st.sampled_from(MODES))
def test_a_table_is_as_the_model(
    batches: list[tuple[list[tuple[int, int]], str]], limit: int, mode: str | None
) -> None:
    """What it says of each message, and what took effect: of a transaction that failed nothing."""
    assert limit // TRIM_SHARE <= 1  # so it is trimmed whenever one was added
    model, done = Model(limit), []
    window = mm.DedupeWindow("orders", limit=limit)
    with closing(sqlite3.connect(":memory:", isolation_level=mode)) as connection:
        make_effects(connection)
        for batch, end in batches:
            before = list(model.ids)
            new = []
            with contextlib.suppress(ZeroDivisionError), window.transaction(connection) as one:
                for message in batch:
                    expected = model.say(message)
                    assert said(one, message) == expected
                    if expected == "new":
                        effect(connection, message[1])
                        new.append(message[1])
                if end == "error":
                    raise ZeroDivisionError
            assert not connection.in_transaction
            if end == "error":
                model.ids = before
            else:
                done += new
                model.trim()
        assert effects(connection) == sorted(done)


@given(messages=st.lists(IDS, max_size=100), limit=st.integers(1, 20))
def test_memory_is_as_the_model(messages: list[tuple[int, int]], limit: int) -> None:
    """Asked first, and then added."""
    model, window = Model(limit), mm.MemoryDedupeWindow(limit=limit)
    for one in messages:
        expected = model.say(one)
        model.trim()
        if expected == "outside":
            for call in (window.seen, window.add):
                with pytest.raises(mm.OutsideWindowError):
                    call(one)
        else:
            assert window.seen(one) == (expected == "seen")
            assert window.add(one) == (expected == "new")
        assert len(window) == len(model.ids)
