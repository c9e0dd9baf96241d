"""Nodes of a mesh for tests: in this process, and in processes of their own.

A process reads a command a line, and says JSON a line: see `main`. Every wait here is bounded. Not
here: what is tested with them (tests/mesh).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshmsg as mm
from meshmsg import aio as mm_aio
from meshmsg.mesh import EventKind, Mesh, Watch, aio
from meshmsg.mesh._finding.seeds import Seed
from tests.support.feeding import World
from tests.support.inloop import InLoop

WAIT_S = 30.0
"""Seconds that anything may take; nothing is measured by it."""
LOOK_S = 0.01
"""Seconds between two looks at what nothing tells of."""
ROOT = Path(__file__).resolve().parents[2]


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "announce": lambda mesh, pull: mesh.announce("s", pull),
    "withdraw": lambda mesh, _: mesh.withdraw("s"),
    "connect": lambda mesh, _: mesh.connect("s", mm.Push),
    "endpoints": lambda mesh, _: mesh.endpoints("s"),
    "watch": lambda mesh, _: mesh.watch("s"),
    "wait_for": lambda mesh, _: mesh.wait_for("s"),
    "members": lambda mesh, _: mesh.members(),
    "services": lambda mesh, _: mesh.services(),
    "explain": lambda mesh, _: mesh.explain("a"),
}
"""Calls that refuse a mesh that is over, of it and a bound Pull."""


def node(name: str, *seeds: Seed | str, **options: Any) -> Mesh:
    """Open a node of the cluster "test"."""
    return Mesh(**{"cluster": "test", "name": name, "seeds": seeds, **options})


def node_of(world: World, name: str, *seeds: Seed | str, **options: Any) -> Any:
    """Open a node, for threads or for the loop of a world."""
    if world._thread is None:
        return node(name, *seeds, **options)
    return world._thread.make(
        aio.Mesh, **{"cluster": "test", "name": name, "seeds": seeds, **options}
    )


def following(world: World, mesh: Any, service: str, role: str, **options: Any) -> Any:
    """Have a new socket follow a service; `select=` and those of the socket."""
    if world._thread is None:
        return mesh.connect(service, getattr(mm, role), **options)
    made = mesh.connect(service, getattr(mm_aio, role), **options)
    return InLoop(world._thread, made)


def urls(socket: Any) -> list[str]:
    """Return the endpoints that a socket is connected to, or dials."""
    return sorted(socket._connected)


def peers_at(socket: Any) -> list[str]:
    """Return the endpoints that a socket is connected to now."""
    return sorted(one.endpoint for one in socket.peers())


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

    def let_go(self) -> None:
        """Have it go on that holds the lock of its interpreter."""
        assert self._process.stdin is not None
        self._process.stdin.write(b".")
        assert self.says() is True

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


class _Doing:
    """What a process can be asked to do, by name; what a method returns is said."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh, self._watch = mesh, mesh.watch()
        self._kept: list[Any] = []

    def announce(self, service: str, where: str) -> str:
        pull = mm.Pull(bind=where, insecure=True, security=self._mesh.security)
        self._kept.append(pull)
        self._mesh.announce(service, pull)
        return pull.endpoint

    def recv(self) -> str:
        return str(self._kept[0].recv(timeout=WAIT_S).decode())

    def follow(self, service: str, select: str) -> list[str]:
        push = self._mesh.connect(service, mm.Push, select=select)
        self._kept.append(push)
        push.wait_for_peers(1, timeout=WAIT_S)
        return peers_at(push)

    def publish(self, service: str, where: str, path: str, group: str) -> str:
        """Begin a publisher; a group that is named is made, and so has a place at once."""
        spool = mm.Spool(path, durability="os")
        pub = mm.Pub(bind=where, spool=spool)
        self._kept += [pub, spool]
        if group:
            pub.seek_group(group, "earliest")
        self._mesh.announce(service, pub)
        return pub.endpoint

    def put(self, count: int) -> int:
        pub, spool = self._kept
        for _ in range(count):
            pub.send(b"%d" % (spool.info().last_seq + 1), timeout=WAIT_S)
        return int(spool.info().last_seq)

    def until(self, kind: str, name: str) -> Any:
        return until(self._watch, EventKind[kind], name).member.record.addresses

    def wait(self, service: str | None, count: int) -> list[str]:
        found = self._mesh.wait_for(service, count, timeout=WAIT_S)
        return sorted(member.record.name for member in found)

    def addresses(self) -> Any:
        return self._mesh.members()[0].record.addresses

    def hold(self) -> bool:
        """Hold the interpreter's lock in a call of C until an octet is to be read."""
        libc, octet = ctypes.PyDLL(None), ctypes.create_string_buffer(1)
        print(json.dumps("held"), flush=True)
        return bool(libc.read(sys.stdin.fileno(), octet, 1) == 1)

    def leave(self) -> bool:
        self._mesh.leave()
        return True

    def close(self) -> None:
        with contextlib.suppress(mm.ClosedError):
            self._mesh.close()
        for one in self._kept:
            one.close()


def main(name: str, arguments: str) -> None:
    """Run a node: say its endpoint, then do what is asked."""
    seeds, options = json.loads(arguments)
    mesh = node(name, *seeds, **options)
    doing = _Doing(mesh)
    print(json.dumps({"endpoint": mesh.endpoint}), flush=True)
    for line in sys.stdin:
        verb, *rest = json.loads(line)
        print(json.dumps(getattr(doing, verb)(*rest)), flush=True)
    doing.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
