"""Each option does what its docstring says at its limits, for every role it means something to.

That the numbers reach the core is tested in test_options.py; here they have to act.
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S, joined
from tests.support.rawpeer import RawPeer
from tests.support.room import room
from tests.support.stalled import FRAME_COST, PATIENCE_S

UP = "tcp://127.0.0.1:0"
ROLES = ["Push", "Pull", "Pub", "Sub", "XPub", "XSub", "Req", "Rep", "Dealer", "Router", "Pair"]
SENDS: dict[str, Any] = {
    "Push": lambda s, body: s.send(body, timeout=0),
    "Dealer": lambda s, body: s.send(body, timeout=0),
    "Pair": lambda s, body: s.send(body, timeout=0),
    "Pub": lambda s, body: s.send(body, timeout=0),
    "XPub": lambda s, body: s.send(body, timeout=0),
}
ASKS: dict[str, Any] = {
    "Req": lambda s, body: s.request(body, timeout=0),
    "Surveyor": lambda s, body: s.survey(body),
}
ID_SIZE = 4
"""Bytes in front of what is asked."""
RECEIVES = {"Pull": "Push", "Dealer": "Dealer", "Pair": "Pair", "Rep": "Dealer", "Router": "Dealer"}


@pytest.mark.parametrize("limit", [0, 1, 1000])
@pytest.mark.parametrize("role", SENDS)
def test_message_size_max_holds_for_what_a_role_sends(role: str, limit: int) -> None:
    """Exactly so many bytes are no reason to refuse; one more is, whatever the queues are like."""
    with getattr(mm, role)(bind=UP, message_size_max=limit) as socket:
        with pytest.raises(mm.TooLargeError) as refused:
            SENDS[role](socket, bytes(limit + 1))
        assert (refused.value.size, refused.value.limit) == (limit + 1, limit)
        try:
            SENDS[role](socket, bytes(limit))
        except (mm.WouldBlockError, mm.TimedOutError):
            pass  # nobody is there, which is no matter of size
        assert socket.stats().dropped == 0


@pytest.mark.parametrize("limit", [0, 1000])
@pytest.mark.parametrize("role", ASKS)
def test_message_size_max_holds_for_what_is_asked_with_its_id(role: str, limit: int) -> None:
    """As the peer counts: it would end the connection over one byte more."""
    with getattr(mm, role)(bind=UP, message_size_max=limit + ID_SIZE) as socket:
        with pytest.raises(mm.TooLargeError) as refused:
            ASKS[role](socket, bytes(limit + 1))
        assert refused.value.size == refused.value.limit + 1 == limit + ID_SIZE + 1
        try:
            ASKS[role](socket, bytes(limit))
        except mm.WouldBlockError:
            pass  # nobody is there, which is no matter of size
        assert socket.stats().dropped_overflow == 0


@pytest.mark.parametrize("limit", [1, 100])
@pytest.mark.parametrize("role", RECEIVES)
def test_message_size_max_holds_for_what_a_role_receives(role: str, limit: int) -> None:
    """All frames together: a peer that sends one byte more is closed, with the reason."""
    lead = [b""] if role == "Rep" else []
    with getattr(mm, role)(bind=UP, message_size_max=limit) as socket:
        with RawPeer(socket.endpoint).shake(RECEIVES[role].upper().encode()) as peer:
            peer.send(ref.message(*lead, bytes(limit)))
            assert len(socket.recv(timeout=WAIT_S)) == limit
            peer.send(ref.message(*lead, bytes(limit - 1), bytes(2))).until_closed()
        assert socket.stats().closed == {mm.Reason.MESSAGE_SIZE: 1}


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_frames_max_holds_both_ways(limit: int) -> None:
    """So many frames are sent and received; one more is refused here, and ends a peer there."""
    with mm.Dealer(bind=UP, frames_max=limit) as ours:
        with RawPeer(ours.endpoint).shake(b"DEALER") as peer:
            ours.wait_for_peers(timeout=WAIT_S)
            ours.send_frames([b"f"] * limit, timeout=WAIT_S)
            assert [peer.frame()[1] for _ in range(limit)] == [b"f"] * limit
            with pytest.raises(mm.TooLargeError, match=rf"{limit + 1} frames.*{limit} frames?\b"):
                ours.send_frames([b"f"] * (limit + 1), timeout=WAIT_S)
            peer.send(ref.message(*[b"g"] * limit))
            assert ours.recv_frames(timeout=WAIT_S) == [b"g"] * limit
            peer.send(ref.message(*[b"g"] * (limit + 1))).until_closed()
        assert ours.stats().closed == {mm.Reason.FRAME_COUNT: 1}


@pytest.mark.parametrize("limit", [0, 1, 255, 256])
def test_topic_size_max_holds_for_subscribers_and_publishers(limit: int) -> None:
    """A Sub refuses to ask for a longer one; a Pub closes who does."""
    with mm.Sub(topic_size_max=limit) as sub:
        sub.subscribe(b"t" * limit)
        with pytest.raises(mm.TooLargeError):
            sub.subscribe(b"t" * (limit + 1))
    with mm.Pub(bind=UP, topic_size_max=limit) as pub:
        with RawPeer(pub.endpoint).shake(b"SUB") as peer:
            peer.send(ref.subscription(True, b"t" * limit))
            pub.wait_for_subscribers(b"t" * limit, timeout=WAIT_S)
            peer.send(ref.subscription(True, b"t" * (limit + 1))).until_closed()
        assert pub.stats().closed == {mm.Reason.TOPIC_SIZE: 1}


@pytest.mark.parametrize("limit", [0, 1, 5])
@pytest.mark.parametrize("role", ["Pub", "XPub"])
def test_subscriptions_max_is_per_peer(role: str, limit: int) -> None:
    """Two peers may have so many each; whoever asks for one more is closed, the other stays."""
    with getattr(mm, role)(bind=UP, subscriptions_max=limit) as pub:
        with RawPeer(pub.endpoint).shake(b"SUB") as one, RawPeer(pub.endpoint).shake(b"SUB") as two:
            for number in range(limit):
                for peer in (one, two):
                    peer.send(ref.subscription(True, b"topic%d" % number))
                pub.wait_for_subscribers(f"topic{number}", 2, timeout=WAIT_S)
            one.send(ref.subscription(True, b"too many")).until_closed()
            two.send(ref.ping(0, b"alive"))
            assert two.frame()[1] == b"\x04PONGalive"
            assert pub.stats().closed == {mm.Reason.SUBSCRIPTIONS: 1}
            assert len(pub.peers()) == 1


@pytest.mark.parametrize("limit", [1, 3])
@pytest.mark.parametrize("role", ["Pull", "Pub", "Router", "Rep"])
def test_connections_max_turns_away_who_comes_too_late(role: str, limit: int) -> None:
    """The others are served; when one leaves there is room again."""
    wire = {"Pull": b"PUSH", "Pub": b"SUB", "Router": b"DEALER", "Rep": b"REQ"}[role]
    with getattr(mm, role)(bind=UP, connections_max=limit) as socket:
        peers = [RawPeer(socket.endpoint).shake(wire) for _ in range(limit)]
        socket.wait_for_peers(limit, timeout=WAIT_S)
        with RawPeer(socket.endpoint) as late:
            late.until_closed()
        assert socket.stats().closed == {mm.Reason.CONNECTIONS: 1}
        assert len(socket.peers()) == limit
        peers.pop().socket.close()
        while len(socket.peers()) == limit:
            socket.wait_for_peers(0, timeout=WAIT_S)
        with RawPeer(socket.endpoint).shake(wire):
            socket.wait_for_peers(limit, timeout=WAIT_S)
        for peer in peers:
            peer.socket.close()


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_half_open_max_keeps_the_newest(limit: int) -> None:
    """The oldest unfinished handshake goes; so many stay, and can still be finished."""
    with mm.Pull(bind=UP, half_open_max=limit) as pull:
        peers = [RawPeer(pull.endpoint) for _ in range(limit + 3)]
        for evicted in peers[:3]:
            evicted.until_closed()
        assert pull.stats().closed == {mm.Reason.EVICTED: 3}
        for peer in peers[3:]:
            peer.shake(b"PUSH")
        pull.wait_for_peers(limit, timeout=WAIT_S)
        for peer in peers:
            peer.socket.close()


@pytest.mark.parametrize("limit", ["recv_queue_messages", "recv_queue_bytes"])
@pytest.mark.parametrize("role", RECEIVES)
def test_a_full_receive_queue_stops_reading_and_drops_nothing(role: str, limit: str) -> None:
    """Claim: "A full receive queue stops reading: nothing is dropped there". One more is held."""
    lead = [b""] if role == "Rep" else []
    cost = 10_000 + FRAME_COST * (1 + len(lead))
    count = 3
    limits = {limit: count if limit == "recv_queue_messages" else count * cost}
    with room(buffer_size=4096) as r:
        socket, (peer,) = r.around(role, RECEIVES[role], 1, **limits)
        for number in range(30):
            peer.send_frames([*lead, b"%02d" % number + bytes(9_998)], timeout=PATIENCE_S)
        r.world.run(2)
        stats = socket.stats()
        assert count <= stats.queued_in_messages <= count + 1
        assert stats.parsed_messages == stats.queued_in_messages
        got = [int(socket.recv(timeout=PATIENCE_S)[:2]) for _ in range(30)]
        assert got == list(range(30))
        assert socket.stats().dropped == peer.stats().dropped == 0
        assert socket.stats().disconnects == 0


def test_a_reader_that_pauses_for_a_minute_is_not_taken_for_dead() -> None:
    """A full receive queue stops reading, heartbeats included: neither side gives up."""
    with room(buffer_size=4096) as r:
        pull, (push,) = r.around("Pull", "Push", 1, recv_queue_messages=1)
        for number in range(5):
            push.send(b"%d" % number + bytes(10_000), timeout=PATIENCE_S)
        r.world.run(60)
        assert pull.stats().disconnects == push.stats().disconnects == 0
        assert [int(pull.recv(timeout=PATIENCE_S)[:1]) for _ in range(5)] == list(range(5))


@pytest.mark.parametrize("role", ROLES)
def test_every_option_at_its_least_and_at_its_most_opens_a_socket(role: str) -> None:
    """Whatever is in range works: two sockets with extreme options still talk."""
    least = {
        **dict.fromkeys(("send_queue_messages", "recv_queue_messages"), 1),
        **dict.fromkeys(("send_queue_bytes", "recv_queue_bytes"), 1),
        **dict.fromkeys(("frames_max", "half_open_max", "connections_max"), 1),
        **dict.fromkeys(("message_size_max", "topic_size_max", "subscriptions_max"), 0),
        **dict.fromkeys(("handshake_timeout", "reconnect_min", "reconnect_max"), 0.001),
        **{"heartbeat_interval": 0.001, "heartbeat_timeout": 0.002, "linger": 0},
    }
    most = {
        **dict.fromkeys(("send_queue_messages", "recv_queue_messages", "frames_max"), 2**32 - 1),
        **dict.fromkeys(("send_queue_bytes", "recv_queue_bytes", "message_size_max"), 2**63 - 1),
        **dict.fromkeys(("half_open_max", "connections_max", "subscriptions_max"), 2**32 - 1),
        **dict.fromkeys(("handshake_timeout", "reconnect_min", "reconnect_max"), 4_000_000),
        **{"heartbeat_interval": 3_999_999, "heartbeat_timeout": 4_000_000, "linger": 4_000_000},
        "topic_size_max": 2**31,
    }
    peer = {"Push": "Pull", "Pull": "Push", "Pub": "Sub", "Sub": "Pub", "XPub": "XSub"}
    peer |= {"XSub": "XPub", "Req": "Rep", "Rep": "Req"}
    for options in (least, most):
        with getattr(mm, role)(bind=UP, **options) as socket:
            assert socket.stats().listeners == 1
    other = getattr(mm, peer.get(role, role))
    with joined(getattr(mm, role), other, **most) as (a, b):
        assert len(a.peers()) == len(b.peers()) == 1


def test_a_queue_of_one_still_moves_everything() -> None:
    """The least queues on both sides: slow, not stuck; in order, and all of it."""
    least = {"send_queue_messages": 1, "recv_queue_messages": 1}
    least |= {"send_queue_bytes": 1, "recv_queue_bytes": 1}
    with room(buffer_size=1024) as r:
        push, (pull,) = r.around("Push", "Pull", 1, **least)
        got: list[int] = []
        for number in range(100):
            push.send(b"%d" % number, timeout=PATIENCE_S)
            if number % 10 == 9:
                got += [int(pull.recv(timeout=PATIENCE_S)) for _ in range(10)]
        assert got == list(range(100))


def test_insecure_is_asked_for_by_every_address_outside_loopback() -> None:
    """All interfaces, by name or number; loopback in any spelling, ipc and inproc need nothing."""
    for url in ("tcp://*:0", "tcp://0.0.0.0:0", "tcp://[::]:0"):
        with mm.Pull() as pull, pytest.raises(mm.InsecureBindError, match="insecure=True"):
            pull.bind(url)
    for url in ("tcp://127.0.0.1:0", "tcp://127.8.9.10:0", "tcp://localhost:0", "inproc://inside"):
        with mm.Pull(bind=url) as pull:
            assert pull.endpoint
