"""The books of a work queue, without sockets: every record is in one place, and counted once.

Not here: who sends what (tests/conformance/test_work.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import meshmsg as mm
from meshmsg.patterns.workqueue._batch import parse_batch
from meshmsg.patterns.workqueue._books import OPEN_MIN, Batch, Books, tell_put, too_late

LIMITS: dict[str, Any] = {
    "batch_messages": 3,
    "batch_bytes": 10,
    "backlog_messages": 5,
    "backlog_bytes": 100,
    "lease": None,
}


@dataclass
class Receipt:
    """What became of a batch, as a test says."""

    outcome: str | None = None
    asked: int = 0


class Closed:
    """The receipt of a socket that was closed."""

    @property
    def outcome(self) -> str | None:
        """Not known any more."""
        raise mm.ClosedError("closed")


def no_socket() -> mm.Stats:
    """Its counts are not known."""
    raise mm.ClosedError("closed")


def send(books: Books, receipt: Any = None) -> Batch:
    """Send the next batch."""
    batch = books.peek()
    assert batch is not None
    books.made(batch)
    books.sent(batch, receipt or Receipt())
    return batch


def records_of(batch: Batch) -> tuple[bytes, ...]:
    """What is in it."""
    parsed = parse_batch(batch.octets)
    assert parsed is not None
    assert parsed.number == batch.number
    return parsed.records


def test_batches_are_cut_by_number_and_by_bytes() -> None:
    """A larger record travels alone; looking makes no batch."""
    books = Books(**LIMITS)
    for item in (b"1", b"2", b"3", b"4", b"1234567890", b"x" * 50, b"y"):
        books.put(item)
    assert books.peek() == books.peek()
    found = [records_of(send(books)) for _ in range(4)]
    assert found == [(b"1", b"2", b"3"), (b"4",), (b"1234567890",), (b"x" * 50,)]
    assert records_of(send(books)) == (b"y",)
    assert books.peek() is None


def test_the_backlog_is_full_by_number_or_by_bytes() -> None:
    """At the limit, and not before; what is in a batch does not count."""
    books = Books(**LIMITS)
    assert books.room == 5
    for _ in range(5):
        books.put(b"x")
    assert books.room == 0
    send(books)
    assert books.room == 3
    books.put(b"x" * 98)
    assert books.room == 0
    assert books.full(0.5, books.stats(no_socket)) == (
        "backlog full for 0.5 s: 3 records waiting for 0 workers (limit 5 records, 100 bytes)"
    )


def test_what_is_not_known_any_more_stays_as_it_was() -> None:
    """Of a queue that was closed; and that its socket knows nothing raises nothing."""
    books = Books(**LIMITS)
    for _ in range(4):
        books.put(b"x")
    send(books, Receipt("acked"))
    send(books, Closed())
    for _ in range(2):
        stats = books.stats(no_socket)
        assert (stats.put, stats.acknowledged, stats.leased, stats.workers) == (4, 3, 1, 0)
    assert too_late(stats, None).startswith("0 records waiting and 1 leased after ever; 0 workers")


def test_batches_that_are_done_are_not_kept_for_ever() -> None:
    """Nobody need ask for the counts; and it is not looked at all of them each time."""
    books = Books(**LIMITS)
    stuck = [Receipt() for _ in range(OPEN_MIN)]
    for receipt in stuck:
        books.put(b"x")
        send(books, receipt)
    for _ in range(10 * OPEN_MIN):
        books.put(b"x")
        send(books, Receipt("acked"))
        assert len(books._open) < 3 * OPEN_MIN
    stats = books.stats(no_socket)
    assert (stats.leased, stats.acknowledged) == (OPEN_MIN, 10 * OPEN_MIN)


def test_what_had_to_be_dropped_is_counted_apart() -> None:
    """It was not done, and no one has it any more."""
    books = Books(**LIMITS)
    books.put(b"x")
    send(books, Receipt("dropped"))
    stats = books.stats(no_socket)
    assert (stats.lost, stats.acknowledged, stats.leased) == (1, 0, 0)


def test_a_signal_s_function_that_looks_while_it_is_looked_counts_nothing_twice() -> None:
    """It runs between two lines of the same look."""
    books = Books(**LIMITS)

    class Asks:
        """Asks for the counts as it is asked."""

        asks = True

        @property
        def outcome(self) -> str | None:
            """Done."""
            if self.asks:
                self.asks = False
                books.settle()
            return "acked"

    for _ in range(6):
        books.put(b"x")
    send(books, Asks())
    send(books, Asks())
    assert books.stats(no_socket).acknowledged == 6


def test_an_error_without_room_for_attributes_is_left_as_it_is() -> None:
    """Telling how much was put is no reason for another one."""

    class Tight(Exception):
        """Has no room."""

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    tell_put(Tight(), 1, [])


class Machine(RuleBasedStateMachine):
    """Put, send, and be told of what is done, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.books = Books(**LIMITS)
        self.given: list[bytes] = []
        self.sent: list[bytes] = []
        self.open: list[tuple[int, Receipt]] = []
        self.done = 0

    @rule(item=st.binary(max_size=12))
    def put(self, item: bytes) -> None:
        """A record."""
        assert self.books.put(item) == len(self.given)
        self.given.append(item)

    @rule()
    def send(self) -> None:
        """The next batch, if there are records."""
        if self.books.peek() is not None:
            receipt = Receipt()
            batch = send(self.books, receipt)
            parsed = parse_batch(batch.octets)
            assert parsed is not None
            assert parsed.first_sequence == len(self.sent)
            self.sent += parsed.records
            self.open.append((len(parsed.records), receipt))

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Any of those that are open is done."""
        if self.open:
            at = data.draw(st.integers(0, len(self.open) - 1))
            count, receipt = self.open.pop(at)
            receipt.outcome = "acked"
            self.done += count

    @invariant()
    def each_is_in_one_place(self) -> None:
        """Waiting, leased or acknowledged."""
        stats = self.books.stats(no_socket)
        assert self.sent == self.given[: len(self.sent)]
        assert (stats.put, stats.waiting) == (len(self.given), len(self.given) - len(self.sent))
        assert stats.acknowledged == self.done
        assert stats.leased == sum(count for count, _ in self.open)
        assert stats.put == stats.waiting + stats.leased + stats.acknowledged + stats.lost


TestBooks = Machine.TestCase
TestBooks.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("lease", [0, -1.0, float("nan"), 0.0001])
def test_a_lease_that_is_none_is_refused(lease: float) -> None:
    """Below what can be told."""
    with pytest.raises(mm.UsageError, match="it is seconds, from 0.001"):
        Books(**{**LIMITS, "lease": lease})
