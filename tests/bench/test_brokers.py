"""Brokers: started privately, stopped with all they started, and missing ones are rows."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.measure import launch
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.rivals.brokers import Broker, Running, free_port, group_use
from tests.support.benched import measured

LISTENER = """
import socket, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"],
                         stdin=subprocess.PIPE)
with socket.socket() as there:
    there.bind(("127.0.0.1", int(sys.argv[1])))
    there.listen()
    print(child.pid, flush=True)
    while True:
        there.accept()[0].close()
"""
"""A broker that does nothing, with a child."""


class FakeBroker(Broker):
    """It listens; its ends are those of plain sockets, which never ask it anything."""

    name = "fake"
    program = sys.executable
    client = "json"

    def found(self) -> str | None:
        """This Python."""
        return sys.executable

    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """The listener above."""
        return [program, "-c", LISTENER, str(port)]


def is_running(pid: int) -> bool:
    """Whether there is such a process, and not only what remains of one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_broker_is_started_once_and_each_measurement_has_a_place_of_its_own() -> None:
    """And it is stopped with the child it started; its folder is gone."""
    broker = FakeBroker()
    with broker.place("tcp://127.0.0.1:0") as first:
        use = broker.broker_use()
    with broker.place("tcp://127.0.0.1:0") as second:
        pass
    running = broker._running
    assert running is not None
    assert first.rpartition("/")[0] == second.rpartition("/")[0]
    assert first != second
    assert use["cpu_s"] >= 0
    assert use["rss_mb"] > 0
    assert broker.broker_use()["rss_mb"] > 0  # still told when the measurement is over
    child = int(running._log.read_text())
    pid, folder = running._process.pid, running._folder
    assert is_running(pid)
    assert is_running(child)
    broker.stop()
    broker.stop()
    assert not is_running(pid)
    assert not is_running(child)
    assert not os.path.exists(folder)


def test_peers_of_one_broker_share_it() -> None:
    """Each measurement has a place of its own, whoever's it is; either stops it for both."""
    first = FakeBroker()
    other = FakeBroker(first)
    with first.place("tcp://127.0.0.1:0") as here, other.place("tcp://127.0.0.1:0") as there:
        assert here.rpartition("/")[0] == there.rpartition("/")[0]
        assert here != there
        assert other.broker_use()["rss_mb"] > 0
    running = first._running
    assert running is not None
    assert running is other._running
    other.stop()
    assert first._running is None
    assert not is_running(running._process.pid)


def test_a_broker_that_ends_at_once_is_an_error_with_its_last_words() -> None:
    """And leaves no folder."""
    folder = tempfile.mkdtemp()
    command = [sys.executable, "-c", "raise SystemExit('the moon is wrong')"]
    with pytest.raises(BenchError, match="did not start: the moon is wrong"):
        Running(command, free_port(), folder, {})
    assert not os.path.exists(folder)


def test_a_group_that_is_gone_has_used_nothing() -> None:
    """No error."""
    assert group_use(2**22 + 1) == {"cpu_s": 0.0, "rss_mb": 0.0}


def test_use_of_a_group_is_seen() -> None:
    """This one has memory."""
    assert group_use(os.getpgid(0))["rss_mb"] > 0


def test_a_broker_that_is_not_there_is_a_row_that_says_so(monkeypatch: Any) -> None:
    """The program, or its client."""
    broker = FakeBroker()
    monkeypatch.setattr(FakeBroker, "client", "carrier_pigeon")
    assert broker.missing() == "the Python client carrier_pigeon is not installed"
    monkeypatch.setattr(FakeBroker, "found", lambda _: None)
    assert broker.missing() == f"{sys.executable} is not installed"
    assert broker.why_not("thr", "ipc") == "has no ipc"


@pytest.mark.parametrize("name", ["redis", "nats"])
@pytest.mark.parametrize("kind", ["thr", "lat"])
def test_light_brokers_are_measured_where_they_are_installed(name: str, kind: str) -> None:
    """Every message arrives; the broker's CPU is told."""
    reason = PEERS[name].missing()
    if reason:
        pytest.skip(reason)
    (row,) = measured(kind, "--transport", "tcp", "--size", "64", "--count", "1500", "--peer", name)
    assert row["figures"]["broker_cpu_us"]["min"] >= 0
    assert row["figures"]["broker_rss_mb"]["min"] > 0


def test_a_process_that_hangs_is_stopped_and_the_row_says_so() -> None:
    """After the limit; so does one that dies."""
    hangs = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with (
        pytest.raises(BenchError, match=r"was stopped after 0\.2 s"),
        launch.processes(0.2) as start,
    ):
        start(hangs).line()
    dies = [sys.executable, "-c", "raise SystemExit('no')"]
    with pytest.raises(BenchError, match="no"), launch.processes() as start:
        start(dies).line()


def test_a_measurement_of_a_peer_that_fails_leaves_no_process() -> None:
    """Both ends are stopped."""
    task = Task("thr", "meshmsg", True, "", 64, 10, 1)
    peer = PEERS["meshmsg"]
    commands: list[list[str]] = []

    class Broken(type(peer)):  # type: ignore[misc]
        """The sender's process dies at once."""

        def command(self, *tasks: Task) -> list[str]:
            """What to run."""
            own: list[str] = super().command(*tasks)
            broken = [sys.executable, "-c", "raise SystemExit('it fell over')"]
            commands.append(own if tasks[0].receives else broken)
            return commands[-1]

    with pytest.raises(BenchError, match="it fell over"):
        launch.measure(Broken(), "tcp", task)
    assert len(commands) == 2
