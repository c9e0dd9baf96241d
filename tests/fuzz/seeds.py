"""Writes the seed corpus of the fuzzers from the reference codec. Usage: python -m
tests.fuzz.seeds."""

from __future__ import annotations

from pathlib import Path

from tests.support import refcodec as ref
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
    "between": ref.frame(b"a", 1) + ref.ping(1) + ref.frame(b"b"),
    "huge": b"\x02" + b"\xff" * 8,
}
HELLO = {
    "push": ref.greeting() + ref.ready(b"PULL"),
    "dealer": ref.greeting() + ref.ready(b"ROUTER", (b"Identity", b"name")),
    "surveyor": ref.greeting() + ref.ready(b"SURVEYOR"),
    "features": ref.greeting() + ref.ready(b"REQ", (b"X-Meshmsg", b"1 refuse  x")),
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
    for name, (role, wire, data) in OPENING.items():
        (CORPUS / "opening").mkdir(parents=True, exist_ok=True)
        (CORPUS / "opening" / name).write_bytes(bytes([6, role, wire]) + data)


if __name__ == "__main__":
    main()
