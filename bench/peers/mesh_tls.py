"""meshmsg with TLS 1.3: the same calls; both ends have a certificate, and know the other's key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import meshmsg

from ..base.certificate import CERTIFICATE, KEY, PIN
from ..base.task import Task
from .mesh import Mesh, MeshAnswerer, MeshAsker, MeshReceiver
from .mesh_batch import BatchReceiver, BatchSender
from .mesh_push import MeshSender
from .seam import Answerer, Asker, Receiver, Sender


def policy() -> Any:
    """Of either end; this meshmsg may be one that has none."""
    library: Any = meshmsg
    return library.Tls(cert=CERTIFICATE.encode(), key=KEY.encode(), allow=[PIN])


def over_tls(task: Task) -> Task:
    """The task with the endpoint that TLS is for."""
    return replace(task, url=f"tls+{task.url.removeprefix('tls+')}")


class MeshTls(Mesh):
    """Message by message."""

    name = "meshmsg-tls"
    transports = ("tcp",)
    kinds: tuple[str, ...] = ("thr", "lat", "connections")

    def missing(self) -> str | None:
        """Whether this meshmsg has TLS, and this machine OpenSSL."""
        if not hasattr(meshmsg, "Tls"):
            return "this meshmsg has no TLS"
        has: Any = getattr(meshmsg, "has", None)
        return None if has("tls") else "there is no OpenSSL 3"

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return MeshSender(over_tls(task), security=policy())

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return MeshReceiver(over_tls(task), security=policy())

    def asker(self, task: Task) -> Asker:
        """A Req."""
        return MeshAsker(over_tls(task), security=policy())

    def answerer(self, task: Task) -> Answerer:
        """A Rep."""
        return MeshAnswerer(over_tls(task), security=policy())


class MeshTlsBatch(MeshTls):
    """By batch."""

    name = "meshmsg-tls-batch"
    kinds: tuple[str, ...] = ("thr",)

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return BatchSender(over_tls(task), security=policy())

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return BatchReceiver(over_tls(task), security=policy())
