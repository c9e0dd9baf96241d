"""Who knows the secret, is let in and then breaks a rule, of TLS or of the wire within: it is
closed under its reason, what came whole is received, and a well-behaved peer never notices.

Not here: who is not let in (test_tls_hostile.py), records by themselves
(tests/c/test_tls_records.c).
"""

from __future__ import annotations

import asyncio
import random
import socket as sockets
import struct
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import meshmsg as mm
import meshmsg.aio
from tests.hostile.test_hostile import AFTER_HANDSHAKE, BEFORE_HANDSHAKE
from tests.hostile.test_hostile_sp import STRANGERS as SP_STRANGERS
from tests.hostile.test_tls_hostile import (
    SEED,
    UP,
    Attacked,
    flat,
    pytestmark,
    secret,
    served,
)
from tests.support import refcodec as ref
from tests.support import refsp
from tests.support import reftls as tls
from tests.support.mm import live_bytes
from tests.support.pairs import WAIT_S, wait_until
from tests.support.tlspeer import SecretPeer

__all__ = ["pytestmark", "secret"]
LARGE = 4 << 20
"""Octets that one attack may take while it lasts."""
NO_LINGER = struct.pack("ii", 1, 0)
FLOOD = 1000
CUTS = 40


def many(kind: int, body: bytes) -> Callable[[SecretPeer], bytes]:
    """Seal that often."""
    return lambda peer: b"".join(peer.client.ours.seal(kind, body) for _ in range(FLOOD))


def one(kind: int, body: bytes, padding: int = 0) -> Callable[[SecretPeer], bytes]:
    """Seal it once."""
    return lambda peer: peer.client.ours.seal(kind, body, padding)


def clear(octets: bytes) -> Callable[[SecretPeer], bytes]:
    """Say these as they are."""
    return lambda _: octets


def twice(peer: SecretPeer) -> bytes:
    """The same record."""
    return peer.client.ours.seal(tls.DATA, ref.message(b"twice")) * 2


def left_out(peer: SecretPeer) -> bytes:
    """The one behind one that is left out."""
    peer.client.ours.seal(tls.DATA, ref.message(b"gone"))
    return peer.client.ours.seal(tls.DATA, ref.message(b"behind"))


def exchanged(peer: SecretPeer) -> bytes:
    """The second, then the first."""
    said = [peer.client.ours.seal(tls.DATA, ref.message(body)) for body in (b"1", b"2")]
    return said[1] + said[0]


def new_keys(peer: SecretPeer) -> bytes:
    """Go on to the next key, again and again, and ask for one of ours each time."""
    said = b""
    for _ in range(FLOOD):
        said += peer.client.ours.seal(tls.HANDSHAKE, tls.message(tls.KEY_UPDATE, b"\x01"))
        peer.client.ours.update()
    return said


