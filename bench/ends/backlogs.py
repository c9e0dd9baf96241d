"""What both ends do where nobody is there to receive until all is kept: one keeps, one comes late.

Not here: reading what is kept without a wire (spools.py). Law: the end that keeps tells where it is
bound when it has all that is sent, so nobody can come before; each tells what memory it had before
it opened anything, and its peak is that of all it did.
"""

from __future__ import annotations

import time

from ..base.memory import memory
from ..base.task import Task
from ..peers.seam import End, Peer
from .works import Fact, Parent, passed


def pile_unmet(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Send to nobody; who comes then gets it."""
    before = memory("VmRSS")
    end, body = peer.keeper(task), task.body()
    start = time.monotonic_ns()
    end.send_count(body, task.count)
    found = passed(task, start, time.monotonic_ns())
    parent.endpoint(end.endpoint)
    parent.ready(waits=False)
    return end, {**found, "before_kib": before}


def take_late(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Come when all is kept, and receive it; the clock runs from before there is a connection."""
    before = memory("VmRSS")
    parent.ready(waits=True)
    start = time.monotonic_ns()
    end = peer.latecomer(task)
    end.recv_count(task.count)
    return end, {**passed(task, start, time.monotonic_ns()), "before_kib": before}
