"""A process that sends or receives, and becomes a member of a mesh when it is told to.

    python -m bench.ends.beside

What it is told: lasting.py. Its sockets stay, whatever it is. A measurement says what the threads
of the process used for it, all but those that the mesh has brought. Law: the mesh is not imported
before that is asked for; while it is stopped its thread waits, between two turns.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..base.task import PATIENCE, Task
from ..peers.roster import peer_named
from ..peers.seam import Answerer, Asker, Receiver, Sender
from .lasting import Fact, serve
from .works import counted

if TYPE_CHECKING:
    from meshmsg.mesh import Mesh

MESH = "meshmsg.mesh"
CLUSTER = "bench"
EVERYWHERE = "tcp://*:0"
CLOCK_OF_THREAD = 6
"""The low bits of a thread's clock of processor time, behind its number (clock_getcpuclockid)."""


def threads() -> dict[int, int]:
    """Nanoseconds of processor time by thread of this process, as of now."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc/self/task"):
        with suppress(OSError):  # it has ended
            number = int(name)
            found[number] = time.clock_gettime_ns(~number << 3 | CLOCK_OF_THREAD)
    return found


def used(before: dict[int, int], after: dict[int, int], own: frozenset[int]) -> int:
    """Nanoseconds that all threads but those have used between."""
    return sum(ns - before.get(one, 0) for one, ns in after.items() if one not in own)


class Gate:
    """Stops the thread of a mesh."""

    def __init__(self, driver: Any) -> None:
        self._ring, self._sleep = driver.ring, driver._sleep
        self._open, self._waits = threading.Event(), threading.Event()
        self._open.set()
        driver._sleep = self._asleep

    def _asleep(self) -> bool:
        if not self._open.is_set():
            self._waits.set()
            self._open.wait()
        woken: bool = self._sleep()
        return woken

    @contextmanager
    def closed(self) -> Iterator[None]:
        """It does nothing meanwhile, from the end of the turn that it is in."""
        self._waits.clear()
        self._open.clear()
        self._ring()
        self._waits.wait()
        try:
            yield
        finally:
            self._open.set()


class Lasting:
    """Both kinds of an end: one that binds and one that connects."""

    def __init__(self) -> None:
        self._mesh: Mesh | None = None
        self._gate: Gate | None = None
        self._own: frozenset[int] = frozenset()
        """Threads that the mesh has brought."""
        self._receiver: Receiver
        self._answerer: Answerer
        self._sender: Sender
        self._asker: Asker

    # The data path

    def _task(self, asked: Fact, url: str, *, receives: bool) -> Task:
        return Task(kind="thr", peer=asked["peer"], receives=receives, url=url, size=asked["size"])

    def bind(self, asked: Fact) -> Fact:
        """Open what receives and what answers."""
        peer, task = peer_named(asked["peer"]), self._task(asked, asked["url"], receives=True)
        self._receiver, self._answerer = peer.receiver(task), peer.answerer(task)
        return {"urls": [self._receiver.endpoint, self._answerer.endpoint]}

    def connect(self, asked: Fact) -> Fact:
        """Open what sends and what asks."""
        peer = peer_named(asked["peer"])
        rate, trips = (self._task(asked, url, receives=False) for url in asked["urls"])
        self._sender, self._asker, self._body = peer.sender(rate), peer.asker(trips), rate.body()
        return {}

    def _measured(self, asked: Fact, does: Callable[[int], Fact]) -> Fact:
        stopped, gate = asked.get("stopped"), self._gate
        if gate is None or stopped is None:
            return self._found(asked, does)
        with gate.closed():  # so that both begin alike
            if stopped:
                return self._found(asked, does)
        return self._found(asked, does)

    def _found(self, asked: Fact, does: Callable[[int], Fact]) -> Fact:
        before = threads()
        found = does(asked["count"])
        return {**found, "cpu_ns": used(before, threads(), self._own)}

    def send(self, asked: Fact) -> Fact:
        """Send so many; when it began."""
        return self._measured(asked, self._send)

    def _send(self, count: int) -> Fact:
        start = time.monotonic_ns()
        self._sender.send_count(self._body, count)
        self._sender.flush()
        return {"start_ns": start}

    def receive(self, asked: Fact) -> Fact:
        """Receive so many; when it had them."""
        return self._measured(asked, self._receive)

    def _receive(self, count: int) -> Fact:
        self._receiver.recv_count(count)
        return {"end_ns": time.monotonic_ns()}

    def ask(self, asked: Fact) -> Fact:
        """Ask so many times; how long each took."""
        found = self._measured(asked, self._ask)
        return {"latency_ns": counted(found["times"]), "cpu_ns": found["cpu_ns"]}

    def _ask(self, count: int) -> Fact:
        return {"times": self._asker.ask_times(self._body, count)}

    def answer(self, asked: Fact) -> Fact:
        """Answer so many times."""
        return self._measured(asked, self._answer)

    def _answer(self, count: int) -> Fact:
        self._answerer.answer_count(count)
        return {}

    # What it is

    def imports(self, _: Fact) -> Fact:
        """Import the mesh, and do nothing with it."""
        import meshmsg.mesh

        return {"knows": meshmsg.mesh.__name__}

    def bare(self, _: Fact) -> Fact:
        """Whether it has not imported the mesh."""
        return {"bare": MESH not in sys.modules}

    def join(self, asked: Fact) -> Fact:
        """Become a member; done when it knows so many."""
        from meshmsg.mesh import Mesh

        before = threads()
        self._mesh = Mesh(
            cluster=CLUSTER,
            name=asked["name"],
            seeds=asked["seed"],
            bind=EVERYWHERE,
            secret=asked["secret"],
        )
        self._mesh.wait_for(count=asked["count"], timeout=PATIENCE)
        self._own = frozenset(threads()) - frozenset(before)
        self._gate = Gate(self._mesh._driver)
        return {}

    def own(self, _: Fact) -> Fact:
        """What the threads of the mesh have used so far, and how many members it knows."""
        assert self._mesh is not None
        every = threads()
        known = sum(one.state.name in ("ALIVE", "SUSPECT") for one in self._mesh.members())
        own_ns = sum(ns for one, ns in every.items() if one in self._own)
        return {"own_ns": own_ns, "now": time.monotonic(), "known": known}

    def leave(self, _: Fact) -> Fact:
        """Be no member any more."""
        assert self._mesh is not None
        self._mesh.leave()
        return {}

    def does(self) -> dict[str, Any]:
        """By word what it does."""
        words = ("bind", "connect", "send", "receive", "ask", "answer")
        return {
            word: getattr(self, word)
            for word in (*words, "imports", "bare", "join", "own", "leave")
        }


if __name__ == "__main__":
    serve(Lasting().does())
