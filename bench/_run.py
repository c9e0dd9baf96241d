"""Starts the two processes of one measurement and reads what they report."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, replace
from typing import Any

from ._libraries import PATIENCE
from ._peer import Task

LIMIT = 300.0  # seconds one measurement may take


@dataclass(frozen=True)
class Point:
    """One measurement: both ends' reports."""

    bound: dict[str, Any]
    """What the receiver, or the end that answers, said."""
    connected: dict[str, Any]
    """What the sender, or the end that asks, said."""


class BenchError(Exception):
    """A process of a measurement failed; the text has its last words."""


def measure(kind: str, library: str, transport: str, size: int, count: int) -> Point:
    """Run one measurement in processes of its own."""
    with tempfile.TemporaryDirectory(prefix="mm-bench-") as folder:
        url = {
            "tcp": "tcp://127.0.0.1:0",
            "ipc": f"ipc://{folder}/s",
            "inproc": "inproc://bench",
        }[transport]
        first = Task(kind, library, True, url, size, count)
        if transport == "inproc":
            return _inproc(first)
        return _two(first)


def _inproc(first: Task) -> Point:
    peer = Peer({"first": asdict(first), "second": asdict(replace(first, binds=False))})
    try:
        return Point(peer.line(), peer.line())
    finally:
        peer.end()


def _two(first: Task) -> Point:
    receiver = Peer(asdict(first))
    peers = [receiver]
    try:
        url = receiver.line()["endpoint"]
        sender = Peer(asdict(replace(first, binds=False, url=url)))
        peers.append(sender)
        sender.line()
        receiver.line()
        sender.go()
        connected, bound = sender.line(), receiver.line()
        sender.go()
        return Point(bound, connected)
    finally:
        for peer in reversed(peers):
            peer.end()


class Peer:
    """One process of a measurement; it is killed when it takes too long."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "meshmsg.bench._peer", json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._timer = threading.Timer(LIMIT, self._process.kill)
        self._timer.daemon = True
        self._timer.start()

    def line(self) -> dict[str, Any]:
        """What it says next."""
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            words = self._process.stderr.read().strip()
            raise BenchError(words or f"a process ended, or was stopped after {LIMIT:.0f} s")
        fact: dict[str, Any] = json.loads(line)
        return fact

    def go(self) -> None:
        """Let it go on: first measure, then close."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Wait for its end; kill it if it does not come."""
        try:
            self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._timer.cancel()
