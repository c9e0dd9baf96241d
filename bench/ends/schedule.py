"""Messages on a schedule, and how late they arrive: open loop, free of coordinated omission.

Each message begins with the moment at which it was due (nanoseconds), its producer and flags; c/
has the same form. Law: latency counts from when a message was due, whatever the sender did then.
"""

from __future__ import annotations

import struct
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..base.task import Task

HEAD = struct.Struct("<qII")
END = 1
"""Flag of the last message of a connection."""
NAP_NS = 100_000
"""So long before a message is due, the sender stops sleeping and only looks at the clock."""


class Clock(Protocol):
    """Where time comes from; tests have one of their own."""

    def now(self) -> int:
        """Nanoseconds."""

    def wait_until(self, due: int) -> None:
        """Come back then, and not before."""


class RealClock:
    """The machine's monotonic clock, the same in all its processes."""

    def __init__(self, offset_ns: int = 0) -> None:
        """offset_ns: how far it is ahead of the clock that counts."""
        plain = time.monotonic_ns
        self.now: Callable[[], int] = (lambda: plain() - offset_ns) if offset_ns else plain

    def wait_until(self, due: int) -> None:
        """Sleep, then watch the clock; other threads of the process may run meanwhile."""
        now, sleep = self.now, time.sleep
        left = due - now()
        if left > NAP_NS:
            sleep((left - NAP_NS) / 1e9)
        while now() < due:
            sleep(0)


class Outlet(Protocol):
    """Where a schedule goes: a Sender."""

    def send(self, body: bytes) -> None:
        """Send one message, waiting for room."""

    def offer(self, body: bytes) -> bool:
        """Send one message if there is room now; whether it was."""


@dataclass
class Sent:
    """What a schedule came to on the sender's side."""

    count: int = 0
    refused: int = 0
    """Messages a full queue did not take, where the sender does not wait."""
    late: list[int] = field(default_factory=list)
    """How long after its time each send began."""


@dataclass
class Arrived:
    """What arrived, by producer: how late each message was."""

    late: dict[int, array[int]] = field(default_factory=dict)
    first_ns: int = 0
    last_ns: int = 0

    @property
    def count(self) -> int:
        """Of all producers."""
        return sum(map(len, self.late.values()))


def size_of(task: Task) -> int:
    """A message is at least as large as its head."""
    return max(task.size, HEAD.size)


def send_paced(outlets: Sequence[Outlet], task: Task, clock: Clock) -> Sent:
    """Send on schedule over the outlets in turn, then an end mark over each."""
    sent = Sent()
    tail = task.body()[HEAD.size :]
    interval = 1e9 / task.rate if task.rate else 0.0
    ways = [outlet.send if task.blocking else outlet.offer for outlet in outlets]
    start = clock.now()
    for i in range(task.count):
        due = clock.now()
        if interval:
            turn = i - i % task.burst
            due = start + int(turn * interval)
        body = HEAD.pack(due, task.number, 0) + tail
        if interval and i == turn:
            clock.wait_until(due)
        sent.late.append(clock.now() - due)
        if ways[i % len(ways)](body) is False:
            sent.refused += 1
        else:
            sent.count += 1
    for outlet in outlets:
        outlet.send(HEAD.pack(clock.now(), task.number, END) + tail)
    return sent


def recv_paced(recv: Callable[[], bytes], ends: int, clock: Clock) -> Arrived:
    """Receive until so many end marks came."""
    arrived = Arrived()
    unpack, now_ns = HEAD.unpack_from, clock.now
    now = 0
    while ends:
        body = recv()
        now = now_ns()
        due, number, flags = unpack(body)
        if flags & END:
            ends -= 1
            continue
        try:
            arrived.late[number].append(now - due)
        except KeyError:
            arrived.late[number] = array("q", [now - due])
            arrived.first_ns = arrived.first_ns or now
        arrived.last_ns = now
    return arrived
