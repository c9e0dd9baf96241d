"""NATS JetStream: a stream in files, published to without waiting for each, read by a consumer that
acknowledges many at once.

By default it answers before a sync, which it does every two minutes; told to, it syncs each time.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..base.need import BenchError, need
from ..base.task import PATIENCE, Task
from ..peers.looped import LoopedReceiver, LoopedSender
from ..peers.seam import Receiver, Sender
from .nats_broker import CONFIG, Nats

STORED = """
jetstream {{
  store_dir: "{folder}/jetstream"
{more}}}
"""
UNANSWERED_MAX = 4000
"""Messages on their way to the server: what its client has if it is told nothing."""
FETCHED = 1000
"""Messages asked for at once, of which the last is acknowledged for all."""
ALWAYS_SINCE = (2, 10)
"""The first release that can sync each time."""


class StreamLink:
    """A client with a stream of its own, and a consumer of that at the end that receives."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._stream = urlsplit(url).path.strip("/")
        self._publisher: Any = client.jetstream(
            timeout=PATIENCE, publish_async_max_pending=UNANSWERED_MAX
        )
        self._consumer: Any = None

    async def make(self) -> None:
        """Make the stream and its consumer."""
        told = need("nats.js.api", "the peer nats-jetstream")
        subjects = [f"{self._stream}.there"]
        await self._publisher.add_stream(
            name=self._stream, subjects=subjects, storage=told.StorageType.FILE
        )
        config = told.ConsumerConfig(ack_policy=told.AckPolicy.ALL, max_ack_pending=-1)
        self._consumer = await self._publisher.pull_subscribe(subjects[0], "bench", config=config)

    async def publish(self, body: bytes, count: int) -> None:
        """Publish so many, and wait until all are answered."""
        put, subject = self._publisher.publish_async, f"{self._stream}.there"
        waiting = [await put(subject, body) for _ in range(count)]
        for one in waiting:
            await one

    async def take(self, most: int) -> list[bytes]:
        """Some, all of which are acknowledged."""
        errors = need("nats.errors", "the peer nats-jetstream")
        try:
            found = await self._consumer.fetch(min(most, FETCHED), timeout=PATIENCE)
        except errors.TimeoutError:
            raise BenchError("nothing came from nats") from None
        await found[-1].ack()
        return [message.data for message in found]

    async def shut(self) -> None:
        """Leave no stream behind, if it is the one that made it."""
        if self._consumer is not None:
            await self._publisher.delete_stream(self._stream)
        await self._client.close()


async def linked(task: Task) -> StreamLink:
    """A client; of who receives, with its stream made."""
    where = f"nats://{urlsplit(task.url).netloc}"
    client = await need("nats", "the peer nats-jetstream").connect(where)
    link = StreamLink(client, task.url)
    if task.receives:
        await link.make()
    return link


class StreamSender(LoopedSender):
    """Publishes."""

    def __init__(self, task: Task) -> None:
        self._socket = self._run(linked(task))

    def send_count(self, body: bytes, count: int) -> None:
        """Publish so many."""
        self._run(self._socket.publish(body, count))

    async def _shut(self) -> None:
        await self._socket.shut()


class StreamReceiver(LoopedReceiver):
    """Fetches."""

    def __init__(self, task: Task) -> None:
        self._socket = self._run(linked(task))
        self.endpoint = task.url

    def recv(self) -> bytes:
        """Take one."""
        found: list[bytes] = self._run(self._socket.take(1))
        return found[0]

    def recv_count(self, count: int) -> None:
        """Take so many."""

        async def taking() -> None:
            left = count
            while left:
                left -= len(await self._socket.take(left))

        self._run(taking())

    async def _shut(self) -> None:
        await self._socket.shut()


class JetStream(Nats):
    """As it is by default."""

    name = "nats-jetstream"
    kinds = ("thr",)
    more = ""
    """Of its settings."""

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """With a file of settings, and files for its streams."""
        config = Path(folder) / "nats.conf"
        stored = STORED.format(folder=folder, more=self.more)
        config.write_text(CONFIG.format(port=port) + stored, encoding="utf-8")
        return [program, "-c", str(config)]

    def sender(self, task: Task) -> Sender:
        """A client."""
        return StreamSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return StreamReceiver(task)


class JetStreamAlways(JetStream):
    """It answers after a sync."""

    name = "nats-jetstream-always"
    more = "  sync_interval: always\n"

    def missing(self) -> str | None:
        """Whether it can do that, too."""
        found = re.search(r"(\d+)\.(\d+)", self.server_version())
        if found and (int(found[1]), int(found[2])) < ALWAYS_SINCE:
            return f"{self.server_version()} has no sync_interval: always"
        return super().missing()
