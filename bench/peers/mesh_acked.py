"""meshmsg with each message acknowledged: the same calls, and the receiver's next one says that it
is done."""

from __future__ import annotations

from typing import Any

import meshmsg

from ..base.task import Task
from .mesh import Mesh, MeshReceiver, MeshSender
from .mesh_batch import BatchReceiver, BatchSender
from .seam import Receiver, Sender

AT_LEAST_ONCE: dict[str, Any] = {"delivery": "at_least_once"}


class AckedSender(MeshSender):
    """A Push that is called once a message."""

    def close(self) -> None:
        """Close: who has received all that is measured says no more of the last ones."""
        self._socket.close()


class AckedBatchSender(BatchSender):
    """A Push given lists."""

    def close(self) -> None:
        """As the other one."""
        self._socket.close()


class MeshAcked(Mesh):
    """Message by message."""

    name = "meshmsg-acked"
    kinds: tuple[str, ...] = ("thr",)

    def missing(self) -> str | None:
        """Whether this meshmsg has acknowledgements."""
        has = hasattr(meshmsg, "LeasedMessage")
        return None if has else "this meshmsg acknowledges nothing"

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return AckedSender(task, **AT_LEAST_ONCE)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return MeshReceiver(task)


class MeshAckedBatch(MeshAcked):
    """By batch."""

    name = "meshmsg-acked-batch"

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return AckedBatchSender(task, **AT_LEAST_ONCE)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return BatchReceiver(task)
