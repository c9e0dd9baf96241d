"""RabbitMQ, ActiveMQ and Kafka: how they are started, what their ends do, and the real ones."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.rivals import activemq_broker, kafka_broker, rabbit_broker
from meshmsg.bench.rivals.brokers import Broker
from meshmsg.bench.rivals.compile import folder as cache
from tests.support.benched import measured
from tests.support.fakeclients import QUEUE_MAX, FakeKafka, FakePika, FakeStomp

NAMES = ("rabbitmq", "activemq", "kafka")
PORT = 5999
MODULES: dict[str, tuple[str, Callable[[], Any]]] = {
    "rabbitmq": ("pika", FakePika),
    "activemq": ("stomp", FakeStomp),
    "kafka": ("confluent_kafka", FakeKafka),
}


def broker(name: str) -> Broker:
    """The peer."""
    peer = PEERS[name]
    assert isinstance(peer, Broker)
    return peer


@pytest.fixture(params=NAMES)
def faked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    """A peer's name, and the fake module its ends use."""
    module, make = MODULES[request.param]
    fake = make()
    monkeypatch.setitem(sys.modules, module, fake)
    return request.param, fake


def task(name: str, kind: str = "thr", **more: Any) -> Task:
    """What an end shall do at a broker."""
    return Task(kind, name, more.pop("receives", True), f"tcp://127.0.0.1:{PORT}/bench7", **more)


def test_messages_go_one_way_in_order(faked: tuple[str, Any]) -> None:
    """One by one and by count; the endpoint is the place at the broker."""
    name, _ = faked
    receiver = PEERS[name].receiver(task(name))
    sender = PEERS[name].sender(task(name, receives=False))
    assert receiver.endpoint == f"tcp://127.0.0.1:{PORT}/bench7"
    sender.send(b"one")
    sender.send(b"two")
    sender.send_count(b"many", 3)
    assert [receiver.recv(), receiver.recv()] == [b"one", b"two"]
    receiver.recv_count(2)
    assert receiver.recv() == b"many"
    with pytest.raises(BenchError, match="has no non-blocking send"):
        sender.offer(b"x")
    sender.close()
    receiver.close()


