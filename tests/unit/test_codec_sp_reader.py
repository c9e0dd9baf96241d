"""SP messages off a stream: every case whole, octet by octet, in random pieces and cut short."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import refsp as ref
from tests.support.codec import CodecError, pieces
from tests.support.spcodec import SpReader

HOP, ID = 0x7FFFFFFF, 0x12345678
Case = tuple[int, bytes, tuple[bytes, ...]]
CASES: list[Case] = [
    (ref.PULL, b"", (b"",)),
    (ref.PULL, b"x", (b"x",)),
    (ref.SUB, b"topic:" + b"x" * 300, (b"topic:" + b"x" * 300,)),
    (ref.PAIR0, b"\0\0\0\1raw", (b"\0\0\0\1raw",)),
    (ref.BUS, b"\x80\0\0\1raw", (b"\x80\0\0\1raw",)),
    (ref.PAIR1, ref.words(1), (b"",)),
    (ref.PAIR1, ref.words(0) + b"none yet", (b"none yet",)),
    (ref.PAIR1, ref.words(8) + b"last hop", (b"last hop",)),
    (ref.REQ, ref.stack(ID) + b"reply", (ref.stack(ID), b"", b"reply")),
    (ref.REQ, ref.stack(0), (b"\x80\0\0\0", b"", b"")),
    (ref.REQ, ref.stack(ID) + ref.words(7), (ref.stack(ID), b"", ref.words(7))),
    (ref.SURVEYOR, ref.stack(HOP) + b"answer", (b"\xff" * 4, b"", b"answer")),
    (ref.REP, ref.stack(ID) + b"question", (ref.stack(ID), b"", b"question")),
    (ref.REP, ref.stack(ID, HOP, 0) + b"q", (ref.stack(ID, HOP, 0), b"", b"q")),
    (ref.RESPONDENT, ref.stack(ID, *[HOP] * 7), (ref.stack(ID, *[HOP] * 7), b"", b"")),
]
CASE_IDS = [f"{protocol:#04x}-{len(data)}" for protocol, data, _ in CASES]
cases = pytest.mark.parametrize(("protocol", "payload", "frames"), CASES, ids=CASE_IDS)
both_mappings = pytest.mark.parametrize("ipc", [False, True], ids=["tcp", "ipc"])


@cases
@both_mappings
def test_a_case_reads_the_same_however_it_is_cut(
    protocol: int, payload: bytes, frames: tuple[bytes, ...], ipc: bool
) -> None:
    """Twice in a row, so that each cut is also one between two messages."""
    data = ref.message(payload, ipc) * 2
    for cut in pieces(data):
        reader = SpReader(protocol, ipc=ipc)
        assert [found for piece in cut for found in reader.feed(piece)] == [frames, frames]
        assert reader.held == 0


@cases
@both_mappings
def test_a_case_cut_short_needs_more_and_then_completes(
    protocol: int, payload: bytes, frames: tuple[bytes, ...], ipc: bool
) -> None:
    """At every length but the whole; trailing octets are the next message's."""
    data = ref.message(payload, ipc)
    for length in range(len(data)):
        reader = SpReader(protocol, ipc=ipc)
        assert reader.feed(data[:length]) == []
        assert reader.feed(data[length:] + data[:5]) == [frames]
        assert reader.feed(data[5:]) == [frames]


