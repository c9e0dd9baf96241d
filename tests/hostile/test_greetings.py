"""Handshakes at their edges: what is still accepted, what is not, and that the sides never mix.

Items 3, 12, 17, 18 and 20 of the hostile list, beyond what test_hostile.py has.
"""

from __future__ import annotations

import struct

import pytest

import meshmsg as mm
from tests.hostile.test_hostile import check, closed_with, served
from tests.support import refcodec as ref
from tests.support.pairs import WAIT_S
from tests.support.rawpeer import RawPeer

UP = "tcp://127.0.0.1:0"
HANDSHAKE_SIZE_MAX = 16 * 1024
LOOKS = 1000
"""How often a test looks for what it waits for before it says that it did not come."""
WIRE_NAMES = (
    "PUSH",
    "PULL",
    "PUB",
    "SUB",
    "XPUB",
    "XSUB",
    "REQ",
    "REP",
    "DEALER",
    "ROUTER",
    "PAIR",
)
LEGAL = {
    "Push": {"PULL"},
    "Pull": {"PUSH"},
    "Pub": {"SUB", "XSUB"},
    "XPub": {"SUB", "XSUB"},
    "Sub": {"PUB", "XPUB"},
    "XSub": {"PUB", "XPUB"},
    "Req": {"REP", "ROUTER"},
    "Rep": {"REQ", "DEALER"},
    "Dealer": {"REP", "DEALER", "ROUTER"},
    "Router": {"REQ", "DEALER", "ROUTER"},
    "Pair": {"PAIR"},
}


def refused(pull: mm.Pull, push: mm.Push, reason: mm.Reason) -> None:
    """It was closed for that reason, and nobody else noticed."""
    for _ in range(LOOKS):
        if pull.stats().closed:
            break
        check(pull, push)
    closed_with(pull, reason)


def is_let_in(words: bytes) -> None:
    """A stranger that says this is a peer, and its message arrives."""
    with served() as (pull, _), RawPeer(pull.endpoint) as peer:
        peer.send(words + ref.message(b"let in"))
        assert pull.recv(timeout=WAIT_S) == b"let in"


@pytest.mark.parametrize("role", LEGAL)
def test_every_pair_of_roles_is_let_in_or_refused_as_zmtp_says(role: str) -> None:
    """18: all 121 pairs of a role of ours and one on the wire; the refused are told why."""
    with getattr(mm, role)(bind=UP) as ours:
        for name in WIRE_NAMES:
            with RawPeer(ours.endpoint) as peer:
                peer.send(ref.greeting() + ref.ready(name.encode()))
                if name in LEGAL[role]:
                    ours.wait_for_peers(timeout=WAIT_S)
                    assert ours.peers()[0].role == name
                    peer.socket.close()
                    while ours.peers():
                        ours.wait_for_peers(0, timeout=WAIT_S)
                else:
                    said = peer.until_closed()
                    assert b"\x05ERROR" in said
                    assert role.upper().encode() in said
        assert ours.stats().closed[mm.Reason.SOCKET_TYPE] == len(WIRE_NAMES) - len(LEGAL[role])


@pytest.mark.parametrize("minor", [0, 1, 2, 9, 255])
def test_any_minor_version_of_zmtp_3_is_spoken_to(minor: int) -> None:
    """20: what is newer than we know is spoken to as 3.1."""
    is_let_in(ref.greeting(minor=minor) + ref.ready(b"PUSH"))


@pytest.mark.parametrize("major", [4, 9, 255])
def test_a_later_major_version_is_spoken_to_as_ours(major: int) -> None:
    """20: the RFC has a peer of a higher version step down to ours, not be turned away."""
    is_let_in(ref.greeting(major=major) + ref.ready(b"PUSH"))


@pytest.mark.parametrize("major", [0, 1, 2])
def test_an_older_major_version_is_refused(major: int) -> None:
    """20: no downgrade to a protocol without mechanisms."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(ref.greeting(major=major) + ref.ready(b"PUSH")).until_closed()
        refused(pull, push, mm.Reason.OLD_ZMTP)


@pytest.mark.parametrize(
    "mechanism",
    [
        b"",
        b"PLAIN",
        b"CURVE",
        b"GSSAPI",
        b"null",
        b"NULL2",
        b"NUL",
        b"N" * 20,
        b"NULL\0x",
        b"\0NULL",
    ],
)
def test_only_the_null_mechanism_is_spoken(mechanism: bytes) -> None:
    """20: its name padded with NULs, exactly."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(ref.greeting(mechanism=mechanism) + ref.ready(b"PUSH")).until_closed()
        refused(pull, push, mm.Reason.MECHANISM)


@pytest.mark.parametrize(
    ("byte", "mask", "reason"),
    [(0, 0x80, "NOT_ZMTP"), (0, 0x01, "NOT_ZMTP"), (9, 0x01, "OLD_ZMTP")],
)
def test_one_wrong_bit_of_the_signature_is_enough(byte: int, mask: int, reason: str) -> None:
    """19: FF at its beginning; an even octet at its end is the flags of ZMTP 1.0."""
    greeting = bytearray(ref.greeting())
    greeting[byte] ^= mask
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(bytes(greeting) + ref.ready(b"PUSH")).until_closed()
        refused(pull, push, mm.Reason[reason])


def test_the_filler_of_a_greeting_means_nothing() -> None:
    """20: padding of the signature, as-server of NULL, filler: any octets do."""
    greeting = bytearray(ref.greeting(server=1))
    greeting[1:9] = b"\xaa" * 8
    greeting[33:64] = b"\x55" * 31
    is_let_in(bytes(greeting) + ref.ready(b"PUSH"))


