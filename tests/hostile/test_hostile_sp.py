"""The listener that takes either wire, under attack: octets of both, of neither, and of one that
breaks its rules; a well-behaved peer of each wire never notices.

Items 3, 13-15, 19, 33 and 34 of the hostile list, as far as they are SP's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

import meshmsg as mm
from tests.hostile.test_hostile import closed_with
from tests.support import refcodec as zmtp
from tests.support import refsp as ref
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
HUGE = [2**64 - 1, 2**63, 2**32, (64 << 20) + 1]


@contextmanager
def served(**options: Any) -> Iterator[mm.Pull]:
    """A Pull under attack, and a Push of each wire that go on using it."""
    with (
        mm.Pull(bind=UP, **options) as pull,
        mm.Push(connect=pull.endpoint) as one,
        mm.Push(connect=f"sp+{pull.endpoint}") as two,
    ):
        for push in (one, two):
            push.wait_for_peers(timeout=WAIT_S)
        check(pull, one, two)
        yield pull
        check(pull, one, two)
        assert one.stats().disconnects == two.stats().disconnects == 0


def check(pull: mm.Pull, *pushes: mm.Push) -> None:
    """The well-behaved peers are served."""
    for push in pushes:
        push.send(b"legit", timeout=WAIT_S)
    found = 0
    while found < len(pushes):
        found += pull.recv(timeout=WAIT_S) == b"legit"


def spoken(peer: RawPeer, protocol: int, ours: int) -> RawPeer:
    """Do the hellos of SP."""
    peer.send(ref.hello(protocol))
    heard = b""
    while len(heard) < 8:
        heard += peer.socket.recv(8 - len(heard))
    assert heard == ref.hello(ours)
    return peer


STRANGERS = [
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "NOT_ZMTP", b""),
    (b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1", "PLAINTEXT", b""),
    (b"\x01\x00", "OLD_ZMTP", b""),
    (b"\x00TP\x00\x00\x50\x00\x00", "NOT_SP", b""),
    (b"\x00\xff" + zmtp.greeting(), "NOT_SP", b""),
    (b"\x00SP\x01", "NOT_SP", b""),
    (b"\x00SP\x00\x00\x50\x00\x01", "NOT_SP", b""),
    (b"\x00SP\x00\xff\xff\x00\x00", "SOCKET_TYPE", ref.hello(ref.PULL)),
    (ref.hello(ref.PULL), "SOCKET_TYPE", ref.hello(ref.PULL)),
    (ref.hello(ref.BUS), "SOCKET_TYPE", ref.hello(ref.PULL)),
]


@pytest.mark.parametrize(("data", "reason", "told"), STRANGERS)
def test_a_stranger_is_closed_and_hears_no_more_than_it_may(
    data: bytes, reason: str, told: bytes
) -> None:
    """19: nothing at all when its wire is neither; else at most our hello."""
    with served() as pull:
        with RawPeer(pull.endpoint) as peer:
            assert peer.send(data).until_closed() == told
        closed_with(pull, mm.Reason[reason])
        assert len(pull.peers()) == 2


def test_a_listener_is_silent_until_it_is_spoken_to() -> None:
    """What it says then is of the wire of the first octet, and of no other."""
    with served() as pull, RawPeer(pull.endpoint) as silent:
        with RawPeer(pull.endpoint) as peer:
            assert spoken(peer, ref.PUSH, ref.PULL)
        with RawPeer(pull.endpoint) as peer:
            peer.shake(b"PUSH")
        silent.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.socket.recv(1)


def test_a_first_octet_alone_waits_for_the_rest_until_the_time_is_up() -> None:
    """14: neither wire is assumed done; each ends with its own time-out."""
    with served(handshake_timeout=0.3) as pull, ExitStack() as stack:
        peers = [stack.enter_context(RawPeer(pull.endpoint)) for _ in range(3)]
        for peer, octet in zip(peers, (b"\xff", b"\x00", b""), strict=True):
            peer.send(octet)
        for peer in peers:
            peer.until_closed()
        closed_with(pull, mm.Reason.HANDSHAKE_TIMEOUT, 3)


@pytest.mark.parametrize("ipc", [False, True], ids=["tcp", "ipc"])
def test_a_session_of_single_octets_is_understood(ipc: bool, short_path: Any) -> None:
    """3: every split, of hello, lengths and bodies, 1 octet at a time; over ipc with its 01."""
    import socket as sockets

    data = ref.hello(ref.PUSH) + b"".join(
        ref.message(body, ipc) for body in (b"", b"a", b"x" * 300, b"last")
    )
    with mm.Pull(bind=f"ipc://{short_path}/s" if ipc else UP) as pull:
        if ipc:
            peer = sockets.socket(sockets.AF_UNIX)
            peer.connect(f"{short_path}/s")
        else:
            peer = RawPeer(pull.endpoint).socket
        with peer:
            for i in range(len(data)):
                peer.sendall(data[i : i + 1])
            got = [bytes(pull.recv(timeout=WAIT_S)) for _ in range(4)]
            assert got == [b"", b"a", b"x" * 300, b"last"]


def test_silent_connections_evict_each_other_and_lock_nobody_out() -> None:
    """13, 15: with half a hello of either wire, or none."""
    with served(half_open_max=8) as pull, ExitStack() as stack:
        silent = [stack.enter_context(RawPeer(pull.endpoint)) for _ in range(200)]
        for i, peer in enumerate(silent):
            peer.send((b"", b"\x00SP", b"\xff\0\0")[i % 3])
        silent[0].until_closed()
        for wire in ("", "sp+"):
            with mm.Push(connect=wire + pull.endpoint) as late:
                late.wait_for_peers(timeout=WAIT_S)
        closed_with(pull, mm.Reason.EVICTED, 190)
        assert pull.stats().half_open <= 8


@pytest.mark.parametrize("size", HUGE)
def test_a_length_over_the_limit_costs_no_memory(size: int) -> None:
    """2: refused from its head."""
    with served() as pull:
        before = live_bytes()
        with RawPeer(pull.endpoint) as peer:
            spoken(peer, ref.PUSH, ref.PULL).send(struct.pack(">Q", size)).until_closed()
        closed_with(pull, mm.Reason.MESSAGE_SIZE)
        assert live_bytes() - before < 4 << 20


def test_an_unfinished_message_never_arrives() -> None:
    """9: of the length, and of the body."""
    with served() as pull:
        for data in (b"\0\0\0", ref.message(b"half of it")[:-5]):
            with RawPeer(pull.endpoint) as peer:
                spoken(peer, ref.PUSH, ref.PULL).send(data)
        while pull.stats().closed.get(mm.Reason.EOF_MID_MESSAGE, 0) < 2:
            with pytest.raises(mm.TimedOutError):
                pull.recv(timeout=0.01)


def test_zmtp_after_the_hello_of_sp_is_only_octets() -> None:
    """Both at once: the first octet decided, and a greeting is a length over the limit."""
    with served() as pull:
        with RawPeer(pull.endpoint) as peer:
            spoken(peer, ref.PUSH, ref.PULL).send(zmtp.greeting()).until_closed()
        closed_with(pull, mm.Reason.MESSAGE_SIZE)
        with RawPeer(pull.endpoint) as peer:
            peer.shake(b"PUSH").send(ref.hello(ref.PUSH) + b"\xf0" * 100).until_closed()
        closed_with(pull, mm.Reason.FRAME_FLAGS)
        assert pull.stats().disconnects == 2


def test_messages_to_roles_that_take_none_are_counted_and_dropped() -> None:
    """33: a SUB that talks, even in what is a subscription over ZMTP 3.0; a PULL that talks."""
    for role, theirs, ours in ((mm.Pub, ref.SUB, ref.PUB), (mm.Push, ref.PULL, ref.PUSH)):
        with role(bind=UP) as socket, RawPeer(socket.endpoint) as peer:
            spoken(peer, theirs, ours).send(ref.message(b"\x01topic") + ref.message(b"\x00") * 99)
            while socket.stats().dropped_malformed < 100:
                assert len(socket.peers()) <= 1
            assert [p.subscriptions for p in socket.peers()] == ([1] if role is mm.Pub else [0])


def test_a_publisher_with_no_room_for_a_subscription_refuses_peers_of_sp() -> None:
    """Each of them counts as one: for everything."""
    with mm.Pub(bind=UP, subscriptions_max=0) as pub, RawPeer(pub.endpoint) as peer:
        peer.send(ref.hello(ref.SUB)).until_closed()
        closed_with(pub, mm.Reason.SUBSCRIPTIONS)


BAD_REQUESTS = [
    (b"", True),
    (b"\x80\0\0", True),
    (ref.words(1, 2, 3), True),
    (ref.words(*[1] * 9) + b"q", False),
    (ref.words(*[1] * (1 << 18)), False),
]


@pytest.mark.parametrize(("payload", "ends"), BAD_REQUESTS, ids=["0", "3", "12", "hops", "1 MiB"])
def test_a_stack_without_an_end_reaches_nobody(payload: bytes, ends: bool) -> None:
    """34: one that is too long is dropped and counted, one that is cut ends the connection."""
    with mm.Rep(bind=UP) as rep, RawPeer(rep.endpoint) as peer:
        spoken(peer, ref.REQ, ref.REP).send(ref.message(payload))
        if ends:
            peer.until_closed()
            closed_with(rep, mm.Reason.SP_HEADER)
            return
        peer.send(ref.message(ref.stack(7, 1, 2) + b"good"))
        request = rep.recv(timeout=WAIT_S)
        assert request == b"good"
        assert rep.stats().dropped_malformed == 1
        assert mm.EventKind.DROPPED in [event.kind for event in rep.events()]
        assert request.reply(b"a")
        wanted = ref.message(ref.stack(7, 1, 2) + b"a")
        heard = b""
        while len(heard) < len(wanted):
            heard += peer.socket.recv(1000)
        assert heard == wanted


def test_wrong_and_doubled_replies_are_dropped() -> None:
    """33: no top bit, an id nobody gave out, twice."""
    import threading

    with mm.Req(bind=UP) as req, RawPeer(req.endpoint) as peer:
        spoken(peer, ref.REP, ref.REQ)
        answers: list[bytes] = []
        asking = threading.Thread(target=lambda: answers.append(req.request(b"q", timeout=WAIT_S)))
        asking.start()
        heard = b""
        while len(heard) < 13:
            heard += peer.socket.recv(1000)
        number = heard[8:12]
        assert heard == ref.message(number + b"q")
        assert number[0] & 0x80
        hop, other = bytes([number[0] & 0x7F]) + number[1:], number[:3] + bytes([number[3] ^ 1])
        for word in (hop, other, number, number):
            peer.send(ref.message(word + b"yes"))
        asking.join(WAIT_S)
        assert answers == [b"yes"]
        while req.stats().dropped_late < 2:
            assert len(req.peers()) == 1
        assert (req.stats().dropped_late, req.stats().dropped_malformed) == (2, 1)


def test_a_hop_count_that_is_none_ends_a_pair() -> None:
    """34: over 8 is dropped, over 255 is malformed."""
    with mm.Pair(bind=UP) as pair, RawPeer(pair.endpoint) as peer:
        spoken(peer, ref.PAIR1, ref.PAIR1)
        peer.send(ref.message(ref.words(9) + b"no") + ref.message(ref.words(8) + b"yes"))
        assert pair.recv(timeout=WAIT_S) == b"yes"
        peer.send(ref.message(ref.words(256) + b"x")).until_closed()
        closed_with(pair, mm.Reason.SP_HEADER)


def test_a_subscriber_that_does_not_read_costs_a_bounded_queue() -> None:
    """37: over SP too."""
    with mm.Pub(bind=UP, send_queue_bytes=1 << 20) as pub, RawPeer(pub.endpoint) as peer:
        spoken(peer, ref.SUB, ref.PUB)
        pub.wait_for_subscribers("x", timeout=WAIT_S)
        before = live_bytes()
        for _ in range(1000):
            pub.send(b"x" * 50_000)
        assert pub.stats().dropped_overflow > 0
        assert live_bytes() - before < 8 << 20
