"""Zenoh from Python: a publisher and a subscriber of two sessions, linked directly.

Nothing is dropped (congestion control BLOCK) and nobody is looked for by multicast.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from ..base.hosts import host_of, tcp
from ..base.need import is_there, need
from ..base.task import Task
from ..peers.seam import Answerer, Asker, End, Peer, Receiver, Sender
from .brokers import free_port

QUEUE = 1000
"""Messages a subscriber keeps, as the other libraries do."""


def locator(url: str) -> str:
    """Zenoh's form of a URL."""
    parts = urlsplit(url)
    if parts.scheme == "ipc":
        return f"unixsock-stream/{parts.path}"
    return f"tcp/{parts.netloc}"


def with_port(url: str) -> str:
    """The same with a free port where none is named: zenoh does not tell the one it chose."""
    host = host_of(url)
    return url if urlsplit(url).port else tcp(host, free_port(host))


class ZenohEnd(End):
    """A session with one thing it declares to send and one to receive."""

    def __init__(self, task: Task) -> None:
        zenoh = need("zenoh", "the peer zenoh")
        url = task.url
        if task.receives and url.startswith("tcp:"):
            url = with_port(url)
        self.endpoint = url
        config = zenoh.Config()
        config.insert_json5("mode", '"peer"')
        config.insert_json5("scouting/multicast/enabled", "false")
        config.insert_json5("scouting/gossip/enabled", "false")
        config.insert_json5("listen/endpoints", json.dumps([locator(url)] if task.receives else []))
        config.insert_json5(
            "connect/endpoints", json.dumps([] if task.receives else [locator(url)])
        )
        self._session: Any = zenoh.open(config)
        sends, takes = ("back", "there") if task.receives else ("there", "back")
        self._subscriber = self._session.declare_subscriber(
            f"bench/{takes}", zenoh.handlers.FifoChannel(QUEUE)
        )
        self._publisher = self._session.declare_publisher(
            f"bench/{sends}", congestion_control=zenoh.CongestionControl.BLOCK
        )
        if not task.receives:
            while not self._publisher.matching_status.matching:
                pass

    def _take(self) -> bytes:
        body: bytes = self._subscriber.recv().payload.to_bytes()
        return body

    def close(self) -> None:
        """Close the session."""
        self._session.close()


class ZenohSender(ZenohEnd, Sender):
    """A publisher."""

    def send(self, body: bytes) -> None:
        """Send one."""
        self._publisher.put(body)

    def send_count(self, body: bytes, count: int) -> None:
        """Send so many."""
        put = self._publisher.put
        for _ in range(count):
            put(body)


class ZenohReceiver(ZenohEnd, Receiver):
    """A subscriber."""

    def recv(self) -> bytes:
        """Receive one."""
        return self._take()

    def recv_count(self, count: int) -> None:
        """Receive so many."""
        take = self._subscriber.recv
        for _ in range(count):
            take().payload.to_bytes()


class ZenohAsker(ZenohEnd, Asker):
    """A publisher there, a subscriber back: as zenoh's own ping does."""

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._publisher.put(body)
        self._take()


class ZenohAnswerer(ZenohEnd, Answerer):
    """The other way round."""

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        for _ in range(count):
            self._publisher.put(self._take())


class Zenoh(Peer):
    """Zenoh."""

    name = "zenoh"
    package = "eclipse-zenoh"
    transports: tuple[str, ...] = ("tcp", "ipc")
    kinds: tuple[str, ...] = ("thr", "lat", "rate", "mesh")

    def missing(self) -> str | None:
        """Whether it is installed."""
        return None if is_there("zenoh") else "eclipse-zenoh is not installed"

    def sender(self, task: Task) -> Sender:
        """A publisher."""
        return ZenohSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A subscriber."""
        return ZenohReceiver(task)

    def asker(self, task: Task) -> Asker:
        """Both."""
        return ZenohAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """Both."""
        return ZenohAnswerer(task)
