"""meshmsg sending, called once a message."""

from __future__ import annotations

from typing import Any

import meshmsg

from ..base.task import PATIENCE, Task
from .seam import Sender


class MeshSender(Sender):
    """A Push that is called once a message."""

    def __init__(self, task: Task, **options: Any) -> None:
        self._socket: meshmsg.Push | meshmsg.Pub = meshmsg.Push(connect=task.url, **options)

    def send(self, body: bytes) -> None:
        """Send one."""
        self._socket.send(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""
        send = self._socket.send
        for _ in range(count):
            send(body)

    def offer(self, body: bytes) -> bool:
        """Send one if there is room."""
        try:
            self._socket.send(body, timeout=0)
        except meshmsg.WouldBlockError:
            return False
        return True

    def close(self) -> None:
        """Wait until all has arrived, and close."""
        self._socket.drain(timeout=PATIENCE)
        self._socket.close()
