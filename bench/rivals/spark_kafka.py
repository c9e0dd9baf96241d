"""Spark's own source of Kafka, which reads in the JVM: a topic of a partition for each task.

The broker is that of the peer kafka. Law: what fills the topic is not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from ..base.need import need
from ..base.task import PATIENCE, Task
from .kafka_broker import TICK_SECONDS, Kafka, fetched
from .spark_source import CONNECTOR, CONNECTOR_VERSION, TASKS, SparkPeer, begun
from .spark_triggers import figures_of, pacing

GROUP, ARTIFACT = "org.apache.spark", "spark-sql-kafka-0-10_2.13"


class SparkKafka(SparkPeer):
    """`format("kafka")`."""

    name, kinds = "kafka-spark", ("source", "trigger")

    def __init__(self, broker: Kafka) -> None:
        self._broker = broker
        self._places = ExitStack()
        self._filled: dict[tuple[int, int], tuple[str, str]] = {}
        """Servers and topic, by size and count: to the end of this process."""

    def missing(self) -> str | None:
        """Spark, Java, Maven or the client."""
        return super().missing() or self._broker.missing()

    def version(self) -> str:
        """Of the connector, and of the broker."""
        return f"{CONNECTOR} {CONNECTOR_VERSION}, {self._broker.server_version()}"

    def fetch(self) -> None:
        """The connector: a session has to have it as it begins."""
        if self.missing() is None:
            fetched(CONNECTOR, CONNECTOR_VERSION, GROUP, ARTIFACT, without="org.apache.hadoop")

    @contextmanager
    def frame(self, task: Task) -> Iterator[Any]:
        """Fill a topic, once."""
        key = (task.size, task.count)
        if key not in self._filled:
            parts = urlsplit(self._places.enter_context(self._broker.place("tcp://127.0.0.1:0")))
            self._filled[key] = parts.netloc, parts.path.strip("/")
            _fill(*self._filled[key], task)
        servers, topic = self._filled[key]
        yield (
            begun()
            .read.format("kafka")
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", topic)
            .load()
            .select("value")
        )

    def trigger_costs(self, task: Task) -> dict[str, float]:
        """A stream of a topic with one partition."""
        with self._broker.place("tcp://127.0.0.1:0") as url:
            parts = urlsplit(url)
            servers, topic = parts.netloc, parts.path.strip("/")
            _make(servers, topic, 1)
            with pacing(task.size, "kafka", servers, topic) as pace:
                options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
                stream = begun().readStream.format("kafka").options(**options).load()
                return figures_of(stream.select("value"), pace, task.count)


def _make(servers: str, topic: str, partitions: int) -> None:
    admin = need("confluent_kafka.admin", "the peer kafka-spark")
    client = admin.AdminClient({"bootstrap.servers": servers})
    for made in client.create_topics([admin.NewTopic(topic, partitions, 1)]).values():
        made.result(PATIENCE)


def _fill(servers: str, topic: str, task: Task) -> None:
    kafka = need("confluent_kafka", "the peer kafka-spark")
    _make(servers, topic, TASKS)
    producer = kafka.Producer({"bootstrap.servers": servers, "linger.ms": 5})
    body, left = task.body(), task.count
    while left:
        try:
            producer.produce(topic, body, partition=left % TASKS)
            left -= 1
        except BufferError:
            producer.poll(TICK_SECONDS)  # its queue is full
    producer.flush(PATIENCE)
