"""A peer that falls silent: what it was sent and when decides whether it is slow or dead."""

from __future__ import annotations

import re
from typing import Any

import pytest

import meshmsg as mm
from tests.hostile.test_receipts import next_ping
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
HEART: dict[str, Any] = {"heartbeat_interval": 0.05, "heartbeat_timeout": 0.2}


def until(socket: Any, kind: mm.EventKind) -> mm.Event:
    """Wait for an event of a kind."""
    for _ in range(int(WAIT_S / 0.01)):
        for event in socket.events():
            if event.kind is kind:
                return event  # type: ignore[no-any-return]
        with pytest.raises(mm.TimedOutError):
            socket.wait_for_peers(2, timeout=0.01)
    raise AssertionError(f"no {kind.name}")


def test_a_silent_peer_with_unread_messages_is_kept_until_it_has_read_them() -> None:
    """Then it is given up: nothing that it need not have read lies in front of our PING."""
    with mm.Push(bind=UP, **HEART) as push, RawPeer(push.endpoint).shake(b"PULL") as peer:
        push.send(b"x", timeout=WAIT_S)
        until(push, mm.EventKind.PEER_STALLED)
        assert push.peers()[0].stalled
        context = next_ping(peer)
        while int.from_bytes(context, "big") != 1:
            context = next_ping(peer)
        peer.send(ref.pong(context))
        down = until(push, mm.EventKind.PEER_DOWN)
        assert down.reason is mm.Reason.HEARTBEAT
        assert push.stats().confirmed_messages == 1
        assert push.stats().in_doubt_messages == 0


def test_a_silent_peer_with_unread_subscriptions_is_kept() -> None:
    """A PUB of libzmq whose program is busy reads no more than so many of them."""
    with mm.Sub(bind=UP, topics=["a", "b"], **HEART) as sub:
        with RawPeer(sub.endpoint).shake(b"PUB"):
            until(sub, mm.EventKind.PEER_STALLED)
            assert sub.stats().disconnects == 0


def test_a_silent_peer_that_was_sent_nothing_but_pings_is_given_up() -> None:
    """It owes an answer to the first of them."""
    with mm.Push(bind=UP, **HEART) as push, RawPeer(push.endpoint).shake(b"PULL"):
        down = until(push, mm.EventKind.PEER_DOWN)
        assert down.reason is mm.Reason.HEARTBEAT
        assert re.fullmatch(r"silent for [\d.]+ s: heartbeat_timeout is 0\.200 s", down.detail)


def test_a_peer_that_promised_signs_of_life_and_gives_none_is_given_up() -> None:
    """Whoever sends PINGs of its own does so however busy its program is."""
    with mm.Push(bind=UP, **HEART) as push, RawPeer(push.endpoint).shake(b"PULL") as peer:
        peer.send(ref.ping(2, b""))
        push.send(b"x", timeout=WAIT_S)
        assert until(push, mm.EventKind.PEER_DOWN).reason is mm.Reason.HEARTBEAT
        assert push.stats().in_doubt_messages == 1


@pytest.mark.parametrize("features", [(), ((b"X-Meshmsg", b"1"),)])
def test_an_end_for_the_ttl_of_the_peer_does_not_blame_our_time_out(
    features: tuple[tuple[bytes, bytes], ...],
) -> None:
    """It was the peer that promised too much; where its options are known, they are named."""
    with mm.Push(bind=UP) as push, RawPeer(push.endpoint) as peer:
        peer.shake(b"PULL", *features).send(ref.ping(1, b""))
        down = until(push, mm.EventKind.PEER_DOWN)
        assert down.reason is mm.Reason.HEARTBEAT
        words, _, advice = down.detail.partition("; ")
        assert re.fullmatch(
            r"silent for [\d.]+ s, over the ttl of 0\.100 s that its own PING promised", words
        )
        assert advice == ("" if features else "its HEARTBEAT_IVL must be below its HEARTBEAT_TTL")


def test_the_successor_of_a_peer_that_was_given_up_is_let_in() -> None:
    """What is left of the old connection takes no place of `connections_max`."""
    with mm.Pull(bind=UP, connections_max=1, **HEART) as pull:
        with RawPeer(pull.endpoint).shake(b"PUSH") as peer:
            peer.send(ref.ping(2, b""))
            assert until(pull, mm.EventKind.PEER_DOWN).reason is mm.Reason.HEARTBEAT
            with mm.Push(connect=pull.endpoint) as push, mm.Push() as surplus:
                push.wait_for_peers(timeout=WAIT_S)
                assert pull.stats().closed.get(mm.Reason.CONNECTIONS, 0) == 0
                surplus.connect(pull.endpoint)
                until(surplus, mm.EventKind.HANDSHAKE_FAILED)
                assert pull.stats().closed[mm.Reason.CONNECTIONS] >= 1
                push.send(b"x", timeout=WAIT_S)
                assert pull.recv(timeout=WAIT_S) == b"x"
