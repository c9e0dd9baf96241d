"""What an end does that keeps messages on a disk: it puts them, reads them, or opens what is there.

It is alone: nobody connects to it. Law: what counts as kept is on the disk when the clock stops.
"""

from __future__ import annotations

import time

from ..base.memory import memory
from ..base.need import BenchError
from ..base.task import Task
from ..peers.seam import End, Peer
from .works import Fact, Parent, counted, passed

AFTER = 1
"""Messages on the disk of the second process that is killed."""


def append_all(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Keep messages as fast as it goes."""
    end, body = peer.appender(task), task.body()
    parent.endpoint("")
    end.append_count(body, task.warm)
    parent.ready(waits=True)
    start = time.monotonic_ns()
    times = end.append_count(body, task.count)
    found = passed(task, start, time.monotonic_ns())
    return end, {**found, "latency_ns": counted(times)}


def replay_all(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Read all that is there."""
    before = memory("VmRSS")
    end = peer.replayer(task)
    parent.endpoint("")
    parent.ready(waits=True)
    start = time.monotonic_ns()
    came = end.replay()
    found = passed(task, start, time.monotonic_ns())
    if came != task.count:
        raise BenchError(f"{came:,} of {task.count:,} messages were read")
    return end, {**found, "before_kib": before}


def open_again(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Open it twice, each time after its process was killed.

    The first time the system still has the files in memory, as after the end of a process; the
    second time they are read from the disk, as after a start of the machine. Behind sealed files
    as much is put each time, so that the last file is as large.
    """
    end = peer.opener(task)
    parent.endpoint("")
    if task.files:
        end.seal(task.files)
    end.leave(task.count)
    parent.ready(waits=True)
    open_ns = end.open_ns()
    end.leave(task.count if task.files else AFTER)
    end.forget()
    return end, {"count": task.count, "open_ns": open_ns, "cold_ns": end.open_ns()}
