"""Schedules with a clock of the test's own: latency counts from when a message was due."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from meshmsg.bench.base.task import Task
from meshmsg.bench.ends.schedule import (
    END,
    HEAD,
    Arrived,
    RealClock,
    recv_paced,
    send_paced,
    size_of,
)

MS = 1_000_000


class TestClock:
    """Time that passes only when somebody says so."""

    __test__ = False

    def __init__(self) -> None:
        self.at = 1000 * MS

    def now(self) -> int:
        """Nanoseconds."""
        return self.at

    def wait_until(self, due: int) -> None:
        """Be there, unless it is later already."""
        self.at = max(self.at, due)


class TestOutlet:
    """A connection whose sends take time, and may refuse."""

    __test__ = False

    def __init__(self, clock: TestClock, wire: deque[bytes], took: Callable[[int], int]) -> None:
        self._clock, self._wire, self._took = clock, wire, took
        self.calls = 0
        self.full: set[int] = set()

    def send(self, body: bytes) -> None:
        """Take it, and some time."""
        self._clock.at += self._took(self.calls)
        self.calls += 1
        self._wire.append(body)

    def offer(self, body: bytes) -> bool:
        """Take it, unless this call finds the queue full."""
        if self.calls in self.full:
            self.calls += 1
            return False
        self.send(body)
        return True


def task(**changes: float | bool) -> Task:
    """One second at 1,000 messages a second, unless changed."""
    told = {"size": 64, "count": 1000, "rate": 1000.0, **changes}
    return Task("rate", "nobody", False, "", **told)  # type: ignore[arg-type]


def dues(wire: deque[bytes]) -> list[int]:
    """The moments in the messages, without end marks."""
    heads = [HEAD.unpack_from(body) for body in wire]
    return [due for due, _, flags in heads if not flags & END]


def test_a_fast_sender_keeps_the_schedule() -> None:
    """Each message is due an interval after the one before, and none is late."""
    clock, wire = TestClock(), deque[bytes]()
    start = clock.at
    sent = send_paced([TestOutlet(clock, wire, lambda _: 0)], task(), clock)
    assert dues(wire) == [start + i * MS for i in range(1000)]
    assert (sent.count, sent.refused) == (1000, 0)
    assert set(sent.late) == {0}


def test_a_stall_of_the_sender_counts_as_latency_of_all_that_was_due_meanwhile() -> None:
    """The schedule goes on while a send hangs for 100 ms: about 100 messages are late."""
    clock, wire = TestClock(), deque[bytes]()
    start = clock.at
    outlet = TestOutlet(clock, wire, lambda call: 100 * MS if call == 500 else 0)
    sent = send_paced([outlet], task(), clock)
    assert dues(wire) == [start + i * MS for i in range(1000)]
    assert [late for late in sent.late if late] == [(99 - i) * MS for i in range(99)]


def test_latency_is_from_the_moment_a_message_was_due() -> None:
    """Whatever the sender did in between."""
    clock, wire = TestClock(), deque[bytes]()
    start = clock.at
    send_paced([TestOutlet(clock, wire, lambda _: 3 * MS)], task(count=100), clock)
    arrivals = iter(range(1000))

    def recv() -> bytes:
        clock.at = start + 10 * MS * (1 + next(arrivals))
        return wire.popleft()

    arrived = recv_paced(recv, 1, clock)
    assert list(arrived.late[0]) == [10 * MS * (i + 1) - i * MS for i in range(100)]
    assert arrived.count == 100
    assert (arrived.first_ns, arrived.last_ns) == (start + 10 * MS, start + 1000 * MS)


def test_a_burst_is_due_at_one_moment_and_the_rate_stays() -> None:
    """Ten at once every ten milliseconds."""
    clock, wire = TestClock(), deque[bytes]()
    start = clock.at
    send_paced([TestOutlet(clock, wire, lambda _: 0)], task(count=100, burst=10), clock)
    assert dues(wire) == [start + i // 10 * 10 * MS for i in range(100)]


def test_connections_take_turns_and_each_ends_with_a_mark() -> None:
    """The receiver waits for all marks, and tells producers apart."""
    clock = TestClock()
    wires = [deque[bytes]() for _ in range(3)]
    outlets = [TestOutlet(clock, wire, lambda _: 0) for wire in wires]
    send_paced(outlets, task(count=9, number=7), clock)
    assert [len(wire) for wire in wires] == [4, 4, 4]
    every = deque(body for wire in wires for body in wire)
    arrived = recv_paced(every.popleft, 3, clock)
    assert not every
    assert {number: len(late) for number, late in arrived.late.items()} == {7: 9}


def test_a_sender_that_does_not_wait_counts_what_was_refused() -> None:
    """It is not sent later; the end mark is."""
    clock, wire = TestClock(), deque[bytes]()
    outlet = TestOutlet(clock, wire, lambda _: 0)
    outlet.full = {3, 4}
    sent = send_paced([outlet], task(count=10, blocking=False), clock)
    assert (sent.count, sent.refused, len(wire)) == (8, 2, 9)


def test_without_a_rate_messages_are_due_when_they_are_sent() -> None:
    """As fast as it goes."""
    clock, wire = TestClock(), deque[bytes]()
    start = clock.at
    send_paced([TestOutlet(clock, wire, lambda _: 5)], task(count=4, rate=0.0), clock)
    assert dues(wire) == [start, start + 5, start + 10, start + 15]


def test_nothing_received_is_no_latency() -> None:
    """Only the mark came."""
    wire = deque([HEAD.pack(0, 0, END)])
    assert recv_paced(wire.popleft, 1, TestClock()) == Arrived()


def test_a_message_has_room_for_its_head() -> None:
    """However small it shall be."""
    assert size_of(task(size=0)) == HEAD.size
    assert size_of(task(size=100)) == 100


def test_the_real_clock_never_comes_back_too_early() -> None:
    """Neither after a sleep nor after a short wait; the past is no wait at all."""
    clock = RealClock()
    for ahead in (-5, 10_000, 2 * MS):
        due = time.monotonic_ns() + ahead
        clock.wait_until(due)
        assert time.monotonic_ns() >= due