@both_mappings
@given(
    protocol=st.sampled_from(sorted(ref.PEERS)),
    payloads=st.lists(
        st.builds(
            lambda start, hops, body: start + ref.words(*hops) + body,
            st.sampled_from([b"", ref.words(1), ref.words(9), ref.stack(5)]),
            st.lists(st.sampled_from([0, 1, HOP, ref.LAST, ref.LAST | ID]), max_size=10),
            st.binary(max_size=300),
        ),
        min_size=1,
        max_size=6,
    ),
    seed=st.integers(),
)
@settings(max_examples=150, deadline=None)
def test_any_payloads_read_as_the_reference_says(
    ipc: bool, protocol: int, payloads: list[bytes], seed: int
) -> None:
    """Messages, drops and refusals: the C reader and the Python reference agree."""
    data = b"".join(ref.message(p, ipc) for p in payloads)
    try:
        wanted, dropped = ref.parse_all(protocol, data, ipc)
    except ref.Malformed:
        for cut in pieces(data, seed):
            with pytest.raises(CodecError, match="SP_HEADER"):
                reader = SpReader(protocol, ipc=ipc)
                for piece in cut:
                    reader.feed(piece)
        return
    for cut in pieces(data, seed):
        reader = SpReader(protocol, ipc=ipc)
        assert [f for piece in cut for f in reader.feed(piece)] == wanted
        assert reader.skipped == dropped


ASKERS, REPLIERS = [ref.REQ, ref.SURVEYOR], [ref.REP, ref.RESPONDENT]
MALFORMED = [
    *[(p, b"\x80\0\0"[:n]) for p in ASKERS + REPLIERS for n in range(4)],
    *[(p, ref.words(1, 2) + b"\x80\0\0"[:n]) for p in REPLIERS for n in range(4)],
    *[(p, ref.words(*[HOP] * 7) + b"\x80\0\0") for p in REPLIERS],
    *[(ref.PAIR1, b"\0\0\0\1"[:n]) for n in range(4)],
    *[(ref.PAIR1, ref.words(n)) for n in (0x100, 0x10001, 0x1000001, 0xFFFFFFFF)],
]


@pytest.mark.parametrize(("protocol", "payload"), MALFORMED)
@both_mappings
def test_a_malformed_header_is_refused_with_its_reason(
    protocol: int, payload: bytes, ipc: bool
) -> None:
    """It ends before the id, or its hop count is none; however it is cut, and for good."""
    good = ref.stack(1) if protocol != ref.PAIR1 else ref.words(1)
    for cut in pieces(ref.message(good, ipc) + ref.message(payload, ipc)):
        reader = SpReader(protocol, ipc=ipc)
        with pytest.raises(CodecError) as refused:
            for piece in cut:
                reader.feed(piece)
        assert refused.value.reason == "SP_HEADER"
        with pytest.raises(CodecError, match="SP_HEADER"):
            reader.feed(ref.message(good, ipc))
        assert reader.held == 0


DROPPED = [
    *[(p, ref.words(*[HOP] * 8)) for p in REPLIERS],
    *[(p, ref.stack(ID, *[HOP] * 8) + b"a hop too far") for p in REPLIERS],
    *[(p, ref.words(*[0] * 262_144)) for p in REPLIERS],
    *[(p, ref.words(ID) + b"no id") for p in ASKERS],
    *[(ref.PAIR1, ref.words(n) + b"body") for n in (9, 0xFF)],
]


@pytest.mark.parametrize(("protocol", "payload"), DROPPED, ids=range(len(DROPPED)))
def test_a_message_with_too_many_hops_is_dropped_and_its_peer_stays(
    protocol: int, payload: bytes
) -> None:
    """Hostile 34: a backtrace of 1 MiB without an end is one message lost, and nothing else."""
    good = ref.message((ref.stack(1) if protocol != ref.PAIR1 else ref.words(1)) + b"good")
    data = good + ref.message(payload) + good
    for step in (len(data), 1 if len(data) < 1000 else 4099):
        reader = SpReader(protocol, size_max=2 << 20)
        found = [f for at in range(0, len(data), step) for f in reader.feed(data[at : at + step])]
        assert [frames[-1] for frames in found] == [b"good", b"good"]
        assert (reader.skipped, reader.held) == (1, 0)


