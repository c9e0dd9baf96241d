"""Tasks that are wired to each other, as threads in place of tasks of Spark."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark.executors import TaskNode, Topology
from meshmsg.spark.executors._mesh import _Wired, executors_as_mesh
from tests.support.pairs import WAIT_S


class Stage:
    """A barrier stage of threads."""

    def __init__(self, count: int) -> None:
        self._barrier = threading.Barrier(count, timeout=WAIT_S)
        self._there = [""] * count
        self.results: list[Any] = [None] * count
        self.errors: list[BaseException] = []

    def run(self, wired: _Wired) -> list[Any]:
        """Run a task each, and return what they returned."""
        count = len(self.results)
        threads = [threading.Thread(target=self._one, args=(wired, i)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        if self.errors:
            raise self.errors[0]
        assert not any(thread.is_alive() for thread in threads)
        return self.results

    def _one(self, wired: _Wired, rank: int) -> None:
        def exchange(endpoint: str) -> list[str]:
            self._there[rank] = endpoint
            self._barrier.wait()
            return self._there

        try:
            wait: Callable[[], Any] = self._barrier.wait
            self.results[rank] = wired.run(rank, "127.0.0.1", exchange, wait)
        except BaseException as error:
            self.errors.append(error)
            self._barrier.abort()


def wired(fn: Callable[[TaskNode], Any], topology: Topology) -> _Wired:
    """What each task runs."""
    return _Wired(fn, topology, None, "tcp", False, None, WAIT_S)


def number(body: bytes) -> int:
    """Of a message."""
    return int(struct.unpack(">q", body)[0])


def sum_around(node: TaskNode) -> int:
    """An all-reduce: each value goes around the ring."""
    value = total = node.rank + 1
    for _ in range(node.count - 1):
        node.send(node.targets[0], struct.pack(">q", value), timeout=WAIT_S)
        value = number(node.recv(timeout=WAIT_S)[1])
        total += value
    return total


def sum_of_all(node: TaskNode) -> int:
    """Each tells every other its own."""
    for to in node.targets:
        node.send(to, struct.pack(">q", node.rank + 1), timeout=WAIT_S)
    others = (number(node.recv(of=to, timeout=WAIT_S)[1]) for to in node.targets)
    return node.rank + 1 + sum(others)


def sum_up_and_down(node: TaskNode) -> int:
    """To the root, and back."""
    children = [to for to in node.targets if to > node.rank]
    total = node.rank + 1 + sum(number(node.recv(of=c, timeout=WAIT_S)[1]) for c in children)
    if node.rank > 0:
        parent = node.targets[0]
        node.send(parent, struct.pack(">q", total), timeout=WAIT_S)
        total = number(node.recv(of=parent, timeout=WAIT_S)[1])
    for child in children:
        node.send(child, struct.pack(">q", total), timeout=WAIT_S)
    return total


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("topology", "fn"),
    [
        (Topology.RING, sum_around),
        (Topology.ALL, sum_of_all),
        (Topology.TREE, sum_up_and_down),
    ],
)
def test_all_reduce_over_each_topology(
    count: int, topology: Topology, fn: Callable[[TaskNode], int]
) -> None:
    """Each task has the sum of all."""
    assert Stage(count).run(wired(fn, topology)) == [count * (count + 1) // 2] * count


@pytest.mark.parametrize("count", [1, 2, 5, 8])
@pytest.mark.parametrize("topology", list(Topology))
def test_every_task_can_be_reached_and_none_sends_to_itself(topology: Topology, count: int) -> None:
    """A tree is wired both ways, a ring one."""
    edges = {(i, to) for i in range(count) for to in topology.targets(i, count)}
    assert all(0 <= to < count and to != i for i, to in edges)
    known = {0}
    for _ in range(count):
        known |= {to for i, to in edges if i in known}
    assert known == set(range(count))


def test_a_task_sends_only_to_those_it_is_wired_to() -> None:
    """It says to whom that is."""

    def wrong(node: TaskNode) -> str:
        with pytest.raises(mm.UsageError, match=f"task {node.rank} is not wired to 9"):
            node.send(9, b"")
        return "told"

    assert Stage(2).run(wired(wrong, Topology.RING)) == ["told", "told"]


def test_what_one_sends_is_in_order_whatever_others_send() -> None:
    """`of=` keeps what others sent for later."""

    def chatter(node: TaskNode) -> list[list[int]]:
        for i in range(100):
            for to in node.targets:
                node.send(to, struct.pack(">q", i), timeout=WAIT_S)
        return [
            [number(node.recv(of=other, timeout=WAIT_S)[1]) for _ in range(100)]
            for other in reversed(node.targets)
        ]

    assert Stage(3).run(wired(chatter, Topology.ALL)) == [[list(range(100))] * 2] * 3


class Context:
    """As much of a SparkContext as is asked before a job."""

    defaultParallelism = 4


class Session:
    """A session of four slots."""

    sparkContext = Context()


@pytest.mark.parametrize("count", [0, 5, -1])
def test_more_tasks_than_slots_are_refused(count: int) -> None:
    """Spark would wait for them for ever."""
    with pytest.raises(mm.UsageError, match="this session has 4 slots"):
        executors_as_mesh(Session(), sum_of_all, count=count)  # type: ignore[arg-type]
