"""RabbitMQ and Redis Streams that acknowledge: what their ends do, and the real ones."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.rivals import rabbit_acked, redis_stream
from meshmsg.bench.rivals.brokers import Broker
from tests.support.benched import measured
from tests.support.fakeacks import FakeAmqp, FakeRedis

RABBITS = ("rabbitmq-acked", "rabbitmq-acked-batch", "rabbitmq-confirmed")
RABBITS += ("rabbitmq-confirmed-batch",)
STREAMS = ("redis-stream", "redis-stream-batch")
PORT = 5999


def task(name: str, *, receives: bool = True) -> Task:
    """What an end shall do at a broker."""
    return Task("thr", name, receives, f"tcp://127.0.0.1:{PORT}/bench7")


@pytest.fixture
def amqp(monkeypatch: pytest.MonkeyPatch) -> FakeAmqp:
    """In place of py-amqp; acknowledgements and confirms go by ten."""
    fake = FakeAmqp()
    monkeypatch.setitem(sys.modules, "amqp", fake)
    monkeypatch.setattr(rabbit_acked.BatchReceiver, "together", 10)
    monkeypatch.setattr(rabbit_acked, "UNCONFIRMED_MAX", 10)
    return fake


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> FakeRedis:
    """In place of redis, by ten as well."""
    fake = FakeRedis()
    monkeypatch.setitem(sys.modules, "redis", fake)
    for name in ("AT_ONCE", "POPPED", "READ_EACH"):
        monkeypatch.setattr(redis_stream, name, 10)
    return fake


@pytest.mark.parametrize("name", RABBITS)
def test_rabbit_delivers_in_order_and_acknowledges(name: str, amqp: FakeAmqp) -> None:
    """One by one, or ten together and the rest; no queue is left behind."""
    receiver = PEERS[name].receiver(task(name))
    sender = PEERS[name].sender(task(name, receives=False))
    sender.send(b"one")
    sender.send_count(b"two", 23)
    assert receiver.recv() == b"one"
    receiver.recv_count(23)
    batched = [(1, False), (11, True), (21, True), (24, True)]
    assert amqp.acks == (
        batched if name.endswith("batch") else [(number, False) for number in range(1, 25)]
    )
    sender.close()
    receiver.close()
    assert amqp.deleted == ["/bench7.acked"]
    assert amqp.closed == 2


def test_rabbit_confirms_each_or_so_many_are_on_their_way(amqp: FakeAmqp) -> None:
    """In the end all are confirmed."""
    PEERS["rabbitmq-acked"].sender(task("rabbitmq-acked", receives=False))
    PEERS["rabbitmq-confirmed"].sender(task("rabbitmq-confirmed", receives=False))
    assert [one["confirm_publish"] for one in amqp.options] == [False, True]
    name = "rabbitmq-confirmed-batch"
    sender: Any = PEERS[name].sender(task(name, receives=False))
    sender.send_count(b"x", 95)
    assert amqp.most_unconfirmed == 10
    assert sender._confirmed == sender._sent == 95


@pytest.mark.parametrize("name", STREAMS)
def test_entries_of_a_stream_are_acknowledged(name: str, redis: FakeRedis) -> None:
    """One by one, or as many as were read; no stream is left behind."""
    receiver = PEERS[name].receiver(task(name))
    sender = PEERS[name].sender(task(name, receives=False))
    sender.send(b"one")
    sender.send_count(b"two", 23)
    assert receiver.recv() == b"one"
    receiver.recv_count(23)
    together = [len(numbers) for numbers in redis.acked]
    assert together == ([1, 10, 10, 3] if name.endswith("batch") else [1] * 24)
    assert sorted(n for numbers in redis.acked for n in numbers) == list(range(24))
    assert redis.executed == (3 if name.endswith("batch") else 0)
    sender.close()
    receiver.close()
    assert not redis.streams


@pytest.mark.parametrize("name", [*RABBITS, *STREAMS])
def test_nothing_in_time_is_a_sentence(name: str, amqp: FakeAmqp, redis: FakeRedis) -> None:
    """The measurement becomes a row."""
    with pytest.raises(BenchError, match=f"nothing came from {name.partition('-')[0]}"):
        PEERS[name].receiver(task(name)).recv()


def test_all_peers_of_a_broker_have_one() -> None:
    """It is started once."""
    for first, others in (("rabbitmq", RABBITS), ("redis", STREAMS)):
        servers = []
        for name in (first, *others):
            peer = PEERS[name]
            assert isinstance(peer, Broker)
            servers.append(peer._server)
        assert all(server is servers[0] for server in servers)


def test_a_stream_tells_whether_its_client_is_the_fast_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parser in C is a package of its own."""
    for there, words in ((True, ", hiredis)"), (False, ", no hiredis)")):
        monkeypatch.setattr(redis_stream, "is_there", lambda _, there=there: there)
        assert PEERS["redis-stream"].version().endswith(words)


@pytest.mark.parametrize("name", [*RABBITS, *STREAMS])
def test_brokers_that_acknowledge_are_measured_where_they_are_installed(name: str) -> None:
    """Every message arrives; what the broker used is told."""
    reason = PEERS[name].missing()
    if reason:
        pytest.skip(reason)
    (row,) = measured("acked", "--size", "64", "--count", "1500", "--peer", name)
    assert row["figures"]["broker_cpu_us"]["min"] >= 0
    assert row["figures"]["broker_rss_mb"]["min"] > 0
    assert not row["version"].startswith("unknown")