RECORDS: dict[str, tuple[Callable[[SecretPeer], bytes], str, str]] = {
    "HTTP": (clear(b"GET / HTTP/1.1\r\n\r\n"), "CRYPTO", "wrong version number"),
    "ZMTP": (clear(ref.message(b"not sealed")), "CRYPTO", "wrong version number"),
    "close_notify, not sealed": (clear(tls.alert(0, 1)), "CRYPTO", "bad record type"),
    "an alert, not sealed": (clear(tls.alert(40)), "CRYPTO", "bad record type"),
    "a change of ciphers": (clear(tls.record(20, b"\x01")), "CRYPTO", "bad record type"),
    "hello again": (lambda p: p.hello(), "CRYPTO", "bad record type"),
    "hello again, sealed": (
        lambda p: p.client.ours.seal(tls.HANDSHAKE, p.hello()[5:]),
        "CRYPTO",
        "unexpected message",
    ),
    "a ticket": (one(tls.HANDSHAKE, tls.message(tls.TICKET, bytes(20))), "CRYPTO", "unexpected"),
    "wants a certificate": (
        one(tls.HANDSHAKE, tls.message(tls.CERTIFICATE_REQUEST, bytes(9))),
        "CRYPTO",
        "unexpected message",
    ),
    "twice": (twice, "CRYPTO", "decryption failed"),
    "left out": (left_out, "CRYPTO", "decryption failed"),
    "exchanged": (exchanged, "CRYPTO", "decryption failed"),
    "of another kind": (one(99, b"x"), "CRYPTO", "bad record type"),
    "of no kind": (one(0, b"", 50), "CRYPTO", "bad record type"),
    "a change of ciphers, sealed": (one(20, b"\x01"), "CRYPTO", "bad record type"),
    "2^14 + 1 octets": (one(tls.DATA, bytes(16385)), "CRYPTO", "data length too long"),
    "2^14 + 257 octets": (clear(b"\x17\x03\x03\x41\x01" + bytes(16641)), "CRYPTO", "too long"),
    "2^16 - 1 octets": (clear(b"\x17\x03\x03\xff\xff"), "CRYPTO", "packet length too long"),
    "empty ones": (many(tls.DATA, b""), "CRYPTO", "record"),
    "new keys": (new_keys, "CRYPTO", "more records without data than are taken"),
    "new keys, wrong": (
        one(tls.HANDSHAKE, tls.message(tls.KEY_UPDATE, b"\x02")),
        "CRYPTO",
        "bad key update",
    ),
    "warnings": (many(tls.ALERT, b"\x01\x5a"), "CRYPTO", "too many warn alerts"),
    "an alert": (one(tls.ALERT, b"\x02\x16"), "TLS_ALERT", "'record overflow'"),
    "an unknown alert that warns": (one(tls.ALERT, b"\x01\xc8"), "TLS_ALERT", "'alert 200'"),
}


def recv_all(pull: mm.Pull, count: int) -> list[bytes]:
    """Receive so many, but what the good one sends."""
    got: list[bytes] = []
    while len(got) < count:
        got += [body for body in pull.recv_many(count, timeout=WAIT_S) if body != b"legit"]
    return got


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_is_wrong_ends_it_and_what_came_before_is_received(
    name: str, secret: Path
) -> None:
    """All in one segment, so most likely in one read."""
    build, reason, words = RECORDS[name]
    with served(secret) as attacked, flat():
        with attacked.peer() as peer:
            peer.zmtp().say(ref.message(b"first"))
            assert recv_all(attacked.pull, 1) == [b"first"]
            right = [b"%d" % number for number in range(10)]
            said = b"".join(peer.client.ours.seal(tls.DATA, ref.message(body)) for body in right)
            peer.send(said + build(peer)).until_closed()
        came = recv_all(attacked.pull, 11 if name == "twice" else 10)
        assert came == right + ([b"twice"] if name == "twice" else [])
        attacked.ended(**{reason: 1})
        assert words in attacked.why()


@pytest.mark.parametrize(("data", "reason"), AFTER_HANDSHAKE)
def test_zmtp_that_is_wrong_inside_ends_as_it_does_without_tls(
    data: bytes, reason: str, secret: Path
) -> None:
    """Frames and commands, sizes up to 2^64: the same reasons."""
    with served(secret) as attacked, flat(LARGE):
        with attacked.peer() as peer:
            peer.zmtp().say(ref.message(b"first"))
            for at in range(0, len(data), 1 << 14):
                peer.say(data[at : at + (1 << 14)])
            peer.until_closed()
        assert recv_all(attacked.pull, 1) == [b"first"]
        attacked.ended(**{reason: 1})


INSIDE = {
    **{reason + str(n): (data, reason) for n, (data, reason) in enumerate(BEFORE_HANDSHAKE)},
    **{reason + "SP": (data, reason) for data, reason, _ in SP_STRANGERS},
}


@pytest.mark.parametrize("name", INSIDE)
def test_no_handshake_of_a_wire_inside_ends_as_it_does_without_tls(name: str, secret: Path) -> None:
    """But TLS within TLS is just none of the two."""
    data, reason = INSIDE[name]
    with served(secret) as attacked, flat(LARGE):
        with attacked.peer() as peer:
            peer.inside()
            for at in range(0, len(data), 1 << 14):
                peer.say(data[at : at + (1 << 14)])
            peer.until_closed()
        attacked.ended(**{"NOT_ZMTP" if reason == "PLAINTEXT" else reason: 1})


