"""Nodes of a mesh for tests: in this process, and in processes of their own.

A process reads a command a line, and says JSON a line: see `main`. Every wait here is bounded. Not
here: what is tested with them (tests/mesh).
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import meshmsg as mm
from meshmsg.mesh import EventKind, Mesh, Watch
from meshmsg.mesh._finding.seeds import Seed

WAIT_S = 30.0
"""Seconds that anything may take; nothing is measured by it."""
LOOK_S = 0.01
"""Seconds between two looks at what nothing tells of."""
ROOT = Path(__file__).resolve().parents[2]


def node(name: str, *seeds: Seed | str, **options: Any) -> Mesh:
    """Open a node of the cluster "test"."""
    return Mesh(**{"cluster": "test", "name": name, "seeds": seeds, **options})


def eventually(look: Callable[[], Any]) -> Any:
    """Look until it is true of what nothing tells of; return what was seen last."""
    deadline = time.monotonic() + WAIT_S
    pause = threading.Event()
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not happen"
        pause.wait(LOOK_S)
    return found


def until(watch: Watch, kind: EventKind, name: str) -> Any:
    """Wait until something is told of a node; return that event."""
    while True:
        event = watch.next(WAIT_S)
        if event.kind == kind and event.member.record.name == name:
            return event


class Process:
    """A node in a process of its own. `with` kills it."""

    def __init__(self, name: str, *seeds: str, inside: str = "", **options: Any) -> None:
        command = [sys.executable, "-m", "tests.support.meshes", name, json.dumps([seeds, options])]
        within = ["ip", "netns", "exec", inside] if inside else []
        self._process = subprocess.Popen(
            [*within, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, bufsize=0
        )
        self._data = b""
        try:
            self.endpoint: str = self.says()["endpoint"]
        except BaseException:
            self.kill()
            raise

    def says(self) -> Any:
        """Return what it says next."""
        assert self._process.stdout is not None
        while b"\n" not in self._data:
            ready, _, _ = select.select([self._process.stdout], [], [], WAIT_S)
            assert ready, "the process says nothing"
            read = os.read(self._process.stdout.fileno(), 65536)
            assert read, f"the process ended: {self._process.wait(WAIT_S)}"
            self._data += read
        line, _, self._data = self._data.partition(b"\n")
        return json.loads(line)

    def do(self, *command: Any) -> Any:
        """Have it do something; return what it says."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        return self.says()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _do(mesh: Mesh, watch: Watch, kept: list[Any], command: Sequence[Any]) -> Any:
    verb, *rest = command
    if verb == "announce":  # service, where its Pull is bound
        pull = mm.Pull(bind=rest[1], insecure=True, security=mesh.security)
        kept.append(pull)
        mesh.announce(rest[0], pull)
        return pull.endpoint
    if verb == "recv":
        return kept[0].recv(timeout=WAIT_S).decode()
    if verb == "until":  # kind, name
        return until(watch, EventKind[rest[0]], rest[1]).member.record.addresses
    if verb == "wait":  # service, count
        return sorted(m.record.name for m in mesh.wait_for(rest[0], rest[1], timeout=WAIT_S))
    if verb == "addresses":
        return mesh.members()[0].record.addresses
    assert verb == "leave"
    mesh.leave()
    return True


def main(name: str, arguments: str) -> None:
    """Run a node: say its endpoint, then do what is asked."""
    seeds, options = json.loads(arguments)
    kept: list[Any] = []
    mesh = node(name, *seeds, **options)
    watch = mesh.watch()
    print(json.dumps({"endpoint": mesh.endpoint}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_do(mesh, watch, kept, json.loads(line))), flush=True)
    with contextlib.suppress(mm.ClosedError):
        mesh.close()
    for socket in kept:
        socket.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
