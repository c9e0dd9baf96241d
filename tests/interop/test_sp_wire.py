"""The golden vectors of SP against what NNG and libnanomsg say: octets on a socket, our codec at
the other end.

Not here: meshmsg's sockets. Law: skipped, with its reason, only where the other library is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.spside import NanomsgSide, NngSide, Recorder
from tests.support import refsp as ref
from tests.support.spcodec import encode

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
Opener = Callable[[int, int], tuple[Any, Recorder]]
SIZES = [0, 1, 255, 256, 65_536, 1 << 20]

pytestmark = pytest.mark.leaves_threads
both_libraries = pytest.mark.parametrize("library", [NngSide, NanomsgSide], indirect=True)
both_mappings = pytest.mark.parametrize("mapping", ["tcp", "ipc"], indirect=True)


@pytest.fixture
def library(request: pytest.FixtureRequest) -> Any:
    """The class of the other side."""
    return request.param


@pytest.fixture
def mapping(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """The folder of the unix socket; None: tcp."""
    return str(tmp_path) if request.param == "ipc" else None


@pytest.fixture
def opened(library: Any, mapping: str | None) -> Iterator[Opener]:
    """A foreign socket that has dialed a recorder, both hellos done."""
    things: list[Any] = []

    def connect(theirs: int, ours: int) -> tuple[Any, Recorder]:
        recorder = Recorder(ours, mapping)
        things.append(recorder)
        foreign = library(theirs, recorder.url)
        things.insert(0, foreign)
        recorder.accept()
        foreign.wait()
        return foreign, recorder

    yield connect
    for thing in things:
        thing.close()


def golden(name: str) -> bytes:
    """Read a vector."""
    return (GOLDEN / f"{name}.bin").read_bytes()


def with_id(vector: bytes, heard: bytes) -> bytes:
    """Return a vector with the id that was heard: hello and length, id, body."""
    assert heard[16] & 0x80
    return vector[:16] + heard[16:20] + vector[20:]


@both_libraries
@both_mappings
@pytest.mark.parametrize(
    ("theirs", "name", "body"),
    [
        (ref.PUSH, "sp_push", b"hello"),
        (ref.PUSH, "sp_push_empty", b""),
        (ref.PUB, "sp_pub", b"fx.1.08"),
        (ref.PAIR0, "sp_pair0", b"hello"),
        (ref.BUS, "sp_bus", b"hello"),
    ],
)
def test_a_golden_vector_is_what_they_say(
    opened: Opener, mapping: str | None, theirs: int, name: str, body: bytes
) -> None:
    """Octet for octet; over ipc with 01 in front of the length."""
    foreign, recorder = opened(theirs, ref.PEERS[theirs])
    foreign.send(body)
    assert recorder.message() == (body,)
    wanted = golden(name)
    assert recorder.heard == wanted[:8] + (b"\x01" if mapping else b"") + wanted[8:]


@both_mappings
@pytest.mark.parametrize("library", [NngSide], indirect=True)
def test_the_golden_vector_of_pair_v1_is_what_nng_says(opened: Opener, mapping: str | None) -> None:
    """A hop count of 1 on the first hop."""
    foreign, recorder = opened(ref.PAIR1, ref.PAIR1)
    foreign.send(b"hello")
    assert recorder.message() == (b"hello",)
    assert recorder.heard == golden("sp_pair1_ipc" if mapping else "sp_pair1")
    recorder.send(encode(ref.PAIR1, b"back", ipc=recorder.ipc))
    assert foreign.recv() == b"back"


@both_libraries
@pytest.mark.parametrize("mapping", ["tcp"], indirect=True)
@pytest.mark.parametrize(
    ("theirs", "question", "body", "answer"),
    [
        (ref.REQ, "sp_request", b"ask", "sp_reply"),
        (ref.SURVEYOR, "sp_survey", b"who?", "sp_response"),
    ],
)
def test_a_golden_question_is_what_they_say_but_for_its_id(
    opened: Opener, theirs: int, question: str, body: bytes, answer: str
) -> None:
    """And they take the golden answer, with that id."""
    foreign, recorder = opened(theirs, ref.PEERS[theirs])
    foreign.send(body)
    frames = recorder.message()
    heard = recorder.heard
    assert heard == with_id(golden(question), heard)
    assert frames == (heard[16:20], b"", body)
    said = with_id(golden(answer), heard)
    recorder.send(said[8:])
    assert foreign.recv() == said[20:]


@both_libraries
@both_mappings
@pytest.mark.parametrize(("theirs", "name"), [(ref.REP, "sp_reply"), (ref.RESPONDENT, "")])
def test_a_replier_of_theirs_brings_back_the_whole_stack(
    opened: Opener, theirs: int, name: str
) -> None:
    """Hops and id, as they came: 8 words are the most that NNG takes."""
    foreign, recorder = opened(theirs, ref.PEERS[theirs])
    for hops in ([], [1], list(range(7))):
        stack = ref.stack(0x12345678, *hops)
        recorder.send(ref.message(stack + b"ask", recorder.ipc))
        assert foreign.recv() == b"ask"
        foreign.send(b"answer")
        wanted = ref.message(stack + b"answer", recorder.ipc)
        recorder.hear(wanted)
        if not hops and name and not recorder.ipc:
            assert recorder.heard == golden(name)


@both_libraries
@both_mappings
def test_bodies_of_all_sizes_go_both_ways(opened: Opener) -> None:
    """PAIR v0 to PAIR v0."""
    foreign, recorder = opened(ref.PAIR0, ref.PAIR0)
    for size in SIZES:
        body = b"x" * size
        recorder.send(encode(ref.PAIR0, body, ipc=recorder.ipc))
        assert foreign.recv() == body
        foreign.send(body)
        assert recorder.message() == (body,)


@both_libraries
@both_mappings
def test_a_subscriber_of_theirs_says_nothing_and_hears_everything(opened: Opener) -> None:
    """There is no subscription on the wire; topic and body are one."""
    foreign, recorder = opened(ref.SUB, ref.PUB)
    recorder.send(encode(ref.PUB, b"fx.", b"1.08", ipc=recorder.ipc))
    assert foreign.recv() == b"fx.1.08"
    assert recorder.heard == ref.hello(ref.SUB)


@pytest.mark.parametrize("library", [NngSide], indirect=True)
@pytest.mark.parametrize("mapping", ["tcp"], indirect=True)
@pytest.mark.parametrize(
    ("theirs", "dropped", "good"),
    [
        (ref.REP, ref.stack(1, *[2] * 8), ref.stack(1)),
        (ref.RESPONDENT, ref.words(*[2] * 9), ref.stack(1)),
        (ref.PAIR1, ref.words(9), ref.words(8)),
        (ref.PAIR1, ref.words(0xFF), ref.words(0)),
    ],
)
def test_nng_drops_what_we_drop_and_keeps_the_peer(
    opened: Opener, theirs: int, dropped: bytes, good: bytes
) -> None:
    """Too many hops: the next message on the same connection arrives."""
    foreign, recorder = opened(theirs, ref.PEERS[theirs])
    recorder.send(ref.message(dropped + b"lost") + ref.message(good + b"good"))
    assert foreign.recv() == b"good"
    assert ref.frames_of(theirs, dropped + b"lost") is None


@both_libraries
@pytest.mark.parametrize("mapping", ["tcp"], indirect=True)
@pytest.mark.parametrize("theirs", [ref.REQ, ref.SURVEYOR])
def test_an_answer_to_nothing_is_dropped_and_its_peer_stays(opened: Opener, theirs: int) -> None:
    """The same id without its top bit, and an id that nobody gave out."""
    foreign, recorder = opened(theirs, ref.PEERS[theirs])
    foreign.send(b"ask")
    identifier = recorder.message()[0]
    hop = bytes([identifier[0] & 0x7F]) + identifier[1:]
    other = identifier[:3] + bytes([identifier[3] ^ 1])
    recorder.send(b"".join(ref.message(word + b"x") for word in (hop, other)))
    recorder.send(ref.message(identifier + b"answer"))
    assert foreign.recv() == b"answer"
    assert ref.frames_of(theirs, hop + b"x") is None


@pytest.mark.parametrize("library", [NngSide], indirect=True)
@pytest.mark.parametrize("mapping", ["tcp"], indirect=True)
@pytest.mark.parametrize(
    ("theirs", "payload"),
    [
        (ref.REP, ref.words(1, 2)),
        (ref.REP, b"\x80\0\0"),
        (ref.RESPONDENT, b""),
        (ref.REQ, b"\x80\0\0"),
        (ref.PAIR1, ref.words(0x100) + b"x"),
        (ref.PAIR1, b"\0\0\0"),
    ],
)
def test_nng_closes_what_we_close(opened: Opener, theirs: int, payload: bytes) -> None:
    """A header that ends early, or a hop count that is none."""
    _, recorder = opened(theirs, ref.PEERS[theirs])
    recorder.send(ref.message(payload))
    assert recorder.closed()
    with pytest.raises(ref.Malformed):
        ref.frames_of(theirs, payload)