@pytest.mark.parametrize("size", [2**64 - 1, 2**63, 2**32, (64 << 20) + 1])
def test_sp_that_is_wrong_inside_ends_as_it_does_without_tls(size: int, secret: Path) -> None:
    """The other wire, with sizes that it claims."""
    with served(secret) as attacked, flat():
        with attacked.peer() as peer:
            peer.inside().say(refsp.hello(refsp.PUSH) + refsp.message(b"first"))
            assert recv_all(attacked.pull, 1) == [b"first"]
            peer.say(struct.pack(">Q", size)).until_closed()
        attacked.ended(MESSAGE_SIZE=1)


def test_who_says_that_it_ends_before_it_was_a_peer_is_closed_at_once(secret: Path) -> None:
    """It is not waited for until the time of a handshake is up, though TCP stays open."""
    greeting = ref.greeting()
    with served(secret, handshake_timeout=WAIT_S) as attacked:
        for count, said in enumerate((b"", greeting[:1], greeting, greeting + b"\x04"), 1):
            with attacked.peer() as peer:
                peer.inside()
                if said:
                    peer.say(said)
                peer.say(b"\x01\x00", tls.ALERT).until_closed()
            attacked.ended(HANDSHAKE_EOF=count)


def test_who_never_greets_inside_ends_by_the_time_of_a_handshake(secret: Path) -> None:
    """Or does so by half."""
    with served(secret, handshake_timeout=0.3) as attacked, flat(), ExitStack() as peers:
        for said in (b"", ref.greeting()[:11], ref.greeting(), ref.greeting() + b"\x04"):
            peer = peers.enter_context(attacked.peer().inside())
            if said:
                peer.say(said)
        attacked.ended(HANDSHAKE_TIMEOUT=4)
        assert "the handshake took too long" in attacked.why()


@pytest.mark.parametrize("reset", [False, True], ids=["FIN", "RST"])
def test_a_cut_takes_no_more_than_the_record_it_cuts(reset: bool, secret: Path) -> None:
    """What was whole in a record is received, what was begun in one never, wherever it is cut."""
    any_of = random.Random(SEED)
    with served(secret) as attacked, flat():
        for _ in range(CUTS):
            with attacked.peer() as peer:
                peer.zmtp()
                whole = [b"%d" % number for number in range(any_of.randrange(5))]
                said = [peer.client.ours.seal(tls.DATA, ref.message(body)) for body in whole]
                begun = peer.client.ours.seal(tls.DATA, ref.message(b"never") * 3)
                cut = any_of.randrange(1, len(begun))
                peer.send(b"".join(said) + begun[:cut])
                assert recv_all(attacked.pull, len(whole)) == whole
                if reset:
                    linger = sockets.SO_LINGER
                    peer.socket.setsockopt(sockets.SOL_SOCKET, linger, NO_LINGER)
                else:
                    peer.socket.shutdown(sockets.SHUT_WR)
                    peer.until_closed()
        attacked.ended(**{"RESET" if reset else "EOF_MID_MESSAGE": CUTS})
        with pytest.raises(mm.WouldBlockError):
            attacked.pull.recv(timeout=0)


@pytest.mark.parametrize("end", ["FIN", "close_notify"])
def test_a_message_that_is_cut_between_two_records_is_never_received(
    end: str, secret: Path
) -> None:
    """Its first half was in a record that is right."""
    half = ref.frame(b"half", ref.MORE) + b"\x02" + struct.pack(">Q", 1 << 20) + bytes(9)
    with served(secret) as attacked, flat():
        with attacked.peer() as peer:
            peer.zmtp().say(ref.message(b"whole") + half)
            if end == "close_notify":
                peer.say(b"\x01\x00", tls.ALERT)
            peer.socket.shutdown(sockets.SHUT_WR)
            peer.until_closed()
        assert recv_all(attacked.pull, 1) == [b"whole"]
        attacked.ended(EOF_MID_MESSAGE=1)
        with pytest.raises(mm.WouldBlockError):
            attacked.pull.recv(timeout=0)


