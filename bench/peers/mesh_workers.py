"""meshmsg handing out work: a Push that binds, and a Pull that connects and takes one at a time."""

from __future__ import annotations

from typing import Any

import meshmsg

from ..base.task import PATIENCE, Task
from .mesh_push import MeshSender
from .seam import Worker

KEPT_BYTES = 1 << 30
"""What a worker may have: its prefetch is the only limit that counts."""


class MeshDispatcher(MeshSender):
    """A Push that binds."""

    def __init__(self, task: Task, **options: Any) -> None:
        if task.queue_bytes:
            options |= {"send_queue_bytes": task.queue_bytes, "send_queue_messages": task.prefetch}
        self._socket: meshmsg.Push = meshmsg.Push(bind=task.url, linger=0, **options)
        self.endpoint = self._socket.endpoint

    def wait_for_subscribers(self, count: int) -> None:
        """Wait for the workers."""
        self._socket.wait_for_peers(count, timeout=PATIENCE)

    def close(self) -> None:
        """Close at once: nobody is left who would take more."""
        self._socket.close()


class MeshWorker(Worker):
    """A Pull. Where nothing is acknowledged, its queue is what bounds it."""

    def __init__(self, task: Task) -> None:
        self._socket = meshmsg.Pull(
            connect=task.url, recv_queue_messages=task.prefetch, recv_queue_bytes=KEPT_BYTES
        )

    def take(self, seconds: float) -> bytes | None:
        """Receive one; that acknowledges the one before."""
        try:
            return self._socket.recv(timeout=seconds)
        except meshmsg.TimedOutError:
            return None

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
