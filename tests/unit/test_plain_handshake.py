"""The handshake of PLAIN: what is sent, octet by octet; what is accepted, and what is refused, and
by which check.

Not here: connections (tests/interop, tests/hostile).
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.support import refcodec as ref
from tests.support import refplain as plain
from tests.support.codec import CodecError
from tests.support.mm import lib
from tests.support.plaincodec import ASK, DONE, MORE, Plain

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
USER, PASSWORD = b"alice", b"correct horse"
PULL = ref.metadata([(b"Socket-Type", b"PULL"), (b"X-Meshmsg", b"1 refuse stop ack meta")])
PUSH = ref.metadata([(b"Socket-Type", b"PUSH"), (b"X-Meshmsg", b"1 refuse stop ack meta")])
HELLO = plain.framed(plain.hello(USER, PASSWORD))
WELCOME = plain.framed(plain.WELCOME)
INITIATE = plain.framed(plain.initiate(PUSH))
READY = plain.framed(plain.ready(PULL))


def our_client(user: bytes = USER, password: bytes = PASSWORD) -> Plain:
    """Return ours as a client that has said HELLO."""
    client = Plain(user, password, metadata=PUSH)
    assert client.output() == plain.framed(plain.hello(user, password))
    return client


def our_server(*, asks: bool = False) -> Plain:
    """Return ours as a server."""
    return Plain(asks=asks, metadata=PULL)


def by_the_reference() -> dict[str, bytes]:
    """Every command, as the reference says it."""
    return {
        "hello": HELLO,
        "hello_empty": plain.framed(plain.hello(b"", b"")),
        "hello_long": plain.framed(plain.hello(b"u" * 255, b"p" * 255)),
        "welcome": WELCOME,
        "initiate": INITIATE,
        "ready": READY,
        "error": ref.error(b"400"),
    }


def by_ours() -> dict[str, bytes]:
    """The same by our machines."""
    client, server, denying = Plain(USER, PASSWORD, metadata=PUSH), our_server(), our_server()
    said = {"hello": client.output()}
    said["hello_empty"] = Plain(b"", b"").output()
    said["hello_long"] = Plain(b"u" * 255, b"p" * 255).output()
    assert server.feed(said["hello"]) == MORE
    said["welcome"] = server.output()
    assert client.feed(said["welcome"]) == MORE
    said["initiate"] = client.output()
    assert server.feed(said["initiate"]) == DONE
    said["ready"] = server.output()
    assert client.feed(said["ready"]) == DONE
    denying = our_server(asks=True)
    assert denying.feed(said["hello"]) == ASK
    with pytest.raises(CodecError, match="NOT_ALLOWED"):
        denying.answer(lib.MM_DENY)
    said["error"] = denying.output()
    return said


@pytest.mark.parametrize("name", sorted(by_the_reference()))
def test_a_golden_vector_is_what_both_the_reference_and_we_say(name: str) -> None:
    """The files of tests/golden are the wire; no side may drift."""
    golden = (GOLDEN / f"plain_{name}.bin").read_bytes()
    assert golden == by_the_reference()[name]
    assert golden == by_ours()[name]


def test_each_side_learns_the_properties_of_the_other() -> None:
    """They are in INITIATE and READY."""
    client, server = our_client(), our_server()
    server.feed(HELLO)
    assert server.properties() == b""
    assert server.feed(INITIATE) == DONE
    assert client.feed(WELCOME + READY) == DONE
    assert (server.properties(), client.properties()) == (PUSH, PULL)


@pytest.mark.parametrize(
    ("user", "password"), [(USER, PASSWORD), (b"", b""), (b"u" * 255, b"p" * 255), (b"\0", b"\xff")]
)
def test_a_server_asks_once_it_has_the_password_and_forgets_it_when_it_was_answered(
    user: bytes, password: bytes
) -> None:
    """WELCOME means that it may come in, so nothing is said before."""
    server = our_server(asks=True)
    assert server.feed(plain.framed(plain.hello(user, password))) == ASK
    assert server.applicant() == (user, password)
    assert server.output() == b""
    assert server.answer(lib.MM_ALLOW) == MORE
    assert server.applicant() == (b"", b"")
    assert server.output() == WELCOME
    assert server.feed(INITIATE) == DONE


def test_who_is_not_let_in_hears_it_only_when_denied() -> None:
    """Later is no word of the wire: the connection just ends."""
    for kind, heard in [(lib.MM_DENY, ref.error(b"400")), (lib.MM_LATER, b"")]:
        server = our_server(asks=True)
        assert server.feed(HELLO) == ASK
        with pytest.raises(CodecError, match="NOT_ALLOWED"):
            server.answer(kind)
        assert server.output() == heard
        assert server.applicant() == (b"", b"")


def test_nothing_is_taken_while_somebody_is_asked_and_an_answer_only_then() -> None:
    """Either is an end."""
    server = our_server(asks=True)
    server.feed(HELLO)
    with pytest.raises(CodecError, match="HANDSHAKE"):
        server.feed(INITIATE)
    with pytest.raises(CodecError, match="HANDSHAKE"):
        our_server(asks=True).answer(lib.MM_ALLOW)


def test_a_client_that_is_told_error_says_so() -> None:
    """In either of its states; the words are the server's."""
    for before in (b"", WELCOME):
        client = our_client()
        client.feed(before)
        client.output()
        with pytest.raises(CodecError, match="ERROR_COMMAND"):
            client.feed(ref.error(b"400"))
        assert "'400'" in client.detail
        assert client.output() == b""


