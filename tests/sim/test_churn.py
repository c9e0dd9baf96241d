"""A simulated day of peers that come and go: what the core holds is a flat line.

MESHMSG_CHURN_HOURS says how long (24). Not here: what real allocators and kernels make of it
(tests/hostile/test_storms.py).
Law: at the end of each hour, when everything is quiet again, the core holds the same blocks.
"""

from __future__ import annotations

import gc
import logging
import os
import random
from contextlib import suppress
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.mm import live_blocks, live_bytes

HOURS = int(os.environ.get("MESHMSG_CHURN_HOURS", "24"))
ROUNDS = 10
"""An hour has so many rounds of visitors."""
ROUNDING = 1024
"""The allocator rounds the same block differently, by what happens to lie behind it."""
FIRST_TIMES = 2
"""Tables that are made when they are first needed, which may be late on the day."""
KEPT_BLOCKS = 64
"""32 spare segments, 16 spare arenas, 8 large blocks, what a thread keeps for its next batch."""
UP = "tcp://127.0.0.1:0"
SIZES = [0, 1, 100, 255, 256, 5_000, 16_384, 70_000, 300_000]
HEARTBEATS: Any = {"heartbeat_interval": 60.0, "heartbeat_timeout": 180.0}


class Day:
    """Sockets that stay the whole day, and visitors of theirs."""

    def __init__(self, world: SimWorld) -> None:
        self.world = world
        self.dice = random.Random(24)
        self.engines = [world.engine() for _ in range(3)]
        self.pull = self.stay(mm.Pull)
        self.push = self.stay(mm.Push, send_queue_messages=50)
        self.pub = self.stay(mm.Pub, overflow="drop_newest")
        self.rep = self.stay(mm.Rep)
        self.router = self.stay(mm.Router, on_unroutable="drop")
        self.surveyor = self.stay(mm.Surveyor)
        self.bus = self.stay(mm.Bus)
        self.steady = mm.Push(connect=self.pull.endpoint, engine=self.engines[1], **HEARTBEATS)
        self.messages = 0

    def stay(self, role: Any, **options: Any) -> Any:
        """Open one that stays."""
        return role(bind=UP, engine=self.engines[0], **HEARTBEATS, **options)

    def staying(self) -> list[Any]:
        """All of them."""
        some = [self.pull, self.push, self.pub, self.rep, self.router, self.surveyor]
        return [*some, self.bus, self.steady]

    def visit(self, role: Any, host: Any, **options: Any) -> Any:
        """Open one that goes again; over either wire, where its role has both."""
        wire = "sp+" if role in (mm.Push, mm.Pull, mm.Sub) and self.dice.random() < 0.3 else ""
        engine = self.dice.choice(self.engines[1:])
        visitor = role(connect=wire + host.endpoint, engine=engine, **HEARTBEATS, **options)
        with suppress(mm.TimedOutError):
            visitor.wait_for_peers(timeout=2.0)
        return visitor

    def body(self) -> bytes:
        """A message of some size."""
        self.messages += 1
        return bytes(self.dice.choice(SIZES))

    def pushing(self) -> None:
        """Some push, with frames and without, and leave, perhaps before all is read."""
        for _ in range(self.dice.randrange(1, 4)):
            push = self.visit(mm.Push, self.pull)
            for _ in range(self.dice.randrange(30)):
                with suppress(mm.TimedOutError):
                    push.send(self.body(), timeout=0.1)
            with suppress(mm.TimedOutError, mm.UsageError):
                push.send_frames([b"a", self.body(), b""], timeout=0.1)
            if self.dice.random() < 0.3:
                push.disconnect(push_endpoint(push))
            push.close()
        self.steady.send(self.body(), timeout=600)  # longer than a partition

    def pulling(self) -> None:
        """A worker takes some and goes; what waits for it is for the next."""
        pull = self.visit(mm.Pull, self.push, recv_queue_messages=5)
        for _ in range(self.dice.randrange(20)):
            with suppress(mm.TimedOutError):
                self.push.send(self.body(), timeout=0.1)
        for _ in range(self.dice.randrange(10)):
            with suppress(mm.TimedOutError):
                pull.recv(timeout=0.1)
        pull.close()

    def subscribing(self) -> None:
        """Topics come, are changed, and go with their subscriber."""
        topics = [f"t{self.dice.randrange(1000)}." for _ in range(20)]
        sub = self.visit(mm.Sub, self.pub, topics=topics)
        for topic in topics[:5]:
            sub.unsubscribe(topic)
        self.world.run(1.0)
        for topic in topics:
            self.pub.send(self.body(), topic=topic)
        with suppress(mm.TimedOutError):
            while True:
                sub.recv_many(7, timeout=0.5)
        sub.close()

    def asking(self) -> None:
        """Questions that are answered, late, or never."""
        req = self.visit(mm.Req, self.rep)
        for _ in range(5):
            with suppress(mm.TimedOutError, mm.PeerError):
                req.request(self.body(), timeout=0.05)
        with suppress(mm.TimedOutError):
            while True:
                self.answer(self.rep.recv(timeout=0.2))
        req.close()

    def answer(self, request: mm.Request) -> None:
        """Or leave it, now and then."""
        if self.dice.random() < 0.7:
            request.reply(self.body())

    def routing(self) -> None:
        """A name of its own, answered by name, also when it has left."""
        name = b"visitor %d" % self.dice.randrange(1000)
        dealer = self.visit(mm.Dealer, self.router, identity=name)
        with suppress(mm.TimedOutError):
            dealer.send(self.body(), timeout=1.0)
            self.router.recv(timeout=1.0)
        with suppress(mm.TimedOutError, mm.WouldBlockError):
            self.router.send(self.body(), to=name, timeout=0.1)
        dealer.close()
        self.router.send(self.body(), to=b"nobody")

    def surveying(self) -> None:
        """Some answer, some are late, and one survey is left half read."""
        peers = [self.visit(mm.Respondent, self.surveyor) for _ in range(3)]
        surveys = [self.surveyor.survey(self.body(), deadline=0.5) for _ in range(3)]
        for peer in peers:
            with suppress(mm.TimedOutError):
                while True:
                    peer.recv(timeout=0.1).reply(self.body())
        next(surveys[0], None)
        list(surveys[1])
        for peer in peers:
            peer.close()

    def meshing(self) -> None:
        """Another bus comes by."""
        bus = self.visit(mm.Bus, self.bus)
        for one in (bus, self.bus):
            with suppress(mm.TimedOutError):
                one.send(self.body(), timeout=0.1)
        bus.close()

    def trouble(self) -> None:
        """Sometimes all connections break, or two engines are cut off each other."""
        roll = self.dice.random()
        if roll < 0.2:
            self.world.reset_all()
        elif roll < 0.3:
            self.world.partition(self.engines[0], self.engines[1], self.dice.uniform(1, 300))

    def fill_caches(self) -> None:
        """What the core keeps for the next time is there: 32 segments, a batch a thread."""
        with (
            mm.Push(bind=UP, engine=self.engines[0], **HEARTBEATS) as push,
            mm.Pull(connect=push.endpoint, engine=self.engines[1], **HEARTBEATS) as pull,
        ):
            push.wait_for_peers(timeout=60)
            for size, count in ((10_000, 500), (250_000, 30), (100, 900)):
                self.world.partition(self.engines[0], self.engines[1], 10.0)
                assert push.send_many([bytes(size)] * count, timeout=0) == count
                self.world.run(60.0)
                while count > 0:
                    count -= len(pull.recv_many(timeout=60.0))

    def hour(self) -> None:
        """Play an hour, the last minutes of which are quiet, with everything read."""
        end = self.world.now + 3600.0
        calls = [self.pushing, self.pulling, self.subscribing, self.asking, self.routing]
        calls += [self.surveying, self.meshing]
        for _ in range(ROUNDS):
            self.trouble()
            self.dice.shuffle(calls)
            for call in calls:
                call()
            self.world.run(self.dice.uniform(10, 200))
        self.world.heal()
        self.world.run(300.0)
        self.empty()
        self.world.reset_all()  # new connections, whose buffers are new
        self.world.run(max(0.0, end - self.world.now))

    def empty(self) -> None:
        """Read what there is, give the queued work to somebody, look at all events."""
        with mm.Pull(connect=self.push.endpoint, engine=self.engines[1]) as last:
            for socket in (self.pull, self.rep, self.router, self.bus, last):
                with suppress(mm.TimedOutError):
                    while True:
                        socket.recv_many(timeout=30.0)
        for socket in self.staying():
            socket.events()
        self.steady.send(bytes(300_000), timeout=600)  # a batch so large is not kept for the next
        assert len(self.pull.recv(timeout=600)) == 300_000

    def close(self) -> None:
        """Close those who stayed."""
        for socket in self.staying():
            socket.close()


def push_endpoint(push: Any) -> str:
    """Where it is connected to, as it says itself."""
    return repr(push).split("connected to ")[1].split(",")[0].rstrip(">")


def test_what_the_core_holds_is_a_flat_line_through_a_day_of_churn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Blocks and bytes, at the quiet end of each hour."""
    caplog.set_level(logging.ERROR, logger="meshmsg")
    before = live_blocks()
    held: list[tuple[int, int]] = []
    with SimWorld(24) as world:
        day = Day(world)
        day.fill_caches()
        for _ in range(HOURS):
            day.hour()
            gc.collect()
            held.append((live_blocks(), live_bytes()))
        assert world.now >= HOURS * 3600.0
        assert day.messages > HOURS * 100
        accepts = day.pull.stats().accepts
        day.close()
    print(f"{HOURS} h, {day.messages} messages, {accepts} visitors of the Pull: {held[-1]}")
    blocks, sizes = zip(*held, strict=True)
    assert max(blocks) - min(blocks) <= FIRST_TIMES, held
    late = sizes[HOURS // 2 :]  # until then tables grow to what they are needed for
    assert max(late) - min(late) <= ROUNDING, held
    gc.collect()
    assert live_blocks() <= before + KEPT_BLOCKS
