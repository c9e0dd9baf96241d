"""What a role's own peers can do to it: data where none belongs, envelopes without end, loops,
answers nobody asked for, and reading nothing at all.

Items 5, 8, 10, 33, 34, 37 and 38 of the hostile list, as far as this library has the roles they
are about (there are no surveys, buses or SP devices here).
"""

from __future__ import annotations

from typing import Any

import pytest

import meshmsg as mm
from meshmsg.patterns import Forward
from tests.hostile.test_hostile import closed_with, served
from tests.support import refcodec as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
WIRE_PEER = {
    "Push": b"PULL",
    "Pull": b"PUSH",
    "Pub": b"SUB",
    "Sub": b"PUB",
    "XPub": b"SUB",
    "XSub": b"PUB",
    "Req": b"REP",
    "Rep": b"REQ",
    "Dealer": b"DEALER",
    "Router": b"DEALER",
    "Pair": b"PAIR",
}


def pong(peer: RawPeer, mark: bytes = b"mark") -> None:
    """Wait until everything sent before was read; skip whatever else is said."""
    peer.send(ref.ping(0, mark))
    while peer.frame()[1] != b"\x04PONG" + mark:
        continue


@pytest.mark.parametrize("role", WIRE_PEER)
def test_subscription_commands_hurt_no_role(role: str) -> None:
    """33: SUBSCRIBE, CANCEL and unknown commands to a role that takes none: still a good peer."""
    with getattr(mm, role)(bind=UP) as ours, RawPeer(ours.endpoint).shake(WIRE_PEER[role]) as peer:
        peer.send(ref.subscription(True, b"t") * 50 + ref.subscription(False, b"t") * 50)
        peer.send(ref.subscription(True, b"t", minor=0) + ref.command(b"X-UNHEARD", b"of") * 50)
        peer.send(ref.pong(b"never asked") * 50)
        pong(peer)
        assert len(ours.peers()) == 1
        assert ours.stats().disconnects == 0


@pytest.mark.parametrize("role", ["Push", "Pub"])
def test_data_to_a_role_that_only_sends_is_counted_and_costs_nothing(role: str) -> None:
    """33: 10,000 messages nobody will ever take."""
    with getattr(mm, role)(bind=UP) as ours, RawPeer(ours.endpoint).shake(WIRE_PEER[role]) as peer:
        peer.send(ref.message(b"\x07x", bytes(900)) * 500)
        pong(peer, b"warm")
        before = live_bytes()
        for _ in range(19):
            peer.send(ref.message(b"\x07x", bytes(900)) * 500)
        pong(peer)
        assert ours.stats().dropped_malformed == 10_000
        assert ours.stats().queued_in_messages == 0
        assert live_bytes() - before < 2 << 20


@pytest.mark.parametrize("frames", [2, 1024])
def test_a_request_whose_envelope_never_ends_is_dropped(frames: int) -> None:
    """34: no empty frame among up to 1,024; a good request behind it is served."""
    with mm.Rep(bind=UP) as rep, RawPeer(rep.endpoint).shake(b"DEALER") as peer:
        peer.send(ref.message(*[b"hop"] * frames) + ref.message(b"", b"good"))
        request = rep.recv(timeout=WAIT_S)
        assert (request, request.reply(b"yes")) == (b"good", True)
        assert rep.stats().dropped_malformed == 1


def test_an_envelope_of_a_megabyte_comes_back_octet_for_octet() -> None:
    """34: a way back of 1,000 frames of 1 KiB is long, and legal."""
    way = [bytes([i % 255 + 1]) * 1024 for i in range(1000)]
    with mm.Rep(bind=UP) as rep, RawPeer(rep.endpoint).shake(b"DEALER") as peer:
        peer.send(ref.message(*way, b"", b"q"))
        request = rep.recv(timeout=WAIT_S)
        assert request.frames == (b"q",)
        assert request.reply(b"a")
        assert [peer.frame()[1] for _ in range(1002)] == [*way, b"", b"a"]


def test_a_loop_of_forwarders_ends_by_itself() -> None:
    """34: a device that feeds itself: each turn adds a hop, until frames_max refuses it."""
    front = mm.Router(bind=UP, frames_max=40)
    back = mm.Dealer(connect=front.endpoint, frames_max=40)
    with Forward(front, back) as forward, mm.Dealer(connect=front.endpoint) as client:
        client.send_frames([b"", b"round and round"], timeout=WAIT_S)
        while not forward.onward.refused:
            client.drain(timeout=0.01)
        assert 30 <= forward.onward.forwarded <= 40
        assert forward.onward.refused == 1


