"""Processes that are members of a mesh and do something else, or nothing.

    python -m bench.ends.beside members COUNT
    python -m bench.ends.beside end

`members` are so many nodes in one process, which do nothing. An `end` sends or receives, and joins
a mesh and leaves it while its sockets stay. What they are told: lasting.py.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from meshmsg.mesh import Mesh

from ..base.task import PATIENCE, Task
from ..peers.roster import peer_named
from ..peers.seam import Answerer, Asker, Receiver, Sender
from .lasting import Fact, serve
from .works import counted

CLUSTER = "bench"


def members(count: int) -> None:
    """Have so many nodes that know each other."""
    first = Mesh(cluster=CLUSTER, name="m0")
    nodes = [first]
    for number in range(1, count):
        nodes.append(Mesh(cluster=CLUSTER, name=f"m{number}", seeds=first.endpoint))

    def at(_: Fact) -> Fact:
        for node in nodes:
            node.wait_for(count=count, timeout=PATIENCE)
        return {"at": first.endpoint}

    serve({"at": at})


class Lasting:
    """Both kinds of an end: one that binds and one that connects."""

    def __init__(self) -> None:
        self._mesh: Mesh | None = None
        self._receiver: Receiver
        self._answerer: Answerer
        self._sender: Sender
        self._asker: Asker

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

    def send(self, asked: Fact) -> Fact:
        """Send so many; when it began."""
        start = time.monotonic_ns()
        self._sender.send_count(self._body, asked["count"])
        self._sender.flush()
        return {"start_ns": start}

    def receive(self, asked: Fact) -> Fact:
        """Receive so many; when it had them."""
        self._receiver.recv_count(asked["count"])
        return {"end_ns": time.monotonic_ns()}

    def ask(self, asked: Fact) -> Fact:
        """Ask so many times."""
        return {"latency_ns": counted(self._asker.ask_times(self._body, asked["count"]))}

    def answer(self, asked: Fact) -> Fact:
        """Answer so many times."""
        self._answerer.answer_count(asked["count"])
        return {}

    def join(self, asked: Fact) -> Fact:
        """Become a member; done when it knows so many."""
        self._mesh = Mesh(cluster=CLUSTER, name=asked["name"], seeds=asked["seed"])
        self._mesh.wait_for(count=asked["count"], timeout=PATIENCE)
        return {}

    def leave(self, _: Fact) -> Fact:
        """Be no member, if it is one."""
        if self._mesh is not None:
            self._mesh.leave()
        self._mesh = None
        return {}

    def does(self) -> dict[str, Any]:
        """By word what it does."""
        words = ("bind", "connect", "send", "receive", "ask", "answer", "join", "leave")
        return {word: getattr(self, word) for word in words}


def main() -> None:
    """Be one of them, until standard input ends."""
    kind, *count = sys.argv[1:]
    if kind == "members":
        members(int(count[0]))
    else:
        serve(Lasting().does())


if __name__ == "__main__":
    main()
