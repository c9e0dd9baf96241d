"""Redis Streams with a consumer group: what was taken is acknowledged.

In memory only. The stream is not trimmed while it is measured, which favours it: what is done stays
there until the end. Law: a message counts when its acknowledgement was answered.
"""

from __future__ import annotations

from typing import Any

from ..base.need import BenchError, is_there
from ..base.task import PATIENCE, Task
from ..peers.seam import Receiver, Sender
from .redis_broker import POPPED, Redis, RedisEnd

FIELD = b"b"
"""The name of what an entry holds."""
GROUP, CONSUMER = "bench", "one"
AT_ONCE = 100
"""Entries of a pipeline."""
READ_EACH = 100
"""Entries read at once, where each is acknowledged by itself."""


class StreamSender(RedisEnd, Sender):
    """Adds one a call."""

    def send(self, body: bytes) -> None:
        """Add one."""
        self._client.xadd(self._there, {FIELD: body})

    def send_count(self, body: bytes, count: int) -> None:
        """Add so many."""
        add, key, entry = self._client.xadd, self._there, {FIELD: body}
        for _ in range(count):
            add(key, entry)


class PipedSender(StreamSender):
    """Adds by the hundred."""

    def at_once(self) -> int:
        """Entries of a pipeline."""
        return AT_ONCE

    def send_count(self, body: bytes, count: int) -> None:
        """Add so many."""
        key, entry, at_once = self._there, {FIELD: body}, self.at_once()
        while count:
            pipe = self._client.pipeline(transaction=False)
            for _ in range(min(count, at_once)):
                pipe.xadd(key, entry)
            pipe.execute()
            count -= min(count, at_once)


class StreamReceiver(RedisEnd, Receiver):
    """Reads many, acknowledges one a call."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._client.xgroup_create(self._there, GROUP, "0", mkstream=True)

    def _read(self, most: int) -> list[Any]:
        """What nobody has read yet, up to so many, with their numbers."""
        wait = int(PATIENCE * 1000)
        found: Any = self._client.xreadgroup(
            GROUP, CONSUMER, {self._there: ">"}, count=most, block=wait
        )
        if not found:
            raise BenchError("nothing came from redis")
        entries: list[Any] = found[0][1]
        return entries

    def recv(self) -> bytes:
        """Take one."""
        ((number, entry),) = self._read(1)
        self._client.xack(self._there, GROUP, number)
        body: bytes = entry[FIELD]
        return body

    def recv_count(self, count: int) -> None:
        """Take so many."""
        ack, key = self._client.xack, self._there
        while count:
            entries = self._read(min(count, READ_EACH))
            for number, _ in entries:
                ack(key, GROUP, number)
            count -= len(entries)

    def close(self) -> None:
        """Leave no stream behind."""
        self._client.delete(self._there)
        super().close()


class BatchReceiver(StreamReceiver):
    """Reads many, acknowledges them together."""

    def recv_count(self, count: int) -> None:
        """Take so many."""
        while count:
            entries = self._read(min(count, POPPED))
            self._client.xack(self._there, GROUP, *(number for number, _ in entries))
            count -= len(entries)


class RedisStream(Redis):
    """A call an entry, at both ends."""

    name = "redis-stream"
    kinds = ("thr",)

    def version(self) -> str:
        """Its client's parser counts, too."""
        parser = "hiredis" if is_there("hiredis") else "no hiredis"
        return f"{super().version().removesuffix(')')}, {parser})"

    def sender(self, task: Task) -> Sender:
        """A client."""
        return StreamSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return StreamReceiver(task)


class RedisStreamBatch(RedisStream):
    """Many a call."""

    name = "redis-stream-batch"

    def sender(self, task: Task) -> Sender:
        """A client."""
        return PipedSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return BatchReceiver(task)