def test_answers_nobody_asked_for_are_dropped_by_the_thousand() -> None:
    """33: forged ids, none at all, no delimiter, two delimiters; the one asked for gets through."""
    with mm.Req(bind=UP) as req, RawPeer(req.endpoint).shake(b"REP") as peer:
        forged = [
            ref.message(b"\0\0\0\0", b"", b"no"),
            ref.message(b"\xff" * 4, b"", b"no"),
            ref.message(b"", b"no"),
            ref.message(b"no"),
            ref.message(b"\0\0\0\0"),
            ref.message(b"\0\0\0", b"", b"no"),
            ref.message(b"\0" * 5, b"", b"no"),
        ]
        for _ in range(300):
            peer.send(b"".join(forged))
        pong(peer)
        stats = req.stats()
        assert stats.dropped_late + stats.dropped_malformed == 300 * len(forged)
        assert stats.queued_in_messages == 0


@pytest.mark.parametrize("count", [1, 2, 1023, 1024])
def test_frames_up_to_their_limit_are_a_message(count: int) -> None:
    """8: 1,024 empty frames are one; the 1,025th ends the connection."""
    with served() as (pull, _), RawPeer(pull.endpoint).shake(b"PUSH") as peer:
        peer.send(ref.message(*[b""] * count))
        assert pull.recv(timeout=WAIT_S).frames == (b"",) * count
        if count == 1024:
            peer.send(ref.message(*[b""] * 1025)).until_closed()
            closed_with(pull, mm.Reason.FRAME_COUNT)


@pytest.mark.parametrize("size", range(17))
def test_a_ping_s_context_comes_back_exactly(size: int) -> None:
    """10: 0 to 16 octets, never one more, never a stale one of the ping before."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint).shake(b"PUSH") as peer:
        peer.send(ref.ping(0, b"stale context 16"))
        assert peer.frame()[1] == b"\x04PONGstale context 16"
        context = bytes(range(size))
        peer.send(ref.ping(0, context))
        assert peer.frame() == (ref.COMMAND, b"\x04PONG" + context)


def test_a_ping_s_ttl_is_kept() -> None:
    """11: a peer that promises a sign of life each 0.2 s and gives none is taken at its word."""
    with served() as (pull, _), RawPeer(pull.endpoint).shake(b"PUSH") as peer:
        peer.send(ref.ping(2, b"promise"))
        peer.until_closed()
        closed_with(pull, mm.Reason.HEARTBEAT)


def fill(socket: Any, role: str, peer: RawPeer) -> None:
    """Send until the peer, which reads nothing, has cost all it may."""
    body = bytes(200_000)
    if role == "Rep":
        peer.send(b"".join(ref.message(b"id", b"", b"%d" % i) for i in range(100)))
        for _ in range(100):
            socket.recv(timeout=WAIT_S).reply(body)
        return
    for _ in range(100):
        try:
            if role == "Router":
                socket.send(body, to=b"stuck", timeout=0)
            else:
                socket.send(body, timeout=0)
        except mm.WouldBlockError:
            return


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair", "Pub", "XPub", "Router", "Rep"])
def test_a_peer_that_never_reads_holds_up_neither_close_nor_exit(role: str) -> None:
    """38: for every role that sends: close() is prompt, the engine gives up after the linger."""
    with mm.Engine() as engine:
        ours = getattr(mm, role)(bind=UP, engine=engine, linger=0.05, send_queue_bytes=1 << 20)
        name = (b"Identity", b"stuck") if role == "Router" else (b"X", b"")
        wire = b"DEALER" if role == "Rep" else WIRE_PEER[role]
        with RawPeer(ours.endpoint).shake(wire, name) as peer:
            ours.wait_for_peers(timeout=WAIT_S)
            if role in ("Pub", "XPub"):
                peer.send(ref.subscription(True, b""))
                ours.wait_for_subscribers("", timeout=WAIT_S)
            fill(ours, role, peer)
            stats = ours.stats()
            assert stats.queued_out_messages > 0
            assert stats.queued_out_bytes < 2 << 20
            ours.close()
            assert ours.closed
            engine.close(timeout=0.1)


def test_a_peer_that_reads_one_octet_at_a_time_gets_everything_in_the_end() -> None:
    """37: slow is not dead: what it does read arrives whole, and others are not slowed down."""
    with (
        mm.Pub(bind=UP, send_queue_bytes=1 << 20) as pub,
        mm.Sub(connect=pub.endpoint, topics="") as native,
        RawPeer(pub.endpoint).shake(b"SUB") as slow,
    ):
        slow.send(ref.subscription(True, b""))
        pub.wait_for_subscribers("x", 2, timeout=WAIT_S)
        for number in range(100):
            pub.send(b"%d" % number)
            assert native.recv(timeout=WAIT_S) == b"%d" % number
        received = b""
        while len(ref.parse_all(received)) < 100:
            received += slow.socket.recv(1)
        found = [frames[0] for kind, frames in ref.parse_all(received) if kind == "message"]
        assert found == [b"%d" % number for number in range(100)]
