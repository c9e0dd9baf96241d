"""Messages of CURVE: each frame in a box of its own, in order, and nothing else is taken.

Not here: the handshake (test_curve_handshake.py), connections (tests/interop, tests/hostile).
"""

from __future__ import annotations

import random
import struct

import pytest

from tests.support import curvesides as sides
from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support.codec import BIG, CodecError
from tests.support.curvecodec import Curve
from tests.support.curvesides import our_client, our_server

SIZES = [0, 1, 221, 222, 223, 255, 256, 2047, 2048, 70_000]
MESSAGES = b"".join(ref.message(b"a" * size, b"", b"b") + ref.ping(1, b"x") for size in SIZES)


def sealed(side: curve.Side, *frames: tuple[int, bytes]) -> bytes:
    """Seal what is in these frames of ZMTP, each flags and body."""
    inside = {0: 0, ref.MORE: curve.MORE, ref.COMMAND: curve.COMMAND}
    return b"".join(ref.frame(side.seal(body, inside[flags])) for flags, body in frames)


def frames_of(plain: bytes) -> list[tuple[int, bytes]]:
    """Take frames apart."""
    found = []
    while plain:
        taken = ref.parse_frame(plain)
        assert taken is not None
        found.append(taken[:2])
        plain = taken[2]
    return found


def refused(machine: Curve, data: bytes, reason: str, words: str) -> None:
    """It is refused for that, and for good."""
    with pytest.raises(CodecError, match=f"^{reason}$"):
        machine.open(data)
    assert words in machine.detail
    with pytest.raises(CodecError):
        machine.open(b"")


@pytest.mark.parametrize("server", [True, False])
def test_what_is_sealed_is_what_the_reference_opens_and_the_other_way(server: bool) -> None:
    """Frames in whatever sizes, commands among them; the frame outside is that of a message."""
    ours = our_server() if server else our_client()
    theirs: curve.Side = sides.client_of(ours) if server else sides.server_of(ours)
    for flags, body in frames_of(MESSAGES):
        outer = frames_of(ours.seal(ref.frame(body, flags)))
        assert [flag for flag, _ in outer] == [0]
        inside = {0: 0, ref.MORE: curve.MORE, ref.COMMAND: curve.COMMAND}[flags]
        assert theirs.open(outer[0][1]) == (inside, body)
    assert ours.open(sealed(theirs, *frames_of(MESSAGES))) == MESSAGES
    assert ours.idle


@pytest.mark.parametrize("piece", [1, 2, 10, 33, 40, 1000, 50_000])
def test_pieces_and_little_room_change_nothing(piece: int) -> None:
    """Whatever the sizes of what is sealed, read, and given."""
    ours, other = our_server(), our_client()
    theirs = sides.client_of(ours)
    said = sealed(theirs, *frames_of(MESSAGES))
    got = b"".join(
        ours.open(said[at : at + piece], cap=1 + piece % 97) for at in range(0, len(said), piece)
    )
    assert got == MESSAGES
    server, kept, out = sides.server_of(other), 0, b""
    for at in range(0, len(MESSAGES), piece):
        part = MESSAGES[at : at + piece]
        while part:
            used, done = other.seal_once(part, before=kept)
            kept = 0 if done else kept + used
            part, out = part[used:], out + done
    assert [server.open(body) for _, body in frames_of(out)] == [
        ({0: 0, ref.MORE: 1, ref.COMMAND: 2}[flags], body) for flags, body in frames_of(MESSAGES)
    ]


def test_pieces_of_any_kind_give_the_same() -> None:
    """Seeded: sizes of frames, of reads, and of the room there is."""
    for seed in range(60):
        chance = random.Random(seed)
        ours = our_server()
        theirs = sides.client_of(ours)
        sizes = [chance.choice([0, 5, 300, 5000]) for _ in range(30)]
        plain = b"".join(ref.frame(chance.randbytes(size)) for size in sizes)
        said, got = sealed(theirs, *frames_of(plain)), b""
        while said:
            size = chance.choice([1, 50, 3000, 20_000])
            got += ours.open(said[:size], cap=chance.choice([1, 7, 400, 9000]))
            said = said[size:]
        assert got == plain
        assert ours.idle


