"""Writes the seed corpus of the fuzzers from the reference codec. Usage: python -m
tests.fuzz.seeds."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzz.cursor_seeds import CURSOR
from tests.fuzz.replay_seeds import BLOCKS, REPLAY, REPLAYED
from tests.fuzz.spool_seeds import SPOOL
from tests.fuzz.tls_seeds import TLS
from tests.support import refcodec as ref
from tests.support import refcurve as curve
from tests.support import refplain as plain
from tests.support import refsp

CORPUS = Path(__file__).resolve().parent / "corpus"
READER = {
    "message": ref.message(b"hello"),
    "multipart": ref.message(b"a", b"", b"c" * 300),
    "long": ref.frame(b"x", ref.LONG),
    "ping": ref.ping(150, b"12345678"),
    "pong": ref.pong(b"12345678"),
    "subscribe": ref.subscription(True, b"topic") + ref.subscription(False, b"topic"),
    "error": ref.error(b"reason"),
    "unknown": ref.command(b"WHAT", b"ever"),
    "survey": ref.survey(0x80000001, b"who?"),
    "refusal": ref.refusal(0x80000001, b"busy"),
    "stop": ref.command(b"STOP") + ref.command(b"STOPPED", b"data"),
    "end": ref.message(b"last") + ref.command(b"END") + ref.command(b"END", b"data"),
    "replay": ref.command(b"REPLAY", bytes([1]) + bytes(7) + b"\x05" + bytes(31) + b"\x09"),
    "at": ref.command(b"AT", bytes(7) + b"\x05") + ref.message(b"x") + ref.command(b"REPLAY"),
    "lost": ref.command(b"LOST", bytes(8) + b"\x05") + ref.message(b"x"),
    "between": ref.frame(b"a", 1) + ref.ping(1) + ref.frame(b"b"),
    "huge": b"\x02" + b"\xff" * 8,
}
HELLO = {
    "push": ref.greeting() + ref.ready(b"PULL"),
    "dealer": ref.greeting() + ref.ready(b"ROUTER", (b"Identity", b"name")),
    "surveyor": ref.greeting() + ref.ready(b"SURVEYOR"),
    "features": ref.greeting() + ref.ready(b"REQ", (b"X-Meshmsg", b"1 refuse  x")),
    "group": ref.greeting() + ref.ready(b"PULL", (b"X-Meshmsg-Group", b"workers")),
    "group_long": ref.greeting() + ref.ready(b"PULL", (b"X-Meshmsg-Group", b"w" * 58)),
    "group_wrong": ref.greeting() + ref.ready(b"PULL", (b"X-Meshmsg-Group", b"a\0b")),
    "old": ref.greeting(minor=0) + ref.ready(b"SUB"),
    "curve": ref.greeting(mechanism=b"CURVE"),
    "twice": ref.greeting() + ref.ready(b"PULL", (b"Socket-Type", b"PULL")),
    "error": ref.greeting() + ref.error(b"no"),
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}
# (which protocol we are, as fuzz_sp.c numbers them; 0x80: over ipc), what the peer sends
SP: dict[str, tuple[int, bytes]] = {
    "pair0": (0, refsp.hello(refsp.PAIR0) + refsp.message(b"hello")),
    "pair1": (1, refsp.hello(refsp.PAIR1) + refsp.message(refsp.words(1) + b"hello")),
    "pair1_hops": (1, refsp.hello(refsp.PAIR1) + refsp.message(refsp.words(200))),
    "pair1_malformed": (1, refsp.hello(refsp.PAIR1) + refsp.message(refsp.words(256))),
    "sub": (3, refsp.hello(refsp.PUB) + refsp.message(b"") + refsp.message(b"fx.1.08")),
    "reply": (4, refsp.hello(refsp.REP) + refsp.message(refsp.stack(1) + b"reply")),
    "reply_without_id": (4, refsp.hello(refsp.REP) + refsp.message(refsp.words(1) + b"x")),
    "request": (5, refsp.hello(refsp.REQ) + refsp.message(refsp.stack(1, 2, 3) + b"ask")),
    "request_cut": (5, refsp.hello(refsp.REQ) + refsp.message(refsp.words(2, 3) + b"\x80\0")),
    "endless": (5, refsp.hello(refsp.REQ) + refsp.message(refsp.words(*[1] * 64))),
    "response": (8, refsp.hello(refsp.RESPONDENT) + refsp.message(refsp.stack(9) + b"me")),
    "survey_ipc": (0x89, refsp.hello(refsp.SURVEYOR) + refsp.message(refsp.stack(9), True)),
    "bus_ipc": (0x8A, refsp.hello(refsp.BUS) + refsp.message(b"all", True) * 2),
    "ipc_kind": (0x87, refsp.hello(refsp.PUSH) + b"\x02" + refsp.message(b"x")),
    "huge": (7, refsp.hello(refsp.PUSH) + b"\xff" * 8),
    "large": (7, refsp.hello(refsp.PUSH) + refsp.message(b"x" * 3000)),
    "wrong_protocol": (7, refsp.hello(refsp.PUB)),
    "no_protocol": (7, refsp.hello(0xF00)),
    "reserved": (7, b"\0SP\0\0\x50\0\x01"),
    "zmtp": (7, ref.greeting() + ref.ready(b"PUSH")),
    "http": (7, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    "tls": (7, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
}

# (our role, who dials: 0 they, 1 we over ZMTP, 2 we over SP), what the peer sends
OPENING: dict[str, tuple[int, int, bytes]] = {
    "zmtp": (1, 0, ref.greeting() + ref.ready(b"PUSH") + ref.message(b"a", b"b") * 3),
    "zmtp_dialed": (1, 1, ref.greeting() + ref.ready(b"PUSH") + ref.message(b"a") + ref.ping(1)),
    "sp": (1, 0, refsp.hello(refsp.PUSH) + refsp.message(b"a") * 9 + refsp.message(b"")),
    "sp_dialed": (3, 2, refsp.hello(refsp.PUB) + refsp.message(b"fx.1.08") * 20),
    "pair": (10, 0, refsp.hello(refsp.PAIR0) + refsp.message(b"hello") * 5),
    "hops": (10, 0, refsp.hello(refsp.PAIR1) + refsp.message(refsp.words(9)) * 2),
    "request": (7, 0, refsp.hello(refsp.REQ) + refsp.message(refsp.stack(1, 2) + b"ask")),
    "sp_to_a_router": (9, 0, refsp.hello(refsp.REQ)),
    "sp_where_zmtp_was_dialed": (0, 1, refsp.hello(refsp.PULL)),
    "zmtp_where_sp_was_dialed": (0, 2, ref.greeting()),
    "both": (1, 0, refsp.hello(refsp.PUSH) + ref.greeting()),
    "neither": (1, 0, b"GET / HTTP/1.1\r\n\r\n"),
    "large": (1, 0, refsp.hello(refsp.PUSH) + refsp.message(b"x" * 3000) + refsp.message(b"y")),
}


def boxed(plain: bytes) -> bytes:
    """A box as the stand-in of fuzz_curve.c takes it: nothing is hidden, and the tag is zeros."""
    return bytes(16) + plain


def curve_message(number: int, flags: int, payload: bytes) -> bytes:
    """A MESSAGE in its frame."""
    return ref.frame(curve.message(number, boxed(bytes([flags]) + payload)))


ONES, SERVER = b"\x01" * 32, b"\x03" + bytes(31)
COOKIE = b"\x01" * 16 + boxed(ONES + ONES)
VOUCH = bytes(16) + boxed(ONES + SERVER)
CURVE_HELLO = curve.framed(curve.hello(ONES, 1, boxed(bytes(64))))
CURVE_INITIATE = curve.framed(curve.initiate(COOKIE, 2, boxed(SERVER + VOUCH + b"properties")))
CURVE_WELCOME = curve.framed(curve.welcome(bytes(16), boxed(ONES + bytes(96))))
CURVE_READY = curve.framed(curve.ready(1, boxed(b"properties")))
MESSAGES = b"".join(
    curve_message(number, flags, payload)
    for number, (flags, payload) in enumerate(
        [(0, b""), (1, b"more"), (2, b"\x04PING\0\0"), (0, b"x" * 1500)], start=3
    )
)
# (1: we are the server, 2: somebody is asked, 4: who denies), what the peer sends
CURVE: dict[str, tuple[int, bytes]] = {
    "server": (1, CURVE_HELLO + CURVE_INITIATE + MESSAGES),
    "server_allows": (3, CURVE_HELLO + CURVE_INITIATE + MESSAGES),
    "server_denies": (7, CURVE_HELLO + CURVE_INITIATE),
    "server_hello_twice": (1, CURVE_HELLO * 2),
    "server_box": (1, CURVE_HELLO[:-1] + b"x"),
    "server_cookie": (1, CURVE_HELLO + CURVE_INITIATE.replace(COOKIE, bytes(96))),
    "server_vouch": (1, CURVE_HELLO + CURVE_INITIATE.replace(VOUCH, bytes(96))),
    "server_repeat": (1, CURVE_HELLO + CURVE_INITIATE + curve_message(3, 0, b"x") * 2),
    "client": (
        0,
        CURVE_WELCOME + CURVE_READY + curve_message(2, 0, b"") + curve_message(3, 1, b"a"),
    ),
    "client_messages": (0, CURVE_WELCOME + CURVE_READY + curve_message(2, 0, b"x" * 300) * 2),
    "client_low_order": (0, curve.framed(curve.welcome(bytes(16), boxed(bytes(128))))),
    "client_denied": (0, ref.error(b"400")),
    "client_denied_late": (0, CURVE_WELCOME + ref.error(b"400")),
    "client_error_cut": (0, curve.framed(b"\x05ERROR\x09400")),
    "flags": (1, CURVE_HELLO + CURVE_INITIATE + curve_message(3, 3, b"x")),
    "huge": (1, CURVE_HELLO + CURVE_INITIATE + b"\x02" + b"\xff" * 8),
    "too_large": (1, CURVE_HELLO + CURVE_INITIATE + b"\x02" + bytes(6) + b"\xff\xff"),
}
PLAIN_HELLO = plain.framed(plain.hello(b"user", b"password"))
PLAIN_WELCOME = plain.framed(plain.WELCOME)
PLAIN: dict[str, tuple[int, bytes]] = {
    "server": (1, PLAIN_HELLO + plain.framed(plain.initiate(b"properties")) + ref.message(b"x")),
    "server_allows": (3, PLAIN_HELLO + plain.framed(plain.initiate(b""))),
    "server_denies": (7, PLAIN_HELLO + plain.framed(plain.initiate(b""))),
    "server_hello_twice": (1, PLAIN_HELLO * 2),
    "server_empty": (3, plain.framed(plain.hello(b"", b"")) + plain.framed(plain.initiate(b"x"))),
    "server_long": (3, plain.framed(plain.hello(b"u" * 255, b"p" * 255))),
    "server_user_cut": (1, plain.framed(b"\x05HELLO\x09user\x01p")),
    "server_behind": (1, plain.framed(plain.hello(b"u", b"p") + b"x")),
    "server_message": (1, PLAIN_HELLO + ref.message(b"x")),
    "client": (0, PLAIN_WELCOME + plain.framed(plain.ready(b"properties")) + ref.message(b"x")),
    "client_denied": (0, ref.error(b"400")),
    "client_denied_late": (0, PLAIN_WELCOME + ref.error(b"400")),
    "client_error_cut": (0, plain.framed(b"\x05ERROR\x09400")),
    "client_hello": (0, PLAIN_HELLO),
    "huge": (1, PLAIN_HELLO + b"\x06" + b"\x7f" + b"\xff" * 7),
}
DELIVERY = {f"steps_{seed}": random.Random(seed).randbytes(600) for seed in range(24)}
"""Each octet is a step or what belongs to one, so any octets go deep."""


def main() -> None:
    """Write one file a seed; the octets in front say how it is cut, and which role we are."""
    for name, data in READER.items():
        (CORPUS / "reader").mkdir(parents=True, exist_ok=True)
        (CORPUS / "reader" / name).write_bytes(b"\x03" + data)
    for name, data in HELLO.items():
        (CORPUS / "hello").mkdir(parents=True, exist_ok=True)
        (CORPUS / "hello" / name).write_bytes(b"\x05\x00" + data)
    for name, (kind, data) in SP.items():
        (CORPUS / "sp").mkdir(parents=True, exist_ok=True)
        (CORPUS / "sp" / name).write_bytes(bytes([3, kind]) + data)
    for name, (kind, data) in CURVE.items():
        (CORPUS / "curve").mkdir(parents=True, exist_ok=True)
        (CORPUS / "curve" / name).write_bytes(bytes([6, kind]) + data)
    for name, (kind, data) in PLAIN.items():
        (CORPUS / "plain").mkdir(parents=True, exist_ok=True)
        (CORPUS / "plain" / name).write_bytes(bytes([6, kind]) + data)
    for name, (kind, data) in TLS.items():
        (CORPUS / "tls").mkdir(parents=True, exist_ok=True)
        (CORPUS / "tls" / name).write_bytes(bytes([6, kind]) + data)
    for name, (kind, data) in SPOOL.items():
        (CORPUS / "spool").mkdir(parents=True, exist_ok=True)
        (CORPUS / "spool" / name).write_bytes(bytes([kind]) + data)
    for name, data in CURSOR.items():
        (CORPUS / "cursor").mkdir(parents=True, exist_ok=True)
        (CORPUS / "cursor" / name).write_bytes(data)
    steps = {"blocks": BLOCKS, "replay": REPLAY, "replayed": REPLAYED}
    for folder, seeds in steps.items():
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (CORPUS / folder / name).write_bytes(data)
    for name, data in DELIVERY.items():
        (CORPUS / "delivery").mkdir(parents=True, exist_ok=True)
        (CORPUS / "delivery" / name).write_bytes(data)
    for name, (role, wire, data) in OPENING.items():
        (CORPUS / "handshake").mkdir(parents=True, exist_ok=True)
        (CORPUS / "handshake" / name).write_bytes(bytes([6, role, wire]) + data)


if __name__ == "__main__":
    main()
