"""Starts the two processes of one measurement and reads what they report."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from typing import Any

from ._libraries import PATIENCE
from ._peer import Task


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
    given = {"first": asdict(first), "second": asdict(replace(first, binds=False))}
    process = _start(given)
    try:
        return Point(_line(process), _line(process))
    finally:
        _end(process)


def _two(first: Task) -> Point:
    receiver = _start(asdict(first))
    sender = None
    try:
        url = _line(receiver)["endpoint"]
        sender = _start(asdict(replace(first, binds=False, url=url)))
        _line(sender)
        _line(receiver)
        assert sender.stdin is not None
        sender.stdin.write("go\n")
        sender.stdin.flush()
        connected = _line(sender)
        return Point(_line(receiver), connected)
    finally:
        for process in (sender, receiver):
            if process is not None:
                _end(process)


def _start(given: dict[str, Any]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "meshmsg.bench._peer", json.dumps(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _line(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise BenchError(process.stderr.read().strip() or "a process ended without a word")
    fact: dict[str, Any] = json.loads(line)
    return fact


def _end(process: subprocess.Popen[str]) -> None:
    """Let it end; kill it if it does not."""
    try:
        process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
