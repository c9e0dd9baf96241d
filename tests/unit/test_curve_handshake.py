"""The handshake of CURVE: what is sent, octet by octet; what is accepted, and what is refused, and
by which check.

Not here: messages (test_curve_messages.py), connections (tests/interop, tests/hostile).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from nacl.bindings import crypto_box

from tests.support import curvesides as sides
from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support.codec import CodecError
from tests.support.curvecodec import ASK, DONE, MORE, Curve
from tests.support.curvesides import body, our_client, our_server, ref_client, ref_server
from tests.support.mm import lib

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def by_the_reference() -> dict[str, bytes]:
    """Every command from fixed keys, as the reference says it to itself."""
    client, server = ref_client(), ref_server()
    said = {"hello": client.hello()}
    server.greeted(said["hello"])
    said["welcome"] = server.welcome()
    client.welcomed(said["welcome"])
    said["initiate"] = client.initiate()
    server.initiated(said["initiate"])
    said["ready"] = server.ready()
    client.accepted(said["ready"])
    frames = {name: curve.framed(command) for name, command in said.items()}
    frames["message_client"] = ref.frame(client.seal(b"hello", curve.MORE))
    frames["message_server"] = ref.frame(server.seal(body(ref.ping(150)), curve.COMMAND))
    frames["message_long"] = ref.frame(server.seal(b"x" * 300))
    frames["error"] = ref.error(b"400")
    return frames


def by_ours() -> dict[str, bytes]:
    """The same by our machines."""
    client, server, denying = our_client(), our_server(), our_server(asks=True)
    said = {"hello": client.output()}
    assert server.feed(said["hello"]) == MORE
    said["welcome"] = server.output()
    assert client.feed(said["welcome"]) == MORE
    said["initiate"] = client.output()
    assert server.feed(said["initiate"]) == DONE
    said["ready"] = server.output()
    assert client.feed(said["ready"]) == DONE
    said["message_client"] = client.seal(ref.frame(b"hello", ref.MORE))
    said["message_server"] = server.seal(ref.ping(150))
    said["message_long"] = server.seal(ref.frame(b"x" * 300))
    denying.feed(said["hello"])
    assert denying.output() == said["welcome"]
    assert denying.feed(said["initiate"]) == ASK
    with pytest.raises(CodecError, match="NOT_ALLOWED"):
        denying.answer(lib.MM_DENY)
    said["error"] = denying.output()
    return said


@pytest.mark.parametrize("name", sorted(by_the_reference()))
def test_a_golden_vector_is_what_both_the_reference_and_we_say(name: str) -> None:
    """The files of tests/golden are the wire; no side may drift."""
    golden = (GOLDEN / f"curve_{name}.bin").read_bytes()
    assert golden == by_the_reference()[name]
    assert golden == by_ours()[name]


def test_the_commands_have_the_sizes_of_the_rfc() -> None:
    """Beside their heads, and the properties in two of them."""
    said = {name: len(body(frame)) for name, frame in by_ours().items()}
    assert (said["hello"], said["welcome"]) == (curve.HELLO_SIZE, curve.WELCOME_SIZE)
    assert said["initiate"] == curve.INITIATE_SIZE + len(sides.PUSH)
    assert said["ready"] == curve.READY_SIZE + len(sides.PULL)
    assert said["message_client"] == curve.MESSAGE_SIZE + 5


def test_each_side_learns_the_properties_of_the_other_and_the_server_its_key() -> None:
    """They are inside of INITIATE and READY."""
    client, server = our_client(), our_server()
    sides.client_of(server)
    sides.server_of(client)
    assert server.peer() == (curve.public_of(sides.CLIENT), sides.PUSH)
    assert client.peer() == (curve.public_of(sides.SERVER), sides.PULL)


def test_a_client_without_a_key_is_somebody_else_each_time() -> None:
    """It draws one."""
    public = curve.public_of(sides.SERVER)
    client = Curve(server=public, drawn=sides.CLIENT_SHORT + sides.CLIENT + sides.VOUCH_N)
    assert sides.server_of(client).client == curve.public_of(sides.CLIENT)
    with pytest.raises(ValueError, match="policy"):
        Curve()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_server_takes_clients_that_know_any_of_its_keys(count: int) -> None:
    """Rotation: the newest first."""
    keys = [bytes([i]) * 32 for i in range(count - 1)]
    sides.client_of(our_server(*keys, sides.SERVER))
    with pytest.raises(ValueError, match="policy"):
        our_server(*keys, *[sides.SERVER] * (4 - len(keys)))


def feeding(machine: Curve, data: bytes, by: int) -> int:
    """Feed it in pieces of so many octets."""
    return [machine.feed(data[at : at + by]) for at in range(0, len(data), by)][-1]


@pytest.mark.parametrize("by", [1, 2, 9, 100])
def test_the_handshake_may_come_in_pieces(by: int) -> None:
    """The same as whole."""
    said = by_the_reference()
    client, server = our_client(), our_server()
    client.output()
    assert feeding(server, said["hello"], by) == MORE
    server.output(by)
    assert feeding(client, said["welcome"], by) == MORE
    assert feeding(server, said["initiate"], by) == DONE
    assert feeding(client, said["ready"], by) == DONE


def test_a_command_may_have_a_long_head_though_it_is_short() -> None:
    """As any frame."""
    server, theirs = our_server(), ref_client()
    assert server.feed(ref.frame(theirs.hello(), ref.COMMAND | ref.LONG)) == MORE


def test_who_is_let_in_gets_ready_and_who_is_not_hears_it_only_when_denied() -> None:
    """Later is no word of the wire: the connection just ends."""
    for kind, heard in [(lib.MM_ALLOW, b"READY"), (lib.MM_DENY, b"ERROR"), (lib.MM_LATER, b"")]:
        server, theirs = our_server(asks=True), ref_client()
        server.feed(curve.framed(theirs.hello()))
        theirs.welcomed(body(server.output()))
        assert server.feed(curve.framed(theirs.initiate())) == ASK
        assert server.peer() == (curve.public_of(sides.CLIENT), sides.PUSH)
        assert server.output() == b""
        if kind == lib.MM_ALLOW:
            assert server.answer(kind) == DONE
        else:
            with pytest.raises(CodecError, match="NOT_ALLOWED"):
                server.answer(kind)
        assert server.output()[3:8] == heard


STATUSES = [
    (b"400", "the server does not let us in: '400'"),
    (b"no", "the server does not let us in: 'no'"),
    (b"300", "could not say whether we may come in: '300', a temporary error of its ZAP"),
    (b"500", "could not say whether we may come in: '500', an internal error of its ZAP"),
]


@pytest.mark.parametrize(("status", "words"), STATUSES)
def test_a_client_that_is_told_error_says_so(status: bytes, words: str) -> None:
    """In either of its states; 300 and 500 say nothing of us."""
    for step in range(2):
        client, theirs = our_client(), ref_server()
        theirs.greeted(body(client.output()))
        if step == 1:
            client.feed(curve.framed(theirs.welcome()))
        with pytest.raises(CodecError, match="ERROR_COMMAND"):
            client.feed(ref.error(status))
        assert words in client.detail
        assert client.output() == b""


def test_a_cookie_is_good_for_ten_seconds() -> None:
    """Then INITIATE comes too late."""
    for late, fine in [(10_000, True), (10_001, False)]:
        server, theirs = our_server(), ref_client()
        server.feed(curve.framed(theirs.hello()))
        theirs.welcomed(body(server.output()))
        server.later(late)
        if fine:
            assert server.feed(curve.framed(theirs.initiate())) == DONE
        else:
            refused(server, theirs.initiate(), "HANDSHAKE_TIMEOUT", "10000 ms")


def refused(machine: Curve, command: bytes, reason: str, words: str) -> None:
    """It is refused for that, and silently; nothing more is taken."""
    with pytest.raises(CodecError, match=f"^{reason}$"):
        machine.feed(curve.framed(command))
    assert words in machine.detail
    assert machine.output() == b""
    with pytest.raises(CodecError):
        machine.feed(curve.framed(command))


def hello_with(number: int = 1, plain: bytes = bytes(64), server: bytes = b"") -> bytes:
    """A HELLO that is wrong within."""
    to = server or curve.public_of(sides.SERVER)
    nonce = curve.short(b"CurveZMQHELLO---", number)
    boxed = crypto_box(plain, nonce, to, sides.CLIENT_SHORT)
    return curve.hello(curve.public_of(sides.CLIENT_SHORT), number, boxed)


GOOD_HELLO = hello_with()
HELLOS: dict[str, tuple[bytes, str, str]] = {
    "199": (GOOD_HELLO[:-1], "HANDSHAKE", "199 octets instead of HELLO"),
    "201": (GOOD_HELLO + b"x", "HANDSHAKE", "201 octets instead of HELLO"),
    "256": (GOOD_HELLO.ljust(256, b"x"), "HANDSHAKE", "256 octets"),
    "name": (b"\x05HELLU" + GOOD_HELLO[6:], "HANDSHAKE", "another command instead of HELLO"),
    "version": (b"\x05HELLO\x02\x00" + GOOD_HELLO[8:], "HANDSHAKE", "version 2.0"),
    "padding": (GOOD_HELLO[:79] + b"x" + GOOD_HELLO[80:], "HANDSHAKE", "padding"),
    "box": (GOOD_HELLO[:-1] + b"x", "CRYPTO", "server= is not our key"),
    "number": (GOOD_HELLO[:119] + b"\x02" + GOOD_HELLO[120:], "CRYPTO", "does not open"),
    "zeros": (hello_with(plain=bytes(63) + b"\x01"), "CRYPTO", "no zeros"),
    "server": (hello_with(server=curve.public_of(b"x" * 32)), "CRYPTO", "not our key"),
    **{
        f"low{i}": (GOOD_HELLO[:80] + low + GOOD_HELLO[112:], "CRYPTO", "low order")
        for i, low in enumerate(curve.LOW_ORDER)
    },
}


@pytest.mark.parametrize("name", sorted(HELLOS))
def test_a_hello_that_is_not_right_is_refused(name: str) -> None:
    """Each by its own check."""
    refused(our_server(), *HELLOS[name])


def test_a_command_of_2_to_the_63_octets_is_refused_by_its_head() -> None:
    """And no memory is taken for it."""
    for size in (2**63, 2**63 - 1, 2**32):
        server = our_server()
        with pytest.raises(CodecError, match="HANDSHAKE"):
            server.feed(b"\x06" + struct.pack(">Q", size))
        assert server.held <= 256
    for flags in (b"\x00", b"\x01", b"\x05", b"\x08"):
        with pytest.raises(CodecError, match="HANDSHAKE"):
            our_server().feed(flags)


def initiated(change: Callable[[curve.Client], bytes]) -> tuple[Curve, bytes]:
    """Our server after HELLO, and an INITIATE that is made from its WELCOME."""
    server, theirs = our_server(), ref_client(nonces=lambda size: bytes(size))
    server.feed(curve.framed(theirs.hello()))
    theirs.welcomed(body(server.output()))
    return server, change(theirs)


def boxed_by(
    client: curve.Client, *, key: bytes = b"", vouch: bytes = b"", metadata: bytes = sides.PUSH
) -> bytes:
    """An INITIATE of these parts."""
    number = client.number()
    plain = (key or client.public) + (vouch or client.vouch()) + metadata
    boxed = client.box(plain, curve.short(b"CurveZMQINITIATE", number))
    return curve.initiate(client.cookie, number, boxed)


def vouch_of(client: curve.Client, short: bytes, server: bytes) -> bytes:
    """A vouch for these."""
    boxed = crypto_box(short + server, b"VOUCH---" + bytes(16), client.peer_short, client.secret)
    return bytes(16) + boxed


def with_number(client: curve.Client, number: int) -> bytes:
    """An INITIATE of that number."""
    client.sent = number - 1
    return client.initiate()


def with_cookie(client: curve.Client, at: int) -> bytes:
    """An INITIATE of which an octet of the cookie is changed."""
    client.cookie = client.cookie[:at] + bytes([client.cookie[at] ^ 1]) + client.cookie[at + 1 :]
    return client.initiate()


def cookie_of_another(client: curve.Client) -> bytes:
    """An INITIATE with a cookie of the same server, for the same client, of another connection."""
    other = our_server(drawn=b"\x11" * 32 + b"\x12" * 32 + bytes(32))
    other.feed(curve.framed(ref_client().hello()))
    another = replace(client)
    another.welcomed(body(other.output()))
    client.cookie = another.cookie
    return client.initiate()


SHORT, PUBLIC = curve.public_of(sides.CLIENT_SHORT), curve.public_of(sides.SERVER)
INITIATES: dict[str, tuple[Callable[[curve.Client], bytes], str, str]] = {
    "short": (lambda c: c.initiate()[:256], "HANDSHAKE", "256 octets instead of INITIATE"),
    "name": (lambda c: b"\x08INITIATO" + c.initiate()[9:], "HANDSHAKE", "another command"),
    "hello": (lambda c: GOOD_HELLO, "HANDSHAKE", "200 octets instead of INITIATE"),
    "same_number": (lambda c: with_number(c, 1), "SEQUENCE", "not above"),
    "2^63": (lambda c: with_number(c, 2**63), "SEQUENCE", "not above"),
    "cookie_n": (lambda c: with_cookie(c, 0), "CRYPTO", "the cookie"),
    "cookie": (lambda c: with_cookie(c, 95), "CRYPTO", "the cookie"),
    "cookie_of_another": (cookie_of_another, "CRYPTO", "the cookie"),
    "box": (lambda c: c.initiate()[:-1] + b"x", "CRYPTO", "INITIATE does not open"),
    "vouch": (lambda c: boxed_by(c, vouch=bytes(96)), "CRYPTO", "the vouch does not open"),
    "vouch_short": (
        lambda c: boxed_by(c, vouch=vouch_of(c, c.public, PUBLIC)),
        *("CRYPTO", "another connection or server"),
    ),
    "vouch_server": (
        lambda c: boxed_by(c, vouch=vouch_of(c, SHORT, curve.public_of(b"x" * 32))),
        *("CRYPTO", "another connection or server"),
    ),
    "key_of_another": (lambda c: boxed_by(c, key=PUBLIC), "CRYPTO", "the vouch does not open"),
    **{
        f"low{i}": (lambda c, low=low: boxed_by(c, key=low), "CRYPTO", "low order")
        for i, low in enumerate(curve.LOW_ORDER)
    },
    "16KiB+1": (
        lambda c: boxed_by(c, metadata=bytes(16 * 1024 + 1)),
        *("HANDSHAKE", "instead of INITIATE"),
    ),
}


@pytest.mark.parametrize("name", sorted(INITIATES))
def test_an_initiate_that_is_not_right_is_refused(name: str) -> None:
    """Each by its own check, in the order of the checks."""
    change, reason, words = INITIATES[name]
    refused(*initiated(change), reason, words)


def test_an_initiate_may_have_more_properties_than_we_send() -> None:
    """We send 256 octets at most, as JeroMQ has no room for more; others may send 16 KiB."""
    for size in (257, 15_000):
        server, command = initiated(lambda c, size=size: boxed_by(c, metadata=bytes(size)))
        assert server.feed(curve.framed(command)) == DONE
        assert server.peer()[1] == bytes(size)
    with pytest.raises(ValueError, match="policy"):
        our_server(metadata=bytes(257))


def welcome_of(server: curve.Server, short_public: bytes) -> bytes:
    """A WELCOME with that key in it."""
    server.welcome()
    plain = short_public + server.cookie
    nonce = b"WELCOME-" + bytes(16)
    return curve.welcome(bytes(16), crypto_box(plain, nonce, server.peer_short, server.secret))


WELCOMES: dict[str, tuple[Callable[[curve.Server], bytes], str, str]] = {
    "167": (lambda s: s.welcome()[:-1], "HANDSHAKE", "a WELCOME of 167"),
    "169": (lambda s: s.welcome() + b"x", "HANDSHAKE", "a WELCOME of 169"),
    "300": (lambda s: s.welcome().ljust(300), "HANDSHAKE", "300 octets instead of WELCOME"),
    "box": (lambda s: s.welcome()[:-1] + b"x", "CRYPTO", "not our server"),
    "server": (lambda s: replace(s, secret=b"x" * 32).welcome(), "CRYPTO", "not our server"),
    "error": (lambda s: b"\x05ERROR\x04400", "HANDSHAKE", "malformed ERROR"),
    "hello": (lambda s: GOOD_HELLO, "HANDSHAKE", "HELLO instead of WELCOME: a client, too"),
    **{
        f"low{i}": (lambda s, low=low: welcome_of(s, low), "CRYPTO", "low order")
        for i, low in enumerate(curve.LOW_ORDER)
    },
}


@pytest.mark.parametrize("name", sorted(WELCOMES))
def test_a_welcome_that_is_not_right_is_refused(name: str) -> None:
    """Each by its own check; libzmq's client aborts on a key of low order."""
    change, reason, words = WELCOMES[name]
    client, theirs = our_client(), ref_server(nonces=lambda size: bytes(size))
    theirs.greeted(body(client.output()))
    refused(client, change(theirs), reason, words)


