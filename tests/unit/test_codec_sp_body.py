"""What goes out over SP: heads, header words, and the messages that SP cannot carry."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import refsp as ref
from tests.support.mm import lib
from tests.support.spcodec import SpHello, SpReader, SpShapeError, encode

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
ID = 0x0BADCAFE
REQUEST = (ref.stack(ID), b"", b"question")
ROUTED = (ref.stack(ID, 1, 0x7FFFFFFF), b"", b"reply")

# name: (protocol of the sender, frames, ipc)
VECTORS: dict[str, tuple[int, tuple[bytes, ...], bool]] = {
    "sp_push.bin": (ref.PUSH, (b"hello",), False),
    "sp_push_empty.bin": (ref.PUSH, (b"",), False),
    "sp_push_ipc.bin": (ref.PUSH, (b"hello",), True),
    "sp_pub.bin": (ref.PUB, (b"fx.", b"1.08"), False),
    "sp_pair0.bin": (ref.PAIR0, (b"hello",), False),
    "sp_pair1.bin": (ref.PAIR1, (b"hello",), False),
    "sp_pair1_ipc.bin": (ref.PAIR1, (b"hello",), True),
    "sp_bus.bin": (ref.BUS, (b"hello",), False),
    "sp_request.bin": (ref.REQ, (ref.stack(0x12345678), b"", b"ask"), False),
    "sp_reply.bin": (ref.REP, (ref.stack(0x12345678), b"", b"answer"), False),
    "sp_reply_routed.bin": (ref.REP, (ref.stack(0x12345678, 1), b"", b"answer"), False),
    "sp_survey.bin": (ref.SURVEYOR, (ref.stack(1), b"", b"who?"), False),
    "sp_response.bin": (ref.RESPONDENT, (ref.stack(1), b"", b"me"), False),
}


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_a_golden_vector_is_what_both_codecs_write_and_read(name: str) -> None:
    """A side's hello and one message: the files are the wire, and nobody may drift."""
    protocol, frames, ipc = VECTORS[name]
    data = (GOLDEN / name).read_bytes()
    assert data == ref.hello(protocol) + ref.message(ref.payload(protocol, frames), ipc)
    assert data == SpHello(protocol).output() + encode(protocol, *frames, ipc=ipc)
    peer = ref.PEERS[protocol]
    hello = SpHello(peer)
    assert hello.feed(data)
    wanted = ref.frames_of(peer, ref.payload(protocol, frames))
    reader = SpReader(peer, ipc=ipc)
    assert reader.feed(hello.rest) == ([] if wanted is None else [wanted])
    assert reader.skipped == (wanted is None)  # a reply that has a device still before it


def test_there_is_a_golden_vector_for_every_protocol_that_sends() -> None:
    """SUB and PULL have nothing to say after their hello."""
    assert {protocol for protocol, _, _ in VECTORS.values()} == set(ref.PEERS) - {ref.SUB, ref.PULL}
    assert {p.name for p in GOLDEN.glob("sp_*")} == set(VECTORS)


bodies = st.binary(max_size=400)
ids, hops = st.integers(0, 2**31 - 1), st.lists(st.integers(0, 2**31 - 1), max_size=7)


