"""Stand-ins for the clients of brokers: modules whose queues are lists of this process.

Not here: brokers. Law: they do what the ends of the bench ask of the real ones, and nothing more.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

QUEUE_MAX = 100
"""Messages a fake producer of kafka collects."""


class FakePika:
    """pika: a connection with one channel."""

    def __init__(self) -> None:
        self.queues: defaultdict[str, deque[bytes]] = defaultdict(deque)
        self.told: list[SimpleNamespace] = []
        self.closed = 0

    def ConnectionParameters(self, host: str, port: int, **more: Any) -> SimpleNamespace:
        """Where to."""
        return SimpleNamespace(host=host, port=port, **more)

    def BlockingConnection(self, parameters: SimpleNamespace) -> FakePika:
        """Connect."""
        self.told.append(parameters)
        return self

    def channel(self) -> FakePika:
        """The only one."""
        return self

    def queue_declare(self, queue: str) -> None:
        """Make it."""
        assert queue not in self.queues or not self.queues[queue]

    def consume(
        self, queue: str, *, auto_ack: bool, inactivity_timeout: float
    ) -> Iterator[tuple[Any, Any, bytes | None]]:
        """What there is; nothing after a time without."""
        assert auto_ack
        assert inactivity_timeout > 0
        waiting = self.queues[queue]
        while True:
            yield None, None, waiting.popleft() if waiting else None

    def basic_publish(self, exchange: str, queue: str, body: bytes) -> None:
        """Put one."""
        assert exchange == ""
        self.queues[queue].append(body)

    def close(self) -> None:
        """Leave."""
        self.closed += 1


class FakeStomp:
    """stomp.py: connections whose listeners are called as soon as something is sent."""

    def __init__(self) -> None:
        self.connections: list[FakeConnection] = []
        self.waiting: defaultdict[str, deque[Any]] = defaultdict(deque)

    def Connection12(self, hosts: list[tuple[str, int]], **more: Any) -> FakeConnection:
        """Connect."""
        self.connections.append(FakeConnection(self, hosts, more))
        return self.connections[-1]

    class ConnectionListener:
        """It is told of messages."""

        def on_message(self, frame: Any) -> None:
            """Nothing."""

    class WaitingListener:
        """It waits for a receipt."""

        def __init__(self, receipt: str) -> None:
            self.receipt, self.waited = receipt, False

        def wait_on_receipt(self) -> None:
            """It came at once."""
            self.waited = True


class FakeConnection:
    """One of them."""

    def __init__(self, broker: FakeStomp, hosts: list[tuple[str, int]], more: Any) -> None:
        self.broker, self.hosts, self.more = broker, hosts, more
        self.listeners: dict[str, Any] = {}
        self.takes = ""
        self.is_open = False

    def set_listener(self, name: str, listener: Any) -> None:
        """Tell it of what comes."""
        self.listeners[name] = listener

    def remove_listener(self, name: str) -> None:
        """No more."""
        del self.listeners[name]

    def connect(self, *, wait: bool) -> None:
        """Shake hands."""
        self.is_open = wait

    def subscribe(self, place: str, *, id: str, ack: str, headers: dict[str, str]) -> None:
        """Take what is sent there."""
        assert ack == "auto"
        assert self.listeners["wait"].receipt == headers["receipt"]
        self.takes = place

    def send(self, place: str, body: bytes, *, content_type: str) -> None:
        """Give it to who takes it."""
        assert content_type == "application/octet-stream"
        for one in self.broker.connections:
            if one.takes == place:
                one.listeners["bench"].on_message(SimpleNamespace(body=body))

    def disconnect(self) -> None:
        """Leave."""
        self.is_open = False


class FakeKafka:
    """confluent_kafka: topics that exist when they were asked for twice."""

    class KafkaException(Exception):
        """What a call raises."""

    def __init__(self) -> None:
        self.topics: defaultdict[str, list[bytes]] = defaultdict(list)
        self.asked: defaultdict[str, int] = defaultdict(int)
        self.has_coordinators = True

    def Producer(self, settings: dict[str, Any]) -> FakeProducer:
        """One that sends."""
        return FakeProducer(self, settings)

    def Consumer(self, settings: dict[str, Any]) -> FakeConsumer:
        """One that takes."""
        return FakeConsumer(self, settings)

    def TopicPartition(self, topic: str, partition: int, offset: int) -> tuple[str, int]:
        """Where to begin."""
        assert partition == 0
        return topic, offset


class FakeProducer:
    """It collects so many, and refuses more until it is polled."""

    def __init__(self, broker: FakeKafka, settings: dict[str, Any]) -> None:
        self.broker, self.settings = broker, settings
        self.collected: list[tuple[str, bytes]] = []
        self.flushed = 0

    def list_topics(self, topic: str, timeout: float) -> SimpleNamespace:
        """Asking makes it, soon."""
        self.broker.asked[topic] += 1
        error = None if self.broker.asked[topic] > 1 else "unknown topic"
        return SimpleNamespace(topics={topic: SimpleNamespace(error=error)})

    def produce(self, topic: str, body: bytes) -> None:
        """Collect one."""
        if len(self.collected) == QUEUE_MAX:
            raise BufferError("Local: Queue full")
        self.collected.append((topic, body))

    def poll(self, timeout: float) -> None:
        """Send what is collected."""
        for topic, body in self.collected:
            self.broker.topics[topic].append(body)
        self.collected.clear()

    def flush(self, timeout: float) -> None:
        """The same, and wait."""
        self.poll(timeout)
        self.flushed += 1


class FakeConsumer:
    """It reads from where it is."""

    def __init__(self, broker: FakeKafka, settings: dict[str, Any]) -> None:
        self.broker, self.settings = broker, settings
        self.topic, self.at = "", 0
        self.has_coordinator = False
        self.committed: list[tuple[int, bool]] = []
        """Up to where, and whether that was waited for."""
        self.closed = self.has_failed = False

    def assign(self, places: list[tuple[str, int]]) -> None:
        """Begin there."""
        ((self.topic, self.at),) = places

    def commit(self, *, asynchronous: bool) -> None:
        """Say what is done; who waits for the first one is told that nobody is there yet."""
        if not asynchronous and not self.has_coordinator:
            self.has_coordinator = self.broker.has_coordinators
            raise FakeKafka.KafkaException("not coordinator")
        self.committed.append((self.at, not asynchronous))

    def consume(self, most: int, timeout: float) -> list[Any]:
        """What there is, and at first an error, as the real one tells some."""
        if not self.has_failed:
            self.has_failed = True
            return [SimpleNamespace(value=lambda: b"oops", error=lambda: "leader not available")]
        bodies = self.broker.topics[self.topic][self.at : self.at + most]
        self.at += len(bodies)
        return [SimpleNamespace(value=lambda b=b: b, error=lambda: None) for b in bodies]

    def close(self) -> None:
        """Leave."""
        self.closed = True
