"""Starts the processes of one measurement, leads them through it, and gathers what they report."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.hosts import LOOPBACK, tcp
from ..base.need import BenchError
from ..base.signals import held
from ..base.task import PATIENCE, Task
from ..ends.lead import LEADS, Around, Gathered
from ..ends.works import whole_way
from ..peers.seam import Peer

LIMIT = 120.0
"""Seconds one measurement may take besides what its messages need."""
SLOWEST_PER_S = 500.0
"""Messages a second, as fast as it goes: what is slower than that is given up."""
SLOWEST_BYTES_PER_S = 10e6
"""The same for large messages: both times are allowed."""
SCHEDULES = 2
"""How often the time of its schedule a measurement at a rate may take."""
NO_WORD = "a process ended without a word"


@dataclass(frozen=True)
class Measured:
    """What both ends said of one measurement."""

    sender: dict[str, Any]
    receiver: dict[str, Any]
    sender_use: dict[str, float] = field(default_factory=dict)
    receiver_use: dict[str, float] = field(default_factory=dict)
    """CPU and memory; for inproc the one process stands here, and the sender's is empty."""
    broker_use: dict[str, float] = field(default_factory=dict)


def time_for(count: int, size: int, rate: float) -> float:
    """Seconds so many messages may need."""
    if rate:
        return SCHEDULES * count / rate
    return count / SLOWEST_PER_S + count * size / SLOWEST_BYTES_PER_S


class Group:
    """The processes of one measurement: when one fails, all end, and its words are the reason."""

    def __init__(self) -> None:
        self.started: list[Process] = []
        self.failed = ""
        self._lock = threading.Lock()

    def fail(self, why: str) -> None:
        """One of them failed; only the first is heard, the others are killed for it."""
        with self._lock:
            self.failed = self.failed or why
        for process in self.started:
            process.kill()


class Process:
    """One process of a measurement; it is killed when it takes too long."""

    def __init__(self, command: list[str], limit: float, group: Group) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._group = group
        self._limit, self._is_late = limit, False
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._timer = threading.Timer(limit, self._too_late)
        self._timer.daemon = True
        self._reader.start()
        self._timer.start()

    def _read_errors(self) -> None:
        """Until it has ended: if it failed, nobody is left waiting for it."""
        assert self._process.stderr is not None
        words = [words.strip() for words in self._process.stderr if words.strip()]
        if self._process.wait() != 0:
            self._group.fail(self._why(words))

    def _why(self, words: list[str]) -> str:
        if self._is_late:
            allowed = f"{self._limit:,.1f} s, the time allowed for so many messages"
            return f"was stopped after {allowed}"
        return words[-1] if words else NO_WORD

    def _too_late(self) -> None:
        self._is_late = True
        self._process.kill()

    def kill(self) -> None:
        """Let it end now; who waits for what it says gets an error."""
        self._process.kill()

    def line(self) -> dict[str, Any]:
        """What it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._reader.join(PATIENCE)
            raise BenchError(self._group.failed or NO_WORD)
        fact: dict[str, Any] = json.loads(line)
        return fact

    def word(self, word: str) -> None:
        """Tell it to go on."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it is gone, or was stopped; what it said last is read next

    def stop(self, *, kill: bool) -> None:
        """Wait for its end; kill it if it does not come."""
        if kill:
            self._process.kill()
        try:
            self._process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._timer.cancel()
        self._reader.join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # a word it did not wait for


@contextmanager
def processes(limit: float = LIMIT) -> Iterator[Any]:
    """A function that starts processes; all have ended when the block has."""
    group = Group()

    def start(command: list[str]) -> Process:
        with held():  # one that is not on the list would be left behind
            group.started.append(Process(command, limit, group))
        return group.started[-1]

    try:
        yield start
        for process in reversed(group.started):
            process.stop(kill=False)
    finally:
        with held():
            for process in reversed(group.started):
                process.stop(kill=True)


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for what the ends of one measurement keep; it goes when they have ended."""
    return tempfile.TemporaryDirectory(prefix="mm-bench-")


@contextmanager
def url_for(peer: Peer, transport: str, bind: str = "", host: str = LOOPBACK) -> Iterator[str]:
    """Where the ends of one measurement meet: there, or in a free place of this machine."""
    with scratch() as place:
        urls = {
            "tcp": tcp(host, 0),
            "ipc": f"ipc://{place}/s",
            "inproc": "inproc://bench",
            "disk": "",
        }
        with peer.place(bind or urls[transport]) as url:
            yield url


def lead(start: Any, peer: Peer, transport: str, tasks: Sequence[Task], around: Around) -> Gathered:
    """Lead the ends through a measurement: each a process, or (inproc) all in one."""
    if transport != "inproc":
        return LEADS[tasks[0].kind](lambda task: start(peer.command(task)), tasks, around)
    process = start(peer.command(*tasks))
    said = [process.line() for _ in tasks]
    process.word("end")
    return Gathered(said, [process.line()])


def measure(peer: Peer, transport: str, task: Task, limit: float | None = None) -> Measured:
    """Run one measurement of two ends; the task is the receiver's."""
    allowed = limit or LIMIT + time_for(task.count, task.size, task.rate)
    broker_use: dict[str, float] = {}
    around = Around(peer.measuring, lambda: broker_use.update(peer.broker_use()))
    with url_for(peer, transport) as url, scratch() as folder, processes(allowed) as start:
        first = replace(task, receives=True, url=url, folder=folder)
        tasks = [first, replace(first, receives=False)]
        found = lead(start, peer, transport, tasks, around)
    received, sent = found.said
    receiver_use, sender_use = [*found.used, {}][:2]
    return Measured(sent, whole_way(sent, received), sender_use, receiver_use, broker_use)


def gather(peer: Peer, transport: str, tasks: Sequence[Task], limit: float = LIMIT) -> Gathered:
    """Run one measurement of one end and the many around it; the first task is of the one that
    binds."""
    if transport == "inproc" and not peer.in_python:
        raise BenchError("is a program for each end: these are not measured over inproc")
    with url_for(peer, transport) as url, scratch() as folder, processes(limit) as start:
        told = [replace(task, url=url, folder=folder) for task in tasks]
        return lead(start, peer, transport, told, Around())
