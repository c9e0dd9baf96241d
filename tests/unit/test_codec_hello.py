"""The greeting and READY: what is sent, what is accepted, what is refused and why."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.support import refcodec as ref
from tests.support.codec import CodecError, Hello, Reader, pieces
from tests.support.mm import lib

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FEATURES = ref.features("refuse", "stop", "ack", "meta", takes=(64 << 20, 1024))
VECTORS = {
    "greeting.bin": ref.greeting(),
    "ready_dealer.bin": ref.ready(b"DEALER", (b"Identity", b"")),
    "ready_surveyor.bin": ref.ready(b"SURVEYOR"),
    "survey.bin": ref.survey(0x80000001, b"who?"),
    "refusal.bin": ref.refusal(0x80000001, b"busy"),
    "ready_rep.bin": ref.ready(b"REP", (b"X-Meshmsg", FEATURES)),
    "ready_member.bin": ref.ready(
        b"SUB",
        (b"X-Meshmsg", FEATURES),
        (b"X-Meshmsg-Group", b"workers"),
    ),
    "error.bin": ref.error(b"PUSH cannot talk to SUB"),
    "subscribe.bin": ref.subscription(True, b"fx."),
    "subscribe30.bin": ref.subscription(True, b"fx.", minor=0),
    "stop.bin": ref.command(b"STOP") + ref.command(b"STOPPED"),
    "end.bin": ref.command(b"END"),
    "delivery.bin": ref.command(b"COUNT", struct.pack(">Q", 7) + bytes(range(16)))
    + ref.command(b"AGAIN", struct.pack(">QQI", 5, 1000, 2))
    + ref.command(b"ACK", struct.pack(">BQQ", 0, 41, 1041) + b"\x02")
    + ref.command(b"ACK", struct.pack(">BQQ", 1, 41, 1041))
    + ref.command(b"NACK", struct.pack(">IQ", 1500, 42))
    + ref.command(b"EXTEND", struct.pack(">Q", 42)),
    "replay.bin": ref.command(b"REPLAY", struct.pack(">BQ", 1, 42))
    + ref.command(
        b"REPLAY", struct.pack(">BQ", 3, 300_000) + bytes(range(16)) + b"\0" * 7 + b"\x2a"
    )
    + ref.command(b"REPLAY", b"")
    + ref.command(b"COUNT", struct.pack(">Q", 1) + bytes(range(16)))
    + ref.command(b"AT", struct.pack(">Q", 42))
    + ref.command(b"LOST", struct.pack(">BQ", 0, 7))
    + ref.command(b"LOST", struct.pack(">BQ", 2, 1)),
    "meta.bin": ref.command(
        b"META",
        b"\x01\x00\x08"
        + struct.pack(">Q", 1_700_000_000_000_000_000)
        + b"\x02\x00\x08"
        + struct.pack(">Q", 1_700_000_005_000_000_000)
        + b"\x03\x00\x04user"
        + b"\x04\x00\x07\x04langen"
        + b"\x05\x00\x03\x01h\xff",
    ),
    "plain_push.bin": ref.greeting()
    + ref.ready(b"PUSH")
    + ref.message(b"one")
    + ref.message(b"two", b"", b"frames" * 50)
    + ref.message(b""),
    "ping.bin": ref.ping(150, struct.pack(">Q", 7)),
}


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_a_golden_vector_is_what_the_reference_encodes(name: str) -> None:
    """The files of tests/golden are the wire; neither side may drift."""
    assert (GOLDEN / name).read_bytes() == VECTORS[name]


def test_the_worked_example_of_a_dealer_is_41_octets() -> None:
    """T: ROUTER and DEALER send Identity, often empty, whatever the RFC's example says."""
    data = (GOLDEN / "ready_dealer.bin").read_bytes()
    assert (data[:2], len(data)) == (b"\x04\x29", 43)


def shake(role: int, data: bytes, identity: bytes = b"") -> Hello:
    """Feed a handshake whole; it must be done."""
    hello = Hello(role, identity)
    assert hello.feed(data)
    return hello


GOOD = ref.greeting() + ref.ready(b"PULL")


def test_our_greeting_goes_out_at_once_and_whole() -> None:
    """T: libzmq waits for our version octet before it sends the rest: never wait for its 64
    first."""
    assert Hello(lib.MM_PUSH).output() == (GOLDEN / "greeting.bin").read_bytes()


