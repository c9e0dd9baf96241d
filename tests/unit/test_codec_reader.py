"""Frames, messages and commands: every case whole, byte by byte, in random pieces and cut short."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import refcodec as ref
from tests.support.codec import CodecError, Reader, pieces
from tests.support.mm import ffi, lib

CASES: list[tuple[bytes, list[tuple[str, object]]]] = [
    (ref.message(b""), [("message", (b"",))]),
    (ref.message(b"x" * 255), [("message", (b"x" * 255,))]),
    (ref.message(b"x" * 256), [("message", (b"x" * 256,))]),
    (ref.message(b"a", b"", b"c" * 300), [("message", (b"a", b"", b"c" * 300))]),
    (ref.frame(b"small", ref.LONG), [("message", (b"small",))]),
    (ref.ping(7, b"ctx"), [("PING", b"ctx")]),
    (ref.ping(0xFFFF, b"x" * 16), [("PING", b"x" * 16)]),
    (ref.pong(b""), [("PONG", b"")]),
    (ref.subscription(True, b"topic"), [("SUBSCRIBE", b"topic")]),
    (ref.subscription(False, b"t" * 5000), [("CANCEL", b"t" * 5000)]),
    (ref.subscription(True, b"old", minor=0), [("message", (b"\x01old",))]),
    (ref.command(b"X-UNHEARD", b"of"), [("UNKNOWN", b"of")]),
    (ref.error(b"no"), [("ERROR", b"no")]),
    (ref.ready(b"PULL"), [("READY", ref.metadata([(b"Socket-Type", b"PULL")]))]),
    (
        ref.frame(b"a", ref.MORE) + ref.ping(1) + ref.frame(b"b"),
        [("PING", b""), ("message", (b"a", b"b"))],
    ),
    (ref.message(b"1") + ref.message(b"2"), [("message", (b"1",)), ("message", (b"2",))]),
]


@pytest.mark.parametrize(("data", "wanted"), CASES)
def test_a_case_reads_the_same_however_it_is_cut(
    data: bytes, wanted: list[tuple[str, object]]
) -> None:
    """T: LONG with a small size, topics over 255, commands between frames (libzmq) are all
    legal."""
    for cut in pieces(data):
        reader = Reader()
        assert [found for piece in cut for found in reader.feed(piece)] == wanted


@pytest.mark.parametrize(("data", "wanted"), CASES)
def test_a_case_cut_short_needs_more_and_then_completes(
    data: bytes, wanted: list[tuple[str, object]]
) -> None:
    """At every length but the whole, the last thing is not there yet; trailing bytes are the next
    thing's."""
    step = max(1, len(data) // 400)
    for length in range(0, len(data), step):
        reader = Reader()
        early = reader.feed(data[:length])
        assert len(early) < len(wanted)
        assert early + reader.feed(data[length:] + b"\x00") == wanted
        assert reader.feed(b"\x01z") == [("message", (b"z",))]


@given(
    st.lists(st.lists(st.binary(max_size=600), min_size=1, max_size=4), max_size=6), st.integers()
)
@settings(max_examples=150, deadline=None)
def test_any_messages_read_back_as_the_reference_says(
    messages: list[list[bytes]], seed: int
) -> None:
    """The C reader and the Python reference agree."""
    data = b"".join(ref.message(*frames) for frames in messages)
    for cut in pieces(data, seed) if data else []:
        reader = Reader()
        found = [f for piece in cut for f in reader.feed(piece)]
        assert [("message", frames) for _, frames in found] == ref.parse_all(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        *[(bytes([1 << bit]), "FRAME_FLAGS") for bit in range(3, 8)],
        (b"\x05", "FRAME_FLAGS"),
        (b"\x07", "FRAME_FLAGS"),
        *[
            (b"\x02" + struct.pack(">Q", n), "MESSAGE_SIZE")
            for n in (2**64 - 1, 2**63, 2**63 - 1, 2**32, 2**31)
        ],
        *[(b"\x02" + struct.pack(">Q", 2**64 - 1 - k), "MESSAGE_SIZE") for k in range(64)],
        (b"\x06" + struct.pack(">Q", 64 << 20), "COMMAND_SIZE"),
        (ref.frame(b"", ref.COMMAND), "COMMAND"),
        (ref.frame(b"\0", ref.COMMAND), "COMMAND"),
        (ref.frame(b"\xffPING", ref.COMMAND), "COMMAND"),
        (ref.frame(b"\x04PING", ref.COMMAND), "COMMAND"),
        (ref.frame(b"\x04PING\0", ref.COMMAND), "COMMAND"),
        (ref.ping(1, b"x" * 17), "COMMAND"),
        (ref.ping(1, b"x" * 255), "COMMAND"),
        (ref.pong(b"x" * 17), "COMMAND"),
        (ref.command(b"ERROR", b"\x09short"), "COMMAND"),
        (ref.command(b"ERROR"), "COMMAND"),
    ],
)
def test_what_is_not_legal_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    """T: libzmq computes a PING's context length unchecked: shorter than 7 octets is refused
    here."""
    for cut in pieces(data):
        reader = Reader()
        with pytest.raises(CodecError) as refused:
            for piece in cut:
                reader.feed(piece)
        assert refused.value.reason == reason
        with pytest.raises(CodecError):
            reader.feed(b"\x00\x00")


