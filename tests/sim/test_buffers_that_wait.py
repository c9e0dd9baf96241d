"""A send that waits for room, or for a peer, sends what one that does not wait sends: to the byte.

Not here: sends that need not wait (tests/unit/test_buffers), event loops (test_aio_buffers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import meshmsg as mm
from meshmsg.testing import SimWorld
from tests.support.buffers import FEW
from tests.support.room import UP, room
from tests.support.stalled import BUFFER_SIZE, PATIENCE_S, STALL_S

FILL = b"f" * 10_000
PEERS = {
    "Push": "Pull",
    "Dealer": "Dealer",
    "Pair": "Pair",
    "Pub": "Sub",
    "XPub": "Sub",
    "Router": "Dealer",
    "Bus": "Bus",
    "Surveyor": "Respondent",
}
Call = Callable[[Any, Any], object]
SHARED: dict[str, Call] = {
    "send": lambda socket, data: socket.send(data, timeout=PATIENCE_S),
    "for ever": lambda socket, data: socket.send(data),
    "frames": lambda socket, data: socket.send_frames([data], timeout=PATIENCE_S),
    "many": lambda socket, data: socket.send_many([data], timeout=PATIENCE_S),
    "stream": lambda socket, data: socket.send_many(iter([data]), timeout=PATIENCE_S),
}
OWN: dict[str, dict[str, Call]] = {
    "Router": {"to": lambda socket, data: socket.send(data, to=b"it", timeout=PATIENCE_S)},
    "Surveyor": {"survey": lambda socket, data: socket.survey(data, deadline=PATIENCE_S).close()},
}
CALLS = [(role, name) for role in PEERS for name in OWN.get(role, SHARED)]


def fill(role: str, sender: Any) -> None:
    """Send until there is no room."""
    with pytest.raises((mm.WouldBlockError, mm.TimedOutError)):
        while True:
            if role == "Surveyor":
                sender.survey(FILL, deadline=0.001)
            elif role == "Router":
                sender.send(FILL, to=b"it", timeout=0)
            else:
                sender.send(FILL, timeout=0)


@contextmanager
def full(role: str) -> Iterator[tuple[Any, Any]]:
    """A sender with no room, and who takes nothing for a while."""
    extra: dict[str, Any] = {"identity": b"it"} if role == "Router" else {}
    extra |= {"topics": ""} if PEERS[role] == "Sub" else {}
    with SimWorld(1, buffer_size=BUFFER_SIZE) as world:
        one, two = world.engine(), world.engine()
        with (
            getattr(mm, role)(
                bind=UP, engine=one, overflow="block", send_queue_messages=1
            ) as sender,
            getattr(mm, PEERS[role])(connect=sender.endpoint, engine=two, **extra) as receiver,
        ):
            sender.wait_for_peers(timeout=PATIENCE_S)
            receiver.wait_for_peers(timeout=PATIENCE_S)
            if PEERS[role] == "Sub":
                sender.wait_for_subscribers("", timeout=PATIENCE_S)
            world.partition(one, two, STALL_S)
            fill(role, sender)
            yield sender, receiver


@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize(("role", "call"), CALLS)
def test_what_waited_for_room_arrives_as_it_is(role: str, call: str, kind: str) -> None:
    """Of every role that can wait, by every call."""
    make, body = FEW[kind]
    with full(role) as (sender, receiver):
        OWN.get(role, SHARED)[call](sender, make())
        found = FILL
        while found == FILL:
            found = receiver.recv(timeout=PATIENCE_S)
        assert found == body


@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("topic", ["news", b"news"])
def test_what_waited_under_a_topic_arrives_as_it_is(topic: str | bytes, kind: str) -> None:
    """The topic is a frame, too."""
    make, body = FEW[kind]
    with full("Pub") as (pub, sub):
        pub.send(make(), topic=topic, timeout=PATIENCE_S)
        pub.send_frames([make(), b"end"], topic=topic, timeout=PATIENCE_S)
        found = [[FILL]]
        while found[-1][-1:] != [b"end"]:
            found.append(sub.recv_frames(timeout=PATIENCE_S))
        assert found[-2:] == [[b"news", body], [b"news", body, b"end"]]


@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair"])
@pytest.mark.parametrize("call", SHARED)
def test_what_waited_for_a_peer_arrives_as_it_is(role: str, call: str, kind: str) -> None:
    """Which is still to connect when the call begins."""
    make, body = FEW[kind]
    with room() as r:
        sender = r.open(role, bind=UP)
        receiver = r.open(PEERS[role], connect=sender.endpoint)
        SHARED[call](sender, make())
        assert receiver.recv(timeout=PATIENCE_S) == body


@pytest.mark.parametrize("kind", FEW)
def test_a_request_that_waited_for_a_peer_arrives_as_it_is(kind: str) -> None:
    """Though nobody answers it here."""
    make, body = FEW[kind]
    with room() as r:
        req = r.open("Req", bind=UP)
        rep = r.open("Rep", connect=req.endpoint)
        with pytest.raises(mm.TimedOutError):
            req.request(make(), timeout=PATIENCE_S)
        assert rep.recv(timeout=0) == body


def test_an_array_can_be_resized_while_what_it_held_waits() -> None:
    """What was given is what is sent; who changes it meanwhile is not told that it is in use."""

    class Changing(mm.Push):
        """Has another thread's change come in the middle of its wait."""

        def _blocking(self, call: Any, timeout: float | None, what: str) -> int:
            data.extend(b"longer" * 1000)
            data[:5] = b"other"
            del data[1:]
            return super()._blocking(call, timeout, what)

    data = bytearray(b"hello")
    with SimWorld(1) as world, Changing(bind=UP, engine=world.engine()) as push:
        with mm.Pull(connect=push.endpoint, engine=world.engine()) as pull:
            push.send(data, timeout=PATIENCE_S)
            assert pull.recv(timeout=PATIENCE_S) == b"hello"
    with SimWorld(1) as world, mm.Push(bind=UP, engine=world.engine()) as push:
        with pytest.raises(mm.TimedOutError) as late:
            push.send(data, timeout=0.5)
        data.extend(b"free again, though the error is kept")
        assert late.value.__traceback__ is not None
