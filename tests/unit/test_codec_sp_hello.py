"""The SP hello and the sniffer: what is said when, what is accepted, what is refused and why."""

from __future__ import annotations

import pytest

from tests.support import refcodec as zmtp
from tests.support import refsp as ref
from tests.support.codec import CodecError, pieces
from tests.support.mm import ffi, lib
from tests.support.spcodec import SpHello

PROTOCOLS = sorted(ref.PEERS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_has_its_peer_and_its_form(protocol: int) -> None:
    """The table of the C side is that of the reference."""
    peer, role, form = ffi.new("uint32_t *"), ffi.new("int *"), ffi.new("int *")
    assert lib.mm_codec_sp_protocol(protocol, peer, role, form) == lib.MM_OK
    assert (peer[0], form[0]) == (ref.PEERS[protocol], ref.FORMS[protocol])


def test_every_other_number_is_no_protocol() -> None:
    """All 65,536 of them, and what does not fit in two octets."""
    out = ffi.new("uint32_t *"), ffi.new("int *"), ffi.new("int *")
    known = [n for n in range(65_536 + 256) if lib.mm_codec_sp_protocol(n, *out) == lib.MM_OK]
    assert known == PROTOCOLS


@pytest.mark.parametrize(
    ("role", "protocol"),
    [
        *[("PUSH", ref.PUSH), ("PULL", ref.PULL), ("PUB", ref.PUB), ("SUB", ref.SUB)],
        *[("REQ", ref.REQ), ("REP", ref.REP), ("PAIR", ref.PAIR1), ("BUS", ref.BUS)],
        *[("SURVEYOR", ref.SURVEYOR), ("RESPONDENT", ref.RESPONDENT)],
        *[("XPUB", 0), ("XSUB", 0), ("DEALER", 0), ("ROUTER", 0)],
    ],
)
def test_a_role_speaks_its_protocol_or_none(role: str, protocol: int) -> None:
    """And the protocol's role is that role."""
    value = getattr(lib, f"MM_{role}")
    assert lib.mm_codec_sp_of_role(value) == protocol
    peer, back, form = ffi.new("uint32_t *"), ffi.new("int *"), ffi.new("int *")
    if protocol:
        assert lib.mm_codec_sp_protocol(protocol, peer, back, form) == lib.MM_OK
        assert back[0] == value


@pytest.mark.parametrize("role", [0, -1, 1000, 255, 256])
def test_what_is_no_role_speaks_nothing(role: int) -> None:
    """Role 0 stands in rows that no socket speaks: it must not find them."""
    assert lib.mm_codec_sp_of_role(role) == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_dialer_says_its_hello_at_once(protocol: int) -> None:
    """And only once."""
    hello = SpHello(protocol)
    assert hello.output() == ref.hello(protocol)
    assert hello.output() == b""
    assert hello.feed(ref.hello(ref.PEERS[protocol]))
    assert hello.output() == b""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_listener_answers_when_the_peers_hello_is_whole(protocol: int) -> None:
    """Not one octet goes to a peer that may yet turn out to speak something else."""
    hello = SpHello(protocol, answer=True)
    theirs = ref.hello(ref.PEERS[protocol])
    for i in range(7):
        assert not hello.feed(theirs[i : i + 1])
        assert hello.output() == b""
    assert hello.feed(theirs[7:])
    assert hello.output() == ref.hello(protocol)


def test_a_hello_is_done_however_it_is_cut_and_leaves_what_follows() -> None:
    """Bytes behind the 8 octets are not the hello's."""
    data = ref.hello(ref.PULL)
    for cut in pieces(data):
        hello = SpHello(ref.PUSH)
        done = [hello.feed(piece) for piece in cut if piece]
        assert done[-1]
        assert not any(done[:-1])
    hello = SpHello(ref.PUSH)
    assert hello.feed(data + ref.message(b"tail"))
    assert hello.rest == ref.message(b"tail")
    assert hello.result() == (0, ref.PUSH, ref.PULL)
    assert hello.feed(b"more")
    assert hello.rest == b"more"


def test_a_hello_cut_short_needs_more() -> None:
    """At every length."""
    data = ref.hello(ref.PULL)
    for length in range(len(data)):
        assert not SpHello(ref.PUSH).feed(data[:length])


@pytest.mark.parametrize("theirs", PROTOCOLS)
@pytest.mark.parametrize("ours", PROTOCOLS)
def test_only_peers_shake_hands(ours: int, theirs: int) -> None:
    """Each with its one peer; a listening PAIR takes either version."""
    dialer, listener = SpHello(ours), SpHello(ours, answer=True)
    if ref.PEERS[ours] == theirs:
        assert dialer.feed(ref.hello(theirs))
    else:
        with pytest.raises(CodecError, match="SOCKET_TYPE"):
            dialer.feed(ref.hello(theirs))
    if ref.PEERS[ours] == theirs or {ours, theirs} == {ref.PAIR0, ref.PAIR1}:
        assert listener.feed(ref.hello(theirs))
        assert listener.result() == (0, ref.PEERS[theirs], theirs)
        assert listener.output() == ref.hello(ref.PEERS[theirs])
    else:
        with pytest.raises(CodecError, match="SOCKET_TYPE"):
            listener.feed(ref.hello(theirs))
        assert listener.output() == ref.hello(ours)  # so that the peer can tell its user why


REFUSED = [
    *[(bytes([n]), "NOT_SP") for n in (0x01, 0x53, 0xFF)],
    (b"\0sp\0\0\x51\0\0", "NOT_SP"),
    (b"\0S\0", "NOT_SP"),
    (b"\0SP\x01", "NOT_SP"),
    (b"\0SP\0\0\x51\x01", "NOT_SP"),
    (b"\0SP\0\0\x51\0\x01", "NOT_SP"),
    (b"\0\0\0\0\0\0\0\0", "NOT_SP"),
    (zmtp.greeting(), "NOT_SP"),
    (b"GET / HTTP/1.1\r\n", "NOT_SP"),
    (b"\x16\x03\x01\x02\x00\x01", "NOT_SP"),
    *[(ref.hello(n), "SOCKET_TYPE") for n in (0, 1, 0x12, 0x60, 0x61, 0x80, 0xF00, 0xFFFF, 0x5100)],
    (ref.hello(ref.PUSH), "SOCKET_TYPE"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED)
def test_what_is_not_legal_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """However it is cut, and for good; roles of the survey are 2 and 3, not 0 and 1."""
    for cut in pieces(data):
        hello = SpHello(ref.PUSH, answer=True)
        with pytest.raises(CodecError) as refused:
            for piece in cut:
                hello.feed(piece)
        assert refused.value.reason == reason
        with pytest.raises(CodecError, match=reason):
            hello.feed(ref.hello(ref.PULL))


@pytest.mark.parametrize(("data", "reason"), [r for r in REFUSED if r[1] == "NOT_SP"])
def test_a_peer_that_speaks_no_sp_is_told_nothing(data: bytes, reason: str) -> None:
    """There is nothing that it would understand."""
    hello = SpHello(ref.PUSH, answer=True)
    with pytest.raises(CodecError):
        hello.feed(data)
    assert hello.output() == b""


def test_a_wrong_octet_is_refused_before_the_rest_comes() -> None:
    """At each place where only one value can be right."""
    for at in (0, 1, 2, 3, 6, 7):
        data = bytearray(ref.hello(ref.PULL))
        data[at] ^= 0x20
        hello = SpHello(ref.PUSH)
        assert not hello.feed(bytes(data[:at]))
        with pytest.raises(CodecError, match="NOT_SP"):
            hello.feed(bytes(data[at : at + 1]))


def test_the_first_octet_tells_the_wire() -> None:
    """FF is ZMTP, 00 is SP; HTTP, a TLS hello and ZMTP 1.0 are neither, whatever follows."""
    for first in range(256):
        wanted = {0xFF: 1, 0x00: 2}.get(first, lib.MM_EPROTO)
        for rest in (b"", b"\0" * 63, b"\xff" * 63):
            data = bytes([first]) + rest
            assert lib.mm_codec_sniff(data, len(data)) == wanted


def test_nothing_tells_nothing() -> None:
    """Before the first octet the sniffer needs more."""
    assert lib.mm_codec_sniff(b"", 0) == 0


@pytest.mark.parametrize("number", [0, 0x60, 70_000])
def test_no_hello_and_no_reader_is_made_for_what_is_no_protocol(number: int) -> None:
    """The caller's mistake is an answer, not a crash."""
    assert lib.mm_codec_sp_hello_new(number, 0) == ffi.NULL
    assert lib.mm_codec_sp_reader_new(100, 8, 0, number) == ffi.NULL
