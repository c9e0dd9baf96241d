"""A member of a crowd (crowd.py): a node in a process that was forked, on a machine of its own.

It says what it sees, and what its sockets get, a line of JSON each, and does what it is told, a
line each. All members say it into one pipe: a line is short enough not to be mixed with others.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from collections.abc import Callable
from typing import Any

from meshmsg.mesh import EventKind
from tests.support.feeding import World
from tests.support.inloop import LoopThread
from tests.support.meshes import WAIT_S, following, node_of

WHERE = "tcp://0.0.0.0:0"


class Member:
    """One node, and its sockets."""

    def __init__(self, name: str, options: dict[str, Any], words: int) -> None:
        self._name, self._words = name, words
        self._world = World(LoopThread() if options.pop("asyncio", False) else None)
        seeds = options.pop("seeds", ())
        options = {"bind": WHERE, "insecure": True, **options}
        self._mesh = node_of(self._world, name, *seeds, **options)
        self._pulls: dict[str, list[Any]] = {}
        self._pushes: dict[str, Any] = {}

    def says(self, *words: Any) -> None:
        """Say it; by any thread."""
        line = json.dumps([self._name, time.monotonic(), *words]).encode() + b"\n"
        assert len(line) <= select.PIPE_BUF
        os.write(self._words, line)

    def begin(self) -> None:
        """Say who it is, and from then on what it sees."""
        self.says("begun", self._mesh.node_id.hex())
        self._apart(self._watch)

    def _apart(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, daemon=True).start()

    def _watch(self) -> None:
        for event in self._mesh.watch():
            record, state = event.member.record, event.member.state
            if event.kind == EventKind.CONFLICT:
                self.says("conflict", record.name)
                continue
            where = record.addresses[0] if record.addresses else ""
            self.says("sees", record.node_id.hex(), record.name, state.name, where)

    def offer(self, service: str, where: str = WHERE) -> None:
        """Offer a Pull, in place of the one before, which stays open; say what comes."""
        pull = self._world.socket("Pull", bind=where, insecure=True, ack="auto")
        self._pulls.setdefault(service, []).append(pull)
        self._mesh.announce(service, getattr(pull, "_real", pull))

        def receives() -> None:
            for message in pull:  # the one before is acknowledged
                self.says("got", service, bytes(getattr(message, "_real", message)).decode())

        self._apart(receives)

    def follow(self, service: str, options: dict[str, Any]) -> None:
        """Follow with a Push, over the spool at a path if one is given; say which peers it has."""
        if "spool" in options:
            self._spool = self._world.spool(options["spool"])
            options["spool"] = getattr(self._spool, "_real", self._spool)

        def note(event: Any) -> None:
            if event.kind.name in ("PEER_UP", "PEER_DOWN"):
                self.says("peer", event.kind.name, event.endpoint)

        self._pushes[service] = following(
            self._world, self._mesh, service, "Push", on_event=note, **options
        )

    def push(self, service: str, first: int, count: int) -> None:
        """Send numbers."""
        push = self._pushes[service]
        for number in range(first, first + count):
            push.send(b"%d" % number, timeout=WAIT_S)
        self.says("sent", service, first + count)

    def done(self, service: str) -> None:
        """Wait until all is acknowledged; say what is not."""
        report = self._pushes[service].drain(timeout=WAIT_S)
        self.says("done", service, report.queued + report.unconfirmed)

    def cost(self) -> None:
        """Say how many octets of memory this process has for itself, and seconds of a processor."""
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            sizes = [line.split() for line in file if line.startswith("Private_")]
        self.says("cost", sum(int(size) * 1024 for _, size, _ in sizes), time.process_time())

    def leave(self) -> None:
        """Leave the mesh; the process and its sockets stay."""
        self._mesh.leave()
        self.says("left")


def run(name: str, options: dict[str, Any], commands: int, words: int) -> None:
    """Be a member until nobody tells what to do."""
    member = Member(name, options, words)
    member.begin()
    with os.fdopen(commands, encoding="ascii") as lines:
        for line in lines:
            verb, *rest = json.loads(line)
            getattr(member, verb)(*rest)
