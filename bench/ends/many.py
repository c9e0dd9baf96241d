"""What each end does with many connections: publishing to subscribers, and only connecting.

Here a process may hold many ends; they are served in turn, a few messages each, which cannot stall:
all get the same messages, and a queue holds more than a turn takes.
"""

from __future__ import annotations

import gc
import time

from ..base.descriptors import allow_files
from ..base.memory import memory
from ..base.task import Task
from ..peers.seam import End, Peer, Sender
from .paced import Several
from .works import Fact, Parent

TURN = 100
"""Messages taken from one subscriber before the next has its turn."""
QUIET_SECONDS = 1.0
"""How long connections are idle before their memory is looked at."""


def publish(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Send to all subscribers; the one end that sends and binds."""
    end, body = peer.publisher(task), task.body()
    parent.endpoint(end.endpoint)
    end.wait_for_subscribers(task.connections)
    end.send_count(body, task.warm)
    parent.ready(waits=True)
    start = time.monotonic()
    end.send_count(body, task.count)
    return end, {"count": task.count, "seconds": time.monotonic() - start, "start_s": start}


def subscribe(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Receive as so many subscribers."""
    ends = [peer.subscriber(task) for _ in range(task.connections)]
    for end in ends:
        end.recv_count(task.warm)
    parent.ready(waits=False)
    left = task.count
    while left:
        turn = min(left, TURN)
        for end in ends:
            end.recv_count(turn)
        left -= turn
    return Several(ends), {"count": task.count * len(ends), "end_s": time.monotonic()}


class Kept(End):
    """Ends that stay open as long as the process: closing them one by one would drain each."""

    def __init__(self, ends: list[Sender]) -> None:
        self._ends = ends

    def close(self) -> None:
        """Nothing: the end of the process closes them."""


def connect_many(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Open so many connections, each of which says one word."""
    allow_files(task.connections)
    first = peer.sender(task)
    first.send(b"first")
    parent.ready(waits=True)
    before, start = memory("VmRSS"), time.monotonic()
    ends = [first]
    ends += [peer.sender(task) for _ in range(task.connections)]
    for end in ends[1:]:  # not each when it is made: some block until their peer is there
        end.send(b"here")
    parent.hear("idle")
    gc.collect()
    kib = memory("VmRSS") - before
    return Kept(ends), {"start_s": start, "kib": kib}


def accept_many(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Take so many connections and hear each of them."""
    allow_files(task.connections)
    end = peer.receiver(task)
    parent.endpoint(end.endpoint)
    end.recv_count(task.ends)  # the first of each client process
    gc.collect()
    before = memory("VmRSS")
    parent.ready(waits=False)
    end.recv_count(task.connections)
    there = time.monotonic()
    time.sleep(QUIET_SECONDS)
    gc.collect()
    return end, {"end_s": there, "kib": memory("VmRSS") - before}