def test_nothing_in_time_is_a_sentence(
    faked: tuple[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measurement becomes a row."""
    name, _ = faked
    monkeypatch.setattr(activemq_broker, "PATIENCE", 0.01)
    receiver = PEERS[name].receiver(task(name))
    with pytest.raises(BenchError, match=f"nothing came from {name}"):
        receiver.recv()


def test_questions_and_answers_have_a_way_each(faked: tuple[str, Any]) -> None:
    """What was asked there comes back here, and to nobody else."""
    name, _ = faked
    peer = PEERS[name]
    answerer = peer.answerer(task(name, "lat"))
    asker = peer.asker(task(name, "lat", receives=False))
    asked: Any = asker
    answered: Any = answerer
    put = asked._put

    def put_and_answer(*told: Any) -> None:
        """The other end answers before the asker looks."""
        put(*told)
        if name == "kafka":
            asked._producer.flush(1)
        answered.answer_count(1)
        if name == "kafka":
            answered._producer.flush(1)

    asked._put = put_and_answer
    asker.ask(b"question")
    assert len(asker.ask_times(b"question", 3)) == 3
    asker.close()
    answerer.close()


def test_rabbit_takes_without_acknowledging_and_does_not_beat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The queues are those of its measurement, and its connection is closed."""
    fake = FakePika()
    monkeypatch.setitem(sys.modules, "pika", fake)
    end = PEERS["rabbitmq"].receiver(task("rabbitmq"))
    (told,) = fake.told
    assert (told.host, told.port, told.heartbeat) == ("127.0.0.1", PORT, 0)
    end.close()
    assert fake.closed == 1


def test_rabbit_is_a_node_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ports, files and port mapper are nobody else's, and it listens on loopback only."""
    rabbit = broker("rabbitmq")
    shell, _, script = rabbit.start_command("/usr/lib/rabbitmq-server", PORT, "/scratch")
    assert shell == "/bin/sh"
    assert script.startswith(("epmd &", "/"))
    assert script.endswith("exec /usr/lib/rabbitmq-server")  # it is stopped by its own id
    told = rabbit.environment(PORT, "/scratch")
    assert told["RABBITMQ_NODE_PORT"] == str(PORT)
    assert told["RABBITMQ_NODE_IP_ADDRESS"] == told["ERL_EPMD_ADDRESS"] == "127.0.0.1"
    assert str(PORT) in told["RABBITMQ_NODENAME"]
    folders = ("HOME", "RABBITMQ_MNESIA_BASE", "RABBITMQ_LOG_BASE", "RABBITMQ_CONFIG_FILE")
    assert all(told[name].startswith("/scratch") for name in folders)
    assert told["ERL_EPMD_PORT"] not in ("4369", str(PORT))
    monkeypatch.setattr(rabbit_broker, "SERVER", Path("/no/such/server"))
    assert rabbit.missing() == "rabbitmq-server is not installed"


def test_activemq_is_configured_for_memory_and_loopback(tmp_path: Path) -> None:
    """Its file is XML, and the only connector is ours."""
    command = broker("activemq").start_command("/usr/bin/java", PORT, str(tmp_path))
    config = tmp_path / "activemq.xml"
    assert command[0] == "/usr/bin/java"
    assert command[-2:] == ["start", f"xbean:file:{config}"]
    assert f"-Dactivemq.data={tmp_path}" in command
    space = "{http://activemq.apache.org/schema/core}"
    made = ElementTree.parse(config).getroot().find(f"{space}broker")
    assert made is not None
    assert (made.get("persistent"), made.get("useJmx")) == ("false", "false")
    connectors = made.findall(f"{space}transportConnectors/{space}transportConnector")
    assert [one.get("uri") for one in connectors] == [f"stomp://127.0.0.1:{PORT}"]
    assert broker("activemq").environment(PORT, str(tmp_path)) == {"HOME": str(tmp_path)}


def test_stomp_subscribes_before_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """A receipt was waited for; text is turned into bytes again."""
    fake = FakeStomp()
    monkeypatch.setitem(sys.modules, "stomp", fake)
    receiver = PEERS["activemq"].receiver(task("activemq"))
    (connection,) = fake.connections
    assert connection.hosts == [("127.0.0.1", PORT)]
    assert connection.is_open
    assert list(connection.listeners) == ["bench"]
    assert connection.takes == "/queue.bench7.there"
    connection.send("/queue.bench7.there", "é", content_type="application/octet-stream")  # type: ignore[arg-type]
    assert receiver.recv() == b"\xe9"
    receiver.close()
    assert not connection.is_open


def test_activemq_that_is_not_there_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The broker, its client, Java."""
    peer = broker("activemq")
    monkeypatch.setattr(activemq_broker, "JAR", tmp_path / "none.jar")
    assert peer.missing() == "activemq is not installed"
    monkeypatch.setattr(activemq_broker, "JAR", tmp_path)
    monkeypatch.setattr(activemq_broker, "is_there", lambda _: False)
    assert peer.missing() == "the Python client stomp.py is not installed"
    monkeypatch.setattr(activemq_broker, "is_there", lambda _: True)
    monkeypatch.setenv("PATH", str(tmp_path))
    if not Path("/usr/sbin/java").exists():
        assert peer.missing() == "java is not installed"


def test_kafka_formats_its_storage_then_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One node, on loopback, with its files in that folder."""
    monkeypatch.setattr(kafka_broker, "jars", lambda: Path("/jars"))
    shell, _, script = broker("kafka").start_command("/usr/bin/java", PORT, str(tmp_path))
    assert shell == "/bin/sh"
    format_, run = script.split(" && ")
    assert "kafka.tools.StorageTool format" in format_
    assert run.startswith('exec "/usr/bin/java"')  # it is stopped by its own id
    assert '-cp "/jars/*"' in run
    lines = (tmp_path / "server.properties").read_text().split()
    told = dict(line.split("=", 1) for line in lines)
    assert told["log.dirs"] == f"{tmp_path}/data"
    assert told["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:{PORT}"
    assert told["listeners"].startswith(f"PLAINTEXT://127.0.0.1:{PORT},CONTROLLER://127.0.0.1:")
    assert told["controller.quorum.voters"].removeprefix("1@") in told["listeners"]


def test_kafkas_client_waits_when_its_queue_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than it collects is sent, all of it, and topics are waited for."""
    fake = FakeKafka()
    monkeypatch.setitem(sys.modules, "confluent_kafka", fake)
    receiver = PEERS["kafka"].receiver(task("kafka"))
    sender: Any = PEERS["kafka"].sender(task("kafka", receives=False))
    sender.send_count(b"x", 2 * QUEUE_MAX + 5)
    receiver.recv_count(2 * QUEUE_MAX + 5)
    assert fake.topics["bench7-there"] == [b"x"] * (2 * QUEUE_MAX + 5)
    assert set(fake.asked) == {"bench7-there", "bench7-back"}
    assert sender._producer.settings["linger.ms"] == 5
    asker: Any = PEERS["kafka"].asker(task("kafka", "lat", receives=False))
    assert asker._producer.settings["linger.ms"] == 0
    large: Any = PEERS["kafka"].sender(task("kafka", receives=False, size=5_000_000))
    assert large._producer.settings["message.max.bytes"] > 5_000_000


def kafka_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, maven: str) -> Path:
    """A cache without kafka, and a fake Maven; where its jars will be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/mvn"
    program.write_text(f"#!/bin/sh\n{maven}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return cache() / f"kafka-{kafka_broker.VERSION}"


def test_kafka_is_fetched_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A fetch that fails leaves nothing that looks like one that did not."""
    there = kafka_cache(monkeypatch, tmp_path, "echo no network; exit 1")
    with pytest.raises(BenchError, match="Maven could not fetch kafka: no network"):
        kafka_broker.jars()
    assert not there.exists()
    (tmp_path / "bin/mvn").write_text("#!/bin/sh\ngrep -q kafka_2.13 pom.xml && touch a.jar\n")
    assert kafka_broker.jars() == there
    assert (there / "a.jar").exists()
    (tmp_path / "bin/mvn").unlink()
    assert kafka_broker.jars() == there
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Maven" not in str(broker("kafka").missing())


def test_a_fetch_that_hangs_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a time that it tells."""
    kafka_cache(monkeypatch, tmp_path, "exec cat /dev/zero > /dev/null")
    monkeypatch.setattr(kafka_broker, "FETCH_SECONDS", 0.05)
    with pytest.raises(BenchError, match="did not fetch kafka within 0.05 s"):
        kafka_broker.jars()


def test_kafka_without_maven_and_jars_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And cannot be fetched."""
    kafka_cache(monkeypatch, tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert broker("kafka").missing() == "Maven, which would fetch kafka, is not installed"
    with pytest.raises(BenchError, match="which is not installed"):
        kafka_broker.jars()


def test_a_broker_that_cannot_be_started_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Because its command could not be made, or is none."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def fails(*_: Any) -> list[str]:
        raise BenchError("no jars")

    for make, words in ((fails, "no jars"), (lambda *_: ["/no/such/program"], "did not start")):
        one = type(broker("kafka"))()
        monkeypatch.setattr(one, "found", lambda: "/usr/bin/java")
        monkeypatch.setattr(one, "start_command", make)
        with pytest.raises(BenchError, match=words):
            one.place("tcp://127.0.0.1:0").__enter__()
    assert list(tmp_path.iterdir()) == []


def is_fetched(name: str) -> bool:
    """Whether a test needs no network for it."""
    return name != "kafka" or (cache() / f"kafka-{kafka_broker.VERSION}").exists()


@pytest.mark.parametrize("name", NAMES)
def test_heavy_brokers_are_measured_where_they_are_installed(name: str) -> None:
    """Every message arrives, one way and both."""
    reason = PEERS[name].missing() or (None if is_fetched(name) else "its jars are not fetched")
    if reason:
        pytest.skip(reason)
    for kind in ("thr", "lat"):
        told = (kind, "--transport", "tcp", "--size", "64", "--count", "200", "--peer", name)
        (row,) = measured(*told)
        assert row["figures"]["broker_cpu_us"]["min"] >= 0
        assert row["figures"]["broker_rss_mb"]["min"] > 0
        assert not row["version"].startswith("unknown")
