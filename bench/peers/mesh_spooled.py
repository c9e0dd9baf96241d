"""meshmsg with a spool at the sender: what was sent is kept there until the receiver is done with
it, which its next call says."""

from __future__ import annotations

from itertools import repeat
from typing import Literal

import meshmsg

from ..base.task import Task
from .mesh_acked import PREFETCH
from .mesh_batch import BatchReceiver, MeshBatch
from .mesh_push import MeshSender
from .mesh_spool import path_of
from .seam import Receiver, Sender

SENT = "push"
"""The cursor of a Push in its spool: files go that it is done with."""


class SpooledSender(MeshSender):
    """A Push that has a spool; its send_many puts on while it waits for the disk."""

    def __init__(self, task: Task, durability: Literal["os", "disk"]) -> None:
        self._spool = meshmsg.Spool(path_of(task), durability=durability, until_acked_by=[SENT])
        super().__init__(task, spool=self._spool)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many, in one call; all are kept when it returns."""
        self._socket.send_many(repeat(body, count))

    def close(self) -> None:
        """Close: who has received all that is measured says no more of the last ones."""
        self._socket.close()
        self._spool.close()


class SpooledKeeper(SpooledSender):
    """One that binds, so that who receives may come later."""

    def __init__(self, task: Task, durability: Literal["os", "disk"]) -> None:
        self._spool = meshmsg.Spool(path_of(task), durability=durability, until_acked_by=[SENT])
        self._socket: meshmsg.Push = meshmsg.Push(bind=task.url, spool=self._spool)
        self.endpoint = self._socket.endpoint


class Latecomer(BatchReceiver):
    """A Pull that connects, and is asked for batches."""

    def __init__(self, task: Task) -> None:
        self._socket: meshmsg.Pull = meshmsg.Pull(connect=task.url, prefetch=PREFETCH)


class MeshSpooled(MeshBatch):
    """By batch, each on the disk of the sender."""

    name = "meshmsg-spooled"
    kinds: tuple[str, ...] = ("thr", "backlog")
    transports: tuple[str, ...] = ("tcp", "ipc")
    durability: Literal["os", "disk"] = "disk"

    def missing(self) -> str | None:
        """Whether this meshmsg has spools."""
        return None if hasattr(meshmsg, "Spool") else "this meshmsg has no spools"

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return SpooledSender(task, self.durability)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return BatchReceiver(task, prefetch=PREFETCH)

    def keeper(self, task: Task) -> Sender:
        """A Push."""
        return SpooledKeeper(task, self.durability)

    def latecomer(self, task: Task) -> Receiver:
        """A Pull."""
        return Latecomer(task)


class MeshSpooledOs(MeshSpooled):
    """By batch, each with the sender's system."""

    name = "meshmsg-spooled-os"
    durability = "os"
