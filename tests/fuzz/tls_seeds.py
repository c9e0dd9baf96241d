"""What the corpus of fuzz_tls.c is made of: what strangers say, and programs over flights and
records (edited.h).

Not here: where it is written (seeds.py).
Law: the same octets each time, so that a corpus that was written again shows no change.
"""

from __future__ import annotations

import struct
from unittest.mock import patch

from tests.support import refcodec as ref
from tests.support import reftls as tls

RAW, RECORDS, FLIGHTS = 0, 1, 2
LISTENS, ASKS, DENIES = 4, 8, 16
EIGHT_TIMES = 7 << 5  # it is said again
KEEP, DROP, DOUBLE, SWAP, FLIP, END, BEGIN, INSERT, PLAIN, KEYS, BACK, FAREWELL = range(12)
SECRET = b"\x5e" * 32
SHARE = b"\x09" + bytes(31)


def client_hello(secret: bytes = SECRET, **changed: object) -> bytes:
    """Return a ClientHello in its record, of who has that secret."""
    client = tls.Client(tls.psk_of(secret), share=SHARE)
    for name, value in changed.items():
        setattr(client, name, value)
    with patch("os.urandom", bytes):
        return tls.record(tls.HANDSHAKE, client.hello(), 0x0301)


def server_hello(random: bytes, group: bytes) -> bytes:
    """Return a ServerHello in its record; its session is not the one that was asked for."""
    parts = tls.extension(43, b"\x03\x04") + tls.extension(51, group)
    body = b"\x03\x03" + random + b"\x20" + bytes(32) + b"\x13\x01\x00"
    body += struct.pack(">H", len(parts)) + parts
    return tls.record(tls.HANDSHAKE, tls.message(tls.SERVER_HELLO, body))


HELLO = client_hello()
SCAN = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
CHANGE = tls.record(tls.CHANGE_CIPHER, b"\x01")
CRUMBS = b"".join(tls.record(tls.HANDSHAKE, HELLO[at : at + 7]) for at in range(5, len(HELLO), 7))

