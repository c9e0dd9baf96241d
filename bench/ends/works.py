"""What each end does in a measurement: throughput and request-reply; the others are in their files.

Each work opens its end, warms it, says that it is ready, measures, and returns end and figures.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ..base.task import Task
from ..peers.seam import End, Peer

Fact = dict[str, Any]


class Parent(Protocol):
    """What a work tells the parent, and waits for."""

    def endpoint(self, url: str) -> None:
        """Tell where it is bound."""

    def ready(self, *, waits: bool) -> None:
        """Tell that it is warm; wait for the word to go on."""

    def hear(self, word: str) -> None:
        """Wait for that word."""


Work = Callable[[Peer, Task, Parent], tuple[End, Fact]]


def counted(times: Iterable[int]) -> list[tuple[int, int]]:
    """Nanoseconds with how often they were seen, to three significant digits."""
    counts: Counter[int] = Counter()
    for ns in times:
        low = max(ns, 0)
        step = 1 << max(low.bit_length() - 10, 0)
        counts[low - low % step] += 1
    return sorted(counts.items())


def passed(task: Task, start_ns: int, end_ns: int) -> Fact:
    """How long an end took for its messages, and when, on the clock of the sender's machine."""
    seconds = (end_ns - start_ns) / 1e9
    return {
        "count": task.count,
        "seconds": seconds,
        "start_ns": start_ns - task.offset_ns,
        "end_ns": end_ns - task.offset_ns,
    }


def whole_way(sent: Fact, received: Fact) -> Fact:
    """What the receiver said, its time counted from when the sender began to when all was there.

    An end that takes many messages at once would else seem to need no time for a few.
    """
    if "end_ns" not in received or "start_ns" not in sent:
        return received  # not of this kind
    seconds = max(received["end_ns"] - sent["start_ns"], 1) / 1e9
    return {**received, "count": sent["count"], "seconds": seconds}


def send_throughput(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Send as fast as it goes."""
    end, body = peer.sender(task), task.body()
    end.send_count(body, task.warm)
    parent.ready(waits=True)
    start = time.monotonic_ns()
    end.send_count(body, task.count)
    return end, passed(task, start, time.monotonic_ns())


def recv_throughput(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Receive as fast as it goes. Its clock would start late: an end may hold messages it took
    with the first, so the parent counts from when the sender began (whole_way)."""
    end = peer.receiver(task)
    parent.endpoint(end.endpoint)
    end.recv_count(task.warm)
    parent.ready(waits=False)
    end.recv_count(1)
    start = time.monotonic_ns()
    end.recv_count(task.count - 1)
    return end, passed(task, start, time.monotonic_ns())


def ask(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Ask, one request after the other."""
    end, body = peer.asker(task), task.body()
    end.ask_times(body, task.warm)
    parent.ready(waits=True)
    times = end.ask_times(body, task.count)
    return end, {"count": task.count, "latency_ns": counted(times)}


def answer(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Answer."""
    end = peer.answerer(task)
    parent.endpoint(end.endpoint)
    end.answer_count(task.warm)
    parent.ready(waits=False)
    end.answer_count(task.count)
    return end, {"count": task.count}
