"""Writes the seed corpus of the fuzzers from the reference codec. Usage: python -m
tests.fuzz.seeds."""

from __future__ import annotations

from pathlib import Path

from tests.support import refcodec as ref

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
    "between": ref.frame(b"a", 1) + ref.ping(1) + ref.frame(b"b"),
    "huge": b"\x02" + b"\xff" * 8,
}
HELLO = {
    "push": ref.greeting() + ref.ready(b"PULL"),
    "dealer": ref.greeting() + ref.ready(b"ROUTER", (b"Identity", b"name")),
    "surveyor": ref.greeting() + ref.ready(b"SURVEYOR"),
    "old": ref.greeting(minor=0) + ref.ready(b"SUB"),
    "curve": ref.greeting(mechanism=b"CURVE"),
    "twice": ref.greeting() + ref.ready(b"PULL", (b"Socket-Type", b"PULL")),
    "error": ref.greeting() + ref.error(b"no"),
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}


def main() -> None:
    """Write one file a seed; the octets in front say how it is cut, and which role we are."""
    for name, data in READER.items():
        (CORPUS / "reader").mkdir(parents=True, exist_ok=True)
        (CORPUS / "reader" / name).write_bytes(b"\x03" + data)
    for name, data in HELLO.items():
        (CORPUS / "hello").mkdir(parents=True, exist_ok=True)
        (CORPUS / "hello" / name).write_bytes(b"\x05\x00" + data)


if __name__ == "__main__":
    main()