STRANGERS: dict[str, tuple[int, bytes]] = {
    "hello": (LISTENS, HELLO),
    "hello_asked": (LISTENS | ASKS, HELLO),
    "hello_twice": (LISTENS, HELLO * 2),
    "hello_cut": (LISTENS, HELLO[:-9]),
    "hello_other_secret": (LISTENS, client_hello(bytes(32))),
    "hello_binder": (LISTENS, client_hello(binder=b"x" * 32)),
    "hello_identity": (LISTENS, client_hello(identity=b"nobody")),
    "hello_group": (LISTENS, client_hello(group=0x17, share=b"\x04" + bytes(64))),
    "hello_low_order": (LISTENS, client_hello(share=bytes(32))),
    "hello_alpn": (LISTENS, client_hello(alpn="http/1.1")),
    "hello_1_2": (LISTENS, client_hello(versions=b"\x03\x03")),
    "hello_and_plain": (LISTENS, HELLO + b"and plain octets"),
    "hello_and_sealed": (LISTENS, HELLO + CHANGE + tls.record(tls.DATA, bytes(64))),
    "hello_and_alert": (LISTENS, HELLO + tls.alert(40)),
    "hello_and_warning": (LISTENS, tls.alert(90, tls.WARNING) + HELLO),
    "http": (LISTENS, SCAN),
    "zmtp": (LISTENS, ref.greeting()),
    "ssl2": (LISTENS, b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(37)),
    "huge": (LISTENS, b"\x16\x03\x01\xff\xff\x01\x00\xff\xff" + bytes(64)),
    "hello_in_crumbs": (LISTENS, CRUMBS),
    "empty_records": (LISTENS | EIGHT_TIMES, tls.record(tls.HANDSHAKE, b"") * 40),
    "too_long": (LISTENS | EIGHT_TIMES, tls.record(tls.HANDSHAKE, b"\x01\x00\xff\xff" * 700)),
    "answer": (RAW, server_hello(bytes(32), b"\x00\x1d\x00\x20" + SHARE)),
    "answer_retry": (RAW, server_hello(tls.RETRY, b"\x00\x17")),
    "answer_alert": (RAW, tls.alert(40)),
    "answer_closes": (RAW, tls.alert(0, tls.WARNING)),
    "answer_warnings": (RAW | EIGHT_TIMES, tls.alert(90, tls.WARNING)),
    "answer_change": (RAW | EIGHT_TIMES, CHANGE * 9),
    "answer_hello": (RAW, HELLO),
    "answer_http": (RAW, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "answer_zmtp": (RAW, ref.greeting()),
}

# Sizes of what is sealed are in units of 16 octets, and one more.
PROGRAMS: dict[str, tuple[int, bytes]] = {
    "records_kept": (RECORDS, bytes([KEEP, 1, KEEP, 20, KEEP, 0])),
    "records_kept_back": (RECORDS | LISTENS, bytes([KEEP, 1, KEEP, 20, BACK, KEEP, 0])),
    "records_large": (RECORDS, bytes([KEEP, 255, KEEP, 254, DOUBLE, 255])),
    "records_dropped": (RECORDS, bytes([KEEP, 1, DROP, 1, KEEP, 1])),
    "records_last_dropped": (RECORDS, bytes([KEEP, 1, KEEP, 1, DROP, 1])),
    "records_doubled": (RECORDS, bytes([KEEP, 1, DOUBLE, 1, KEEP, 1])),
    "records_swapped": (RECORDS, bytes([KEEP, 1, SWAP, 1, KEEP, 1, KEEP, 1])),
    "records_flipped": (RECORDS, bytes([KEEP, 1, FLIP, 1, 9, 3, KEEP, 1])),
    "records_flipped_kind": (RECORDS, bytes([KEEP, 1, FLIP, 1, 0, 0, KEEP, 1])),
    "records_flipped_size": (RECORDS, bytes([KEEP, 1, FLIP, 1, 4, 6, KEEP, 1])),
    "records_flipped_tag": (RECORDS | LISTENS, bytes([KEEP, 1, FLIP, 1, 37, 7, KEEP, 1])),
    "records_end": (RECORDS, bytes([KEEP, 1, END, 1, 5, KEEP, 1])),
    "records_begin": (RECORDS, bytes([KEEP, 1, BEGIN, 1, 5, KEEP, 1])),
    "records_inserted": (RECORDS, bytes([KEEP, 1, INSERT, 1, 0, len(SCAN)]) + SCAN),
    "records_change": (RECORDS, bytes([KEEP, 1, INSERT, 1, 0, 6]) + CHANGE),
    "records_alert": (RECORDS, bytes([INSERT, 1, 0, 7]) + tls.alert(0, tls.WARNING)),
    "records_hello": (RECORDS, bytes([INSERT, 1, 0, len(HELLO)]) + HELLO),
    "records_plain": (RECORDS, bytes([KEEP, 1, PLAIN, 1, 0, 23, KEEP, 1])),
    "records_keys": (RECORDS, bytes([KEEP, 1, KEYS, KEEP, 1, BACK, KEYS, KEEP, 1, KEEP, 1])),
    "records_keys_dropped": (RECORDS, bytes([KEEP, 1, KEYS, DROP, 1, KEEP, 1])),
    "records_keys_begin": (RECORDS, bytes([KEEP, 1, KEYS, BEGIN, 1, 27, KEEP, 1])),
    "records_farewell": (RECORDS, bytes([KEEP, 1, FAREWELL, KEEP, 1, FAREWELL])),
    "records_farewell_alone": (RECORDS | LISTENS, bytes([FAREWELL, INSERT, 1, 0, 1, 9])),
    "records_farewell_early": (RECORDS, bytes([SWAP, 1, FAREWELL, KEEP, 1])),
    "flights_kept": (FLIGHTS, bytes(9)),
    "flights_asked": (FLIGHTS | ASKS, bytes(9)),
    "flights_denied": (FLIGHTS | ASKS | DENIES, bytes(9)),
    "flights_hello_dropped": (FLIGHTS, bytes([DROP])),
    "flights_hello_doubled": (FLIGHTS, bytes([DOUBLE])),
    "flights_hello_flipped": (FLIGHTS, bytes([FLIP, 30, 2])),
    "flights_hello_major": (FLIGHTS, bytes([FLIP, 1, 2])),
    "flights_hello_version": (FLIGHTS, bytes([FLIP, 2, 1])),
    "flights_warning_first": (FLIGHTS, bytes([INSERT, 0, 7]) + tls.alert(90, tls.WARNING)),
    "flights_answer_flipped": (FLIGHTS, bytes([KEEP, FLIP, 40, 1])),
    "flights_change_dropped": (FLIGHTS, bytes([KEEP, KEEP, DROP])),
    "flights_change_doubled": (FLIGHTS, bytes([KEEP, KEEP, DOUBLE])),
    "flights_swapped": (FLIGHTS, bytes([KEEP, KEEP, KEEP, SWAP])),
    "flights_finished_dropped": (FLIGHTS, bytes([KEEP, KEEP, KEEP, KEEP, DROP])),
    "flights_last_dropped": (FLIGHTS, bytes([KEEP] * 6 + [DROP])),
    "flights_last_flipped": (FLIGHTS, bytes([KEEP] * 6 + [FLIP, 30, 5])),
    "flights_last_doubled": (FLIGHTS, bytes([KEEP] * 6 + [DOUBLE])),
}
TLS = {**STRANGERS, **PROGRAMS}