def ready_of(server: curve.Server, number: int) -> bytes:
    """A READY of that number."""
    server.sent = number - 1
    return server.ready()


READYS: dict[str, tuple[Callable[[curve.Server], bytes], str, str]] = {
    "29": (lambda s: s.ready()[:29], "HANDSHAKE", "a READY of 29"),
    "box": (lambda s: s.ready()[:-1] + b"x", "CRYPTO", "READY does not open"),
    "welcome": (lambda s: s.welcome(), "HANDSHAKE", "another command instead of READY"),
    "2^63": (lambda s: ready_of(s, 2**63), "SEQUENCE", "2^63"),
}


@pytest.mark.parametrize("name", sorted(READYS))
def test_a_ready_that_is_not_right_is_refused(name: str) -> None:
    """A second WELCOME among them."""
    change, reason, words = READYS[name]
    client, theirs = our_client(), ref_server(nonces=lambda size: bytes(size))
    theirs.greeted(body(client.output()))
    client.feed(curve.framed(theirs.welcome()))
    theirs.initiated(body(client.output()))
    refused(client, change(theirs), reason, words)


@pytest.mark.parametrize("name", ["hello", "initiate", "welcome", "ready"])
def test_no_bit_of_a_command_may_be_changed(name: str) -> None:
    """And none is needed twice: a command that is cut is only waited for."""
    said = by_the_reference()
    before = {
        "hello": (our_server, []),
        "initiate": (our_server, ["hello"]),
        "welcome": (our_client, []),
        "ready": (our_client, ["welcome"]),
    }[name]
    frame = said[name]
    head = len(frame) - len(body(frame))
    for bit in range(head * 8, len(frame) * 8):
        if (name, bit - head * 8) == ("hello", 111 * 8 + 7):
            continue  # Curve25519 takes no notice of it; the vouch does
        machine = before[0]()
        machine.output()
        for step in before[1]:
            machine.feed(said[step])
        machine.output()
        wrong = bytearray(frame)
        wrong[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CodecError):
            machine.feed(bytes(wrong))
        assert machine.output() == b""
    for cut in range(len(frame)):
        machine = before[0]()
        for step in before[1]:
            machine.feed(said[step])
        assert machine.feed(frame[:cut]) == MORE


