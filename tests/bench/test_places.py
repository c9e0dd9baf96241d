"""Where the ends bind: any host of this machine, a fixed port round after round, without Nagle."""

from __future__ import annotations

import ctypes
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from meshmsg.bench.base.hosts import host_of, is_loopback, reached, tcp
from meshmsg.bench.base.need import BenchError
from meshmsg.bench.base.task import Task
from meshmsg.bench.measure.launch import processes
from meshmsg.bench.measure.stage import Consumers, produce
from meshmsg.bench.peers.roster import PEERS
from meshmsg.bench.rivals.zenoh_python import locator, with_port
from tests.support.pairs import free_endpoints
from tests.support.scenarios import scenario

OTHER = "127.0.0.2"
"""Another host, as far as binding and connecting go, and yet loopback."""
PIDFD_GETFD = 438
"""The number of the call on every system Linux runs on."""
BROKERLESS = sorted(
    name
    for name, peer in PEERS.items()
    if not hasattr(peer, "start_command") and {"thr", "rate"} <= set(peer.kinds)
)


def measurable(name: str, kind: str = "rate") -> None:
    """Skip what is not there."""
    reason = PEERS[name].why_not(kind, "tcp")
    if reason:
        pytest.skip(reason)


class Noting(Consumers):
    """It keeps where its consumers were."""

    there: dict[str, str]

    def begin(self, *told: Any, **more: Any) -> dict[str, str]:
        """Start them."""
        self.there = super().begin(*told, **more)
        return self.there


@pytest.mark.parametrize("name", BROKERLESS)
def test_consumers_bind_where_the_two_meet(name: str) -> None:
    """Else the sender would be sent to its own machine; and all messages arrive there."""
    measurable(name)
    made = scenario()
    side = Noting(made, host=OTHER)
    said = produce(made, 0, name, False, side)
    assert host_of(side.there["c"]) == OTHER
    assert said["received"]["c"]["count"] == 10


@pytest.mark.parametrize("name", BROKERLESS)
def test_a_fixed_place_is_free_again_in_the_next_round(name: str) -> None:
    """The connection of the last one lingers in the system."""
    measurable(name)
    (bind,) = free_endpoints(1)  # where nobody else is given its port between two rounds
    made = scenario(bind=bind)
    for _ in range(3):
        side = Noting(made)
        said = produce(made, 0, name, False, side)
        assert side.there == {"c": bind}
        assert said["received"]["c"]["count"] == 10


def test_ipc_is_refused_where_the_two_meet_outside() -> None:
    """And taken on one machine."""
    made = scenario(transport="ipc")
    with pytest.raises(BenchError, match=r"ipc stays on one machine.*meet at 192\.0\.2\.7"):
        Consumers(made, host="192.0.2.7").begin(0, "meshmsg", False)
    assert produce(made, 0, "meshmsg", False, Consumers(made, host=OTHER))


@pytest.mark.parametrize("name", ["meshmsg", "raw-python"])
def test_a_place_outside_loopback_must_be_allowed_whoever_binds_there(name: str) -> None:
    """Not all libraries ask."""
    made = scenario(bind="tcp://0.0.0.0:0")
    with pytest.raises(BenchError, match="c would bind tcp://0.0.0.0:0: --insecure allows it"):
        Consumers(made).begin(0, name, False)


def nodelays(pid: int) -> list[int]:
    """TCP_NODELAY of each connection a process has."""
    found, pidfd = [], os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    for name in os.listdir(f"/proc/{pid}/fd"):
        if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
            continue
        copy = libc.syscall(PIDFD_GETFD, pidfd, int(name), 0)
        if copy < 0:
            os.close(pidfd)
            pytest.skip(f"no look into processes: {os.strerror(ctypes.get_errno())}")
        with socket.socket(fileno=copy) as one:
            try:
                one.getpeername()
                found.append(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            except OSError:
                pass  # a listener, or no TCP
    os.close(pidfd)
    return found


@pytest.mark.parametrize("kind", ["thr", "survey"])
@pytest.mark.parametrize("name", sorted(PEERS))
def test_every_connection_sends_at_once(name: str, kind: str, tmp_path: Path) -> None:
    """Nagle's waiting would be measured instead of the library."""
    if hasattr(PEERS[name], "start_command"):
        pytest.skip("its broker has the connections")
    if name == "libsodium-c":
        pytest.skip("it opens boxes, and has no connection")
    measurable(name, kind)
    peer, binds = PEERS[name], kind != "survey"
    task = Task(kind, name, binds, "tcp://127.0.0.1:0", 64, 5, 1, folder=str(tmp_path))
    with processes() as start:
        first = start(peer.command(task))
        url = first.line()["endpoint"]
        second = start(peer.command(replace(task, receives=not binds, url=url)))
        assert first.line() == second.line() == {"ready": True}
        for process in (first, second):
            options = nodelays(process._process.pid)
            assert options
            assert all(options)
        for process in (first, second):
            process.kill()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("tcp://127.0.0.1:5", "127.0.0.1"),
        ("tcp://[::1]:5/x", "::1"),
        ("ipc:///tmp/x", ""),
        ("nonsense", ""),
        ("tcp://[::1:5", ""),
        ("", ""),
    ],
)
def test_the_host_of_a_url(url: str, host: str) -> None:
    """Nothing where there is none."""
    assert host_of(url) == host


def test_what_is_loopback() -> None:
    """All of 127/8, ::1, and the name; not everywhere."""
    assert all(map(is_loopback, ("127.0.0.1", OTHER, "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.7", "example.org", "")))


@pytest.mark.parametrize(
    ("url", "host", "there"),
    [
        ("tcp://0.0.0.0:7", "192.0.2.7", "tcp://192.0.2.7:7"),
        ("tcp://[::]:7", "fd00::2", "tcp://[fd00::2]:7"),
        ("tcp://0.0.0.0:7/bench1", "a.example", "tcp://a.example:7/bench1"),
        ("tcp://127.0.0.2:7", "192.0.2.7", "tcp://127.0.0.2:7"),
        ("ipc:///tmp/x", "192.0.2.7", "ipc:///tmp/x"),
        ("tcp://0.0.0.0:7", "", "tcp://0.0.0.0:7"),
    ],
)
def test_a_place_that_is_everywhere_is_reached_by_its_host(url: str, host: str, there: str) -> None:
    """Others are left alone."""
    assert reached(url, host) == there


def test_urls_of_ipv6_have_brackets() -> None:
    """Others have none."""
    assert (tcp("::1", 5), tcp("127.0.0.1", 5)) == ("tcp://[::1]:5", "tcp://127.0.0.1:5")


def test_zenoh_keeps_a_port_that_is_named() -> None:
    """And gets one where none is, at the host that is named."""
    assert with_port("tcp://127.0.0.1:5") == "tcp://127.0.0.1:5"
    made = with_port(f"tcp://{OTHER}:0")
    assert host_of(made) == OTHER
    assert locator(made) == made.replace("tcp://", "tcp/")
    assert locator("ipc:///tmp/x") == "unixsock-stream//tmp/x"
    assert with_port("tcp://[::1]:0").startswith("tcp://[::1]:")
