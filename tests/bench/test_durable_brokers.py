"""Brokers that keep messages on a disk: how they are started, what their ends do, the real ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.rivals import (
    kafka_acked,
    kafka_broker,
    nats_jetstream,
    rabbit_acked,
    rabbit_durable,
    redis_broker,
    redis_durable,
    redis_stream,
)
from meshmsg.bench.rivals.brokers import Broker
from tests.support.benched import measured
from tests.support.fakeacks import FakeAmqp, FakeRedis
from tests.support.fakeclients import FakeKafka
from tests.support.fakestream import FakeJetStream

PORT = 5999
REDISES = ("redis-stream-always", "redis-stream-everysec")
STREAMS = ("nats-jetstream", "nats-jetstream-always")
KAFKAS = ("kafka-acked", "kafka-flushed")
DURABLE = (*REDISES, "rabbitmq-durable", *STREAMS, *KAFKAS)


def task(name: str, *, receives: bool = True) -> Task:
    """What an end shall do at a broker."""
    return Task("thr", name, receives, f"tcp://127.0.0.1:{PORT}/bench7")


def broker(name: str) -> Broker:
    """The peer."""
    peer = PEERS[name]
    assert isinstance(peer, Broker)
    return peer


@pytest.fixture
def amqp(monkeypatch: pytest.MonkeyPatch) -> FakeAmqp:
    """In place of py-amqp; by ten, and 20 on their way."""
    fake = FakeAmqp()
    monkeypatch.setitem(sys.modules, "amqp", fake)
    monkeypatch.setattr(rabbit_acked.BatchReceiver, "together", 10)
    monkeypatch.setattr(rabbit_durable, "UNCONFIRMED_KEPT_MAX", 20)
    return fake


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> FakeRedis:
    """In place of redis, by ten."""
    fake = FakeRedis()
    monkeypatch.setitem(sys.modules, "redis", fake)
    monkeypatch.setattr(redis_durable, "PIPELINED", 10)
    monkeypatch.setattr(redis_stream, "POPPED", 10)
    return fake


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    """In place of its client, by ten."""
    fake = FakeKafka()
    monkeypatch.setitem(sys.modules, "confluent_kafka", fake)
    monkeypatch.setattr(kafka_acked, "AT_ONCE", 10)
    return fake


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> FakeJetStream:
    """In place of the client of NATS, by ten."""
    fake = FakeJetStream()
    for name, module in fake.modules():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(nats_jetstream, "FETCHED", 10)
    return fake


@pytest.mark.parametrize(("name", "synced"), [(REDISES[0], "always"), (REDISES[1], "everysec")])
def test_redis_has_a_file_that_is_synced_as_its_name_says(name: str, synced: str) -> None:
    """And that is not rewritten meanwhile; nothing says twice whether there is one."""
    command = broker(name).start_command("/usr/bin/redis-server", PORT, "/scratch")
    told = dict(zip(command[1::2], command[2::2], strict=True))
    assert (told["--appendonly"], told["--appendfsync"]) == ("yes", synced)
    assert told["--auto-aof-rewrite-percentage"] == "0"
    assert (told["--dir"], told["--port"]) == ("/scratch", str(PORT))
    assert command.count("--appendonly") == 1


@pytest.mark.parametrize("name", REDISES)
def test_redis_is_asked_by_so_many(name: str, redis: FakeRedis) -> None:
    """A pipeline of ten; what was read is acknowledged together."""
    receiver = PEERS[name].receiver(task(name))
    sender = PEERS[name].sender(task(name, receives=False))
    sender.send_count(b"two", 23)
    assert redis.executed == 3
    receiver.recv_count(23)
    assert [len(numbers) for numbers in redis.acked] == [10, 10, 3]
    sender.close()
    receiver.close()
    assert not redis.streams


def test_a_list_is_pushed_to_and_popped_from_by_so_many(
    redis: FakeRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline of ten; one is waited for, and as many as are there come with it."""
    monkeypatch.setattr(redis_broker, "PUSHED", 10)
    monkeypatch.setattr(redis_broker, "POPPED", 10)
    receiver = PEERS["redis"].receiver(task("redis"))
    sender = PEERS["redis"].sender(task("redis", receives=False))
    sender.send_count(b"two", 23)
    assert redis.executed == 3
    receiver.recv_count(23)
    assert redis.popped == [1, 10, 1, 10, 1]
    assert redis.lists == {"/bench7:there": []}
    with pytest.raises(BenchError, match="nothing came from redis"):
        receiver.recv()
    sender.close()
    receiver.close()


def test_redis_in_memory_and_in_files_are_servers_of_their_own() -> None:
    """Each has its settings."""
    servers = [broker(name)._server for name in ("redis", *REDISES)]
    assert len({id(one) for one in servers}) == 3


def test_rabbit_keeps_queue_and_messages(amqp: FakeAmqp) -> None:
    """Both ends say so; the rest is as by batch."""
    name = "rabbitmq-durable"
    receiver = PEERS[name].receiver(task(name))
    sender: Any = PEERS[name].sender(task(name, receives=False))
    sender.send_count(b"x", 95)
    assert amqp.durable == {"/bench7.acked"}
    assert amqp.modes == {rabbit_durable.PERSISTENT}
    assert amqp.most_unconfirmed == 20
    assert sender._confirmed == sender._sent == 95
    receiver.recv_count(95)
    assert amqp.acks[-1] == (95, True)
    sender.close()
    receiver.close()
    assert amqp.deleted == ["/bench7.acked"]


