"""RabbitMQ: a transient queue, consumed with automatic acknowledgement."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..base.need import BenchError, need
from ..base.task import PATIENCE, Task
from ..peers.seam import Answerer, Asker, End, Receiver, Sender
from .brokers import Broker, free_port

SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""Where Debian has it; the one in /usr/sbin insists on its own user."""


class RabbitEnd(End):
    """A connection, a channel, and the queues of its measurement."""

    def __init__(self, task: Task) -> None:
        pika = need("pika", "the peer rabbitmq")
        parts = urlsplit(task.url)
        self.endpoint = task.url
        told = pika.ConnectionParameters(
            parts.hostname, parts.port, heartbeat=0, blocked_connection_timeout=PATIENCE
        )
        self._connection: Any = pika.BlockingConnection(told)
        self._channel: Any = self._connection.channel()
        self._there, self._back = parts.path + ".there", parts.path + ".back"
        for queue in (self._there, self._back):
            self._channel.queue_declare(queue)
        takes = self._there if task.receives else self._back
        self._messages: Iterator[Any] = self._channel.consume(
            takes, auto_ack=True, inactivity_timeout=PATIENCE
        )

    def _put(self, queue: str, body: bytes) -> None:
        self._channel.basic_publish("", queue, body)

    def _take(self) -> bytes:
        body: bytes | None = next(self._messages)[2]
        if body is None:
            raise BenchError("nothing came from rabbitmq")
        return body

    def close(self) -> None:
        """Leave."""
        self._connection.close()


class RabbitSender(RabbitEnd, Sender):
    """Publishes."""

    def send(self, body: bytes) -> None:
        """Publish one."""
        self._put(self._there, body)

    def send_count(self, body: bytes, count: int) -> None:
        """Publish so many."""
        put, queue = self._channel.basic_publish, self._there
        for _ in range(count):
            put("", queue, body)


class RabbitReceiver(RabbitEnd, Receiver):
    """Consumes."""

    def recv(self) -> bytes:
        """Consume one."""
        return self._take()

    def recv_count(self, count: int) -> None:
        """Consume so many."""
        for _ in range(count):
            self._take()


class RabbitAsker(RabbitEnd, Asker):
    """Publishes there, consumes what comes back."""

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._put(self._there, body)
        self._take()


class RabbitAnswerer(RabbitEnd, Answerer):
    """The other way round."""

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        for _ in range(count):
            self._put(self._back, self._take())


class Rabbit(Broker):
    """RabbitMQ."""

    name = "rabbitmq"
    package = "pika"
    program = "rabbitmq-server"
    client = "pika"

    def found(self) -> str | None:
        """Where its program is."""
        return str(SERVER) if SERVER.exists() else None

    def server_version(self) -> str:
        """Its folder has it; asking its program would start a machine of Erlang."""
        names = sorted(path.name for path in SERVER.parent.parent.glob("lib/rabbitmq_server-*"))
        return f"RabbitMQ {names[-1].rpartition('-')[2]}" if names else ""

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """With its port mapper as a child of ours: it would stay as a daemon for ever."""
        mapper = shutil.which("epmd") or "epmd"
        return ["/bin/sh", "-c", f"{mapper} & sleep 0.2; exec {program}"]

    def environment(self, port: int, folder: str) -> Mapping[str, str]:
        """A node of its own, with a port mapper of its own."""
        return {
            "HOME": folder,
            "RABBITMQ_NODENAME": f"bench{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
            "RABBITMQ_LOG_BASE": folder,
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none.conf",
            "RABBITMQ_CONFIG_FILE": f"{folder}/none",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "ERL_EPMD_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def sender(self, task: Task) -> Sender:
        """A client."""
        return RabbitSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return RabbitReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A client."""
        return RabbitAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A client."""
        return RabbitAnswerer(task)
