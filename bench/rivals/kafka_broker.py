"""Kafka, one node, its jars fetched by Maven once: a topic of one partition for each direction.

Unlike the others it writes to files; its client collects messages by itself, for 5 ms at most where
throughput is measured.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..base.need import BenchError, need
from ..base.task import PATIENCE, Task
from ..peers.seam import Answerer, Asker, End, Receiver, Sender
from .brokers import Broker, free_port
from .compile import folder as cache

VERSION = "3.9.0"
FETCH_SECONDS = 600
TICK_SECONDS = 0.05
AT_ONCE = 1000
"""Messages consumed by one call."""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>bench</groupId><artifactId>{name}</artifactId>
<version>1</version><packaging>pom</packaging><dependencies><dependency>
<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
{but}</dependency></dependencies></project>
"""
BUT = """<exclusions><exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>
</exclusions>
"""
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
message.max.bytes=67108864
"""
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
"""Its id: any will do."""


def jars() -> Path:
    """Where its jars are; fetched if they are not there."""
    return fetched("kafka", VERSION, "org.apache.kafka", "kafka_2.13")


def place_of(name: str, version: str) -> Path:
    """Where jars are, once they were fetched."""
    return cache() / f"{name}-{version}"


def fetched(name: str, version: str, group: str, artifact: str, *, without: str = "") -> Path:
    """Where jars are; fetched if they are not there.  without: a group that is not wanted."""
    there = place_of(name, version)
    if there.exists():
        return there
    maven = shutil.which("mvn")
    if maven is None:
        raise BenchError(f"{name} is fetched by Maven, which is not installed")
    scratch = there.with_name(f"{there.name}.part")
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    but = BUT.format(group=without) if without else ""
    pom = POM.format(name=name, version=version, group=group, artifact=artifact, but=but)
    (scratch / "pom.xml").write_text(pom, encoding="utf-8")
    fetch = [maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={scratch}"]
    try:
        done = subprocess.run(
            fetch, cwd=scratch, capture_output=True, text=True, timeout=FETCH_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"Maven did not fetch {name} within {FETCH_SECONDS} s") from None
    if done.returncode:
        raise BenchError(f"Maven could not fetch {name}: {done.stdout.strip()[-300:]}")
    scratch.rename(there)
    return there


class KafkaEnd(End):
    """A producer and a consumer of one topic each."""

    def __init__(self, task: Task) -> None:
        kafka = need("confluent_kafka", "the peer kafka")
        parts = urlsplit(task.url)
        self.endpoint = task.url
        topic = parts.path.strip("/")
        self._sends, takes = f"{topic}-there", f"{topic}-back"
        if task.receives:
            self._sends, takes = takes, self._sends
        servers = {"bootstrap.servers": parts.netloc}
        largest = task.size + 1024 * 1024
        linger_ms = 5 if task.kind == "thr" else 0
        self._producer: Any = kafka.Producer(
            {**servers, "linger.ms": linger_ms, "message.max.bytes": largest}
        )
        for one in (self._sends, takes):
            while self._producer.list_topics(one, PATIENCE).topics[one].error is not None:
                self._producer.poll(TICK_SECONDS)  # asking makes it, soon
        self._consumer: Any = kafka.Consumer(
            {**servers, "group.id": topic, "enable.auto.commit": False, "fetch.wait.max.ms": 5}
        )
        self._consumer.assign([kafka.TopicPartition(takes, 0, 0)])

    def _put(self, body: bytes) -> None:
        while True:
            try:
                self._producer.produce(self._sends, body)
            except BufferError:
                self._producer.poll(TICK_SECONDS)  # its queue is full
            else:
                return

    def _take(self, most: int = 1) -> list[bytes]:
        found = self._consumer.consume(most, PATIENCE if most == 1 else TICK_SECONDS)
        if not found and most == 1:
            raise BenchError("nothing came from kafka")
        return [message.value() for message in found if message.error() is None]

    def _take_one(self) -> bytes:
        while True:
            found = self._take()  # what is an error, is no message
            if found:
                return found[0]

    def close(self) -> None:
        """Leave."""
        self._producer.flush(PATIENCE)
        self._consumer.close()


class KafkaSender(KafkaEnd, Sender):
    """Produces."""

    def send(self, body: bytes) -> None:
        """Produce one."""
        self._put(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Produce so many; done when the broker has them."""
        for _ in range(count):
            self._put(body)
        self._producer.flush(PATIENCE)


class KafkaReceiver(KafkaEnd, Receiver):
    """Consumes."""

    def recv(self) -> bytes:
        """Consume one."""
        return self._take_one()

    def recv_count(self, count: int) -> None:
        """Consume so many."""
        while count:
            count -= len(self._take(min(count, AT_ONCE)))


class KafkaAsker(KafkaEnd, Asker):
    """Produces there, consumes what comes back."""

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._put(body)
        self._take_one()


class KafkaAnswerer(KafkaEnd, Answerer):
    """The other way round."""

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        for _ in range(count):
            self._put(self._take_one())


class Kafka(Broker):
    """Kafka."""

    name = "kafka"
    package = "confluent-kafka"
    program = "java"
    client = "confluent_kafka"
    settings = ""
    """Lines of its settings that are its own."""

    def missing(self) -> str | None:
        """Whether Java, Maven (or the jars) and the client are there."""
        if shutil.which("mvn") is None and not place_of("kafka", VERSION).exists():
            return "Maven, which would fetch kafka, is not installed"
        return super().missing()

    def server_version(self) -> str:
        """That which is fetched."""
        return f"Kafka {VERSION}"

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """Format its storage, then run it."""
        settings = Path(folder) / "server.properties"
        told = SETTINGS.format(port=port, controller=free_port(), folder=folder)
        settings.write_text(told + self.settings, encoding="utf-8")
        java = f'"{program}" -Xmx1g -cp "{jars()}/*"'
        format_ = f"{java} kafka.tools.StorageTool format -t {CLUSTER} -c '{settings}'"
        return ["/bin/sh", "-c", f"{format_} && exec {java} kafka.Kafka '{settings}'"]

    def sender(self, task: Task) -> Sender:
        """A client."""
        return KafkaSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return KafkaReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A client."""
        return KafkaAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A client."""
        return KafkaAnswerer(task)