def test_confirms_in_any_order_count_up_to_where_none_is_left_out(amqp: FakeAmqp) -> None:
    """A later one says nothing of those before it, unless it is for all."""
    sender: Any = PEERS["rabbitmq-durable"].sender(task("rabbitmq-durable", receives=False))
    for (tag, multiple), confirmed in {
        (3, False): 0,
        (1, False): 1,
        (2, False): 3,
        (6, False): 3,
        (8, False): 3,
        (5, True): 6,
        (4, True): 6,
        (7, False): 8,
    }.items():
        sender._take(tag, multiple)
        assert sender._confirmed == confirmed, tag
    assert sender._early == set()


def test_kafka_commits_what_is_consumed(kafka: FakeKafka) -> None:
    """While more comes, and at last; that one is waited for."""
    name = "kafka-acked"
    receiver: Any = PEERS[name].receiver(task(name))
    sender = PEERS[name].sender(task(name, receives=False))
    sender.send_count(b"x", 24)
    assert receiver.recv() == b"x"
    receiver.recv_count(23)
    assert receiver._consumer.committed == [(1, True), (11, False), (21, False), (24, True)]
    receiver.recv_count(0)
    assert len(receiver._consumer.committed) == 4
    sender.close()
    receiver.close()


def test_a_kafka_that_never_commits_is_a_sentence(
    kafka: FakeKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some patience."""
    receiver = PEERS["kafka-acked"].receiver(task("kafka-acked"))
    sender = PEERS["kafka-acked"].sender(task("kafka-acked", receives=False))
    sender.send_count(b"x", 1)
    kafka.has_coordinators = False
    monkeypatch.setattr(kafka_acked, "PATIENCE", 0)
    with pytest.raises(BenchError, match="kafka commits nothing: not coordinator"):
        receiver.recv()


def test_kafka_is_told_to_sync_each_time_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is told nothing shares its server with the peer that commits nothing."""
    monkeypatch.setattr(kafka_broker, "jars", lambda: Path("/jars"))
    for name, told in (("kafka-acked", False), ("kafka-flushed", True)):
        broker(name).start_command("/usr/bin/java", PORT, str(tmp_path))
        settings = (tmp_path / "server.properties").read_text().splitlines()
        assert ("log.flush.interval.messages=1" in settings) is told
        assert f"log.dirs={tmp_path}/data" in settings
    assert broker("kafka")._server is broker("kafka-acked")._server
    assert broker("kafka")._server is not broker("kafka-flushed")._server


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_in_files_and_acknowledged_by_so_many(name: str, stream: FakeJetStream) -> None:
    """The last of ten, for all of them."""
    receiver = PEERS[name].receiver(task(name))
    sender = PEERS[name].sender(task(name, receives=False))
    assert stream.storage == ["file"]
    assert [(one.ack_policy, one.max_ack_pending) for one in stream.configs] == [("all", -1)]
    assert stream.pending_max == [nats_jetstream.UNANSWERED_MAX] * 2
    sender.send(b"one")
    sender.send_count(b"two", 23)
    assert receiver.recv() == b"one"
    receiver.recv_count(23)
    assert stream.acked == [1, 11, 21, 24]
    with pytest.raises(BenchError, match="nothing came from nats"):
        receiver.recv()
    sender.close()
    receiver.close()
    assert not stream.streams
    assert stream.closed == 2


def test_a_stream_is_synced_as_its_name_says(tmp_path: Path) -> None:
    """In its own files."""
    for name, told in zip(STREAMS, (False, True), strict=True):
        _, flag, config = broker(name).start_command("/usr/bin/nats-server", PORT, str(tmp_path))
        assert flag == "-c"
        text = Path(config).read_text()
        assert ("sync_interval: always" in text) is told
        assert f'store_dir: "{tmp_path}/jetstream"' in text
        assert f"port: {PORT}" in text
        assert text.count("{") == text.count("}") == 1


@pytest.mark.parametrize(("release", "can"), [("2.9.10", False), ("2.10.0", True), ("3.0", True)])
def test_a_server_that_cannot_sync_each_time_is_a_row_that_says_so(
    release: str, can: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older ones refuse the setting."""
    peer = broker("nats-jetstream-always")
    monkeypatch.setattr(peer, "server_version", lambda: f"NATS {release}")
    monkeypatch.setattr(peer, "found", lambda: "/usr/bin/nats-server")
    monkeypatch.setattr(peer, "client", "json")
    reason = peer.missing()
    assert reason == (None if can else f"NATS {release} has no sync_interval: always")


@pytest.mark.parametrize("name", DURABLE)
def test_brokers_that_keep_are_measured_where_they_are_installed(name: str) -> None:
    """Every message arrives; what the broker used is told."""
    reason = PEERS[name].missing()
    if reason:
        pytest.skip(reason)
    (row,) = measured("spooled", "--size", "64", "--count", "1500", "--peer", name)
    assert row["kind"] == "spooled"
    assert row["figures"]["broker_rss_mb"]["min"] > 0
    assert row["figures"]["t_sync_us"]["min"] > 0
    assert not row["version"].startswith("unknown")
