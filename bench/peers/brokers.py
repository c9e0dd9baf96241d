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
from pathlib import Path

from .._memory import memory
from .._need import BenchError, is_there
from .seam import Peer

START_SECONDS = 60.0
STOP_SECONDS = 20.0
TICK_SECONDS = 0.05
HZ = os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """A port of loopback nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
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
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **environment},
                start_new_session=True,  # a group of its own, to be stopped as a whole
            )
        atexit.register(self.stop)
        end = time.monotonic() + START_SECONDS
        while not answers(port):
            if self._process.poll() is not None or time.monotonic() > end:
                words = self._log.read_text(encoding="utf-8", errors="replace").strip()
                self.stop()
                raise BenchError(f"{command[0]} did not start: {words[-300:]}")
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
        """Stop it, gently, then not."""
        atexit.unregister(self.stop)
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        self._signal(signal.SIGKILL)  # and what it left behind
        self._process.wait()
        end = time.monotonic() + STOP_SECONDS
        while self._has_members() and time.monotonic() < end:
            time.sleep(TICK_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)


class Broker(Peer):
    """A peer whose ends meet at a broker."""

    transports: tuple[str, ...] = ("tcp",)
    program: str = ""
    """What must be installed."""
    client: str = ""
    """The module the ends need."""

    def __init__(self) -> None:
        self._running: Running | None = None
        self._before: dict[str, float] = {}
        self._used: dict[str, float] = {}
        self._turn = 0

    @abstractmethod
    def start_command(self, program: str, port: int, folder: str) -> list[str]:
        """How to start it on that port of loopback, with all its files in that folder."""

    def environment(self, port: int, folder: str) -> Mapping[str, str]:
        """What it needs there."""
        return {}

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
        if self._running is None:
            program, folder, port = self.found(), tempfile.mkdtemp(prefix="mm-bench-"), free_port()
            assert program is not None
            command = self.start_command(program, port, folder)
            self._running = Running(command, port, folder, self.environment(port, folder))
        self._turn += 1
        self._before = self._running.use()
        try:
            yield f"tcp://127.0.0.1:{self._running.port}/bench{self._turn}"
        finally:
            self._used = self._use_now()
            self._before = {}

    def _use_now(self) -> dict[str, float]:
        assert self._running is not None
        now = self._running.use()
        return {"cpu_s": now["cpu_s"] - self._before["cpu_s"], "rss_mb": now["rss_mb"]}

    def broker_use(self) -> dict[str, float]:
        """What it used in this measurement, or in the last one."""
        return self._use_now() if self._before else self._used

    def stop(self) -> None:
        """Stop the broker; the next measurement would start another."""
        if self._running is not None:
            self._running.stop()
            self._running = None
