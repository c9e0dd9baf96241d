"""What a record says of versions: that of what was measured, wherever it was run from."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.bench.base import facts, tools
from meshmsg.bench.base.tools import first_words, package_version
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.rivals import activemq_broker, rabbit_broker
from meshmsg.bench.rivals.programs import PROGRAMS


@pytest.mark.parametrize("name", [name for name in PEERS if name.startswith("meshmsg")])
def test_meshmsg_tells_the_version_of_the_core_that_runs(name: str) -> None:
    """Not that of a distribution: a tree has none."""
    assert PEERS[name].version() == mm.__version__ == facts.facts()["meshmsg"]


@pytest.mark.parametrize("name", sorted(PEERS))
def test_every_peer_that_is_there_has_a_version(name: str) -> None:
    """With a number in it."""
    reason = PEERS[name].missing()
    if reason:
        pytest.skip(reason)
    assert any(character.isdigit() for character in PEERS[name].version())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_a_program_tells_its_library_and_its_compiler(program: Any) -> None:
    """The library by itself, the release by its package where it does not tell it."""
    reason = program.missing()
    if reason:
        pytest.skip(reason)
    version = program.version()
    assert "gcc" in version or "lang" in version
    if program.libraries:
        assert version.count(",") >= 1
    if program.package_config:
        assert package_version(program.package_config) in version


def test_libzmq_tells_its_own_version() -> None:
    """The one that pyzmq's wheel carries may be another."""
    program = PEERS["libzmq-c"]
    reason = program.missing()
    if reason:
        pytest.skip(reason)
    told = package_version("libzmq")
    if not told:
        pytest.skip("pkg-config does not know libzmq")
    assert program.version().startswith(f"{told}, ")


@pytest.mark.parametrize(
    ("name", "says", "version"),
    [
        ("redis", "Redis server v=9.8.7 sha=00000000:0 malloc=jemalloc", "Redis 9.8.7"),
        ("nats", "nats-server: v2.9.10", "NATS 2.9.10"),
    ],
)
def test_a_broker_is_asked_for_its_version(
    name: str, says: str, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's stands behind it."""
    fake = tmp_path / str(PEERS[name].program)  # type: ignore[attr-defined]
    fake.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo '{says}'\n")
    fake.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert PEERS[name].version().startswith(f"{version} ({PEERS[name].package} ")
    fake.write_text("#!/bin/sh\necho hello\n")
    assert PEERS[name].version().startswith("unknown (")


def test_rabbitmq_is_known_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Debian puts it."""
    server = tmp_path / "rabbitmq/bin/rabbitmq-server"
    monkeypatch.setattr(rabbit_broker, "SERVER", server)
    assert PEERS["rabbitmq"].version().startswith("unknown (pika")
    (tmp_path / "rabbitmq/lib/rabbitmq_server-3.10.8").mkdir(parents=True)
    assert PEERS["rabbitmq"].version().startswith("RabbitMQ 3.10.8 (pika")


def test_activemq_is_known_by_its_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And unknown by one that is none."""
    jar = tmp_path / "activemq.jar"
    monkeypatch.setattr(activemq_broker, "JAR", jar)
    assert PEERS["activemq"].version().startswith("unknown (stomp.py")
    jar.write_bytes(b"no archive")
    assert PEERS["activemq"].version().startswith("unknown (stomp.py")
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "A: 1\r\nImplementation-Version: 5.17.2\r\n")
    assert PEERS["activemq"].version().startswith("ActiveMQ 5.17.2 (stomp.py")


def test_kafka_is_the_one_that_is_fetched() -> None:
    """No other is started."""
    assert PEERS["kafka"].version().startswith("Kafka 3.9.0 (confluent-kafka")


def test_the_commit_is_that_of_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none where the code only lies inside of somebody's tree."""

    def git(*words: str) -> str:
        told = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t.invalid"]
        return subprocess.run([*told, *words], capture_output=True, text=True, check=True).stdout

    if not first_words("git", "--version"):
        pytest.skip("git is not installed")
    code = tmp_path / "code.py"
    code.write_text("x = 1\n")
    monkeypatch.setattr(facts, "__file__", str(code))
    assert facts.commit() == ""
    git("init", "-q")
    assert facts.commit() == ""
    git("add", "code.py")
    git("commit", "-q", "-m", "first")
    head = git("rev-parse", "HEAD").strip()
    assert facts.commit() == head[:12]
    code.write_text("x = 2\n")
    assert facts.commit() == f"{head[:12]}-dirty"


def test_the_compiler_is_among_the_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, where there is none."""
    if tools.compiler() is not None:
        assert any(character.isdigit() for character in facts.facts()["c_compiler"])
    monkeypatch.setattr(facts, "compiler", lambda: "/no/such/compiler")
    assert facts.facts()["c_compiler"] == ""


def test_first_words_of_what_cannot_say_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program, one that fails, one that is silent, one that hangs."""
    assert first_words("/no/such/program") == first_words("") == ""
    assert first_words(sys.executable, "-c", "print('x'); raise SystemExit(1)") == ""
    assert first_words(sys.executable, "-c", "") == ""
    assert first_words(sys.executable, "-c", "print(' one \\ntwo')") == "one"
    monkeypatch.setattr(tools, "WORDS_SECONDS", 0.01)
    assert first_words(sys.executable, "-c", "import sys; sys.stdin.read(); input()") == ""
    assert package_version("") == package_version("no-such-package") == ""
