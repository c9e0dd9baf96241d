"""What is told of a connection that ended or never was: whose it was, and what is known of why.

Not here: the wording of calls that time out (test_causes).
"""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import meshmsg as mm
from tests.hostile.test_hostile_acks import ack, pull_of
from tests.support import refcodec as ref
from tests.support.featured import saying
from tests.support.pairs import WAIT_S, joined, of_its_own, wait_until
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
NO_LINGER = struct.pack("ii", 1, 0)


def first(sock: mm.Pull | mm.Push | mm.Pair | mm.Router | mm.Pub, kind: mm.EventKind) -> mm.Event:
    """Wait for the first event of a kind."""
    found: list[mm.Event] = []

    def came() -> bool:
        found.extend(event for event in sock.events() if event.kind is kind)
        return bool(found)

    wait_until(came)
    return found[0]


def address_of(one: socket.socket) -> str:
    """The address of this end, as events tell it."""
    host, port = one.getsockname()[:2]
    return f"tcp://{host}:{port}"


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A listener that does this with its first connection; its endpoint."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def run() -> None:
            one, _ = server.accept()
            with one:
                one.settimeout(WAIT_S)
                serve(one)

        thread = threading.Thread(target=run)
        thread.start()
        yield address_of(server)
        thread.join(WAIT_S)


def test_a_peer_that_comes_and_goes_is_told_with_its_address() -> None:
    """Each side says where the other one is, and who it is."""
    with joined(mm.Push, mm.Pull) as (push, pull):
        seen_here, seen_there = push.peers()[0].address, pull.peers()[0].address
        up = first(push, mm.EventKind.PEER_UP)
        assert (up.address, up.detail, up.endpoint) == (seen_here, "PULL", push.endpoint)
        up = first(pull, mm.EventKind.PEER_UP)
        assert (up.address, up.detail) == (seen_there, "PUSH")
        pull.close()
        down = first(push, mm.EventKind.PEER_DOWN)
        assert (down.address, down.retry_in) == (seen_here, None)


def test_a_refused_connect_is_told_with_its_address_and_the_next_attempt() -> None:
    """Nobody listens: where it was tried, and when it is tried again."""
    gone = of_its_own().replace(":0", ":9")
    with mm.Push(connect=gone, reconnect_min=0.5, reconnect_max=0.5) as push:
        failed = first(push, mm.EventKind.CONNECT_FAILED)
        assert (failed.address, failed.endpoint, failed.reason) == (gone, gone, mm.Reason.REFUSED)
        assert failed.retry_in is not None
        assert 0 <= failed.retry_in <= 0.5


def test_a_long_path_of_ipc_is_told_whole(short_path: Path) -> None:
    """An address is not cut where a path may be longer."""
    url = f"ipc://{short_path}/{'p' * (100 - len(str(short_path)))}"
    with joined(mm.Push, mm.Pull, url) as (push, pull):
        assert pull.peers()[0].address == push.endpoint
        assert first(pull, mm.EventKind.PEER_UP).address == push.endpoint


