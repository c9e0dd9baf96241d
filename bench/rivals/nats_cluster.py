"""NATS as a mesh: processes are clients of a cluster of three servers, which routes connect.

A server says in the system account who connects to it and who is gone; the other servers pass it
on. A client that comes asks all servers for who is there (ends/member.py). Law: as of brokers:
private servers on free ports of loopback, stopped with the measurement.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from ..base.hosts import LOOPBACK
from ..base.need import BenchError
from .brokers import START_SECONDS, TICK_SECONDS, Running
from .nats_broker import Nats

SERVERS = 3
USER = "bench"
"""And its password, in the account that is told who comes and goes."""
CONFIG = """
server_name: "s{number}"
host: 127.0.0.1
port: {port}
http: "127.0.0.1:{http}"
cluster {{
  name: bench
  host: 127.0.0.1
  port: {route}
  routes: [{routes}]
}}
accounts {{ $SYS {{ users: [{{ user: {user}, password: {user} }}] }} }}
"""


def free_ports(count: int) -> list[int]:
    """So many different ports of loopback that nobody has now."""
    with ExitStack() as taken:
        probes = [taken.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((LOOPBACK, 0))
        return [probe.getsockname()[1] for probe in probes]


def config(number: int, ports: list[int], routes: list[int], http: int) -> str:
    """The settings of one server of all."""
    others = [f'"nats-route://{LOOPBACK}:{port}"' for port in routes if port != routes[number]]
    return CONFIG.format(
        number=number,
        port=ports[number],
        http=http,
        route=routes[number],
        routes=", ".join(others),
        user=USER,
    )


def routed(http: int) -> int:
    """To how many other servers this one has a route."""
    try:
        with urlopen(f"http://{LOOPBACK}:{http}/routez", timeout=START_SECONDS) as answer:
            told = json.load(answer)
    except URLError:
        return 0  # it has just begun
    return len({one["remote_id"] for one in told.get("routes") or []})


class NatsCluster(Nats):
    """A cluster, and its clients as members of a mesh."""

    name = "nats-cluster"
    kinds: tuple[str, ...] = ("mesh",)

    def __init__(self) -> None:
        super().__init__()
        self._servers: list[Running] = []

    @contextmanager
    def meeting(self) -> Iterator[str | None]:
        """Three servers that know each other; their addresses, with commas."""
        every = free_ports(3 * SERVERS)
        ports, routes, http = (every[at::3] for at in range(3))
        with ExitStack() as started:
            started.callback(self._servers.clear)
            for number in range(SERVERS):
                self._servers.append(self._server_at(number, ports, routes, http[number]))
                started.callback(self._servers[-1].stop)
            self._meet(http)
            yield ",".join(f"nats://{USER}:{USER}@{LOOPBACK}:{port}" for port in ports)

    def _server_at(self, number: int, ports: list[int], routes: list[int], http: int) -> Running:
        program, folder = self.found(), tempfile.mkdtemp(prefix="mm-bench-")
        try:
            if program is None:
                raise BenchError(f"{self.program} is not installed")
            settings = Path(folder) / "nats.conf"
            settings.write_text(config(number, ports, routes, http), encoding="utf-8")
            return Running([program, "-c", str(settings)], ports[number], folder, {})
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _meet(self, http: list[int]) -> None:
        end = time.monotonic() + START_SECONDS
        while any(routed(port) < SERVERS - 1 for port in http):
            if time.monotonic() > end:
                raise BenchError("the servers of NATS did not find each other")
            time.sleep(TICK_SECONDS)

    def broker_use(self) -> dict[str, float]:
        """What all servers have used so far."""
        each = [server.use() for server in self._servers]
        return {name: sum(one[name] for one in each) for name in each[0]} if each else {}
