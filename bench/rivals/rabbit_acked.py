"""RabbitMQ with acknowledgements of its consumer, with and without confirms to its publisher.

The queue is transient, and nothing is written to a disk: that is the fastest it has. The client is
py-amqp, which can have many unconfirmed messages on their way; pika and AMQPStorm wait for each.
Law: a message counts when its acknowledgement was sent.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from urllib.parse import urlsplit

from ..base.need import BenchError, need
from ..base.task import PATIENCE, Task
from ..peers.seam import End, Receiver, Sender
from .rabbit_broker import Rabbit

PREFETCH = 1000
"""Messages that the consumer has and did not acknowledge, at most."""
ACKED_TOGETHER = 100
"""Messages of one acknowledgement, by batch."""
UNCONFIRMED_MAX = 1000
"""Messages on their way to the broker, by batch."""


class AmqpEnd(End):
    """A connection, a channel, and the queue of its measurement."""

    durable = False
    """Whether the queue outlives the broker."""

    def __init__(self, task: Task, **options: Any) -> None:
        amqp = need("amqp", "the peers of rabbitmq that acknowledge")
        parts = urlsplit(task.url)
        self.endpoint, self._queue = task.url, parts.path + ".acked"
        self._made: Any = amqp.Message
        self._connection: Any = amqp.Connection(f"{parts.hostname}:{parts.port}", **options)
        self._connection.connect()
        self._channel: Any = self._connection.channel()
        self._channel.queue_declare(self._queue, durable=self.durable, auto_delete=False)

    def _wait(self) -> None:
        """For something of the broker."""
        try:
            self._connection.drain_events(timeout=PATIENCE)
        except TimeoutError:
            raise BenchError("nothing came from rabbitmq") from None

    def close(self) -> None:
        """Leave."""
        self._connection.close()


class AmqpSender(AmqpEnd, Sender):
    """Publishes; told to, it waits for the confirm of each."""

    def __init__(self, task: Task, *, confirms: bool = False) -> None:
        super().__init__(task, confirm_publish=confirms)

    def send(self, body: bytes) -> None:
        """Publish one."""
        self._channel.basic_publish(self._made(body), "", self._queue)

    def send_count(self, body: bytes, count: int) -> None:
        """Publish so many."""
        publish, made, queue = self._channel.basic_publish, self._made, self._queue
        for _ in range(count):
            publish(made(body), "", queue)


class WindowSender(AmqpSender):
    """Publishes while not too many are unconfirmed; in the end all are confirmed."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._sent = self._confirmed = 0
        self._channel.confirm_select()
        self._channel.events["basic_ack"].add(self._take)

    def unconfirmed_max(self) -> int:
        """Messages on their way."""
        return UNCONFIRMED_MAX

    def _take(self, tag: int, multiple: bool) -> None:
        """A confirm: those before it came before it, as there is one channel and one queue."""
        self._confirmed = max(self._confirmed, tag)

    def send(self, body: bytes) -> None:
        """Publish one."""
        self.send_count(body, 1)

    def send_count(self, body: bytes, count: int) -> None:
        """Publish so many."""
        publish, made, queue = self._channel.basic_publish, self._made, self._queue
        most = self.unconfirmed_max()
        for _ in range(count):
            publish(made(body), "", queue)
            self._sent += 1
            while self._sent - self._confirmed >= most:
                self._wait()
        while self._confirmed < self._sent:
            self._wait()


class AmqpReceiver(AmqpEnd, Receiver):
    """Consumes, and acknowledges each."""

    together = 1

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._there: deque[Any] = deque()
        self._unacked = 0
        self._channel.basic_qos(0, PREFETCH, False)
        self._channel.basic_consume(self._queue, callback=self._there.append)

    def _take(self) -> bytes:
        """One; what is due is acknowledged."""
        while not self._there:
            self._wait()
        message = self._there.popleft()
        self._tag = message.delivery_tag
        self._unacked += 1
        if self._unacked == self.together:
            self._ack()
        body: bytes = message.body
        return body

    def _ack(self) -> None:
        """All that came so far."""
        if self._unacked:
            self._channel.basic_ack(self._tag, multiple=self._unacked > 1)
            self._unacked = 0

    def recv(self) -> bytes:
        """Consume one."""
        body = self._take()
        self._ack()
        return body

    def recv_count(self, count: int) -> None:
        """Consume so many."""
        for _ in range(count):
            self._take()
        self._ack()

    def close(self) -> None:
        """Leave no queue behind."""
        self._channel.queue_delete(self._queue)
        super().close()


class BatchReceiver(AmqpReceiver):
    """Consumes, and acknowledges many at once."""

    together = ACKED_TOGETHER


class RabbitAcked(Rabbit):
    """Published without confirms, acknowledged one by one."""

    name = "rabbitmq-acked"
    package = client = "amqp"
    kinds = ("thr",)

    def sender(self, task: Task) -> Sender:
        """A client."""
        return AmqpSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return AmqpReceiver(task)


class RabbitAckedBatch(RabbitAcked):
    """The same, acknowledged by the hundred."""

    name = "rabbitmq-acked-batch"

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return BatchReceiver(task)


class RabbitConfirmed(RabbitAcked):
    """Each waits for its confirm, and is acknowledged by itself."""

    name = "rabbitmq-confirmed"

    def sender(self, task: Task) -> Sender:
        """A client."""
        return AmqpSender(task, confirms=True)


class RabbitConfirmedBatch(RabbitAckedBatch):
    """A thousand wait for their confirms, and are acknowledged by the hundred."""

    name = "rabbitmq-confirmed-batch"

    def sender(self, task: Task) -> Sender:
        """A client."""
        return WindowSender(task)