def test_seal_takes_one_frame_at_a_time_and_keeps_what_is_none_yet() -> None:
    """So what was written whole is known frame by frame."""
    client = our_client()
    sides.server_of(client)
    two = ref.frame(b"a") + ref.frame(b"b")
    used, first = client.seal_once(two)
    assert (used, len(frames_of(first))) == (3, 1)
    assert client.seal_once(two[:2]) == (2, b"")
    used, second = client.seal_once(two[2:], before=2)
    assert (used, len(frames_of(second))) == (1, 1)


def test_memory_grows_with_what_came_and_is_given_back() -> None:
    """Not with what was claimed; an idle connection holds little."""
    server = our_server(frame_max=1 << 30)
    theirs = sides.client_of(server)
    server.open(b"")
    before = server.held
    said = sealed(theirs, (0, b"x" * 3_000_000))
    server.open(b"\x02" + struct.pack(">Q", 1 << 30))
    assert server.held - before <= 256
    server.open(bytes(1 << 20))
    assert server.held - before <= 2 << 20
    server = our_server(frame_max=1 << 30)
    assert sides.client_of(server)
    server.open(said[: 1 << 20])
    assert server.held - before <= 2 << 20
    assert not server.idle
    server.open(said[1 << 20 :])
    assert (server.held, server.idle) == (before, True)


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"\x02" + struct.pack(">Q", 33 + BIG + 1), "MESSAGE_SIZE"),
        (b"\x02" + struct.pack(">Q", 2**63 - 1), "MESSAGE_SIZE"),
        (b"\x02" + struct.pack(">Q", 2**63), "FRAME_FLAGS"),
        (b"\x02" + b"\xff" * 8, "FRAME_FLAGS"),
        (b"\x00\x20", "CRYPTO"),
        (b"\x00\x00", "CRYPTO"),
        (b"\x01\x21", "FRAME_FLAGS"),
        (b"\x08\x21", "FRAME_FLAGS"),
        (b"\x05\x21", "FRAME_FLAGS"),
        (ref.frame(b"plain text that is not in any box"), "CRYPTO"),
        (ref.frame(b"\x07MESSAGO" + bytes(40)), "CRYPTO"),
        (ref.ping(1), "CRYPTO"),
        (curve.framed(b"\x05ERROR\x03400"), "CRYPTO"),
    ],
)
def test_what_is_no_message_is_refused(head: bytes, reason: str) -> None:
    """By its head, where that says so."""
    server = our_server()
    sides.client_of(server)
    refused(server, head, reason, "")


def test_once_messages_come_nothing_of_the_handshake_is_held() -> None:
    """An idle connection is to be small: there may be many."""
    server = our_server()
    theirs = sides.client_of(server)
    assert server.held > 0
    server.open(sealed(theirs, (0, b"x")))
    assert server.held == 0


def test_a_message_of_the_largest_size_is_taken() -> None:
    """One octet more is not."""
    server = our_server(frame_max=1000)
    theirs = sides.client_of(server)
    assert server.open(sealed(theirs, (0, b"x" * 1000))) == ref.frame(b"x" * 1000)
    refused(
        server, sealed(theirs, (0, b"x" * 1001)), "MESSAGE_SIZE", "1034 octets; it has 33 to 1033"
    )


def test_a_message_in_a_command_frame_is_taken() -> None:
    """RFC 37 would have it so; libzmq sends the other form, and takes both."""
    server = our_server()
    theirs = sides.client_of(server)
    assert server.open(curve.framed(theirs.seal(b"x"))) == ref.frame(b"x")