def test_ready_goes_out_once_the_greeting_was_accepted() -> None:
    """T: symmetric, not client first."""
    hello = Hello(lib.MM_DEALER, b"me")
    hello.output()
    assert not hello.feed(ref.greeting())
    properties = [
        (b"Socket-Type", b"DEALER"),
        (b"Identity", b"me"),
        (b"X-Meshmsg", FEATURES),
    ]
    assert hello.output() == ref.command(b"READY", ref.metadata(properties))
    rep = Hello(lib.MM_REP)
    rep.output()
    assert not rep.feed(ref.greeting())
    assert rep.output() == (GOLDEN / "ready_rep.bin").read_bytes()


NAMELESS = [
    *("PUSH", "PULL", "PUB", "SUB", "XPUB", "XSUB", "REP", "PAIR"),
    *("SURVEYOR", "RESPONDENT", "BUS"),
]


@pytest.mark.parametrize("role", NAMELESS)
def test_only_named_roles_send_an_identity(role: str) -> None:
    """REQ, DEALER and ROUTER do."""
    hello = Hello(getattr(lib, f"MM_{role}"))
    hello.feed(ref.greeting())
    assert b"Identity" not in hello.output()


def test_a_handshake_is_done_however_it_is_cut_and_leaves_what_follows() -> None:
    """Bytes behind READY are not the handshake's."""
    for cut in pieces(GOOD):
        hello = Hello(lib.MM_PUSH)
        done = [hello.feed(piece) for piece in cut if piece]
        assert done[-1]
        assert not any(done[:-1])
    hello = shake(lib.MM_PUSH, GOOD + b"tail")
    assert hello.rest == b"tail"
    assert hello.result()[1:3] == (lib.MM_PULL, 1)


def test_a_handshake_cut_short_needs_more() -> None:
    """At every length."""
    for length in range(len(GOOD)):
        assert not Hello(lib.MM_PUSH).feed(GOOD[:length])


@pytest.mark.parametrize(
    ("greeting", "minor"),
    [
        (ref.greeting(), 1),
        (ref.greeting(minor=0), 0),
        (ref.greeting(minor=7), 1),
        (ref.greeting(major=4, minor=0), 1),
        (ref.greeting(server=1), 1),
        (b"\xff" + b"\xaa" * 8 + ref.greeting()[9:], 1),
        (b"\xff" + struct.pack(">Q", 1) + ref.greeting()[9:], 1),
    ],
)
def test_greetings_of_other_kinds_are_accepted(greeting: bytes, minor: int) -> None:
    """T: padding is not checked, as-server is not checked, any major from 3 on, the lower minor
    counts."""
    hello = shake(lib.MM_PUSH, greeting + ref.ready(b"PULL"))
    assert hello.result()[2] == minor


@pytest.mark.parametrize(
    ("ready", "identity"),
    [
        (ref.ready(b"DEALER"), b""),
        (ref.ready(b"DEALER", (b"identity", b"x" * 255)), b"x" * 255),
        (
            ref.command(b"READY", ref.metadata([(b"SOCKET-TYPE", b"DEALER"), (b"IDENTITY", b"n")])),
            b"n",
        ),
        (ref.ready(b"DEALER", (b"X-Other.prop_1+", b"\xff\x00")), b""),
        (ref.frame(ref.ready(b"DEALER")[2:], ref.COMMAND | ref.LONG), b""),
        (ref.ready(b"DEALER", (b"X-Long", b"v" * 9000)), b""),
    ],
)
def test_ready_of_other_kinds_is_accepted(ready: bytes, identity: bytes) -> None:
    """T: names in any case, unknown properties, LONG with a small size."""
    assert shake(lib.MM_ROUTER, ref.greeting() + ready).result()[3] == identity


