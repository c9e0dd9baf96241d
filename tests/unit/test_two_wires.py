"""One socket with peers of both wires, and what a user sees of the difference."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg import aio
from tests.support import refsp as ref
from tests.support.pairs import WAIT_S, told, wait_until

UP = "tcp://127.0.0.1:0"
SPEAKERS = [mm.Push, mm.Pull, mm.Pub, mm.Sub, mm.Req, mm.Rep, mm.Pair]
SPEAKERS += [mm.Surveyor, mm.Respondent, mm.Bus]
MUTE = [mm.XPub, mm.XSub, mm.Dealer, mm.Router]


@contextmanager
def crossed(first: type[Any], second: type[Any], **options: Any) -> Iterator[tuple[Any, Any, Any]]:
    """A socket that binds, one connected over ZMTP, and one over SP."""
    with first(bind=UP, **options) as a, second(connect=a.endpoint) as zmtp:
        a.wait_for_peers(timeout=WAIT_S)
        with second(connect=f"sp+{a.endpoint}") as sp:
            a.wait_for_peers(2, timeout=WAIT_S)
            sp.wait_for_peers(timeout=WAIT_S)
            zmtp.wait_for_peers(timeout=WAIT_S)
            yield a, zmtp, sp


@pytest.mark.parametrize("url", ["sp+tcp://127.0.0.1:0", "sp+ipc:///tmp/never"])
def test_binding_to_sp_says_that_a_listener_takes_both(url: str) -> None:
    """And names the endpoint to bind to."""
    with mm.Pull() as pull, pytest.raises(mm.AddressError, match=re.escape(f"bind to {url[3:]};")):
        pull.bind(url)


@pytest.mark.parametrize("url", ["sp+inproc://x", "sp+", "sp+sp+tcp://127.0.0.1:1", "SP+tcp://h:1"])
def test_a_malformed_sp_endpoint_is_an_address_error(url: str) -> None:
    """Only tcp and ipc have SP."""
    with mm.Push() as push, pytest.raises(mm.AddressError, match=r"sp\+tcp://host:port"):
        push.connect(url)


def said(listener: socket.socket, answer: bytes) -> tuple[socket.socket, bytes]:
    """Take the next connection, answer its hello, and tell what that was."""
    peer, _ = listener.accept()
    peer.settimeout(WAIT_S)
    hello = peer.recv(8, socket.MSG_WAITALL)
    peer.sendall(answer)
    return peer, hello


def test_a_pair_that_dials_v0_comes_back_as_v0_and_stays_so() -> None:
    """It begins as v1; what the peer's hello says is what the next attempt is made as."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)
        url = f"sp+tcp://127.0.0.1:{listener.getsockname()[1]}"
        with mm.Pair(connect=url, reconnect_min=0.001, reconnect_max=0.001) as pair:
            refused, hello = said(listener, ref.hello(ref.PAIR0))
            assert hello == ref.hello(ref.PAIR1)
            assert refused.recv(1) == b""
            refused.close()
            for _ in range(2):
                peer, hello = said(listener, ref.hello(ref.PAIR0))
                assert hello == ref.hello(ref.PAIR0)
                pair.send(b"body", timeout=WAIT_S)
                assert peer.recv(12, socket.MSG_WAITALL) == bytes(7) + b"\4body"
                peer.close()
            (failed,) = [e for e in pair.events() if e.kind is mm.EventKind.HANDSHAKE_FAILED]
            assert failed.reason is mm.Reason.SOCKET_TYPE
            assert "PAIRv1 cannot talk to PAIRv0; the next attempt" in failed.detail


