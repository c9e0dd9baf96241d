"""A slow reader is kept, a stalled one is told of, and one whose host is gone is given up in time.

Here a peer without heartbeats of its own stands for libzmq: it answers a PING when it reads it, and
reads no further once its queue is full. Not here: the same with libzmq, see tests/interop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld

UP = "tcp://127.0.0.1:0"
PATIENCE_S = 30.0
TIMEOUT_S = 15.0
INTERVAL_S = 5.0
COUNT = 40
BODY = bytes(1000)
QUIET = {"heartbeat_interval": None, "recv_queue_messages": 1}
"""A peer that says nothing by itself, and soon reads no more."""


@dataclass
class Room:
    """A Push with default heartbeats in one engine; in the other its peer, which we let read."""

    world: SimWorld
    one: mm.Engine
    two: mm.Engine
    push: mm.Push
    pull: mm.Pull

    def send_all(self) -> None:
        """Send what the tests count."""
        for _ in range(COUNT):
            self.push.send(BODY, timeout=0)

    def receive_all(self) -> int:
        """Take everything that still comes; how many."""
        count = 0
        while True:
            try:
                count += len(self.pull.recv_many(timeout=PATIENCE_S))
            except mm.TimedOutError:
                return count

    def closed_after(self, limit_s: float) -> float:
        """How long it took until the Push had no peer."""
        start = self.world.now
        while self.push.peers():
            assert self.world.now - start < limit_s
            self.world.run(0.25)
        return self.world.now - start


@contextmanager
def room(buffer_size: int = 256 * 1024, **options: Any) -> Iterator[Room]:
    """Both connected."""
    with SimWorld(1, buffer_size=buffer_size) as world:
        one, two = world.engine(), world.engine()
        with (
            mm.Push(bind=UP, engine=one) as push,
            mm.Pull(connect=push.endpoint, engine=two, **QUIET | options) as pull,
        ):
            push.wait_for_peers(timeout=PATIENCE_S)
            yield Room(world, one, two, push, pull)


def kinds(socket: Any) -> list[mm.EventKind]:
    """What happened, without what is of no interest here."""
    passing = (mm.EventKind.LISTENING, mm.EventKind.PEER_UP)
    return [event.kind for event in socket.events() if event.kind not in passing]


@pytest.mark.parametrize("buffer_size", [4096, 256 * 1024], ids=["window closed", "window open"])
@pytest.mark.parametrize("pause", [4.0, 20.0, 200.0])
def test_a_reader_that_takes_its_time_loses_nothing(buffer_size: int, pause: float) -> None:
    """However long it takes for a message, and whether its system has room for ours or not."""
    with room(buffer_size) as r:
        r.send_all()
        for _ in range(COUNT):
            r.world.run(pause)
            assert r.pull.recv(timeout=PATIENCE_S) == BODY
        report = r.push.drain(timeout=PATIENCE_S)
        assert (report.delivered, report.in_doubt, report.dropped) == (COUNT, 0, 0)
        assert r.push.stats().disconnects == 0


def test_a_peer_that_stalls_is_told_of_and_so_is_that_it_goes_on() -> None:
    """Once each; peers() says it as long as it lasts; nothing of what it was sent is lost."""
    with room() as r:
        r.send_all()
        r.world.run(TIMEOUT_S - 1)
        assert not r.push.peers()[0].stalled
        r.world.run(INTERVAL_S + 1)
        assert r.push.peers()[0].stalled
        r.world.run(3600)
        assert r.push.peers()[0].stalled
        assert kinds(r.push) == [mm.EventKind.PEER_STALLED]
        assert r.receive_all() == COUNT
        r.world.run(INTERVAL_S)
        assert not r.push.peers()[0].stalled
        assert kinds(r.push) == [mm.EventKind.PEER_RESUMED]


@pytest.mark.parametrize("buffer_size", [4096, 256 * 1024], ids=["window closed", "window open"])
@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("stalled_for", [0.0, 7.0, 600.0])
def test_a_host_that_is_gone_is_noticed_in_time_also_behind_unread_messages(
    buffer_size: int, one_way: bool, stalled_for: float
) -> None:
    """Claim "half-open peers: within 15 s": from the last sign of the host, not of the peer."""
    with room(buffer_size) as r:
        r.send_all()
        r.world.run(stalled_for)
        assert r.push.peers()
        r.world.partition(r.two, r.one, 7200, one_way=one_way)
        took = r.closed_after(TIMEOUT_S + INTERVAL_S)
        assert took <= TIMEOUT_S + 0.25 + (INTERVAL_S if stalled_for == 0 else 0)
        assert r.push.stats().closed == {mm.Reason.HEARTBEAT: 1}


def test_an_idle_peer_whose_engine_hangs_is_noticed_in_time() -> None:
    """Nothing unread can lie in front of the PING, so no answer to it means what it says."""
    with room() as r:
        for _ in range(3):
            r.push.send(BODY, timeout=0)
            r.pull.recv(timeout=PATIENCE_S)
        r.push.drain(timeout=PATIENCE_S)
        r.world.partition(r.one, r.two, 3600)
        assert r.closed_after(TIMEOUT_S + 1) <= TIMEOUT_S + 0.25


def test_a_cut_that_ends_in_time_costs_a_stalled_peer_nothing() -> None:
    """Its host answers again within the fifteen seconds: it was only a cut."""
    with room() as r:
        r.send_all()
        r.world.run(60)
        for _ in range(5):
            r.world.partition(r.one, r.two, 9)
            r.world.run(20)
        assert r.receive_all() == COUNT
        assert r.push.stats().disconnects == 0


@pytest.mark.parametrize("hours", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("quiet", [False, True])
def test_a_suspended_machine_takes_nobody_for_dead_when_it_wakes(hours: float, quiet: bool) -> None:
    """Nobody could say anything, and nobody could listen: that time is no silence."""
    options: dict[str, Any] = {} if quiet else {"heartbeat_interval": INTERVAL_S}
    with room(**options) as r:
        for _ in range(5):
            r.world.run(7)
            r.world.suspend(hours * 3600)
        r.world.run(60)
        assert r.push.stats().disconnects == r.pull.stats().disconnects == 0
        r.push.send(BODY, timeout=0)
        assert r.pull.recv(timeout=1) == BODY
        assert r.push.drain(timeout=PATIENCE_S).delivered == 1


def test_a_peer_that_died_while_the_machine_was_suspended_is_noticed_after_it_woke() -> None:
    """That time is not counted, but what comes after it is."""
    with room() as r:
        r.world.run(7)
        r.world.partition(r.one, r.two, 10 * 3600)
        r.world.suspend(3600)
        assert r.closed_after(TIMEOUT_S + 2 * INTERVAL_S) >= 0.25
        assert r.push.stats().closed == {mm.Reason.HEARTBEAT: 1}


def test_what_waits_for_a_time_finds_it_over_when_the_machine_wakes() -> None:
    """Deadlines are times, not work: a wait ends, and a dialer tries at once."""
    with SimWorld(1) as world:
        one, two = world.engine(), world.engine()
        push = mm.Push(bind=UP, engine=one)
        endpoint = push.endpoint
        push.close()
        pull = mm.Pull(connect=endpoint, engine=two, reconnect_min=10, reconnect_max=10)
        world.run(60)
        world.suspend(3600)
        push = mm.Push(bind=endpoint, engine=one)
        world.run(0.5)
        assert push.peers()
        assert pull.peers()
        push.close()
        pull.close()


@pytest.mark.parametrize("ready_s", [0.0, INTERVAL_S + 1])
def test_a_busy_peer_that_beats_seldom_is_kept_by_one_that_is_impatient(ready_s: float) -> None:
    """It promised a sign of life within 15 s, and gives one each 5 s: no patience of the other side
    is shorter than that. It reads nothing meanwhile, as its queue is full."""
    with SimWorld(1) as world:
        impatient = {"heartbeat_interval": 0.1, "heartbeat_timeout": 0.5}
        with (
            mm.Push(bind=UP, engine=world.engine(), **impatient) as push,
            mm.Pull(connect=push.endpoint, engine=world.engine(), recv_queue_messages=1) as pull,
        ):
            push.wait_for_peers(timeout=PATIENCE_S)
            world.run(ready_s)
            push.send_many([BODY] * COUNT, timeout=0)
            world.run(4 * TIMEOUT_S)
            assert push.stats().disconnects == 0
            taken = [pull.recv(timeout=PATIENCE_S) for _ in range(COUNT)]
            assert taken == [BODY] * COUNT


def test_a_receiver_that_acknowledges_promises_signs_of_life_as_it_comes() -> None:
    """So its sender knows from the start how long to wait before somebody else gets its messages:
    a PING comes long before the first beat, and is answered."""
    with SimWorld(1) as world:
        with (
            mm.Push(bind=UP, engine=world.engine(), delivery="at_least_once") as push,
            mm.Pull(connect=push.endpoint, engine=world.engine()) as pull,
        ):
            push.wait_for_peers(timeout=PATIENCE_S)
            world.run(INTERVAL_S / 10)
            assert pull.peers()[0].rtt is not None
