"""What the ends do where work is handed out: one Push, and workers that may be slow, or stuck.

Law: a worker is done with a message when it has slept for it and asked for the next; it ends when
none came for a while, so no message has to say so.
"""

from __future__ import annotations

import gc
import struct
import time

from ..base.memory import memory
from ..base.task import PATIENCE, Task
from ..peers.seam import End, Peer, Sender
from .paced import Several
from .works import Fact, Parent

NUMBER = struct.Struct("<q")
"""What a message of work begins with: which one it is."""
QUIET_S = 1.0
"""Seconds without anything new after which nothing more comes, or there is no more room."""
NAP_S = 0.001


def hand_out(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Send numbered messages to whoever takes them."""
    end, tail = met(peer, task, parent), task.body()[NUMBER.size :]
    start = time.monotonic_ns()
    for number in range(task.count):
        end.send(NUMBER.pack(number) + tail)
    return end, {"count": task.count, "start_ns": start}


def met(peer: Peer, task: Task, parent: Parent) -> Sender:
    """Who hands out, when all workers are there and it may begin."""
    end = peer.dispatcher(task)
    parent.endpoint(end.endpoint)
    end.wait_for_subscribers(task.connections)
    parent.ready(waits=True)
    return end


def work_off(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Take one after the other, and note when each was done."""
    end, seconds = peer.worker(task), 1 / task.rate
    parent.ready(waits=False)
    done: list[tuple[int, int]] = []
    body = end.take(PATIENCE)
    while body is not None:
        time.sleep(seconds)
        done.append((NUMBER.unpack_from(body)[0], time.monotonic_ns()))
        body = end.take(QUIET_S)
    return end, {"count": len(done), "done": done}


def pile_up(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Send to who is never done, as many as there is room for; what that takes of memory."""
    end, body = met(peer, task, parent), task.body()
    gc.collect()
    before, held = memory("VmRSS"), 0
    pause = 1 / task.rate if task.rate else 0.0
    full_since = time.monotonic()
    while held < task.count and time.monotonic() - full_since < QUIET_S:
        if end.offer(body):
            held += 1
            full_since = time.monotonic()
            if pause:
                time.sleep(pause)
        else:
            time.sleep(NAP_S)
    time.sleep(QUIET_S)  # what is on its way to the workers arrives
    gc.collect()
    return end, {"count": held, "kib": memory("VmRSS") - before}


def hold(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Have what comes, and never be done with any."""
    ends = [peer.worker(task) for _ in range(task.connections)]
    parent.ready(waits=False)
    return Several(ends), {"count": 0}