def test_a_pair_that_dials_something_else_stays_what_it_is() -> None:
    """Only a PAIR can tell it to be of the other version."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)
        url = f"sp+tcp://127.0.0.1:{listener.getsockname()[1]}"
        with mm.Pair(connect=url, reconnect_min=0.001, reconnect_max=0.001):
            for _ in range(3):
                peer, hello = said(listener, ref.hello(ref.BUS))
                assert hello == ref.hello(ref.PAIR1)
                peer.close()


@pytest.mark.parametrize("role", MUTE)
def test_a_role_that_sp_has_not_cannot_connect_over_it(role: type[Any]) -> None:
    """It says so at once."""
    with role() as socket, pytest.raises(mm.UsageError, match="speaks no SP"):
        socket.connect("sp+tcp://127.0.0.1:1")


@pytest.mark.parametrize("role", SPEAKERS)
def test_the_others_can_and_can_disconnect_again(role: type[Any]) -> None:
    """The endpoint is the one that was given."""
    with role(connect="sp+tcp://127.0.0.1:1") as socket:
        assert "sp+tcp://127.0.0.1:1" in repr(socket)
        assert socket.stats().dialers == 1
        with pytest.raises(mm.AddressError):
            socket.disconnect("tcp://127.0.0.1:1")
        socket.disconnect("sp+tcp://127.0.0.1:1")
        assert socket.stats().dialers == 0


def test_peers_tell_their_wire() -> None:
    """On both sides."""
    with crossed(mm.Pull, mm.Push) as (pull, zmtp, sp):
        assert {peer.wire for peer in pull.peers()} == {"zmtp", "sp"}
        assert [(p.wire, p.zmtp_minor, p.role, p.endpoint) for p in sp.peers()] == [
            ("sp", 0, "PULL", f"sp+{pull.endpoint}")
        ]
        assert [(p.wire, p.zmtp_minor) for p in zmtp.peers()] == [("zmtp", 1)]


def test_a_message_of_several_frames_goes_to_whose_wire_has_them() -> None:
    """The others get the rest; nothing is dropped."""
    with crossed(mm.Push, mm.Pull) as (push, zmtp, sp):
        for i in range(100):
            push.send_frames([b"two", b"frames %d" % i], timeout=WAIT_S)
        push.send_many([b"%d" % i for i in range(100)], timeout=WAIT_S)
        for i in range(100):
            assert zmtp.recv_frames(timeout=WAIT_S) == [b"two", b"frames %d" % i]
        assert len(sp.recv_many(100, timeout=WAIT_S)) > 0
        assert push.stats().dropped == 0


def test_who_waits_to_send_frames_is_not_woken_by_room_at_a_peer_without_them() -> None:
    """asyncio: full for frames, room for one body; the waiting send goes once there is room."""

    async def run() -> None:
        with mm.Pull(bind=UP, recv_queue_messages=1) as zmtp, mm.Pull(bind=UP) as sp:
            where = [zmtp.endpoint, f"sp+{sp.endpoint}"]
            push = aio.Push(connect=where, send_queue_messages=1)
            await push.wait_for_peers(2, timeout=WAIT_S)
            body, sent = b"x" * 1_000_000, 0
            try:
                while True:
                    await push.send_frames([b"f", body], timeout=1.0)
                    sent += 1
            except mm.TimedOutError:
                pass
            waiting = asyncio.ensure_future(push.send_frames([b"f", body], timeout=WAIT_S))
            await push.send(b"single", timeout=WAIT_S)
            assert sp.recv(timeout=WAIT_S) == b"single"
            for _ in range(sent):
                assert len(zmtp.recv_frames(timeout=WAIT_S)) == 2
            await waiting
            assert zmtp.recv_frames(timeout=WAIT_S) == [b"f", body]
            push.close()

    asyncio.run(run())


@pytest.mark.parametrize("overflow", ["block", "error", "drop_newest", "drop_oldest"])
def test_frames_that_no_peer_can_have_are_refused(overflow: Any) -> None:
    """Whatever the policy: it is the caller's mistake, not a full queue."""
    with (
        mm.Pull(bind=UP) as pull,
        mm.Push(connect=f"sp+{pull.endpoint}", overflow=overflow) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        with pytest.raises(mm.UsageError, match="without frames"):
            push.send_frames([b"a", b"b"], timeout=WAIT_S)
        push.send(b"one", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"one"
        assert push.stats().sent_messages == 1


def test_a_publisher_drops_for_sp_what_it_cannot_say_there() -> None:
    """Three frames: the subscriber over ZMTP has them, the other's loss is counted and told."""
    with crossed(mm.Pub, mm.Sub) as (pub, zmtp, sp):
        for sub in (zmtp, sp):
            sub.subscribe("t")
        pub.wait_for_subscribers("t", 2, timeout=WAIT_S)
        pub.send_frames([b"t", b"two", b"three"])
        pub.send(b"ok", topic="t")
        assert zmtp.recv_frames(timeout=WAIT_S) == [b"t", b"two", b"three"]
        assert zmtp.recv_frames(timeout=WAIT_S) == [b"t", b"ok"]
        assert sp.recv_frames(timeout=WAIT_S) == [b"tok"]
        assert pub.stats().dropped_unencodable == pub.stats().dropped == 1
        assert [p.dropped_messages for p in pub.peers() if p.wire == "sp"] == [1]
        assert mm.EventKind.DROPPED in [event.kind for event in pub.events()]
        with pytest.raises(mm.MeshError, match="1 dropped"):
            pub.drain(timeout=WAIT_S).raise_for_loss()


def test_a_blocking_publisher_does_not_wait_for_what_cannot_be_said() -> None:
    """It goes to those who can have it."""
    with crossed(mm.Pub, mm.Sub, overflow="block") as (pub, zmtp, sp):
        zmtp.subscribe("")
        pub.wait_for_subscribers("x", 2, timeout=WAIT_S)
        pub.send_frames([b"a", b"b", b"c"], timeout=WAIT_S)
        assert zmtp.recv_frames(timeout=WAIT_S) == [b"a", b"b", b"c"]
        assert pub.stats().dropped_unencodable == 1


def test_what_a_subscriber_of_sp_did_not_ask_for_never_fills_its_queue() -> None:
    """A flood of other topics is no back-pressure and no drop; the books are exact."""
    with (
        mm.Pub(bind=UP, overflow="block") as pub,
        mm.Sub(connect=f"sp+{pub.endpoint}", topics=["a"], recv_queue_messages=4) as sub,
    ):
        pub.wait_for_subscribers("a", timeout=WAIT_S)
        for i in range(5000):
            pub.send(b"%d" % i, topic="b" if i % 1000 else "a", timeout=WAIT_S)
        pub.send(b"b" * 100_000, topic="b")
        pub.send(b"end", topic="a")
        got = [bytes(sub.recv(timeout=WAIT_S)) for _ in range(6)]
        assert got == [b"a0", b"a1000", b"a2000", b"a3000", b"a4000", b"aend"]
        stats = sub.stats()
        assert (stats.filtered_messages, stats.dropped) == (4996, 0)
        assert stats.parsed_messages == stats.received_messages + stats.filtered_messages


def test_a_topic_given_up_is_filtered_from_what_waits() -> None:
    """As over ZMTP: what was queued for it is dropped when its turn comes."""
    with mm.Pub(bind=UP) as pub, mm.Sub(connect=f"sp+{pub.endpoint}", topics=["a", "b"]) as sub:
        pub.wait_for_subscribers("a", timeout=WAIT_S)
        for topic in ("a", "b"):
            pub.send(b"1", topic=topic)
        while sub.stats().queued_in_messages < 2:
            continue
        sub.unsubscribe("a")
        assert sub.recv(timeout=WAIT_S) == b"b1"
        assert sub.stats().dropped_filtered == 1


@pytest.mark.parametrize("sp_first", [True, False], ids=["sp-to-zmtp", "zmtp-to-sp"])
def test_what_waited_for_a_peer_goes_to_one_of_the_other_wire(
    sp_first: bool, short_path: Path
) -> None:
    """The queue of a peer that went away is transcoded, in order; lost frames are counted."""
    place = f"ipc://{short_path}/s"
    first, second = ("sp+" + place, place) if sp_first else (place, "sp+" + place)
    bodies = [b"%d" % i for i in range(400)] + [b"y" * 50_000]
    with mm.Push(reconnect_max=0.05, send_queue_messages=2000) as push:
        stuck = mm.Pull(bind=place, recv_queue_messages=1)
        push.connect(first)
        push.wait_for_peers(timeout=WAIT_S)
        for _ in range(4):  # one is received, one read, one begun
            push.send(b"x" * (4 << 20), timeout=WAIT_S)
        push.send_many(bodies, timeout=WAIT_S)
        if not sp_first:
            push.send_frames([b"a", b"b"], timeout=WAIT_S)
        push.disconnect(first)
        stuck.close()
        with mm.Pull(bind=place) as pull:
            push.connect(second)
            got = [bytes(pull.recv(timeout=WAIT_S))]
            while got[-1] != bodies[-1]:
                got.append(bytes(pull.recv(timeout=WAIT_S)))
            assert [body for body in got if len(body) < 1 << 20] == bodies
            assert push.stats().dropped_unencodable == (0 if sp_first else 1)


@pytest.mark.parametrize("wrong", ["zmtp", "sp"])
def test_dialing_with_the_wrong_wire_says_which_is_right(wrong: str) -> None:
    """A peer that speaks only the other: its first octet tells."""
    import socket as sockets

    with sockets.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        place = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with mm.Push(connect=place if wrong == "zmtp" else f"sp+{place}") as push:
            theirs, _ = listener.accept()
            with theirs:
                theirs.sendall(b"\x00SP\x00" if wrong == "zmtp" else b"\xff" + bytes(8) + b"\x7f")
                right = r"connect to sp\+tcp" if wrong == "zmtp" else "connect to tcp"
                told(push, right.replace("\\", ""))
                with pytest.raises(mm.TimedOutError, match=right):
                    push.wait_for_peers(timeout=0.01)


def test_a_listener_that_has_no_sp_refuses_it_in_words() -> None:
    """SOCKET_TYPE, and the peer of the other wire stays."""
    with mm.Router(bind=UP) as router, mm.Dealer(connect=router.endpoint) as dealer:
        dealer.wait_for_peers(timeout=WAIT_S)
        with mm.Req(connect=f"sp+{router.endpoint}") as req:
            while not router.stats().closed.get(mm.Reason.SOCKET_TYPE):
                with pytest.raises(mm.TimedOutError):
                    req.wait_for_peers(timeout=0.01)
        details = [event.detail for event in router.events()]
        assert "an SP peer, and this role speaks no SP" in details
        assert [peer.wire for peer in router.peers()] == ["zmtp"]


def test_heartbeats_do_not_end_a_silent_connection_over_sp() -> None:
    """It has none: whoever is silent is not dead."""
    with (
        mm.Pull(bind=UP, heartbeat_interval=0.02, heartbeat_timeout=0.04) as pull,
        mm.Push(connect=f"sp+{pull.endpoint}") as sp,
        mm.Push(connect=pull.endpoint),
    ):
        pull.wait_for_peers(2, timeout=WAIT_S)
        # The other one may well die of so short a silence, and come back.
        wait_until(lambda: any(peer.rtt for peer in pull.peers()))
        with pytest.raises(mm.TimedOutError):
            pull.recv(timeout=0.2)
        sp.send(b"still here", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"still here"
        assert sp.stats().disconnects == 0