def test_an_error_as_libzmq_4_3_writes_it_is_understood() -> None:
    """Its name begins with 5E, as C takes "\\x5ERROR" for "^RROR"."""
    client = our_client()
    with pytest.raises(CodecError, match="ERROR_COMMAND"):
        client.feed(plain.framed(b"^RROR\x03400"))
    assert "'400'" in client.detail
    with pytest.raises(CodecError, match="HANDSHAKE"):
        our_client().feed(plain.framed(b"^RROR\x04400"))


@pytest.mark.parametrize("by", [1, 2, 9, 100])
def test_the_handshake_may_come_in_pieces(by: int) -> None:
    """The same as whole."""

    def feeding(machine: Plain, data: bytes) -> int:
        return [machine.feed(data[at : at + by]) for at in range(0, len(data), by)][-1]

    client, server = our_client(), our_server()
    assert feeding(server, HELLO) == MORE
    assert server.output(by) == WELCOME[:by]
    assert feeding(client, WELCOME) == MORE
    assert feeding(server, INITIATE) == DONE
    assert feeding(client, READY) == DONE


def test_who_does_not_wait_for_the_other_hears_both_commands() -> None:
    """In order: what was not written yet is not lost."""
    client, server = Plain(USER, PASSWORD, metadata=PUSH), our_server()
    assert server.feed(HELLO + INITIATE) == DONE
    assert server.output() == WELCOME + READY
    assert client.feed(WELCOME + READY) == DONE
    assert client.output() == HELLO + INITIATE


def test_a_command_may_have_a_long_head_though_it_is_short() -> None:
    """As any frame."""
    server = our_server()
    assert server.feed(ref.frame(plain.hello(USER, PASSWORD), ref.COMMAND | ref.LONG)) == MORE


def refused(machine: Plain, data: bytes, words: str) -> None:
    """It is refused for that, and silently; nothing more is taken."""
    with pytest.raises(CodecError, match="^HANDSHAKE$"):
        machine.feed(data)
    assert words in machine.detail
    assert machine.output() == b""
    with pytest.raises(CodecError):
        machine.feed(data)


LONG = plain.framed(b"\x05HELLO\xff" + b"u" * 255 + b"\xff" + b"p" * 255 + b"x")
HELLOS: dict[str, tuple[bytes, str]] = {
    "nothing": (plain.framed(b""), "0 octets instead of HELLO"),
    "no_sizes": (plain.framed(b"\x05HELLO"), "6 octets instead of HELLO"),
    "one_size": (plain.framed(b"\x05HELLO\x00"), "7 octets instead of HELLO"),
    "user_cut": (plain.framed(b"\x05HELLO\x05user"), "sizes do not come to"),
    "user_takes_all": (plain.framed(b"\x05HELLO\x04user"), "sizes do not come to"),
    "password_cut": (plain.framed(b"\x05HELLO\x01u\x05pass"), "sizes do not come to"),
    "behind": (plain.framed(plain.hello(USER, PASSWORD) + b"x"), "sizes do not come to"),
    "zeros_behind": (plain.framed(plain.hello(USER, PASSWORD) + b"\0"), "sizes do not come to"),
    "519": (LONG, "519 octets instead of HELLO"),
    "name": (plain.framed(b"\x05HELLU\x01u\x01p"), "another command instead of HELLO"),
    "padded": (plain.framed(b"HELLO   \x01u\x01p"), "another command instead of HELLO"),
    "initiate": (INITIATE, "another command instead of HELLO"),
    "ready": (READY, "another command instead of HELLO"),
    "welcome": (WELCOME, "another command instead of HELLO"),
    "error": (ref.error(b"400"), "another command instead of HELLO"),
    "message": (ref.message(b"plain"), "frame flags 00"),
    "more": (b"\x05", "frame flags 05"),
    "reserved": (b"\x08", "frame flags 08"),
    "2^63": (b"\x06" + struct.pack(">Q", 2**63), "frame flags 06"),
    "2^63-1": (b"\x06" + struct.pack(">Q", 2**63 - 1), "instead of HELLO"),
    "16KiB+1": (b"\x06" + struct.pack(">Q", 2**14 + 1), "16385 octets instead of HELLO"),
}