METADATA = {
    "a name of no octets": (ref.metadata([(b"", b"x")]), "METADATA"),
    "a name over its end": (b"\xffName", "METADATA"),
    "a value over its end": (b"\x01N" + struct.pack(">I", 5) + b"four", "METADATA"),
    "a value of 2^31 - 1": (b"\x01N" + struct.pack(">I", 2**31 - 1), "METADATA"),
    "a value of 2^32 - 1": (b"\x01N" + struct.pack(">I", 2**32 - 1), "METADATA"),
    "a cut in the length": (b"\x01N\x00\x00", "METADATA"),
    "a property twice": (ref.metadata([(b"Identity", b"a"), (b"Identity", b"b")]), "METADATA"),
    "case is no difference": (ref.metadata([(b"identity", b"a"), (b"IDENTITY", b"b")]), "METADATA"),
    "a 65th property": (ref.metadata([(b"X-%d" % i, b"") for i in range(64)]), "METADATA"),
    "an identity of 256": (ref.metadata([(b"Identity", b"i" * 256)]), "IDENTITY"),
    "an identity from zero": (ref.metadata([(b"Identity", b"\0")]), "IDENTITY"),
}


@pytest.mark.parametrize("what", METADATA)
def test_metadata_that_is_none_is_refused(what: str) -> None:
    """17: lengths, duplicates, identities."""
    data, reason = METADATA[what]
    words = ref.metadata([(b"Socket-Type", b"PUSH")]) + data
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(ref.greeting() + ref.command(b"READY", words)).until_closed()
        refused(pull, push, mm.Reason[reason])


@pytest.mark.parametrize(
    "properties",
    [
        [(b"X-Unheard-Of", b"anything")],
        [(b"X" * 255, b"")],
        [(b"Identity", b"")],
        [(b"Identity", b"\xff\xfe no utf-8 \x01")],
        [(b"Identity", b"i" * 255)],
        [(b"Resource", b"\xc3\x28" * 100)],
        [(b"X-%d" % number, b"v" * 200) for number in range(63)],
    ],
)
def test_metadata_nobody_heard_of_does_no_harm(properties: list[tuple[bytes, bytes]]) -> None:
    """17: unknown names, no UTF-8, up to 64 of them in 16 KiB."""
    is_let_in(ref.greeting() + ref.ready(b"PUSH", *properties))


def test_the_handshake_s_size_limit_holds_at_its_edge() -> None:
    """17: a greeting and a READY of 16 KiB together are fine, one octet more is not."""
    head = len(ref.ready(b"PUSH", (b"X", b"")))
    long_form = 7  # a frame over 255 octets has a length of eight
    filler = HANDSHAKE_SIZE_MAX - 64 - head - long_form
    for more, fine in ((0, True), (1, False)):
        words = ref.greeting() + ref.ready(b"PUSH", (b"X", bytes(filler + more)))
        assert (len(words) <= HANDSHAKE_SIZE_MAX) == fine
        if fine:
            is_let_in(words)
            continue
        with served() as (pull, push):
            with RawPeer(pull.endpoint) as peer:
                peer.send(words).until_closed()
            refused(pull, push, mm.Reason.METADATA)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (ref.error(b"go away"), "ERROR_COMMAND"),
        (ref.error(b""), "ERROR_COMMAND"),
        (ref.command(b"ERROR", b"\x09short"), "HANDSHAKE"),
        (ref.ping(1), "HANDSHAKE"),
        (ref.subscription(True, b"t"), "HANDSHAKE"),
        (ref.command(b"HELLO", bytes(194)), "HANDSHAKE"),
        (ref.frame(b"\x05READY", ref.COMMAND | ref.MORE), "FRAME_FLAGS"),
        (ref.greeting(), "FRAME_FLAGS"),
        (ref.frame(b"", ref.COMMAND), "HANDSHAKE"),
    ],
)
def test_anything_but_ready_after_the_greeting_ends_it(words: bytes, reason: str) -> None:
    """12: before READY only READY and ERROR make sense."""
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(ref.greeting() + words).until_closed()
        refused(pull, push, mm.Reason[reason])


def test_a_session_is_understood_however_its_handshake_is_cut() -> None:
    """3: two pieces, cut at each octet of greeting, READY and first message."""
    session = ref.greeting() + ref.ready(b"PUSH") + ref.message(b"a", b"b") + ref.message(b"end")
    with mm.Pull(bind=UP) as pull:
        for cut in range(1, len(session)):
            with RawPeer(pull.endpoint) as peer:
                peer.send(session[:cut])
                peer._need(10)  # our signature: the first piece was read, or is about to be
                peer.send(session[cut:])
                assert pull.recv_frames(timeout=WAIT_S) == [b"a", b"b"]
                assert pull.recv(timeout=WAIT_S) == b"end"


def test_a_whole_session_and_the_next_greeting_in_one_write() -> None:
    """3: the greeting behind the last message is no frame; what came before it is given out."""
    session = ref.greeting() + ref.ready(b"PUSH") + ref.message(b"1") + ref.message(b"2")
    with served() as (pull, push):
        with RawPeer(pull.endpoint) as peer:
            peer.send(session + ref.greeting())
            assert [pull.recv(timeout=WAIT_S) for _ in range(2)] == [b"1", b"2"]
            peer.until_closed()
        refused(pull, push, mm.Reason.FRAME_FLAGS)
