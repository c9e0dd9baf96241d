"""A mesh of many at rest, of which one member is a process of its own, and one plays all others.

    python -m bench.ends.resting others COUNT [SECRET]
    python -m bench.ends.resting member [SECRET]

The others are so many cores of the library. What they say to each other is handed over in memory;
what they and the member say goes over connections of a mesh port. Each has an address of its own on
loopback: so the member makes a connection to each, and each makes its own to the member. What they
are told: lasting.py. Law: whom they ask and when is decided by the cores, as in a real mesh, and
when a connection ends by the library.
"""

from __future__ import annotations

import heapq
import os
import select
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from random import Random

from meshmsg import Secret
from meshmsg._mesh.core import Core
from meshmsg._mesh.octets import Signed
from meshmsg._mesh.signing import Ed25519Signer, ed25519_verify
from meshmsg._mesh.sync import AGREE, DOUBLINGS_MAX
from meshmsg._mesh.table import Row
from meshmsg._mesh.told import NODE_KEY, Answer, Arrival, Send, Service, State
from meshmsg.mesh import Mesh, _link

from ..base.task import PATIENCE
from .lasting import Fact, serve

CLUSTER = "bench"
OTHERS, DIALED = "127.1", "127.2"
"""How addresses of the others begin, and those of the member as each of them dials it."""
EVERYWHERE = "tcp://*:0"
SEED = 1
FAR = 1.0
"""Seconds that the thread sleeps at most."""
READ = 65_536


def address(net: str, number: int, port: str) -> str:
    """One of 65,536 on loopback."""
    return f"tcp://{net}.{number >> 8}.{number & 255}:{port}"


