"""RabbitMQ that keeps: a durable queue, persistent messages, confirms that are awaited together.

A confirm of such a message says that it is on the disk, or that the consumer is done with it. Law:
a message counts when its acknowledgement was sent.
"""

from __future__ import annotations

from functools import partial

from ..base.task import Task
from ..peers.seam import Receiver, Sender
from .rabbit_acked import BatchReceiver, RabbitAckedBatch, WindowSender

UNCONFIRMED_KEPT_MAX = 10_000
"""Messages on their way to the broker, which syncs many together."""
PERSISTENT = 2
"""The delivery mode of what is kept."""


class KeptSender(WindowSender):
    """Publishes what is kept; confirms come in any order."""

    durable = True

    def __init__(self, task: Task) -> None:
        self._early: set[int] = set()
        super().__init__(task)
        self._made = partial(self._made, delivery_mode=PERSISTENT)

    def unconfirmed_max(self) -> int:
        """Messages on their way."""
        return UNCONFIRMED_KEPT_MAX

    def _take(self, tag: int, multiple: bool) -> None:
        """A confirm, of one or of all up to it: what counts is up to where none is left out."""
        if multiple:
            self._confirmed = max(self._confirmed, tag)
            self._early = {one for one in self._early if one > self._confirmed}
        else:
            self._early.add(tag)
        while self._confirmed + 1 in self._early:
            self._confirmed += 1
            self._early.remove(self._confirmed)


class KeptReceiver(BatchReceiver):
    """Consumes from a queue that is kept."""

    durable = True


class RabbitDurable(RabbitAckedBatch):
    """Ten thousand wait for their confirms, and are acknowledged by the hundred."""

    name = "rabbitmq-durable"

    def sender(self, task: Task) -> Sender:
        """A client."""
        return KeptSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return KeptReceiver(task)