@pytest.mark.parametrize("said", [b"\x01\x00", None], ids=["said", "cut"])
def test_an_end_that_nobody_said_is_told_from_one_that_was(
    said: bytes | None, secret: Path
) -> None:
    """Between two messages: somebody on the way may have cut it."""
    with served(secret) as attacked:
        with attacked.peer() as peer:
            peer.zmtp().say(ref.message(b"whole"))
            if said is not None:
                peer.say(said, tls.ALERT)
            peer.socket.shutdown(sockets.SHUT_WR)
            peer.until_closed()
        attacked.ended(EOF=1)
        words = "without a word of TLS that it ends: the peer crashed, or somebody cut it"
        assert (words in attacked.why()) == (said is None)


def test_what_comes_behind_the_end_is_nothing(secret: Path) -> None:
    """Messages and rubbish behind close_notify, in one segment with it."""
    with served(secret) as attacked, flat():
        with attacked.peer() as peer:
            keys = peer.zmtp().client.ours
            said = keys.seal(tls.DATA, ref.message(b"whole")) + keys.seal(tls.ALERT, b"\x01\x00")
            late = keys.seal(tls.DATA, ref.message(b"late"))
            peer.send(said + late + b"rubbish").until_closed()
        assert recv_all(attacked.pull, 1) == [b"whole"]
        attacked.ended(EOF=1)


def test_one_that_never_reads_costs_a_bounded_queue(secret: Path) -> None:
    """Records that nobody takes are no more than its queue; the others get everything."""
    policy = mm.Secret(secret)
    with (
        mm.Pub(bind=UP, security=policy, send_queue_bytes=1 << 20) as pub,
        mm.Sub(connect=pub.endpoint, topics="", security=policy) as sub,
    ):
        pub.wait_for_subscribers("x", timeout=WAIT_S)
        secret_octets = Attacked.octets(secret)
        with SecretPeer(pub.endpoint, secret_octets).zmtp(b"SUB") as peer:
            peer.say(ref.subscription(True, b""))
            pub.wait_for_subscribers("x", 2, timeout=WAIT_S)
            before = live_bytes()
            for _ in range(400):
                pub.send(b"x" * 50_000)
                assert len(sub.recv(timeout=WAIT_S)) == 50_000
            dropped = sorted(one.dropped_messages for one in pub.peers())
            assert dropped[0] == 0
            assert dropped[1] > 0
            assert live_bytes() - before < 8 << 20
            for _ in range(20):  # pings it does answer, so it need not be ended for silence
                peer.say(ref.ping(0, b"c" * 16) * 500)
            assert live_bytes() - before < 8 << 20
        wait_until(lambda: len(pub.peers()) == 1)
        assert sub.stats().disconnects == 0


def test_asyncio_ends_them_likewise(secret: Path) -> None:
    """A record that is wrong, and a cut, at a Rep whose good Req goes on."""

    async def run() -> None:
        policy = mm.Secret(secret)
        async with (
            meshmsg.aio.Rep(bind=UP, security=policy) as rep,
            meshmsg.aio.Req(connect=rep.endpoint, security=policy) as req,
        ):

            async def served_one() -> None:
                asked = asyncio.ensure_future(req.request(b"ping", timeout=WAIT_S))
                (await rep.recv(timeout=WAIT_S)).reply(b"pong")
                assert await asked == b"pong"

            await served_one()
            octets = Attacked.octets(secret)
            for build, reason in ((twice, "CRYPTO"), (clear(b"\x17\x03"), "EOF_MID_MESSAGE")):

                def attack(build: Callable[[SecretPeer], bytes] = build) -> None:
                    with SecretPeer(rep.endpoint, octets) as peer:
                        peer.zmtp(b"REQ").send(build(peer)).socket.shutdown(sockets.SHUT_WR)
                        peer.until_closed()

                await asyncio.to_thread(attack)
                await served_one()
                assert rep.stats().closed[mm.Reason[reason]] == 1
            assert req.stats().disconnects == 0

    asyncio.run(run())