def test_a_stranger_at_a_listener_is_told_with_its_address() -> None:
    """Whoever it is that knocks: its address is in the event."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.address == address_of(peer.socket)
        assert failed.detail == "not ZeroMQ or NNG: it said 'GET /metrics HTTP/1.1'"


@pytest.mark.parametrize("scheme", ["tcp", "sp+tcp"])
def test_a_server_of_something_else_is_quoted(scheme: str) -> None:
    """SSH says who it is: that is more use than the number of its first octet."""
    banner = b"SSH-2.0-OpenSSH_9.2p1\r\n"
    with listening(lambda one: one.sendall(banner)) as url:
        with mm.Push(connect=f"{scheme}{url.removeprefix('tcp')}") as push:
            failed = first(push, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.detail == "not ZeroMQ or NNG: it said 'SSH-2.0-OpenSSH_9.2p1'"
        assert failed.address == url


def test_what_a_stranger_said_is_cut_and_made_printable() -> None:
    """It goes into logs: no control characters, no escape, and not all of it."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(b"A\x1b[31m\x00\xff" + b"x" * 500)
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.detail == f"not ZeroMQ or NNG: it said 'A?[31m??{'x' * 52}'"


def test_a_stranger_of_tls_is_told_as_such() -> None:
    """Its first octets are not printable, but well known."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(b"\x16\x03\x01\x02\x00")
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.reason == mm.Reason.PLAINTEXT
        assert failed.detail == "its first octets are of TLS: is tls+ left out here?"
    for scheme in ("tcp", "sp+tcp"):  # a server of TLS that heard us says so by an alert
        with listening(lambda one: one.sendall(b"\x15\x03\x03\x00\x02\x02\x46")) as url:
            with mm.Push(connect=f"{scheme}{url.removeprefix('tcp')}") as push:
                failed = first(push, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.detail == "its first octets are of TLS: is tls+ left out here?"
        assert failed.reason is mm.Reason.PLAINTEXT


def test_a_peer_of_zmtp_1_is_told_as_such() -> None:
    """ZeroMQ 2 begins with the size of its identity, mostly of none; whoever of us connected."""
    words = "its first octet is 01, as of ZMTP 1.0 (ZeroMQ 2); we speak 3.0 and later"
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(b"\x01\x00")
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert (failed.reason, failed.detail) == (mm.Reason.OLD_ZMTP, words)
    for scheme, reason in (("tcp", mm.Reason.OLD_ZMTP), ("sp+tcp", mm.Reason.NOT_SP)):
        with listening(lambda one: one.sendall(b"\x01\x00")) as url:
            with mm.Push(connect=f"{scheme}{url.removeprefix('tcp')}") as push:
                failed = first(push, mm.EventKind.HANDSHAKE_FAILED)
        assert (failed.reason, failed.detail) == (reason, words)


GUESSES = {
    "nothing": (b"", "before it said anything: a port scan, a health check"),
    "one octet of a hello of SP": (b"\x00", "after 1 octet: it may not want this role"),
    "a signature": (ref.greeting()[:10], "after 10 octets: it may want PLAIN or CURVE"),
    "half a greeting": (ref.greeting()[:63], "after 63 octets: it may want PLAIN or CURVE"),
    "a greeting": (ref.greeting(), "after 64 octets: it may not want this role"),
    "half a hello of SP": (b"\x00SP", "after 3 octets: it may not want this role"),
}
ENDS = [
    (said, reset) for said in GUESSES for reset in (False, True) if not (reset and "SP" in said)
]


@pytest.mark.parametrize(("said", "reset"), ENDS)
def test_a_handshake_that_the_peer_ends_tells_how_far_it_came(said: str, reset: bool) -> None:
    """It is no end in the middle of a message: there was none."""
    words, text = GUESSES[said]
    with mm.Pull(bind=UP) as pull:
        with RawPeer(pull.endpoint) as peer:
            peer.send(words)
            if words[:1] == b"\xff":
                peer._need(10)
            elif not words:
                wait_until(lambda: pull.stats().half_open)
            if reset:
                peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            address = address_of(peer.socket)
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        how = (
            "connection reset in the handshake" if reset else "closed by the peer in the handshake"
        )
        assert failed.detail.startswith(f"{how} {text}")
        assert failed.address == address
        assert failed.reason is (mm.Reason.RESET if reset else mm.Reason.HANDSHAKE_EOF)


def test_who_connects_is_told_what_an_end_without_a_word_suggests() -> None:
    """Over ZMTP and over SP, which a listener of libzmq takes for a peer of ZMTP 1."""
    for scheme, text in (
        (
            "tcp",
            "said anything: no ZeroMQ peer, or it wants PLAIN, CURVE or TLS, or takes no more",
        ),
        (
            "sp+tcp",
            "said anything: it may speak ZMTP (tcp://) or TLS (sp+tls+tcp://), or be no NNG",
        ),
    ):
        with listening(lambda one: bool(one.recv(8))) as url:  # type: ignore[arg-type, return-value]
            with mm.Push(connect=f"{scheme}{url.removeprefix('tcp')}") as push:
                assert text in first(push, mm.EventKind.HANDSHAKE_FAILED).detail


def test_a_handshake_that_takes_too_long_tells_how_far_it_came() -> None:
    """A peer of ZMTP 2 says its signature, and waits for an answer it can use."""
    with mm.Pull(bind=UP, handshake_timeout=0.2) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(ref.greeting()[:10])
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.reason is mm.Reason.HANDSHAKE_TIMEOUT
        assert failed.detail == (
            "the handshake took too long, after 10 octets: "
            "it may want PLAIN or CURVE (ours is NULL), or speak ZMTP 2"
        )
        assert failed.address == address_of(peer.socket)


def test_a_connection_too_many_is_told_on_both_sides() -> None:
    """The listener says whose it was, and whoever came is told why it may not stay."""
    with mm.Pull(bind=UP, connections_max=1) as pull, mm.Push(connect=pull.endpoint) as push:
        push.wait_for_peers(timeout=WAIT_S)
        with mm.Push(connect=pull.endpoint, reconnect_min=60, reconnect_max=60) as late:
            failed = first(late, mm.EventKind.HANDSHAKE_FAILED)
            assert failed.detail == "the peer refused: too many connections"
            assert failed.reason is mm.Reason.ERROR_COMMAND
            told = first(pull, mm.EventKind.HANDSHAKE_FAILED)
            assert told.detail == "too many connections: connections_max is 1"
            assert told.reason is mm.Reason.CONNECTIONS
            assert told.address.startswith("tcp://127.0.0.1:")
            assert told.address != pull.peers()[0].address
            assert pull.stats().closed == {mm.Reason.CONNECTIONS: 1}
            wait_until(lambda: pull.stats().half_open == 0)
        push.send(b"still there")
        assert pull.recv(timeout=WAIT_S) == b"still there"


def test_connections_too_many_do_not_push_out_a_handshake() -> None:
    """They are told of at once, held for a moment, and in nobody's way."""
    with (
        mm.Pull(bind=UP, connections_max=1, half_open_max=1) as pull,
        RawPeer(pull.endpoint) as slow,
    ):
        slow.send(ref.greeting()[:20])
        slow._need(10)
        late = [RawPeer(pull.endpoint) for _ in range(70)]
        wait_until(lambda: pull.stats().closed.get(mm.Reason.CONNECTIONS) == 70)
        for one in late:
            one.socket.close()
        slow.send(ref.greeting()[20:] + ref.ready(b"PUSH") + ref.message(b"first come"))
        assert pull.recv(timeout=WAIT_S) == b"first come"
        assert pull.stats().closed == {mm.Reason.CONNECTIONS: 70}


def test_an_evicted_handshake_is_told_with_its_address() -> None:
    """Which of them it was."""
    with (
        mm.Pull(bind=UP, half_open_max=1) as pull,
        RawPeer(pull.endpoint) as silent,
        RawPeer(pull.endpoint),
    ):
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.reason is mm.Reason.EVICTED
        assert failed.address == address_of(silent.socket)


def test_a_message_too_large_for_the_receiver_is_told_to_its_sender() -> None:
    """Not that the peer closed, but what it did not take, and its limit: which an older one did not
    say before."""
    with (
        saying("1 refuse stop ack meta") as old,
        mm.Pull(bind=UP, engine=old, message_size_max=1000) as pull,
        mm.Push(connect=pull.endpoint) as push,
    ):
        push.wait_for_peers(timeout=WAIT_S)
        push.send(bytes(2_000_000))
        down = first(push, mm.EventKind.PEER_DOWN)
        text = "a message of 2000000 bytes, message_size_max is 1000"
        assert down.detail == f"the peer refused: {text}"
        assert down.reason is mm.Reason.ERROR_COMMAND
        told = first(pull, mm.EventKind.PEER_DOWN)
        assert (told.detail, told.reason) == (text, mm.Reason.MESSAGE_SIZE)
        push.wait_for_peers(timeout=WAIT_S)
        push.send(b"small")
        assert pull.recv(timeout=WAIT_S) == b"small"


def test_too_many_subscriptions_are_told_to_the_subscriber() -> None:
    """As any rule that an active peer broke."""
    with mm.Pub(bind=UP, subscriptions_max=2) as pub:
        with mm.Sub(connect=pub.endpoint, topics=["a", "b", "c"]) as sub:
            assert (
                "the peer refused: over 2 subscriptions"
                in first(
                    sub,
                    mm.EventKind.PEER_DOWN,  # type: ignore[arg-type]
                ).detail
            )


def test_a_peer_of_another_kind_that_breaks_a_rule_is_told_nothing() -> None:
    """Who did not say that it is one of ours may not know an ERROR at this point."""
    with mm.Pull(bind=UP, message_size_max=10) as pull, RawPeer(pull.endpoint) as peer:
        peer.shake(b"PUSH").send(ref.message(bytes(11)))
        assert first(pull, mm.EventKind.PEER_DOWN).reason is mm.Reason.MESSAGE_SIZE
        assert b"ERROR" not in peer.until_closed()


def test_an_error_of_a_peer_is_made_printable() -> None:
    """It goes into logs."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.shake(b"PUSH").send(ref.error(b"no\nWARNING root logged in"))
        down = first(pull, mm.EventKind.PEER_DOWN)
        assert down.detail == "the peer refused: no?WARNING root logged in"


REFUSALS_OF_ZAP = {
    b"300": "300 (its authenticator, ZAP, refused us: a temporary error)",
    b"400": "400 (its authenticator, ZAP, refused us: authentication failed)",
    b"500": "500 (its authenticator, ZAP, refused us: an internal error)",
    b"404": "404",
    b"4000": "4000",
}


@pytest.mark.parametrize("status", REFUSALS_OF_ZAP)
def test_a_refusal_of_an_authenticator_is_put_into_words(status: bytes) -> None:
    """libzmq sends the status code of its handler alone: RFC 27 says what it means."""
    with mm.Pull(bind=UP) as pull, RawPeer(pull.endpoint) as peer:
        peer.send(ref.greeting() + ref.error(status))
        failed = first(pull, mm.EventKind.HANDSHAKE_FAILED)
        assert failed.detail == f"the peer refused: {REFUSALS_OF_ZAP[status]}"
        assert failed.reason is mm.Reason.ERROR_COMMAND


MEGABYTES = 8 << 20
LEFT = r"(; \d+ sent may be lost)?([;,] \d+ not sent go to others)?"
"""Of a Push that sends at most once: as many as happen to be where."""
RESETS: dict[str, tuple[dict[str, bytes], bytes, int, str]] = {
    "of a large message": (
        {},
        b"",
        MEGABYTES,
        r" after \d+ of 8388617 octets of a message: it may limit the size of messages" + LEFT,
    ),
    "of one that sends PINGs": (
        {},
        ref.ping(0),
        MEGABYTES,
        r" after \d+ of 8388617 octets of a message: "
        r"its MAXMSGSIZE or HEARTBEAT_TIMEOUT may be why" + LEFT,
    ),
    "of many small messages": ({}, b"", 1000, LEFT),
    "of many to one that sends PINGs": (
        {},
        ref.ping(0),
        1000,
        "; it sends PINGs of its own: if it reads slowly, its HEARTBEAT_TIMEOUT may be why" + LEFT,
    ),
    "of a peer of ours": (
        {"X-Meshmsg": b"1"},
        ref.ping(0),
        MEGABYTES,
        r" after \d+ of 8388617 octets of a message" + LEFT,
    ),
}


@pytest.mark.parametrize("what", RESETS)
def test_a_reset_tells_what_it_cut_and_what_may_be_why(what: str) -> None:
    """A reader of libzmq gives no reason, be it a limit of its own or its heartbeat."""
    properties, said, size, words = RESETS[what]
    with mm.Push(bind=UP) as push, RawPeer(push.endpoint) as peer:
        peer.shake(b"PULL", *((name.encode(), value) for name, value in properties.items()))
        peer.send(said)
        push.wait_for_peers(timeout=WAIT_S)
        while said and b"PONG" not in peer.frame()[1]:
            pass  # it was read
        while True:  # until it takes no more
            try:
                push.send(bytes(size), timeout=0.05)
            except mm.TimedOutError:
                break
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        peer.socket.close()
        down = first(push, mm.EventKind.PEER_DOWN)
        assert down.reason is mm.Reason.RESET
        assert re.fullmatch(f"connection reset{words}", down.detail)


def reset(peer: RawPeer) -> None:
    """End its connection by a reset."""
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    peer.socket.close()


def test_a_reset_tells_how_many_were_not_acknowledged_and_that_others_get_them() -> None:
    """Also those that had not been sent."""
    with mm.Push(bind=UP, delivery="at_least_once") as push, pull_of(push) as peer:
        peer.send(ack(0, 2))
        push.send_many([b"%d" % i for i in range(5)], timeout=WAIT_S)
        assert [peer.frame()[1] for _ in range(2)] == [b"0", b"1"]
        reset(peer)
        down = first(push, mm.EventKind.PEER_DOWN)
        assert down.detail == "connection reset; 2 not acknowledged go to others"
        assert push.stats().queued_out_messages == 5


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pub"])
def test_a_reset_tells_how_many_may_be_lost(role: str) -> None:
    """And nobody sends them again."""
    wire = {"Push": b"PULL", "Dealer": b"ROUTER", "Pub": b"SUB"}[role]
    with getattr(mm, role)(bind=UP) as ours, RawPeer(ours.endpoint).shake(wire) as peer:
        if role == "Pub":
            peer.send(ref.subscription(True, b""))
            ours.wait_for_subscribers(timeout=WAIT_S)
        ours.wait_for_peers(timeout=WAIT_S)
        for _ in range(3):
            ours.send(b"x")
            assert peer.frame() == (0, b"x")
        reset(peer)
        assert first(ours, mm.EventKind.PEER_DOWN).detail == "connection reset; 3 sent may be lost"
        assert ours.stats().in_doubt_messages == 3


def test_an_identity_that_was_taken_over_is_told() -> None:
    """And not that something was malformed or taken."""
    with mm.Router(bind=UP, handover=True) as router:
        with mm.Dealer(connect=router.endpoint, identity=b"x", reconnect_min=60, reconnect_max=60):
            router.wait_for_peers(timeout=WAIT_S)
            with mm.Dealer(connect=router.endpoint, identity=b"x"):
                assert first(router, mm.EventKind.PEER_DOWN).detail == (
                    "its identity was taken over"
                )
