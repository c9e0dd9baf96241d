"""A stand-in for the client of NATS with JetStream: streams are lists of this process.

Not here: a server. Law: it does what the ends of the bench ask of the real one, and nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any


class FakeJetStream:
    """nats: what it was asked stands here, for all its clients."""

    def __init__(self) -> None:
        self.streams: dict[str, list[bytes]] = {}
        self.storage: list[str] = []
        self.configs: list[SimpleNamespace] = []
        self.acked: list[int] = []
        self.pending_max: list[int] = []
        self.closed = 0

    def modules(self) -> Iterator[tuple[str, Any]]:
        """What stands in place of which modules."""
        top, parent = ModuleType("nats"), ModuleType("nats.js")
        api, errors = ModuleType("nats.js.api"), ModuleType("nats.errors")
        vars(top)["connect"] = self.connect
        vars(api)["StorageType"] = SimpleNamespace(FILE="file")
        vars(api)["AckPolicy"] = SimpleNamespace(ALL="all")
        vars(api)["ConsumerConfig"] = SimpleNamespace
        vars(errors)["TimeoutError"] = TimeoutError
        for module in (top, parent, api, errors):
            yield module.__name__, module

    async def connect(self, url: str) -> FakeClient:
        """Where to."""
        assert url.startswith("nats://127.0.0.1:")
        return FakeClient(self)


class FakeClient:
    """One of them, with its stream and the consumer of that."""

    def __init__(self, server: FakeJetStream) -> None:
        self.server = server
        self.at = 0
        self.subject = ""

    def jetstream(self, *, timeout: float, publish_async_max_pending: int) -> FakeClient:
        """Itself."""
        assert timeout > 0
        self.server.pending_max.append(publish_async_max_pending)
        return self

    async def add_stream(self, *, name: str, subjects: list[str], storage: str) -> None:
        """Make it."""
        (subject,) = subjects
        assert subject.startswith(f"{name}.")
        self.server.streams[subject] = []
        self.server.storage.append(storage)

    async def pull_subscribe(
        self, subject: str, durable: str, *, config: SimpleNamespace
    ) -> FakeClient:
        """Itself."""
        assert durable
        self.subject = subject
        self.server.configs.append(config)
        return self

    async def publish_async(self, subject: str, body: bytes) -> asyncio.Future[None]:
        """Put one, and answer."""
        self.server.streams[subject].append(body)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer.set_result(None)
        return answer

    async def fetch(self, most: int, timeout: float) -> list[SimpleNamespace]:
        """What is new."""
        assert timeout > 0
        bodies = self.server.streams[self.subject][self.at : self.at + most]
        if not bodies:
            raise TimeoutError
        made = []
        for body in bodies:
            self.at += 1
            made.append(SimpleNamespace(data=body, ack=self._acks(self.at)))
        return made

    def _acks(self, number: int) -> Any:
        async def ack() -> None:
            self.server.acked.append(number)

        return ack

    async def delete_stream(self, name: str) -> None:
        """Have it no more."""
        del self.server.streams[f"{name}.there"]

    async def close(self) -> None:
        """Leave."""
        self.server.closed += 1
