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

from ._need import BenchError
from ._task import PATIENCE, Task
from .peers.seam import Peer

LIMIT = 120.0
"""Seconds one measurement may take."""


@dataclass(frozen=True)
class Measured:
    """What both ends said of one measurement."""

    sender: dict[str, Any]
    receiver: dict[str, Any]
    sender_use: dict[str, float] = field(default_factory=dict)
    receiver_use: dict[str, float] = field(default_factory=dict)
    """CPU and memory; for inproc the one process stands here, and the sender's is empty."""
    broker_use: dict[str, float] = field(default_factory=dict)


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
        self._limit = limit
        self._timer = threading.Timer(limit, self._process.kill)
        self._timer.daemon = True
        self._timer.start()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self._errors.extend(self._process.stderr)

    def line(self) -> dict[str, Any]:
        """What it says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._reader.join(PATIENCE)
            words = [words.strip() for words in self._errors if words.strip()]
            late = f"a process ended, or was stopped after {self._limit:.0f} s"
            raise BenchError(words[-1] if words else late)
        fact: dict[str, Any] = json.loads(line)
        return fact

    def word(self, word: str) -> None:
        """Tell it to go on."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone; what it said last is read next

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
        started.append(Process(command, limit))
        return started[-1]

    failed = True
    try:
        yield start
        failed = False
    finally:
        for process in reversed(started):
            process.stop(kill=failed)


@contextmanager
def url_for(peer: Peer, transport: str, bind: str = "") -> Iterator[str]:
    """Where the ends of one measurement meet: there, or in a free place of this machine."""
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as scratch:
        urls = {
            "tcp": "tcp://127.0.0.1:0",
            "ipc": f"ipc://{scratch}/s",
            "inproc": "inproc://bench",
        }
        with peer.place(bind or urls[transport]) as url:
            yield url


def measure(peer: Peer, transport: str, task: Task, limit: float = LIMIT) -> Measured:
    """Run one measurement of two ends; the task is the receiver's."""
    with url_for(peer, transport) as url, processes(limit) as start:
        first = replace(task, receives=True, url=url)
        second = replace(first, receives=False)
        if transport == "inproc":
            return _in_one(start(peer.command(first, second)))
        receiver = start(peer.command(first))
        there = receiver.line()["endpoint"]
        sender = start(peer.command(replace(second, url=there)))
        sender.line()
        receiver.line()
        sender.word("go")
        sent, received = sender.line(), receiver.line()
        sender.word("end")
        receiver.word("end")
        return Measured(sent, received, sender.line(), receiver.line(), peer.broker_use())


def _in_one(process: Process) -> Measured:
    received, sent = process.line(), process.line()
    process.word("end")
    return Measured(sent, received, {}, process.line())
