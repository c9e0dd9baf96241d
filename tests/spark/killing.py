"""Processes of Spark that are killed while they read, and what was read of a spool when.

Law: only children of the JVM of this test's own session are found, by who started whom; a kill is
at a read that was seen, never at a time.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import meshmsg as mm
from meshmsg._ranges.form import Op, request_of
from tests.spark.showing import body
from tests.support.pairs import of_its_own

WORKER, RUNNER = "pyspark.daemon", "python_streaming_source_runner"
EXECUTOR, DRIVER = "executor.CoarseGrainedExecutorBackend", "org.apache.spark.deploy.SparkSubmit"
"""What the command lines of workers, of the runner of a source, of executors and of the process of
Java of a driver have in them."""


def _parent_of(pid: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _command_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def children_of(root: int) -> list[int]:
    """Return all processes below one, the nearest first."""
    parents = {int(one): _parent_of(int(one)) for one in os.listdir("/proc") if one.isdigit()}
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def workers_of(jvm: int) -> list[int]:
    """Return the Python workers: what daemons have forked."""
    below = children_of(jvm)
    daemons = [pid for pid in below if WORKER in _command_of(pid)]
    return [pid for pid in daemons if _parent_of(pid) in daemons]


def runners_of(jvm: int) -> list[int]:
    """Return the runners of sources."""
    return [pid for pid in children_of(jvm) if RUNNER in _command_of(pid)]


def executors_of(driver: int) -> list[int]:
    """Return the executors of a local cluster: processes of Java."""
    return [pid for pid in children_of(driver) if is_executor(pid)]


def is_executor(pid: int) -> bool:
    """Whether it is one; also without its driver."""
    return EXECUTOR in _command_of(pid)


def jvms_of(driver: int) -> list[int]:
    """Return the processes of Java of drivers: the one of a program."""
    return [pid for pid in children_of(driver) if DRIVER in _command_of(pid)]


def _open_of(pid: int) -> list[str]:
    """Return what a process has open."""
    found = []
    with suppress(OSError):
        for one in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{one}"))
    return found


def writing_in(folder: Path, pids: list[int]) -> list[int]:
    """Return those that have something below a folder open."""
    below = f"{folder}/"
    return [pid for pid in pids if any(one.startswith(below) for one in _open_of(pid))]


def connected_from(address: str, pids: list[int]) -> list[int]:
    """Return those that have the connection whose own end is at an address, `tcp://IPv4:PORT`."""
    host, _, port = address.rpartition("//")[2].rpartition(":")
    own = f"{socket.inet_aton(host)[::-1].hex().upper()}:{int(port):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = {f"socket:[{words[9]}]" for words in lines if words[1] == own}
    return [pid for pid in pids if not ends.isdisjoint(_open_of(pid))]


def kill(pids: list[int], how: signal.Signals = signal.SIGKILL) -> int:
    """Kill them, or stop them, and return how many there were."""
    killed = 0
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, how)
            killed += 1
    return killed


class Reads:
    """What is asked of a server of this process: each read is noted before it is answered."""

    def __init__(self, server: mm.SpoolServer) -> None:
        self.noted: list[int] = []
        """The first number of each read."""
        self._at, self._do = 0, lambda: 0
        self._lock = threading.Lock()
        self.done = 0
        """How many processes were killed."""
        self.address = ""
        """Where the connection of who asks begins, as somebody is to be killed."""
        self._peers = server._rep.peers
        self._answer = server._answers.answer
        server._answers.answer = self._answering  # type: ignore[method-assign]

    def at(self, count: int, do: Callable[[], int]) -> None:
        """Kill somebody when that read from now on is asked, once there is somebody to kill."""
        with self._lock:
            self._at, self._do = len(self.noted) + count, do

    def again(self) -> int:
        """Return how many reads were of what had been read before."""
        with self._lock:
            return sum(count - 1 for count in Counter(self.noted).values())

    def _answering(self, data: bytes, load: Any) -> bytes:
        request = request_of(data)
        if request.op == Op.READ:
            with self._lock:
                self.noted.append(request.a)
                there = sorted(self._peers(), key=lambda one: one.id)[load.rank :]
                self.address = there[0].address if there else ""
                if self._at and len(self.noted) >= self._at and (killed := self._do()):
                    self._at, self.done = 0, self.done + killed
        return self._answer(data, load)


def shown(stack: ExitStack, folder: Path, count: int) -> tuple[str, Reads]:
    """Show a spool of so many messages; where, and what is read of it."""
    spool = stack.enter_context(mm.Spool(str(folder / "spool"), segment_bytes=2**20))
    spool.append_many(body(number) for number in range(1, count + 1))
    server = stack.enter_context(mm.SpoolServer(spool, bind=of_its_own()))
    return server.endpoint, Reads(server)