@given(ids, hops, bodies, st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_request_comes_back_to_where_it_came_from(
    identifier: int, path: list[int], body: bytes, ipc: bool
) -> None:
    """What REP reads of a request is what it may put in front of the reply, octet for octet."""
    request = ref.message(ref.stack(identifier, *path) + body, ipc)
    for protocol in (ref.REP, ref.RESPONDENT):
        [frames] = SpReader(protocol, ipc=ipc).feed(request)
        assert frames == (ref.stack(identifier, *path), b"", body)
        assert encode(protocol, *frames, ipc=ipc) == request


@given(st.sampled_from(sorted(ref.PEERS)), ids, bodies, st.booleans())
@settings(max_examples=200, deadline=None)
def test_what_is_sent_is_what_the_peer_reads(
    protocol: int, identifier: int, body: bytes, ipc: bool
) -> None:
    """Every protocol to its peer; both codecs write the same."""
    envelope = (ref.stack(identifier), b"") if ref.FORMS[protocol] in (ref.ASKED, ref.STACK) else ()
    frames = (*envelope, body)
    data = encode(protocol, *frames, ipc=ipc)
    assert data == ref.message(ref.payload(protocol, frames), ipc)
    assert SpReader(ref.PEERS[protocol], ipc=ipc).feed(data) == [frames]


def test_a_topic_and_a_body_are_joined_for_subscribers() -> None:
    """SP has no frames: its SUB compares its topics with the beginning of the body."""
    assert SpReader(ref.SUB).feed(encode(ref.PUB, b"fx.", b"1.08")) == [(b"fx.1.08",)]


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_536])
@pytest.mark.parametrize("ipc", [False, True], ids=["tcp", "ipc"])
def test_the_length_is_always_8_octets(size: int, ipc: bool) -> None:
    """Big-endian, whatever it is; the header words are part of it."""
    head = 9 if ipc else 8
    for protocol, extra in ((ref.PUSH, 0), (ref.PAIR1, 4)):
        data = encode(protocol, b"x" * size, ipc=ipc)
        assert struct.unpack(">Q", data[head - 8 : head])[0] == size + extra
        assert len(data) == head + extra + size
        assert data[:1] == b"\x01" or not ipc


ASKERS, REPLIERS = [ref.REQ, ref.SURVEYOR], [ref.REP, ref.RESPONDENT]
NO_ENVELOPE: list[tuple[bytes, ...]] = [
    (),
    (b"body",),
    (ref.stack(ID),),
    (ref.stack(ID), b""),
    (ref.stack(ID), b"body"),
    (ref.stack(ID), b"not empty", b"body"),
    (b"", b"", b"body"),
    (b"\x80\0\0", b"", b"body"),
    (ref.stack(ID) + b"x", b"", b"body"),
    (ref.words(ID), b"", b"body"),
    (ref.stack(ID) + ref.stack(ID), b"", b"body"),
]


@pytest.mark.parametrize("frames", NO_ENVELOPE)
@pytest.mark.parametrize("protocol", ASKERS + REPLIERS)
def test_an_envelope_that_is_none_is_refused(protocol: int, frames: tuple[bytes, ...]) -> None:
    """A user's frames may be anything; a malformed header would cost the connection."""
    with pytest.raises(SpShapeError, match=str(lib.MM_EINVAL)):
        encode(protocol, *frames)


@pytest.mark.parametrize("protocol", ASKERS)
def test_a_request_has_one_word(protocol: int) -> None:
    """Hops are added by devices, on the way."""
    with pytest.raises(SpShapeError, match=str(lib.MM_EINVAL)):
        encode(protocol, ref.stack(ID, 1), b"", b"body")


@pytest.mark.parametrize("hops_max", [1, 8, 15])
def test_a_reply_has_no_more_words_than_a_request_may_have(hops_max: int) -> None:
    """At the edge, and one more."""
    most = ref.stack(ID, *[1] * (hops_max - 1))
    assert most in encode(ref.REP, most, b"", b"body", hops_max=hops_max)
    with pytest.raises(SpShapeError, match=str(lib.MM_EINVAL)):
        encode(ref.REP, ref.words(1) + most, b"", b"body", hops_max=hops_max)


@pytest.mark.parametrize("protocol", sorted(ref.PEERS))
def test_more_frames_than_sp_can_tell_apart_are_refused(protocol: int) -> None:
    """Joined, they could not be taken apart again."""
    envelope = (ref.stack(ID), b"") if ref.FORMS[protocol] in (ref.ASKED, ref.STACK) else ()
    most = 2 if protocol == ref.PUB else 1
    assert encode(protocol, *envelope, *[b"x"] * most).endswith(b"x" * most)
    with pytest.raises(SpShapeError, match=str(lib.MM_ENOTSUP)):
        encode(protocol, *envelope, *[b"x"] * (most + 1))


@pytest.mark.parametrize("protocol", [ref.PUSH, ref.PAIR1, ref.PUB, ref.BUS])
def test_a_message_of_no_frames_is_refused(protocol: int) -> None:
    """It is not the same as an empty one."""
    with pytest.raises(SpShapeError, match=str(lib.MM_EINVAL)):
        encode(protocol)
