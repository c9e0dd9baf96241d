"""Tasks that are wired to each other, as threads in place of tasks of Spark."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.spark.executors import TaskNode, Topology
from meshmsg.spark.executors._mesh import _Wired, executors_as_mesh
from meshmsg.spark.executors._slots import LOOK_S, slots_of, wait_for_slots
from meshmsg.spark.executors._topology import Edges, wiring_of
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


def wired(fn: Callable[[TaskNode], Any], topology: Topology | Edges) -> _Wired:
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


def both_ways(rank: int, count: int) -> list[int]:
    """A ring in both directions, as a topology of one's own."""
    return [other % count for other in (rank - 1, rank + 1) if other % count != rank]


def star(count: int) -> list[tuple[int, int]]:
    """Edges to the middle and back, one of them twice."""
    out = [(0, i) for i in range(1, count)]
    return [*out, *((i, 0) for i in range(1, count)), *out[:1]]


def by_the_middle(node: TaskNode) -> int:
    """All tell 0, and 0 tells all."""
    if node.rank > 0:
        node.send(0, struct.pack(">q", node.rank + 1), timeout=WAIT_S)
        return number(node.recv(of=0, timeout=WAIT_S)[1])
    total = 1 + sum(number(node.recv(of=i, timeout=WAIT_S)[1]) for i in node.targets)
    for i in node.targets:
        node.send(i, struct.pack(">q", total), timeout=WAIT_S)
    return total


@pytest.mark.parametrize("count", [1, 2, 6])
def test_a_topology_of_one_s_own_is_edges_or_a_function(count: int) -> None:
    """What is said twice counts once, and targets are in rising order."""
    assert (
        Stage(count).run(wired(by_the_middle, wiring_of(star(count), count)))
        == [count * (count + 1) // 2] * count
    )
    around = wiring_of(both_ways, count)
    for rank in range(count):
        assert around.targets(rank, count) == tuple(sorted({*both_ways(rank, count)}))
    assert wiring_of(Topology.TREE, count) is Topology.TREE


@pytest.mark.parametrize(
    ("topology", "error", "said"),
    [
        ([(0, 3)], mm.UsageError, "no task 3; ranks are 0 to 2"),
        ([(-1, 0)], mm.UsageError, "no task -1"),
        ([(1, 1)], mm.UsageError, "task 1 sends to itself"),
        ([(0, "1")], TypeError, "'1' is no rank"),
        ([(0, True)], TypeError, "True is no rank"),
        ([0, 1], TypeError, r"topology is \[0, 1\]; it is a Topology, pairs"),
        (5, TypeError, "topology is 5; it is a Topology, pairs"),
        (lambda rank, count: [count], mm.UsageError, "no task 3"),
        (
            lambda rank, count: None,
            TypeError,
            r"topology\(0, 3\) returned None; it returns the ranks",
        ),
        (lambda rank, count: 1, TypeError, r"topology\(0, 3\) returned 1; it returns the ranks"),
        (lambda rank, count: [rank], mm.UsageError, "task 0 sends to itself"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(
    topology: Any, error: type[Exception], said: str
) -> None:
    """Before a task begins."""
    with pytest.raises(error, match=said):
        executors_as_mesh(Session(Context(3)), sum_of_all, count=3, topology=topology)  # type: ignore[arg-type]


class Context:
    """As much of a SparkContext as is asked before a job: it has these slots, one look each."""

    defaultParallelism = 50
    """As `spark.default.parallelism` may say, whatever there is."""

    def __init__(self, *slots: int, master: str = "local[4]") -> None:
        self.master = master
        self._slots = list(slots)
        self._jsc = self
        self.looks = 0

    def sc(self) -> Context:
        """Be the one of Scala, too."""
        return self

    resourceProfileManager = defaultResourceProfile = sc

    def maxNumConcurrentTasks(self, profile: Context) -> int:
        """Tell the next number; the last one for ever."""
        self.looks += 1
        return self._slots.pop(0) if len(self._slots) > 1 else self._slots[0]


class Session:
    """A session."""

    def __init__(self, context: Context) -> None:
        self.sparkContext = context


@pytest.mark.parametrize("count", [5, 50])
def test_more_tasks_than_slots_are_refused(count: int) -> None:
    """Spark would wait for them; what it cuts data into by default says nothing of it."""
    with pytest.raises(mm.UsageError, match=f"count is {count}, and this session has 4 slots: a"):
        executors_as_mesh(Session(Context(4)), sum_of_all, count=count)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("count", "error"),
    [(0, mm.UsageError), (-1, mm.UsageError), (4097, mm.UsageError), (2.0, TypeError)],
)
def test_a_count_that_cannot_be_is_refused(count: Any, error: type[Exception]) -> None:
    """Without a look at slots."""
    context = Context(10_000)
    with pytest.raises(error, match=f"count is {count}; it is"):
        executors_as_mesh(Session(context), sum_of_all, count=count)  # type: ignore[arg-type]
    assert context.looks == 0


def test_executors_that_are_not_there_yet_are_waited_for() -> None:
    """Up to patience, which is told; a local master has all at once."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    wait = partial(wait_for_slots, clock=lambda: now[0], sleep=sleep)
    context = Context(0, 0, 2, 4, master="local-cluster[2,2,1024]")
    wait(context, 4, 10.0)
    assert (context.looks, now[0]) == (4, pytest.approx(3 * LOOK_S))
    context = Context(2, master="spark://there:7077")
    with pytest.raises(mm.UsageError, match="count is 4, and this session has 2 slots after 10 s"):
        wait(context, 4, 10.0)
    assert now[0] == pytest.approx(10.0, abs=4 * LOOK_S)
    before = now[0]
    with pytest.raises(mm.UsageError, match="has 2 slots: a barrier stage"):
        wait(Context(2, master="local[2,4]"), 4, 10.0)
    assert now[0] == before


def test_where_spark_does_not_say_what_it_looks_at_its_default_counts() -> None:
    """No name of its insides is promised."""

    class Old:
        defaultParallelism = 3

    assert slots_of(Old()) == 3
