"""Tasks of a barrier stage that bind sockets, tell each other where, and send to each other.

Not here: who sends to whom (_topology.py).  Law: endpoints are exchanged once, as each exchange of
Spark takes a second; a task ends when all it sent is acknowledged.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, cast

from meshmsg import Pull, Push, UsageError

from .._protected import protected
from .._tasks import context_of
from ._slots import wait_for_slots
from ._topology import Edges, Topology, Wiring, wiring_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
TASKS_MAX = 4096
"""Tasks of a mesh."""
_RANK = struct.Struct(">I")


class TaskNode:
    """One task of a mesh: it sends to those it is wired to, and receives from any.

    Thread-safe: no.

    Attributes:
        rank: Which one it is, from 0 on.
        count: How many there are.
        targets: Those it may send to.
    """

    def __init__(self, rank: int, pull: Pull, pushes: dict[int, Push], count: int) -> None:
        self.rank = rank
        self.count = count
        self.targets: tuple[int, ...] = tuple(pushes)
        self._pull = pull
        self._pushes = pushes
        self._early: list[tuple[int, bytes]] = []

    def send(self, to: int, body: bytes, *, timeout: float | None = None) -> None:
        """Send to a task.

        Args:
            to: Its rank.
            body: What it gets.
            timeout: Seconds to wait while it has no room; None waits for ever.

        Raises:
            UsageError: This task is not wired to it.
            TimedOutError: There was no room; nothing was sent.
        """
        push = self._pushes.get(to)
        if push is None:
            raise UsageError(f"task {self.rank} is not wired to {to}; it sends to {self.targets}")
        push.send(_RANK.pack(self.rank) + body, timeout=timeout)

    def recv(self, *, of: int | None = None, timeout: float | None = None) -> tuple[int, bytes]:
        """Receive from any task, or from one.

        Args:
            of: Only from that one; what others sent meanwhile is kept for later.
            timeout: Seconds to wait; None waits for ever.

        Returns:
            Its rank, and what it sent. What one task sends comes in order.

        Raises:
            TimedOutError: Nothing came.
        """
        for i, (rank, _) in enumerate(self._early):
            if of in (None, rank):
                return self._early.pop(i)
        while True:
            leased = self._pull.recv(timeout=timeout)
            message = bytes(leased)
            leased.ack()
            (rank,) = _RANK.unpack_from(message)
            if of in (None, rank):
                return rank, message[_RANK.size :]
            self._early.append((rank, message[_RANK.size :]))

    def drain(self, *, timeout: float | None = None) -> None:
        """Wait until all that was sent has been received.

        Raises:
            TimedOutError: Some was not.
        """
        for push in self._pushes.values():
            push.drain(timeout=timeout).raise_for_loss()


class _Wired(NamedTuple):
    """What runs in a task; it is pickled by Spark."""

    fn: Callable[[TaskNode], Any]
    topology: Topology | Edges
    host: str | None
    scheme: str
    insecure: bool
    security: str | None
    patience: float

    def __call__(self, _: Iterator[Any]) -> Iterator[Any]:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        rank = context.partitionId()
        host = self.host or context.getTaskInfos()[rank].address.rpartition(":")[0]

        def exchange(endpoint: str) -> list[str]:
            told: list[str] = context.allGather(endpoint)
            return told

        yield rank, self.run(rank, host, exchange, context.barrier)

    def run(
        self,
        rank: int,
        host: str,
        exchange: Callable[[str], list[str]],
        barrier: Callable[[], None],
    ) -> Any:
        """Run one task: bind, tell the others where, connect to those it sends to, call.

        Args:
            rank: Which task it is.
            host: Where it binds.
            exchange: Tells all where this one listens, and returns where all do, by rank.
            barrier: Waits until all have come to it.
        """
        with ExitStack() as stack:
            stack.enter_context(protected(self.security))
            pull = stack.enter_context(
                Pull(bind=f"{self.scheme}://{host}:0", ack="manual", insecure=self.insecure)
            )
            there = exchange(pull.endpoint)
            pushes = {
                to: stack.enter_context(self._push(there[to]))
                for to in self.topology.targets(rank, len(there))
            }
            node = TaskNode(rank, pull, pushes, len(there))
            done = self.fn(node)
            node.drain(timeout=self.patience)
            barrier()  # nobody closes what another one still sends to
            return done

    def _push(self, endpoint: str) -> Push:
        return Push(
            connect=endpoint,
            delivery="at_least_once",
            insecure=self.insecure,
            linger=self.patience,
        )


def executors_as_mesh(
    session: SparkSession,
    fn: Callable[[TaskNode], T],
    *,
    count: int,
    topology: Wiring = Topology.ALL,
    host: str | None = None,
    scheme: Literal["tcp", "tls+tcp"] = "tcp",
    patience: float = 60.0,
    insecure: bool = False,
    security: str | os.PathLike[str] | None = None,
) -> list[T]:
    """Run `fn` in so many tasks at once, which can send to each other; wait until all have ended.

    A barrier stage of Spark: all tasks run at the same time, and if one fails all are run again, up
    to four times in all (`spark.stage.maxConsecutiveAttempts`).

    Args:
        session: Of Spark; not one of Spark Connect, which has no barrier of this kind.
        fn: Is called in each task with its `TaskNode`. Spark pickles it.
        count: How many tasks, up to as many as the session has slots.
        topology: Who sends to whom: a `Topology`; pairs of ranks, each (from, to); or a function of
            a rank and the count that returns those it sends to, which is called here.
        host: Where tasks bind; None is the address that Spark has of each executor.
        scheme: "tls+tcp" where the policies of `security` are of TLS.
        patience: Seconds at the end until all that a task sent must be received; and before, until
            executors must be there.
        insecure: Allow binds outside loopback without security.
        security: The path of a file of policies where tasks run, as of `run_tasks`.

    Returns:
        What each returned, by rank.

    Raises:
        UsageError: `count` is out of its range, or more than there are slots: Spark would wait for
            them. Or `topology` names a task that is not there, or one sends to itself; or the
            session is one of Spark Connect.
        TypeError: `count` or a rank is no whole number, or `topology` is none of the three.
        Exception: What Spark raises when a task failed as often as it may.
    """
    context = context_of(session, "executors_as_mesh()")
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"count is {count!r}; it is a whole number")
    if not 1 <= count <= TASKS_MAX:
        raise UsageError(f"count is {count}; it is from 1 to {TASKS_MAX:,}")
    wiring = wiring_of(topology, count)
    wait_for_slots(context, count, patience)
    path = None if security is None else os.fspath(security)
    wired = _Wired(fn, wiring, host, scheme, insecure, path, patience)
    tasks = context.parallelize(range(count), count).barrier()
    # Spark runs a barrier stage again only if its results are not its job's: so they are shuffled.
    found = dict(tasks.mapPartitions(cast(Any, wired)).partitionBy(1).collect())
    return [found[rank] for rank in range(count)]
