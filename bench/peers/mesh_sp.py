"""meshmsg over the wire of NNG and nanomsg: the same calls, dialled with sp+tcp or sp+ipc."""

from __future__ import annotations

from dataclasses import replace

from ..base.task import Task
from .mesh import Mesh
from .mesh_batch import MeshBatch
from .seam import Asker, Receiver, Respondents, Sender


def over_sp(task: Task) -> Task:
    """The task of an end that connects; ends that bind speak both wires."""
    return replace(task, url=f"sp+{task.url}")


class MeshSp(Mesh):
    """Message by message."""

    name = "meshmsg-sp"
    transports = ("tcp", "ipc")

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return super().sender(over_sp(task))

    def asker(self, task: Task) -> Asker:
        """A Req."""
        return super().asker(over_sp(task))

    def subscriber(self, task: Task) -> Receiver:
        """A Sub."""
        return super().subscriber(over_sp(task))

    def respondents(self, task: Task) -> Respondents:
        """Respondents."""
        return super().respondents(over_sp(task))


class MeshSpBatch(MeshBatch):
    """By batch."""

    name = "meshmsg-sp-batch"
    transports = ("tcp", "ipc")

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return super().sender(over_sp(task))

    def subscriber(self, task: Task) -> Receiver:
        """A Sub."""
        return super().subscriber(over_sp(task))