def test_the_bit_of_a_key_that_the_curve_ignores_is_missed_by_the_vouch() -> None:
    """The server's C' is then not that which the client vouched for."""
    server, theirs = our_server(), ref_client()
    hello = bytearray(theirs.hello())
    hello[111] ^= 0x80
    assert server.feed(curve.framed(bytes(hello))) == MORE
    theirs.welcomed(body(server.output()))
    refused(server, theirs.initiate(), "CRYPTO", "another connection or server")


@pytest.mark.parametrize("doubled", ["hello", "welcome"])
def test_a_command_that_comes_twice_is_refused(doubled: str) -> None:
    """Behind INITIATE and READY stand messages."""
    said = by_the_reference()
    machine = our_server() if doubled == "hello" else our_client()
    assert machine.feed(said[doubled]) == MORE
    with pytest.raises(CodecError, match="HANDSHAKE"):
        machine.feed(said[doubled])


def test_what_was_recorded_is_of_no_use_on_another_connection() -> None:
    """A client that only repeats gets no further than WELCOME."""
    said = by_the_reference()
    server = our_server(drawn=b"\x21" * 96)
    assert server.feed(said["hello"]) == MORE
    refused(server, body(said["initiate"]), "CRYPTO", "the cookie")
    client = our_client(drawn=b"\x22" * 48)
    refused(client, body(said["welcome"]), "CRYPTO", "not our server")
