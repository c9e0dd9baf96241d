"""meshmsg with CURVE: the same calls, and both ends have keys; who binds is the server."""

from __future__ import annotations

from typing import Any

import meshmsg

from ..base.keys import CLIENT, SERVER
from ..base.task import Task
from .mesh import Mesh, MeshAnswerer, MeshAsker, MeshReceiver
from .mesh_batch import BatchReceiver, BatchSender
from .mesh_push import MeshSender
from .seam import Answerer, Asker, Receiver, Sender


def curve(**options: Any) -> Any:
    """A policy; this meshmsg may be one that has none."""
    library: Any = meshmsg
    return library.Curve(**options)


def served() -> Any:
    """Of the end that binds: it knows the other by its key."""
    library: Any = meshmsg
    return curve(key=library.KeyPair(*SERVER), allow=[CLIENT[0]])


def called() -> Any:
    """Of the end that dials."""
    library: Any = meshmsg
    return curve(key=library.KeyPair(*CLIENT), server=SERVER[0])


class MeshCurve(Mesh):
    """Message by message."""

    name = "meshmsg-curve"
    transports: tuple[str, ...] = ("tcp", "ipc")
    kinds: tuple[str, ...] = ("thr", "lat", "connections")

    def missing(self) -> str | None:
        """Whether this meshmsg has CURVE, and this machine libsodium."""
        has: Any = getattr(meshmsg, "has", None)
        if has is None:
            return "this meshmsg has no CURVE"
        return None if has("curve") else "there is no libsodium"

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return MeshSender(task, security=called())

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return MeshReceiver(task, security=served())

    def asker(self, task: Task) -> Asker:
        """A Req."""
        return MeshAsker(task, security=called())

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""
        return MeshAnswerer(task, security=served())


class MeshCurveBatch(MeshCurve):
    """By batch."""

    name = "meshmsg-curve-batch"
    kinds: tuple[str, ...] = ("thr",)

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return BatchSender(task, security=called())

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return BatchReceiver(task, security=served())