@pytest.mark.parametrize("name", sorted(HELLOS))
def test_a_hello_that_is_not_right_is_refused(name: str) -> None:
    """Each by its own check, and whether somebody would be asked or not."""
    for asks in (True, False):
        refused(our_server(asks=asks), *HELLOS[name])


LATER: dict[str, tuple[bytes, bytes, str]] = {
    "hello_twice": (HELLO, HELLO, "another command instead of INITIATE"),
    "initiate_short": (HELLO, plain.framed(b"\x08INITIAT"), "8 octets instead of INITIATE"),
    "initiate_name": (HELLO, plain.framed(b"\x08INITIATO"), "another command"),
    "initiate_16KiB+1": (HELLO, b"\x06" + struct.pack(">Q", 2**14 + 1), "instead of INITIATE"),
    "initiate_message": (HELLO, ref.message(b"plain"), "frame flags 00 instead of INITIATE"),
    "done": (HELLO + INITIATE, INITIATE, "octets that nobody waits for"),
    "welcome_short": (b"", plain.framed(b"\x07WELCOM"), "another command instead of WELCOME"),
    "welcome_long": (b"", plain.framed(plain.WELCOME + b"x"), "a WELCOME of 9 octets"),
    "welcome_263": (b"", plain.framed(plain.WELCOME.ljust(263)), "263 octets instead of WELCOME"),
    "welcome_twice": (WELCOME, WELCOME, "another command instead of READY"),
    "ready_early": (b"", READY, "another command instead of WELCOME"),
    "ready_name": (WELCOME, plain.framed(b"\x05READE" + PULL), "another command"),
    "ready_long": (WELCOME, b"\x06" + struct.pack(">Q", 2**14 + 1), "instead of READY"),
    "a_client": (b"", HELLO, "HELLO instead of WELCOME: a client, too"),
    "error_cut": (b"", plain.framed(b"\x05ERROR\x04400"), "malformed ERROR"),
    "error_behind": (b"", plain.framed(b"\x05ERROR\x02400"), "malformed ERROR"),
    "error_short": (b"", plain.framed(b"\x05ERROR"), "6 octets instead of WELCOME"),
}


@pytest.mark.parametrize("name", sorted(LATER))
def test_a_later_command_that_is_not_right_is_refused(name: str) -> None:
    """On either side, in each state."""
    before, data, words = LATER[name]
    machine = our_server() if before.startswith(HELLO) else our_client()
    if before:
        machine.feed(before)
    machine.output()
    refused(machine, data, words)


def test_an_initiate_may_have_many_properties() -> None:
    """Up to what a handshake has in all."""
    server = our_server()
    server.feed(HELLO)
    assert server.feed(plain.framed(plain.initiate(bytes(15_000)))) == DONE
    assert server.properties() == bytes(15_000)


@pytest.mark.parametrize("name", ["hello", "welcome", "initiate", "ready"])
def test_a_changed_bit_is_an_error_or_says_something_else_and_a_cut_is_waited_for(
    name: str,
) -> None:
    """PLAIN has no seals: another letter is another user, or another property."""
    frame = by_the_reference()[name]
    fixed = {"hello": 6, "welcome": 8, "initiate": 9, "ready": 6}[name]
    before = {"hello": b"", "welcome": b"", "initiate": HELLO, "ready": WELCOME}[name]

    def machine() -> Plain:
        made = our_client() if name in ("welcome", "ready") else our_server(asks=name == "hello")
        if before:
            made.feed(before)
        made.output()
        return made

    for bit in range(len(frame) * 8):
        wrong = bytearray(frame)
        wrong[bit // 8] ^= 1 << bit % 8
        made = machine()
        try:
            came = made.feed(bytes(wrong))
        except CodecError:
            assert made.output() == b""
            continue
        at = bit // 8 - 2
        assert at < 0 or at >= fixed, "the name of a command has no octet that may be another"
        if name == "hello" and came == ASK:
            assert made.applicant() == plain.greeted(bytes(wrong[2:]))
            assert made.applicant() != (USER, PASSWORD)
        elif came == DONE:
            assert made.properties() not in (PULL, PUSH)
    for cut in range(len(frame)):
        assert machine().feed(frame[:cut]) == MORE


def test_a_name_of_256_octets_has_no_size() -> None:
    """Neither has a password."""
    for pair in [(b"u" * 256, b""), (b"", b"p" * 256)]:
        with pytest.raises(ValueError, match="policy"):
            Plain(*pair)
