"""meshmsg in batches: one call for many messages at both ends."""

from __future__ import annotations

from typing import Any

import meshmsg

from ..base.task import Task
from .mesh import Mesh, MeshPublisher, MeshReceiver, MeshSubscriber
from .mesh_push import MeshSender
from .seam import Receiver, Sender

BATCH = 1000
"""Messages a call."""


def take_batch(socket: Any, count: int) -> int:
    """Receive one batch of at most so many; how many came. recv_batch where there is one."""
    if hasattr(socket, "recv_batch"):
        return len(socket.recv_batch(max_messages=count))
    return len(socket.recv_many(count))


def send_batches(socket: meshmsg.Push | meshmsg.Pub, body: bytes, count: int) -> None:
    """Send so many, in batches."""
    batch = [body] * BATCH
    for _ in range(count // BATCH):
        socket.send_many(batch)
    if count % BATCH:
        socket.send_many(batch[: count % BATCH])


def take_count(socket: Any, count: int) -> None:
    """Receive so many, in batches."""
    while count:
        count -= take_batch(socket, min(count, 10 * BATCH))


class BatchSender(MeshSender):
    """A Push given lists."""

    def send_count(self, body: bytes, count: int) -> None:
        """Send them."""
        send_batches(self._socket, body, count)


class BatchPublisher(MeshPublisher):
    """A Pub given lists."""

    def send_count(self, body: bytes, count: int) -> None:
        """Send them."""
        send_batches(self._socket, body, count)


class BatchReceiver(MeshReceiver):
    """A Pull asked for batches."""

    def recv(self) -> bytes:
        """Receive one: an iterator would prefetch what the batches miss."""
        return self._socket.recv()

    def recv_count(self, count: int) -> None:
        """Receive so many."""
        take_count(self._socket, count)


class BatchSubscriber(MeshSubscriber):
    """A Sub asked for batches."""

    def recv_count(self, count: int) -> None:
        """Receive so many."""
        take_count(self._socket, count)


class MeshBatch(Mesh):
    """meshmsg by batch; its requests are those of meshmsg, so they are not measured again."""

    name = "meshmsg-batch"
    kinds: tuple[str, ...] = ("thr", "fanout")

    def sender(self, task: Task) -> Sender:
        """A Push."""
        return BatchSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A Pull."""
        return BatchReceiver(task)

    def publisher(self, task: Task) -> Sender:
        """A Pub."""
        return BatchPublisher(task)

    def subscriber(self, task: Task) -> Receiver:
        """A Sub."""
        return BatchSubscriber(task)
