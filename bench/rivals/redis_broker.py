"""Redis as a queue: a list that is pushed to, by the thousand, and popped from."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from ..base.need import BenchError, need
from ..base.task import PATIENCE, Task
from ..base.tools import first_words
from ..peers.seam import Answerer, Asker, End, Receiver, Sender
from .brokers import Broker

PUSHED = 1000
"""Messages of a pipeline: by the hundred they took a third more of the client's CPU."""
POPPED = 1000
"""Messages taken at once."""


class RedisEnd(End):
    """A client and the keys of its measurement."""

    def __init__(self, task: Task) -> None:
        parts = urlsplit(task.url)
        self.endpoint = task.url
        self._client: Any = need("redis", "the peer redis").Redis(parts.hostname, parts.port)
        self._there, self._back = parts.path + ":there", parts.path + ":back"

    def _pop(self, key: str) -> bytes:
        found = self._client.blpop(key, timeout=PATIENCE)
        if found is None:
            raise BenchError("nothing came from redis")
        body: bytes = found[1]
        return body

    def close(self) -> None:
        """Leave."""
        self._client.close()


class RedisSender(RedisEnd, Sender):
    """Pushes."""

    def send(self, body: bytes) -> None:
        """Push one."""
        self._client.rpush(self._there, body)

    def send_count(self, body: bytes, count: int) -> None:
        """Push so many, by the thousand."""
        while count:
            pipe = self._client.pipeline(transaction=False)
            for _ in range(min(count, PUSHED)):
                pipe.rpush(self._there, body)
            pipe.execute()
            count -= min(count, PUSHED)


class RedisReceiver(RedisEnd, Receiver):
    """Pops."""

    def recv(self) -> bytes:
        """Pop one."""
        return self._pop(self._there)

    def recv_count(self, count: int) -> None:
        """Pop so many: one when there is none, else what is there."""
        while count:
            self._pop(self._there)
            count -= 1
            if count:
                count -= len(self._client.lpop(self._there, min(count, POPPED)) or ())


class RedisAsker(RedisEnd, Asker):
    """Pushes there, pops back."""

    def ask(self, body: bytes) -> None:
        """Ask once."""
        self._client.rpush(self._there, body)
        self._pop(self._back)


class RedisAnswerer(RedisEnd, Answerer):
    """Pops there, pushes back."""

    def answer_count(self, count: int) -> None:
        """Answer so many."""
        for _ in range(count):
            self._client.rpush(self._back, self._pop(self._there))


class Redis(Broker):
    """Redis."""

    name = "redis"
    package = "redis"
    program = "redis-server"
    client = "redis"

    def server_version(self) -> str:
        """`Redis server v=7.0.15 sha=...`."""
        found = re.search(r"v=(\S+)", first_words(self.found() or "", "--version"))
        return f"Redis {found[1]}" if found else ""

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """In memory only."""
        told = f"--port {port} --bind 127.0.0.1 --appendonly no --daemonize no"
        return [program, *told.split(), "--save", "", "--dir", folder]

    def sender(self, task: Task) -> Sender:
        """A client."""
        return RedisSender(task)

    def receiver(self, task: Task) -> Receiver:
        """A client."""
        return RedisReceiver(task)

    def asker(self, task: Task) -> Asker:
        """A client."""
        return RedisAsker(task)

    def answerer(self, task: Task) -> Answerer:
        """A client."""
        return RedisAnswerer(task)
