"""Bus: to all direct peers, from all of them, never back; and what a full queue misses.

Not here: asyncio (test_aio_survey.py), the role alone (tests/c/test_bus.c).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"


@contextmanager
def meshed(count: int) -> Iterator[list[mm.Bus]]:
    """So many buses, each connected to each other one."""
    with ExitStack() as stack:
        buses: list[mm.Bus] = []
        for _ in range(count):
            others = [bus.endpoint for bus in buses]
            buses.append(stack.enter_context(mm.Bus(bind=UP, connect=others)))
        for bus in buses:
            bus.wait_for_peers(count - 1, timeout=WAIT_S)
        yield buses


def silent(bus: mm.Bus) -> bool:
    """Tell whether there is nothing to receive now."""
    try:
        bus.recv(timeout=0)
    except mm.WouldBlockError:
        return True
    return False


def test_everybody_else_gets_a_message_once() -> None:
    """In order per sender; who sent it does not."""
    with meshed(4) as buses:
        for who, bus in enumerate(buses):
            for number in range(10):
                bus.send(b"%d %d" % (who, number), timeout=WAIT_S)
        for who, bus in enumerate(buses):
            got = [bus.recv(timeout=WAIT_S) for _ in range(30)]
            for other in set(range(4)) - {who}:
                mine = [message for message in got if message.startswith(b"%d " % other)]
                assert mine == [b"%d %d" % (other, number) for number in range(10)]
                assert len({message.peer for message in mine}) == 1
            assert {message.peer for message in got} == {peer.id for peer in bus.peers()}
            assert bus.drain(timeout=WAIT_S).delivered == 30
        assert all(silent(bus) for bus in buses)


def test_a_message_goes_to_direct_peers_and_no_further() -> None:
    """A chain of three: the far end hears nothing of it."""
    with mm.Bus(bind=UP) as middle:
        with mm.Bus(connect=middle.endpoint) as left, mm.Bus(connect=middle.endpoint) as right:
            middle.wait_for_peers(2, timeout=WAIT_S)
            left.wait_for_peers(timeout=WAIT_S)
            left.send(b"to the middle")
            assert middle.recv(timeout=WAIT_S) == b"to the middle"
            middle.send(b"to both")
            assert left.recv(timeout=WAIT_S) == right.recv(timeout=WAIT_S) == b"to both"
            assert silent(left)
            assert silent(right)


def test_a_batch_crosses_whole_while_it_is_iterated() -> None:
    """send_many, frames and iteration work as for the other roles."""
    with meshed(2) as (one, two):
        bodies = [b"%d" % i for i in range(500)]
        sending = threading.Thread(target=lambda: one.send_many(bodies, timeout=WAIT_S))
        sending.start()
        messages = iter(two)
        assert [bytes(next(messages)) for _ in bodies] == bodies
        sending.join(WAIT_S)
        two.send_frames([b"a", b"", b"c" * 400_000], timeout=WAIT_S)
        assert one.recv_frames(timeout=WAIT_S) == [b"a", b"", b"c" * 400_000]


def test_with_nobody_there_a_message_is_counted_and_told() -> None:
    """It does not wait: who is not there misses it."""
    with mm.Bus(bind=UP) as bus:
        bus.send(b"hello?")
        assert bus.stats().dropped_no_peer == 1
        assert [event.kind for event in bus.events()][-1] == mm.EventKind.DROPPED


@dataclass
class Slow:
    """In a simulated world: a bus, a peer that keeps up, and one that does not read.

    The way to that one is full: its own queue, the connection, and the bus's queue to it.
    """

    bus: mm.Bus
    near: mm.Bus
    far: mm.Bus
    fillers: list[bytes] = field(default_factory=list)

    def fill(self, world: SimWorld) -> None:
        """Send until something stays behind."""
        while self.bus.stats().queued_out_messages == 0:
            self.fillers.append(b"%d" % len(self.fillers) + b"x" * 300_000)
            self.bus.send(self.fillers[-1])
            assert self.near.recv(timeout=WAIT_S) == self.fillers[-1]
            world.run(1.0)

    def take_all(self) -> None:
        """Let the slow one read what fills its way: all of it, in order."""
        for filler in self.fillers:
            assert self.far.recv(timeout=WAIT_S) == filler


@contextmanager
def slowed(overflow: str) -> Iterator[Slow]:
    """Open them, the way full."""
    options: Any = {"overflow": overflow, "send_queue_messages": 1, "recv_queue_messages": 1}
    with SimWorld(3) as world, ExitStack() as stack:
        bus = stack.enter_context(mm.Bus(bind=UP, engine=world.engine(), **options))
        near, far = (
            stack.enter_context(mm.Bus(connect=bus.endpoint, engine=world.engine(), **options))
            for _ in range(2)
        )
        bus.wait_for_peers(2, timeout=WAIT_S)
        slow = Slow(bus, near, far)
        slow.fill(world)
        yield slow


@pytest.mark.parametrize("overflow", ["drop_newest", "drop_oldest"])
def test_a_full_queue_misses_messages_and_others_nothing(overflow: str) -> None:
    """What is partly on its way is never dropped."""
    with slowed(overflow) as slow:
        for i in range(3):
            slow.bus.send(b"%d" % i)
            assert slow.near.recv(timeout=WAIT_S) == b"%d" % i
        assert slow.bus.stats().dropped_overflow == 3
        assert sorted(peer.dropped_messages for peer in slow.bus.peers()) == [0, 3]
        assert mm.EventKind.DROPPED in [event.kind for event in slow.bus.events()]
        slow.take_all()
        slow.bus.send(b"last")
        assert slow.far.recv(timeout=WAIT_S) == b"last"


@pytest.mark.parametrize(
    ("overflow", "error"), [("error", mm.WouldBlockError), ("block", mm.TimedOutError)]
)
def test_a_bus_that_may_not_drop_sends_to_all_or_to_nobody(
    overflow: str, error: type[Exception]
) -> None:
    """Who has room does not get it either."""
    with slowed(overflow) as slow:
        with pytest.raises(error):
            slow.bus.send(b"no", timeout=1.0)
        assert silent(slow.near)
        slow.take_all()
        slow.bus.send(b"yes", timeout=WAIT_S)
        assert slow.near.recv(timeout=WAIT_S) == slow.far.recv(timeout=WAIT_S) == b"yes"


def test_what_a_peer_sent_before_it_left_is_still_given_out() -> None:
    """It was on its way here when it closed."""
    with meshed(2) as (one, two):
        two.send(b"last words")
        two.drain(timeout=WAIT_S).raise_for_loss()
        two.close()
        assert one.recv(timeout=WAIT_S) == b"last words"


def test_a_bus_is_plain_messages_on_the_wire() -> None:
    """No envelope in either direction; another role is refused."""
    with mm.Bus(bind=UP) as bus, RawPeer(bus.endpoint) as raw:
        raw.shake(b"BUS")
        bus.wait_for_peers(timeout=WAIT_S)
        bus.send_frames([b"a", b"b"])
        assert [raw.frame(), raw.frame()] == [(ref.MORE, b"a"), (0, b"b")]
        raw.send(ref.message(b"", b"c"))
        assert bus.recv_frames(timeout=WAIT_S) == [b"", b"c"]
        with RawPeer(bus.endpoint) as wrong:
            wrong.send(ref.greeting() + ref.ready(b"PAIR"))
            assert b"\x05ERROR" in wrong.until_closed()
        assert bus.stats().closed[mm.Reason.SOCKET_TYPE] == 1
