"""Starts the processes of one measurement, leads them through it, and gathers what they report."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.hosts import LOOPBACK, tcp
from ..base.need import BenchError
from ..base.signals import held
from ..base.task import PATIENCE, Task
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


class Process:
    """One process of a measurement; it is killed when it takes too long."""

    def __init__(self, command: list[str], limit: float = LIMIT) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._errors: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self._limit, self._is_late = limit, False
        self._timer = threading.Timer(limit, self._too_late)
        self._timer.daemon = True
        self._timer.start()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors.extend(self._process.stderr)

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
            words = [words.strip() for words in self._errors if words.strip()]
            if self._is_late:
                allowed = f"{self._limit:,.1f} s, the time allowed for so many messages"
                raise BenchError(f"was stopped after {allowed}")
            raise BenchError(words[-1] if words else "a process ended without a word")
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
    started: list[Process] = []

    def start(command: list[str]) -> Process:
        with held():  # one that is not on the list would be left behind
            started.append(Process(command, limit))
        return started[-1]

    try:
        yield start
        for process in reversed(started):
            process.stop(kill=False)
    finally:
        with held():
            for process in reversed(started):
                process.stop(kill=True)


@contextmanager
def url_for(peer: Peer, transport: str, bind: str = "", host: str = LOOPBACK) -> Iterator[str]:
    """Where the ends of one measurement meet: there, or in a free place of this machine."""
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as scratch:
        urls = {
            "tcp": tcp(host, 0),
            "ipc": f"ipc://{scratch}/s",
            "inproc": "inproc://bench",
        }
        with peer.place(bind or urls[transport]) as url:
            yield url


def measure(peer: Peer, transport: str, task: Task, limit: float | None = None) -> Measured:
    """Run one measurement of two ends; the task is the receiver's."""
    allowed = limit or LIMIT + time_for(task.count, task.size, task.rate)
    with url_for(peer, transport) as url, processes(allowed) as start:
        first = replace(task, receives=True, url=url)
        second = replace(first, receives=False)
        if transport == "inproc":
            return _in_one(start(peer.command(first, second)))
        receiver = start(peer.command(first))
        there = receiver.line()["endpoint"]
        sender = start(peer.command(replace(second, url=there)))
        sender.line()
        receiver.line()
        peer.measuring()
        sender.word("go")
        sent, received = sender.line(), receiver.line()
        broker_use = peer.broker_use()
        sender.word("end")
        receiver.word("end")
        received = whole_way(sent, received)
        return Measured(sent, received, sender.line(), receiver.line(), broker_use)


def _in_one(process: Process) -> Measured:
    received, sent = process.line(), process.line()
    process.word("end")
    return Measured(sent, whole_way(sent, received), {}, process.line())
