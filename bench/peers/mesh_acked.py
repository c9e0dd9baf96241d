"""meshmsg with each message acknowledged: the same calls, and the receiver's next one says that it
is done."""

from __future__ import annotations

from typing import Any

import meshmsg

from ..base.need import BenchError
from ..base.task import PATIENCE, Task
from .mesh import Mesh, MeshReceiver
from .mesh_batch import BatchReceiver, BatchSender
from .mesh_push import MeshSender
from .mesh_workers import MeshDispatcher
from .seam import Answerer, Asker, Receiver, Sender

PREFETCH = 16384
"""Messages: more than a queue has, as is worth it for small ones that need little work."""
AT_LEAST_ONCE: dict[str, Any] = {"delivery": "at_least_once"}


def send_until_done(push: meshmsg.Push, body: bytes) -> None:
    """Send one, and wait for its receipt."""
    push.send(body, confirm=True).wait(timeout=PATIENCE)


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


class AckedAsker(Asker):
    """A Push that waits for each."""

    def __init__(self, task: Task) -> None:
        self._socket = meshmsg.Push(connect=task.url, **AT_LEAST_ONCE)

    def ask(self, body: bytes) -> None:
        """Send one, and know that it is done."""
        send_until_done(self._socket, body)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class AckedAnswerer(Answerer):
    """A Pull, whose only answer is that it is done."""

    def __init__(self, task: Task) -> None:
        self._socket = meshmsg.Pull(bind=task.url)
        self.endpoint = self._socket.endpoint

    def answer_count(self, count: int) -> None:
        """Receive so many. Asking for one more acknowledges the last, before which none comes."""
        recv = self._socket.recv
        for _ in range(count):
            recv()
        try:
            recv(timeout=0)
        except meshmsg.WouldBlockError:
            return
        raise BenchError("a message came before the one before was acknowledged")

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class MeshAcked(Mesh):
    """Message by message."""

    name = "meshmsg-acked"
    kinds: tuple[str, ...] = ("thr", "credits", "unacked")

    def missing(self) -> str | None:
        """Whether this meshmsg has acknowledgements."""
        has = hasattr(meshmsg, "LeasedMessage")
        return None if has else "this meshmsg acknowledges nothing"

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return AckedSender(task, **AT_LEAST_ONCE)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return MeshReceiver(task, prefetch=PREFETCH)

    def dispatcher(self, task: Task) -> Sender:
        """A Push."""
        return MeshDispatcher(task, **AT_LEAST_ONCE)


class MeshAckedBatch(MeshAcked):
    """By batch."""

    name = "meshmsg-acked-batch"
    kinds: tuple[str, ...] = ("thr",)

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return AckedBatchSender(task, **AT_LEAST_ONCE)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return BatchReceiver(task, prefetch=PREFETCH)


class MeshAckedReceipt(MeshAcked):
    """One message at a time, whose receipt is waited for."""

    name = "meshmsg-acked-receipt"
    kinds: tuple[str, ...] = ("lat",)

    def asker(self, task: Task) -> Asker:
        """A Push."""
        return AckedAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A Pull."""
        return AckedAnswerer(task)
