"""Stand-ins for clients of brokers that acknowledge: py-amqp, and the streams of redis.

Not here: brokers. Law: they do what the ends of the bench ask of the real ones, and nothing more.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class FakeAmqp:
    """py-amqp: what it was asked stands here, for all its connections."""

    def __init__(self) -> None:
        self.queues: defaultdict[str, deque[bytes]] = defaultdict(deque)
        self.options: list[dict[str, Any]] = []
        self.acks: list[tuple[int, bool]] = []
        self.most_unconfirmed = 0
        self.deleted: list[str] = []
        self.closed = 0
        self.durable: set[str] = set()
        self.modes: set[int | None] = set()
        """How messages that were published are kept."""

    def Message(self, body: bytes, delivery_mode: int | None = None) -> SimpleNamespace:
        """One that is sent."""
        return SimpleNamespace(body=body, delivery_mode=delivery_mode)

    def Connection(self, host: str, **options: Any) -> FakeConnection:
        """Where to."""
        self.options.append({"host": host, **options})
        return FakeConnection(self)


class FakeConnection:
    """One of them, and its channel."""

    def __init__(self, broker: FakeAmqp) -> None:
        self.broker = broker
        self.events: defaultdict[str, set[Callable[[int, bool], None]]] = defaultdict(set)
        self.confirms = False
        self.published = self.confirmed = self.delivered = 0
        self.prefetch = 0
        self.takes, self.callback = "", None

    def connect(self) -> None:
        """Nothing to do."""

    def channel(self) -> FakeConnection:
        """The only one."""
        return self

    def queue_declare(self, queue: str, *, durable: bool, auto_delete: bool) -> None:
        """Make it; there is one of a name, which is durable or not."""
        assert not auto_delete
        assert queue not in self.broker.queues or durable == (queue in self.broker.durable)
        if durable:
            self.broker.durable.add(queue)
        self.broker.queues[queue].clear()

    def queue_delete(self, queue: str) -> None:
        """Have it no more."""
        self.broker.deleted.append(queue)

    def confirm_select(self) -> None:
        """Say which came."""
        self.confirms = True

    def basic_publish(self, message: SimpleNamespace, exchange: str, queue: str) -> None:
        """Put one."""
        assert exchange == ""
        self.broker.queues[queue].append(message.body)
        self.broker.modes.add(message.delivery_mode)
        self.published += 1
        unconfirmed = self.published - self.confirmed
        self.broker.most_unconfirmed = max(self.broker.most_unconfirmed, unconfirmed)

    def basic_qos(self, size: int, count: int, a_global: bool) -> None:
        """How many at a time."""
        assert (size, a_global) == (0, False)
        self.prefetch = count

    def basic_consume(self, queue: str, callback: Any) -> None:
        """Take them."""
        assert self.prefetch > 0
        self.takes, self.callback = queue, callback

    def basic_ack(self, tag: int, *, multiple: bool) -> None:
        """Be done."""
        self.broker.acks.append((tag, multiple))

    def drain_events(self, timeout: float) -> None:
        """One delivery, or confirms of some of what was published."""
        assert timeout > 0
        if self.confirms and self.confirmed < self.published:
            self.confirmed += (self.published - self.confirmed + 1) // 2
            for told in self.events["basic_ack"]:
                told(self.confirmed, True)
            return
        waiting = self.broker.queues[self.takes] if self.takes else None
        if not waiting:
            raise TimeoutError
        assert self.callback is not None
        self.delivered += 1
        self.callback(SimpleNamespace(body=waiting.popleft(), delivery_tag=self.delivered))

    def close(self) -> None:
        """Leave."""
        self.broker.closed += 1


class FakeRedis:
    """redis: a client with lists, and streams of one group; a pipeline of itself."""

    def __init__(self) -> None:
        self.streams: defaultdict[str, list[tuple[int, dict[bytes, bytes]]]] = defaultdict(list)
        self.groups: dict[str, int] = {}
        self.lists: defaultdict[str, list[bytes]] = defaultdict(list)
        self.popped: list[int] = []
        self.acked: list[tuple[int, ...]] = []
        self.executed = 0
        self.closed = 0

    def Redis(self, host: str, port: int) -> FakeRedis:
        """Connect."""
        assert (host, bool(port)) == ("127.0.0.1", True)
        return self

    def pipeline(self, *, transaction: bool) -> FakeRedis:
        """Many commands."""
        assert not transaction
        return self

    def execute(self) -> None:
        """Send them."""
        self.executed += 1

    def rpush(self, key: str, body: bytes) -> None:
        """Push one."""
        self.lists[key].append(body)

    def blpop(self, key: str, *, timeout: float) -> tuple[str, bytes] | None:
        """The first."""
        assert timeout > 0
        return (key, self.lpop(key, 1)[0]) if self.lists[key] else None

    def lpop(self, key: str, count: int) -> list[bytes]:
        """The first ones."""
        found = self.lists[key][:count]
        del self.lists[key][:count]
        self.popped.append(len(found))
        return found

    def xgroup_create(self, key: str, group: str, begin: str, *, mkstream: bool) -> None:
        """A group that has read nothing yet."""
        assert (group, begin, mkstream) == ("bench", "0", True)
        self.groups[key] = 0

    def xadd(self, key: str, entry: dict[bytes, bytes]) -> None:
        """Add one."""
        self.streams[key].append((len(self.streams[key]), entry))

    def xreadgroup(
        self, group: str, consumer: str, places: dict[str, str], *, count: int, block: int
    ) -> list[Any]:
        """What is new."""
        ((key, begin),) = places.items()
        assert (group, begin, block > 0) == ("bench", ">", True)
        at = self.groups[key]
        found = self.streams[key][at : at + count]
        self.groups[key] += len(found)
        return [[key, found]] if found else []

    def xack(self, key: str, group: str, *numbers: int) -> None:
        """Be done with those."""
        self.acked.append(numbers)

    def delete(self, key: str) -> None:
        """Have it no more."""
        del self.streams[key]

    def close(self) -> None:
        """Leave."""
        self.closed += 1