def test_no_message_may_be_left_out_or_come_twice_or_in_another_order() -> None:
    """Others take any number above the last, so one can be cut out and nobody sees it."""
    said = {}
    for name in ("twice", "skipped", "swapped", "zero"):
        server = our_server()
        theirs = sides.client_of(server)
        first, second = (ref.frame(theirs.seal(text)) for text in (b"1", b"2"))
        said = {
            "twice": first + first,
            "skipped": second,
            "swapped": second + first,
            "zero": ref.frame(theirs.seal(b"x", number=0)),
        }
        refused(server, said[name], "SEQUENCE", "MESSAGE")


def test_a_number_counts_once_its_box_opened() -> None:
    """A wrong box is refused as that, and the last number is as it was."""
    server = our_server()
    theirs = sides.client_of(server)
    good = ref.frame(theirs.seal(b"x"))
    refused(server, good[:-1] + bytes([good[-1] ^ 1]), "CRYPTO", "MESSAGE 3 does not open")


def test_numbers_end_before_2_to_the_63() -> None:
    """Nobody gets there; who says so is refused, and we seal no more."""
    server = our_server()
    theirs = sides.client_of(server)
    server.number(2**63 - 2, 2**63 - 2)
    last = ref.frame(theirs.seal(b"x", number=2**63 - 1))
    assert server.open(last) == ref.frame(b"x")
    theirs.received = 2**63 - 2
    assert theirs.open(frames_of(server.seal(ref.frame(b"y")))[0][1]) == (0, b"y")
    refused(server, ref.frame(theirs.seal(b"x", number=2**63)), "SEQUENCE", "MESSAGE")
    with pytest.raises(ValueError, match="no more"):
        server.seal(ref.frame(b"z"))


@pytest.mark.parametrize("piece", [1, 20, 50, 10_000])
def test_what_is_in_front_of_a_wrong_message_is_given(piece: int) -> None:
    """However it comes: nothing that was right is lost with it, and nothing behind it is given."""
    server = our_server()
    theirs = sides.client_of(server)
    right = [(0, b"%d" % i * 30) for i in range(20)]
    said = sealed(theirs, *right)
    wrong = bytearray(sealed(theirs, (0, b"wrong")))
    wrong[-1] ^= 1
    said += bytes(wrong) + sealed(theirs, (0, b"behind"))
    got = b""
    with pytest.raises(CodecError, match="^CRYPTO$"):
        for at in range(0, len(said), piece):
            got += server.open_once(said[at : at + piece])
    assert got + server.before == b"".join(ref.frame(body) for _, body in right)


@pytest.mark.parametrize("flags", [3, 4, 5, 8, 0x80])
def test_flags_that_nobody_knows_are_refused(flags: int) -> None:
    """MORE and COMMAND together, too."""
    server = our_server()
    theirs = sides.client_of(server)
    refused(server, ref.frame(theirs.seal(b"x", flags)), "FRAME_FLAGS", "in a MESSAGE")


def test_no_bit_of_a_message_may_be_changed() -> None:
    """Of what is inside of its frame, and no octet of it taken."""
    server = our_server()
    good = ref.frame(sides.client_of(server).seal(b"text"))
    for bit in range(16, len(good) * 8):
        server = our_server()
        sides.client_of(server)
        wrong = bytearray(good)
        wrong[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CodecError):
            server.open(bytes(wrong))


def test_what_the_other_direction_or_another_connection_sealed_is_refused() -> None:
    """Each direction has its own nonces, each connection its own keys."""
    client, server = our_client(), our_server()
    theirs = sides.server_of(client)
    sides.client_of(server)
    said = client.seal(ref.frame(b"x"))
    client.number(2, 2)
    refused(client, said, "CRYPTO", "MESSAGE 3")
    assert theirs.received == 2
    again = our_server(drawn=b"\x31" * 96)
    sides.client_of(again)
    refused(again, said, "CRYPTO", "MESSAGE 3")


def test_before_the_handshake_is_done_there_are_no_messages() -> None:
    """Every key is zeros until then, and a handshake that failed is one that is not done."""
    server = our_server()
    theirs = sides.ref_client()
    server.feed(curve.framed(theirs.hello()))
    with pytest.raises(CodecError, match="HANDSHAKE"):
        server.feed(ref.frame(bytes(40)))