@pytest.mark.parametrize("size", [99, 100, 101])
def test_the_size_limit_holds_at_its_edge(size: int) -> None:
    """Limit - 1 and limit pass, limit + 1 does not; T: ZMQ_MAXMSGSIZE is per frame, ours is the
    whole message."""
    whole = ref.message(b"x" * size)
    split = ref.message(b"x" * 60, b"x" * (size - 60))
    for data in (whole, split):
        reader = Reader(size_max=100)
        if size <= 100:
            assert len(reader.feed(data)) == 1
        else:
            with pytest.raises(CodecError, match="MESSAGE_SIZE"):
                reader.feed(data)


@pytest.mark.parametrize("count", [7, 8, 9])
def test_the_frame_limit_holds_at_its_edge(count: int) -> None:
    """Empty frames count too."""
    data = ref.message(*[b""] * count)
    reader = Reader(frames_max=8)
    if count <= 8:
        assert reader.feed(data) == [("message", (b"",) * count)]
    else:
        with pytest.raises(CodecError, match="FRAME_COUNT"):
            reader.feed(data)


def test_memory_follows_what_arrived_and_not_what_was_claimed() -> None:
    """T: libzmq's decoder allocates what the size says."""
    reader = Reader(size_max=1 << 40)
    reader.feed(b"\x02" + struct.pack(">Q", 1 << 39) + b"x" * 10)
    assert reader.held <= 8192
    reader.feed(b"x" * 100_000)
    assert reader.held <= 400_000


def test_a_large_body_arrives_whole() -> None:
    """In pieces of a kernel buffer's size."""
    body = bytes(range(256)) * 4000
    data = ref.message(b"head", body)
    reader = Reader(size_max=2 << 20)
    found = [f for at in range(0, len(data), 65_537) for f in reader.feed(data[at : at + 65_537])]
    assert found == [("message", (b"head", body))]


@given(st.binary(max_size=12))
@settings(max_examples=300, deadline=None)
def test_frame_heads_are_read_as_the_reference_reads_them(data: bytes) -> None:
    """Consumed, need more, or refused."""
    flags, size = ffi.new("uint8_t *"), ffi.new("uint64_t *")
    rc = lib.mm_codec_frame_head(data, len(data), flags, size)
    if not data:
        assert rc == 0
    elif data[0] & 0xF8 or data[0] & 5 == 5:
        assert rc == lib.MM_EPROTO
    else:
        head = 9 if data[0] & 2 else 2
        if len(data) < head:
            assert rc == 0
        elif head == 9 and data[1] & 0x80:
            assert rc == lib.MM_EPROTO
        else:
            assert (rc, size[0]) == (head, int.from_bytes(data[1:head], "big"))


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("tcp://127.0.0.1:5555", "127.0.0.1", 5555),
        ("tcp://localhost:0", "localhost", 0),
        ("tcp://*:*", "*", 0),
        ("tcp://[::1]:65535", "::1", 65535),
        ("tcp://[fe80::1%eth0]:1", "fe80::1%eth0", 1),
        ("ipc:///run/x.sock", "/run/x.sock", 0),
        ("inproc://name", "name", 0),
    ],
)
def test_endpoints_are_understood(text: str, host: str, port: int) -> None:
    """And written back the same way (a * port becomes 0)."""
    out, again, number = ffi.new("char[]", 256), ffi.new("char[]", 300), ffi.new("uint16_t *")
    assert lib.mm_url_parts(text.encode(), out, 256, number, again, 300) == 0
    assert (ffi.string(out).decode(), number[0]) == (host, port)
    assert ffi.string(again).decode() == text.replace("*:*", "*:0")


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "tcp",
            "tcp://",
            "tcp://x",
            "tcp://:1",
            "tcp://x:",
            "tcp://x:-1",
            "tcp://x:65536",
            "tcp://x:1 ",
        ),
        *(
            "tcp://x:1/",
            "tcp://x:99999999999",
            "tcp://a b:1",
            "tcp://::1:5",
            "tcp://[::1]5",
            "tcp://[]:1",
        ),
        *(
            "ipc://",
            "ipc://" + "x" * 108,
            "inproc://",
            "inproc://" + "x" * 247,
            "udp://x:1",
            "TCP://x:1",
        ),
        *("tcp://" + "x" * 256 + ":1", "tcp://x:1x", "tcp://[::1:1", "tcp://x/y:1"),
    ],
)
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    """With an address error."""
    out, again, number = ffi.new("char[]", 256), ffi.new("char[]", 300), ffi.new("uint16_t *")
    rc = lib.mm_url_parts(text.encode(), out, 256, number, again, 300)
    long = len(text) > 100 and not text.startswith("tcp")
    assert rc == (lib.MM_ENAMETOOLONG if long else lib.MM_EADDRINVAL)
