"""NATS, its core: subjects without storage. Its Python client is for asyncio."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..base.need import need
from ..base.task import PATIENCE, Task
from ..base.tools import first_words
from ..peers.looped import LoopedAnswerer, LoopedAsker, LoopedReceiver, LoopedSender
from ..peers.seam import Answerer, Asker, Receiver, Sender
from .brokers import Broker

CONFIG = """
host: 127.0.0.1
port: {port}
max_payload: 64MB
max_pending: 2147483647
write_deadline: "60s"
"""
"""Nothing is lost in a measurement: the server keeps what a subscriber has not read yet."""


class Link:
    """What the ends use as a socket: one subject to send to, one to receive from."""

    def __init__(self, client: Any, sends: str) -> None:
        self._client, self._sends = client, sends
        self._arrived: deque[bytes] = deque()
        self._more = asyncio.Event()

    async def on_message(self, message: Any) -> None:
        """What its subscription calls."""
        self._arrived.append(message.data)
        self._more.set()

    async def send(self, body: bytes) -> None:
        """Publish one."""
        await self._client.publish(self._sends, body)

    async def recv(self) -> bytes:
        """Take one."""
        while not self._arrived:
            self._more.clear()
            await self._more.wait()
        return self._arrived.popleft()

    async def flush(self) -> None:
        """Wait until the server has all."""
        await self._client.flush(int(PATIENCE))

    async def shut(self) -> None:
        """Leave."""
        await self._client.close()


async def linked(task: Task) -> Link:
    """A client with its subscription made."""
    parts = urlsplit(task.url)
    subject = parts.path.strip("/")
    sends, takes = f"{subject}.there", f"{subject}.back"
    if task.receives:
        sends, takes = takes, sends
    client = await need("nats", "the peer nats").connect(f"nats://{parts.netloc}")
    link = Link(client, sends)
    await client.subscribe(takes, cb=link.on_message, pending_msgs_limit=0, pending_bytes_limit=0)
    await client.flush()
    return link


class NatsSender(LoopedSender):
    """Publishes."""

    def __init__(self, task: Task) -> None:
        self._socket = self._run(linked(task))

    def send_count(self, body: bytes, count: int) -> None:
        """Publish so many, and wait until the server has them."""
        super().send_count(body, count)
        self._run(self._socket.flush())

    async def _shut(self) -> None:
        await self._socket.shut()


class NatsReceiver(LoopedReceiver):
    """Subscribes."""

    def __init__(self, task: Task) -> None:
        self._socket = self._run(linked(task))
        self.endpoint = task.url

    async def _shut(self) -> None:
        await self._socket.shut()


class NatsAsker(LoopedAsker):
    """Publishes there, is subscribed to what comes back."""

    def __init__(self, task: Task) -> None:
        self._socket = self._run(linked(task))

    async def _ask(self, body: bytes) -> None:
        await self._socket.send(body)
        await self._socket.recv()

    async def _shut(self) -> None:
        await self._socket.shut()


class NatsAnswerer(LoopedAnswerer):
    """The other way round."""

    def __init__(self, task: Task) -> None:
        self._socket = self._run(linked(task))
        self.endpoint = task.url

    async def _shut(self) -> None:
        await self._socket.shut()


class Nats(Broker):
    """NATS."""

    name = "nats"
    package = "nats-py"
    program = "nats-server"
    client = "nats"
    kinds: tuple[str, ...] = ("thr", "lat")

    def server_version(self) -> str:
        """`nats-server: v2.9.10`."""
        found = re.search(r"v(\d\S*)", first_words(self.found() or "", "--version"))
        return f"NATS {found[1]}" if found else ""

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """With a file of settings."""
        config = Path(folder) / "nats.conf"
        config.write_text(CONFIG.format(port=port), encoding="utf-8")
        return [program, "-c", str(config)]

    def sender(self, task: Task) -> Sender:
        """A client."""
        return NatsSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return NatsReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A client."""
        return NatsAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A client."""
        return NatsAnswerer(task)