REFUSED = [
    (b"GET / HTTP/1.1\r\n", "NOT_ZMTP"),
    (b"\x16\x03\x01\x02\x00\x01", "NOT_ZMTP"),
    (b"\x00SP\x00\x00\x50\x00\x00", "NOT_ZMTP"),
    (b"\x01\x00", "OLD_ZMTP"),
    (b"\xff" + bytes(8) + b"\x7e", "OLD_ZMTP"),
    (b"\xff" + bytes(8) + b"\x7f\x01", "OLD_ZMTP"),
    (b"\xff" + bytes(8) + b"\x7f\x00", "OLD_ZMTP"),
    (ref.greeting(mechanism=b"CURVE"), "MECHANISM"),
    (ref.greeting(mechanism=b"NULL" + b"\xff" * 16), "MECHANISM"),
    (ref.greeting(mechanism=b"\xff" * 20), "MECHANISM"),
    (ref.greeting(mechanism=b"null"), "MECHANISM"),
    (ref.greeting() + ref.message(b"early"), "HANDSHAKE"),
    (ref.greeting() + ref.ping(1), "HANDSHAKE"),
    (ref.greeting() + b"\x04\x01\x09", "HANDSHAKE"),
    (ref.greeting() + ref.greeting(), "FRAME_FLAGS"),
    (ref.greeting() + b"\x44\x00", "FRAME_FLAGS"),
    (ref.greeting() + ref.error(b"go away\x00\x1b"), "ERROR_COMMAND"),
    (ref.greeting() + b"\x06" + struct.pack(">Q", 17_000), "METADATA"),
    (ref.greeting() + b"\x06" + struct.pack(">Q", 2**63 - 1), "METADATA"),
    (
        ref.greeting() + ref.command(b"READY", b"\x0bSocket-Type" + struct.pack(">I", 2**31 - 1)),
        "METADATA",
    ),
    (
        ref.greeting() + ref.command(b"READY", b"\x0bSocket-Type" + struct.pack(">I", 2**32 - 1)),
        "METADATA",
    ),
    (ref.greeting() + ref.command(b"READY", b"\x0bSocket-Type\0\0\0\x05PULL"), "METADATA"),
    (ref.greeting() + ref.command(b"READY", b"\x00\0\0\0\0"), "METADATA"),
    (ref.greeting() + ref.command(b"READY", ref.metadata([(b"bad name", b"")])), "METADATA"),
    (ref.greeting() + ref.command(b"READY", ref.metadata([(b"nul\0", b"")])), "METADATA"),
    (ref.greeting() + ref.ready(b"PULL", (b"socket-TYPE", b"PULL")), "METADATA"),
    (ref.greeting() + ref.ready(b"PULL", *[(b"X-%d" % i, b"") for i in range(64)]), "METADATA"),
    (ref.greeting() + ref.command(b"READY"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"pull"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"PULL\0"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"P" * 255), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"SUB"), "SOCKET_TYPE"),
    (ref.greeting() + ref.ready(b"PULL", (b"Identity", b"x" * 256)), "IDENTITY"),
    (ref.greeting() + ref.ready(b"PULL", (b"Identity", b"\0x")), "IDENTITY"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED)
def test_what_is_not_legal_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """However it is cut, and for good."""
    for cut in pieces(data):
        hello = Hello(lib.MM_PUSH)
        with pytest.raises(CodecError) as refused:
            for piece in cut:
                hello.feed(piece)
        assert refused.value.reason == reason
        with pytest.raises(CodecError):
            hello.feed(b"more")


@pytest.mark.parametrize(("data", "reason"), REFUSED)
def test_the_peer_hears_why_where_it_can(data: bytes, reason: str) -> None:
    """T: libzmq just drops the connection on a wrong socket type; we send ERROR. Not before a
    greeting."""
    hello = Hello(lib.MM_PUSH)
    with pytest.raises(CodecError):
        hello.feed(data)
    sent = hello.output()[64:]
    errors = [body for name, body in Reader().feed(sent) if name == "ERROR"]
    told = reason in ("METADATA", "SOCKET_TYPE", "IDENTITY", "HANDSHAKE", "FRAME_FLAGS")
    assert len(errors) == told
    assert all(body.isascii() for body in errors)


LEGAL = {
    *[("PUSH", "PULL"), ("PUB", "SUB"), ("PUB", "XSUB"), ("XPUB", "SUB"), ("XPUB", "XSUB")],
    *[("REQ", "REP"), ("REQ", "ROUTER"), ("REP", "DEALER"), ("DEALER", "DEALER")],
    *[("DEALER", "ROUTER"), ("ROUTER", "ROUTER"), ("PAIR", "PAIR")],
    *[("SURVEYOR", "RESPONDENT"), ("BUS", "BUS")],
}
ROLES = [
    *("PUSH", "PULL", "PUB", "SUB", "XPUB", "XSUB", "REQ", "REP", "DEALER", "ROUTER", "PAIR"),
    *("SURVEYOR", "RESPONDENT", "BUS"),
]


@pytest.mark.parametrize("theirs", ROLES)
@pytest.mark.parametrize("ours", ROLES)
def test_only_legal_pairs_shake_hands(ours: str, theirs: str) -> None:
    """WIRE: REQ-DEALER, REP-REP and REP-ROUTER are not among them."""
    hello = Hello(getattr(lib, f"MM_{ours}"))
    data = ref.greeting() + ref.ready(theirs.encode())
    if (ours, theirs) in LEGAL or (theirs, ours) in LEGAL:
        assert hello.feed(data)
    else:
        with pytest.raises(CodecError, match="SOCKET_TYPE"):
            hello.feed(data)