class Others:
    """So many nodes in one thread, with one port for all."""

    def __init__(self, count: int, secret: Secret | None) -> None:
        self.rng = Random(SEED)
        self._rung, self._ring = os.pipe()
        for fd in (self._rung, self._ring):
            os.set_blocking(fd, False)
        _link.CONNECTIONS_MAX += count  # it is of all of them together here
        self.link = _link.Link(EVERYWHERE, secret, True, os.urandom(8), self._wake)
        self.port = self.link.address.rpartition(":")[2]
        self.cores = [self._core(number) for number in range(count)]
        self._known = {core.me().addresses[0]: i for i, core in enumerate(self.cores)}
        self._whom: dict[bytes, int] = {}
        """By connection that the member has made: which of the others it dialed."""
        self._due = [0.0] * count
        self._heap: list[tuple[float, int]] = []
        self._handed: deque[tuple[int, Arrival]] = deque()
        self.counts = dict.fromkeys(("sent", "came", "dials", "dialed"), 0)
        self._meet()

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # it is full: the thread will look
            os.write(self._ring, b"\0")

    def _core(self, number: int) -> Core:
        at = address(OTHERS, number, self.port)
        core = Core(
            name=f"node-{number}",
            cluster=CLUSTER,
            boot_epoch=time.time_ns() // 1_000_000,
            signer=Ed25519Signer(self.rng.randbytes(32)),
            verify=ed25519_verify,
            rng=Random(self.rng.getrandbits(64)),
            now=time.monotonic(),
            addresses=(at,),
            host=f"host-{number}",
        )
        service = Service("work", "pull", "zmtp", (f"{at[: -len(self.port)]}5555",), key=NODE_KEY)
        core.offer(time.monotonic(), [service])
        return core

    def _meet(self) -> None:
        """Have all know each other, and be at rest."""
        now = time.monotonic()
        everyone = [core.here.me for core in self.cores]
        for number, core in enumerate(self.cores):
            self._fill(core, everyone, now)
            core.here.rumours.drop(core.here.me.handle)
            core.dialer.met(now)
            core.syncer.agreed = AGREE + DOUBLINGS_MAX
            core.syncer.plan(now)
            self._plan(number)

    def _fill(self, core: Core, everyone: list[Signed], now: float) -> None:
        for signed in everyone:
            if signed is not core.here.me:
                core.here.table.add(Row(signed, State.ALIVE, now, signed.handle))

    # The thread

    def run(self) -> None:
        """Be at rest, for ever."""
        ready = select.poll()
        ready.register(self._rung, select.POLLIN)
        ready.register(self.link.router.fileno(), select.POLLIN)
        while True:
            wait = min(max(self._heap[0][0] - time.monotonic(), 0.0), FAR)
            ready.poll(int(wait * 1000) + (wait > 0))
            with suppress(BlockingIOError):
                os.read(self._rung, READ)
            self.turn(time.monotonic())

    def turn(self, now: float) -> None:
        """Take what came, and do what is due."""
        for seen in self.link.happened():
            number = self._number_of(seen.url)
            if seen.node is not None and seen.evidence is not None:
                self.cores[number].saw(now, seen.node, seen.evidence)
                self._carry_on(now, number)
        self._hear(now)
        while self._heap[0][0] <= now:
            due, number = heapq.heappop(self._heap)
            if due == self._due[number]:
                self._due[number] = float("inf")
                self.cores[number].tick(now)
                self._carry_on(now, number)
            self._hand_over(now)
        self._hand_over(now)
        self.link.close_idle(now)

    def _hear(self, now: float) -> None:
        came = self.link.came()
        for at, peer in self.link.dialed_at:
            self.counts["dialed"] += 1
            self._whom[peer] = self._known[at]
        self.link.dialed_at.clear()
        self.link.seen.clear()
        for one in came:
            if len(one.frames) != 1:
                continue
            self.counts["came"] += 1
            url = self.link.url_of(one.reply)
            number = self._number_of(url) if url else self._whom[self.link._replies[one.reply]]
            arrival = Arrival(one.source, one.frames[0], one.reply)
            self.cores[number].arrived(now, arrival)
            self._carry_on(now, number)

    def _number_of(self, url: str) -> int:
        """Which of the others dials the member so."""
        high, low = url.partition("://")[2].rpartition(":")[0].split(".")[2:]
        return (int(high) << 8) + int(low)

    def _hand_over(self, now: float) -> None:
        while self._handed:
            number, arrival = self._handed.popleft()
            self.cores[number].arrived(now, arrival)
            self._carry_on(now, number)

    def _carry_on(self, now: float, number: int) -> None:
        core = self.cores[number]
        for item in core.take():
            if isinstance(item, Send):
                to = self._known.get(item.to)
            else:
                to = -item.reply - 1 if item.reply < 0 else None
            if to is None:
                self._say(now, number, item)
            else:
                at = core.me().addresses[0]
                self._handed.append((to, Arrival(at, item.data, -number - 1)))
        core.events()
        self._plan(number)

    def _say(self, now: float, number: int, item: Send | Answer) -> None:
        """Say something to the member, on a connection of this node alone."""
        self.counts["sent"] += 1
        before = self.link._dialed
        if isinstance(item, Send):
            to = address(DIALED, number, item.to.rpartition(":")[2])
            self.link.send(now, to, item.data, item.node)
        else:
            self.link.answer(item.reply, [item.data])
        self.counts["dials"] += self.link._dialed - before

    def _plan(self, number: int) -> None:
        due = self.cores[number].due()
        if due < self._due[number] or self._due[number] == 0.0:
            self._due[number] = due
            heapq.heappush(self._heap, (due, number))


def others(count: int, secret: Secret | None) -> None:
    """Be so many nodes."""
    made = Others(count, secret)
    threading.Thread(target=made.run, daemon=True).start()
    serve(
        {
            "at": lambda _: {"at": made.cores[0].me().addresses[0]},
            "counts": lambda _: dict(made.counts),
        }
    )


def member(secret: Secret | None) -> None:
    """Be one more, as a program is one, that has nothing to do."""
    found: list[Mesh] = []

    def join(asked: Fact) -> Fact:
        seed, count = asked["seed"], asked["count"]
        mesh = Mesh(
            cluster=CLUSTER,
            name="member",
            bind=EVERYWHERE,
            seeds=seed,
            secret=secret,
            insecure=True,
        )
        found.append(mesh)
        mesh.wait_for(count=count, timeout=PATIENCE)
        return knows({})

    def knows(_: Fact) -> Fact:
        members = found[0].members()
        there = [one for one in members if one.state in (State.ALIVE, State.SUSPECT)]
        return {
            "members": len(there),
            "keys": len({one.record.sign_key for one in there}),
            "services": sum(len(one.record.services) for one in there),
            "suspects": sum(one.state == State.SUSPECT for one in there),
        }

    serve({"join": join, "knows": knows})


def main() -> None:
    """Be one of the two, until standard input ends."""
    kind, *more = sys.argv[1:]
    count = int(more.pop(0)) if kind == "others" else 0
    secret = Secret(more[0]) if more else None
    if kind == "others":
        others(count, secret)
    else:
        member(secret)


if __name__ == "__main__":
    main()
