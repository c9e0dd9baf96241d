"""no_peer: what a send does when nobody is there, apart from what it does when a queue is full.

Not here: event loops (tests/unit/test_aio_no_peer). Law: what is dropped is counted and told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import meshmsg as mm
from tests.support.room import UP, Room, room
from tests.support.stalled import PATIENCE_S, stalled

PEERS = {"Push": "Pull", "Dealer": "Dealer", "Pair": "Pair"}
CALLS: dict[str, Callable[[Any, float | None], object]] = {
    "send": lambda socket, timeout: socket.send(b"x", timeout=timeout),
    "buffer": lambda socket, timeout: socket.send(bytearray(b"x"), timeout=timeout),
    "large": lambda socket, timeout: socket.send(bytes(100_000), timeout=timeout),
    "frames": lambda socket, timeout: socket.send_frames([b"x", b"y"], timeout=timeout),
    "many": lambda socket, timeout: socket.send_many([b"x"], timeout=timeout),
    "stream": lambda socket, timeout: socket.send_many(iter([b"x"]), timeout=timeout),
    "batch": lambda socket, timeout: socket.send_batch(a_batch(), timeout=timeout),
}
OVERFLOWS = ["block", "error", "drop_newest", "drop_oldest"]
_batches: list[mm.MessageBatch] = []


def a_batch() -> mm.MessageBatch:
    """A batch of one message."""
    if not _batches:
        with room(9) as r:
            push = r.open("Push", bind=UP)
            pull = r.open("Pull", connect=push.endpoint)
            push.send(b"x", timeout=PATIENCE_S)
            _batches.append(pull.recv_batch(timeout=PATIENCE_S))
    return _batches[0]


def dropped(socket: Any) -> tuple[int, int, int]:
    """Sent, dropped, and told of."""
    told = [event for event in socket.events() if event.kind == mm.EventKind.DROPPED]
    stats = socket.stats()
    return stats.sent_messages, stats.dropped_no_peer, sum(event.count for event in told)


def left(r: Room, role: str, socket: Any) -> None:
    """Have a peer come and go."""
    with getattr(mm, PEERS[role])(connect=socket.endpoint, engine=r.world.engine()):
        socket.wait_for_peers(timeout=PATIENCE_S)
    while socket.peers():
        r.world.run(1)


@pytest.mark.parametrize("timeout", [None, 5.0, 0])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", PEERS)
def test_drop_drops_what_nobody_is_there_for(role: str, call: str, timeout: float | None) -> None:
    """At once, before the first peer as after the last, and it is counted and told."""
    with room() as r:
        socket = r.open(role, bind=UP, no_peer="drop")
        before = r.world.now
        CALLS[call](socket, timeout)
        assert r.world.now - before < 1
        left(r, role, socket)
        CALLS[call](socket, timeout)
        CALLS[call](socket, timeout)
        r.world.run(2)  # what is dropped is told once a second
        assert dropped(socket) == (3, 3, 3)


@pytest.mark.parametrize("timeout", [None, 5.0, 0])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", PEERS)
def test_error_says_at_once_that_nobody_is_there(
    role: str, call: str, timeout: float | None
) -> None:
    """Whatever the time is, and nothing was sent."""
    with room() as r:
        socket = r.open(role, bind=UP, no_peer="error")
        before = r.world.now
        for _ in range(2):
            with pytest.raises(mm.WouldBlockError):
                CALLS[call](socket, timeout)
            left(r, role, socket)
        assert r.world.now - before < PATIENCE_S
        assert dropped(socket) == (0, 0, 0)


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", PEERS)
def test_block_waits_for_a_peer_whatever_a_full_queue_does(
    role: str, call: str, overflow: str
) -> None:
    """It is in time, or too late."""
    with room() as r:
        socket = r.open(role, bind=UP, no_peer="block", overflow=overflow)
        with pytest.raises(mm.TimedOutError):
            CALLS[call](socket, 3600)
        with pytest.raises(mm.WouldBlockError):
            CALLS[call](socket, 0)
        peer = r.open(PEERS[role], connect=socket.endpoint)
        CALLS[call](socket, PATIENCE_S)
        assert peer.recv_frames(timeout=PATIENCE_S)
        assert dropped(socket) == (1, 0, 0)


@pytest.mark.parametrize("no_peer", ["block", "error", "drop"])
@pytest.mark.parametrize("role", PEERS)
def test_a_full_queue_does_as_overflow_says(role: str, no_peer: Any) -> None:
    """With a peer there, no_peer means nothing."""
    with stalled(role, send_queue_messages=1, no_peer=no_peer) as pair:
        while pair.try_send(bytes(10_000)):
            pass
        pair.sender.send(b"waits", timeout=PATIENCE_S)
        assert pair.sender.stats().dropped == 0
    with stalled(role, send_queue_messages=1, no_peer=no_peer, overflow="error") as pair:
        while pair.try_send(bytes(10_000)):
            pass
        with pytest.raises(mm.WouldBlockError):
            pair.sender.send(b"x", timeout=PATIENCE_S)
    with stalled(role, send_queue_messages=1, no_peer=no_peer, overflow="drop_newest") as pair:
        for _ in range(9):
            pair.sender.send(bytes(10_000))
        stats = pair.sender.stats()
        assert stats.dropped_overflow > 0
        assert stats.dropped_no_peer == 0


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("role", PEERS)
@pytest.mark.parametrize("no_peer", ["error", "drop"])
def test_who_waits_for_room_when_the_last_peer_leaves_learns_of_it(
    no_peer: Any, role: str, call: str
) -> None:
    """What it waits with is dropped, or refused: nobody is there any more."""
    with stalled(role, send_queue_messages=1, no_peer=no_peer) as pair:
        while pair.try_send(bytes(10_000)):
            pass
        sent = pair.sender.stats().sent_messages
        pair.receiver.close()
        if no_peer == "error":
            with pytest.raises(mm.WouldBlockError):
                CALLS[call](pair.sender, None)
        else:
            CALLS[call](pair.sender, None)
        stats = pair.sender.stats()
        gone = stats.dropped_no_peer
        assert (stats.sent_messages - sent, gone) == ((0, 0) if no_peer == "error" else (1, 1))


def test_a_request_to_nobody_is_refused_or_waits() -> None:
    """And is not dropped: whoever asked would wait for ever."""
    with room() as r:
        req = r.open("Req", bind=UP, no_peer="error")
        with pytest.raises(mm.WouldBlockError):
            req.request(b"x")
        with pytest.raises(mm.WouldBlockError):
            req.request(b"x", timeout=5, retries=2)
        patient = r.open("Req", bind=UP, no_peer="block", overflow="error")
        with pytest.raises(mm.TimedOutError):
            patient.request(b"x", timeout=5)
        with pytest.raises(mm.UsageError, match="a request is not dropped"):
            mm.Req(no_peer="drop")


@pytest.mark.parametrize(
    "role", ["Pull", "Pub", "Sub", "XPub", "XSub", "Router", "Rep", "Surveyor", "Respondent", "Bus"]
)
def test_roles_that_do_not_share_out_have_no_such_choice(role: str) -> None:
    """None is what all have."""
    with pytest.raises(mm.UsageError, match="one of their peers, as Push does"):
        getattr(mm, role)(no_peer="block")
    getattr(mm, role)(no_peer=None).close()


@pytest.mark.parametrize("wrong", ["drop_newest", "", 1, True])
def test_what_is_no_such_choice_is_refused(wrong: Any) -> None:
    """With those there are."""
    with pytest.raises(mm.UsageError, match="it is 'block', 'error', 'drop' or None"):
        mm.Push(no_peer=wrong)
