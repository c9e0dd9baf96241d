"""Certificates in PEM, and the fields of one: as much of DER as that takes.

Not here: what a field says (pins.py, expiry.py). Law: what is no certificate is a ValueError or an
IndexError, wherever it is cut; no size that it claims leads out of it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

PEM = b"-----BEGIN CERTIFICATE-----"
PEM_END = b"-----END CERTIFICATE-----"
SEQUENCE, _VERSION, _LONG = 0x30, 0xA0, 0x80
VALIDITY, PUBLIC_KEY = 3, 5
"""Fields of a certificate by number, behind its version: serial number, signature, issuer,
validity, subject, public key."""


def certificates_in(pem: bytes) -> Iterator[bytes]:
    """Give each certificate as DER.

    Raises:
        ValueError: What stands between the marks is none.
    """
    at = 0
    while (begin := pem.find(PEM, at)) >= 0:
        at = pem.index(PEM_END, begin)
        yield base64.b64decode(pem[begin + len(PEM) : at])  # whose error is a ValueError


def field_of(der: bytes, number: int) -> bytes:
    """Return a field of a certificate, with its head.

    Raises:
        ValueError, IndexError: It is no certificate.
    """
    rest = inside(inside(der, SEQUENCE), SEQUENCE)
    for _ in range(number + (rest[0] == _VERSION)):
        rest = rest[sum(extent(rest)) :]
    return rest[: sum(extent(rest))]


def extent(der: bytes) -> tuple[int, int]:
    """How long the head of the first value is, and its content."""
    size = der[1]
    if size < _LONG:
        return 2, size
    count = size - _LONG
    if not 1 <= count <= 4:
        raise ValueError("the size of a value")
    return 2 + count, int.from_bytes(der[2 : 2 + count], "big")


def inside(der: bytes, tag: int) -> bytes:
    """Return the content of a value that has to be of a kind."""
    if der[0] != tag:
        raise ValueError("the kind of a value")
    head, size = extent(der)
    if head + size > len(der):
        raise ValueError("the size of a value")
    return der[head : head + size]
