"""What each end does at a fixed rate: the sender keeps a schedule, the receiver notes lateness."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.task import Task
from ..peers.seam import End, Peer
from .schedule import RealClock, recv_paced, send_paced, size_of
from .works import Fact, Parent, counted


class Several(End):
    """Ends that are closed together."""

    def __init__(self, ends: Sequence[End]) -> None:
        self._ends = list(ends)

    def close(self) -> None:
        """Close them all."""
        for end in self._ends:
            end.close()


def send_rate(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Send on schedule, over as many connections as the task says."""
    senders = [peer.sender(task) for _ in range(task.connections)]
    body = task.body().ljust(size_of(task), b".")
    for sender in senders:
        for _ in range(task.warm):
            sender.send(body)
    parent.ready(waits=True)
    sent = send_paced(senders, task, RealClock())
    late = counted(sent.late)
    return Several(senders), {"count": sent.count, "refused": sent.refused, "late_ns": late}


def recv_rate(peer: Peer, task: Task, parent: Parent) -> tuple[End, Fact]:
    """Receive, and note how late each message was."""
    receiver = peer.receiver(task)
    parent.endpoint(receiver.endpoint)
    for _ in range(task.warm * task.ends):
        receiver.recv()
    parent.ready(waits=False)
    arrived = recv_paced(receiver.recv, task.ends, RealClock(task.offset_ns))
    return receiver, {
        "count": arrived.count,
        "seconds": (arrived.last_ns - arrived.first_ns) / 1e9,
        "by_producer": {str(n): counted(late) for n, late in sorted(arrived.late.items())},
    }
