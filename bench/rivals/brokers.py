"""Brokers started for a measurement: privately, on a free port of loopback, in a folder of their
own, once a run of the bench, and stopped with it.

Not here: the clients (redis_broker, nats_broker, ...). Law: nothing that was running before is
touched; only the process started here is stopped, by its own id.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..base.hosts import LOOPBACK, host_of, is_loopback
from ..base.memory import memory
from ..base.need import BenchError, is_there
from ..base.signals import held
from ..peers.seam import Peer

START_SECONDS = 60.0
STOP_SECONDS = 20.0
TICK_SECONDS = 0.05
LAST_WORDS = 300
"""Characters of what a broker said before it died, for its row."""
HZ = os.sysconf("SC_CLK_TCK")


def free_port(host: str = LOOPBACK) -> int:
    """A port of this machine nobody has now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
    return port


def group_members(group: int) -> Iterator[tuple[int, list[str]]]:
    """Processes of a group, with what their stat says from the state on."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended
        fields = text.rpartition(")")[2].split()
        if int(fields[2]) == group:
            yield int(entry.name), fields


def group_use(group: int) -> dict[str, float]:
    """CPU and memory of a process group: a broker may be a script with children."""
    found = {"cpu_s": 0.0, "rss_mb": 0.0}
    for pid, fields in group_members(group):
        found["cpu_s"] += sum(map(int, fields[11:15])) / HZ
        found["rss_mb"] += memory("VmRSS", pid) / 1024
    return found


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Running:
    """A broker that was started here."""

    def __init__(
        self, command: list[str], port: int, folder: str, environment: Mapping[str, str]
    ) -> None:
        self.port, self._folder = port, folder
        self._log = Path(folder) / "bench.log"
        with held(), self._log.open("wb") as log:  # nobody else would stop it
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env={**os.environ, **environment},
                    start_new_session=True,  # a group of its own, to be stopped as a whole
                )
            except OSError as error:
                raise BenchError(f"{command[0]} did not start: {error.strerror}") from None
            atexit.register(self.stop)
        try:
            self._wait(command[0])
        except BaseException:
            self.stop()
            raise

    def _wait(self, program: str) -> None:
        end = time.monotonic() + START_SECONDS
        while not answers(self.port):
            if self._process.poll() is not None or time.monotonic() > end:
                words = self._log.read_text(encoding="utf-8", errors="replace").strip()
                raise BenchError(f"{program} did not start: {words[-LAST_WORDS:]}")
            time.sleep(TICK_SECONDS)

    def use(self) -> dict[str, float]:
        """What it has used so far."""
        return group_use(self._process.pid)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass  # all of it has ended

    def _has_members(self) -> bool:
        return any(fields[0] != "Z" for _, fields in group_members(self._process.pid))

    def stop(self) -> None:
        """Stop it, gently, then not; at once when a second signal asks for it."""
        with held() as signalled:
            self._signal(signal.SIGTERM)
            end = time.monotonic() + STOP_SECONDS
            while self._process.poll() is None and not signalled and time.monotonic() < end:
                time.sleep(TICK_SECONDS)
            self._signal(signal.SIGKILL)  # and what it left behind
            self._process.wait()
            end = time.monotonic() + STOP_SECONDS
            while self._has_members() and time.monotonic() < end:
                time.sleep(TICK_SECONDS)
            shutil.rmtree(self._folder, ignore_errors=True)
            atexit.unregister(self.stop)


@dataclass
class Server:
    """What the peers of one broker share: it is started once for all of them."""

    running: Running | None = None
    turn: int = 0
    """Of the measurement, for the name of its place."""


class Broker(Peer):
    """A peer whose ends meet at a broker."""

    transports: tuple[str, ...] = ("tcp",)
    program: str = ""
    """What must be installed."""
    client: str = ""
    """The module the ends need."""

    def __init__(self, beside: Broker | None = None) -> None:
        """beside: a peer of the same broker, which uses it in another way."""
        self._server: Server = Server() if beside is None else beside._server
        self._before: dict[str, float] = {}
        self._used: dict[str, float] = {}
        self._places = 0

    @property
    def _running(self) -> Running | None:
        return self._server.running

    @abstractmethod
    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """How to start it on that port of loopback, with all its files in that folder."""

    def environment(self, port: int, folder: str) -> Mapping[str, str]:
        """What it needs there."""
        return {}

    def server_version(self) -> str:
        """Of the broker."""
        return ""

    def version(self) -> str:
        """Of the broker, and of the client that speaks with it."""
        return f"{self.server_version() or 'unknown'} ({self.package} {super().version()})"

    def found(self) -> str | None:
        """Where its program is."""
        return shutil.which(self.program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")

    def missing(self) -> str | None:
        """Whether broker and client are there."""
        if self.found() is None:
            return f"{self.program} is not installed"
        if not is_there(self.client):
            return f"the Python client {self.client} is not installed"
        return None

    @contextmanager
    def place(self, url: str) -> Iterator[str]:
        """A place of its own at the broker, which is started if it is not running yet."""
        if not is_loopback(host_of(url)):
            raise BenchError(f"its broker is only reached from its own machine, not at {url}")
        if self._server.running is None:
            self._server.running = self._start()
        running = self._server.running
        self._server.turn += 1
        self._places += 1
        self._before = self._before or running.use()
        try:
            yield f"tcp://{LOOPBACK}:{running.port}/bench{self._server.turn}"
        finally:
            self._used = self.broker_use()
            self._places -= 1
            if not self._places:
                self._before = {}

    def _start(self) -> Running:
        program, folder, port = self.found(), tempfile.mkdtemp(prefix="mm-bench-"), free_port()
        try:
            if program is None:
                raise BenchError(f"{self.program} is not installed")
            command = self.start_command(program, port, folder)
            return Running(command, port, folder, self.environment(port, folder))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def measuring(self) -> None:
        """What it used for the warm-up does not count: that of the ends does not, either."""
        if self._running is not None:
            self._before = self._running.use()

    def _use_now(self) -> dict[str, float]:
        assert self._running is not None
        now = self._running.use()
        return {"cpu_s": now["cpu_s"] - self._before["cpu_s"], "rss_mb": now["rss_mb"]}

    def broker_use(self) -> dict[str, float]:
        """What it used in this measurement, or in the last one."""
        return self._use_now() if self._before else self._used

    def stop(self) -> None:
        """Stop the broker; the next measurement would start another."""
        if self._server.running is not None:
            self._server.running.stop()
            self._server.running = None