@pytest.mark.parametrize("hops", [1, 2, 8, 15])
def test_the_hop_limit_holds_at_its_edge(hops: int) -> None:
    """As many words as the limit pass, the id among them; one more does not."""
    for count in (hops, hops + 1):
        reader = SpReader(ref.REP, hops_max=hops)
        found = reader.feed(ref.message(ref.stack(ID, *[1] * (count - 1)) + b"b"))
        assert (len(found), reader.skipped) == ((1, 0) if count <= hops else (0, 1))
        pair = SpReader(ref.PAIR1, hops_max=hops)
        found = pair.feed(ref.message(ref.words(count) + b"b"))
        assert (len(found), pair.skipped) == ((1, 0) if count <= hops else (0, 1))


HUGE = [2**64 - 1 - k for k in range(65)] + [2**63, 2**63 - 1, 2**32, 2**31, (1 << 20) + 1]


@pytest.mark.parametrize("protocol", [ref.PULL, ref.REP])
@both_mappings
def test_a_length_over_the_limit_is_refused_before_its_body(protocol: int, ipc: bool) -> None:
    """Hostile 1: nothing was taken, whatever was claimed."""
    for size in HUGE:
        data = (b"\x01" if ipc else b"") + struct.pack(">Q", size)
        for cut in pieces(data):
            reader = SpReader(protocol, ipc=ipc)
            with pytest.raises(CodecError) as refused:
                for piece in cut:
                    reader.feed(piece)
            assert refused.value.reason == "MESSAGE_SIZE"
            assert reader.held == 0


@pytest.mark.parametrize("size", [99, 100, 101])
@both_mappings
def test_the_size_limit_holds_at_its_edge(size: int, ipc: bool) -> None:
    """Header words count: they are bytes of the message."""
    for protocol, start in ((ref.PULL, b""), (ref.REP, ref.stack(7, 1)), (ref.PAIR1, ref.words(1))):
        data = ref.message(start + b"x" * (size - len(start)), ipc)
        reader = SpReader(protocol, ipc=ipc, size_max=100)
        if size <= 100:
            assert len(reader.feed(data)) == 1
        else:
            with pytest.raises(CodecError, match="MESSAGE_SIZE"):
                reader.feed(data)


def test_a_limit_of_nothing_takes_empty_messages_only() -> None:
    """0 is a limit like any other."""
    reader = SpReader(ref.PULL, size_max=0)
    assert reader.feed(ref.message(b"") * 3) == [(b"",)] * 3
    with pytest.raises(CodecError, match="MESSAGE_SIZE"):
        reader.feed(ref.message(b"x"))


@pytest.mark.parametrize("kind", [0, 2, 3, 0x53, 0x80, 0xFF])
def test_over_ipc_only_01_is_a_message(kind: int) -> None:
    """The octet is enough: nothing waits for the length of what is unknown."""
    reader = SpReader(ref.PULL, ipc=True)
    assert reader.feed(ref.message(b"first", ipc=True)) == [(b"first",)]
    with pytest.raises(CodecError, match="FRAME_FLAGS"):
        reader.feed(bytes([kind]))


def test_memory_follows_what_arrived_and_not_what_was_claimed() -> None:
    """Half a terabyte is claimed, ten octets come."""
    reader = SpReader(ref.PULL, size_max=1 << 40)
    reader.feed(struct.pack(">Q", 1 << 39))
    assert reader.held == 0
    reader.feed(b"x" * 10)
    assert reader.held <= 8192
    reader.feed(b"x" * 100_000)
    assert reader.held <= 400_000


@pytest.mark.parametrize(
    ("protocol", "start"),
    [(ref.PULL, b""), (ref.PAIR1, ref.words(1)), (ref.REP, ref.stack(ID, 5))],
)
def test_a_large_body_arrives_whole(protocol: int, start: bytes) -> None:
    """In pieces of a kernel buffer's size, with its header in its own frame."""
    body = bytes(range(256)) * 4000
    data = ref.message(start + body)
    reader = SpReader(protocol, size_max=2 << 20)
    found = [f for at in range(0, len(data), 65_537) for f in reader.feed(data[at : at + 65_537])]
    assert found == [ref.frames_of(protocol, start + body)]
    assert reader.held == 0
