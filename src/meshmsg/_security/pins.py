"""The pin of a certificate: the hash of its public key, by which it is known without who signed it.

Not here: the forms in which pins are given (public_keys.py), what TLS does with certificates. Law:
nothing has to be installed for it; what is no certificate is refused, wherever it is cut.
"""

from __future__ import annotations

import base64
import binascii

from meshmsg._binding.errors import UsageError

PEM = b"-----BEGIN CERTIFICATE-----"
PEM_END = b"-----END CERTIFICATE-----"
_SEQUENCE, _VERSION, _LONG = 0x30, 0xA0, 0x80
_BEFORE_KEY = 5
"""Fields of a certificate between its version and its public key: serial number, signature,
issuer, validity, subject."""


def pin_of(pem: bytes) -> bytes:
    """Return the pin of the first certificate in PEM: the SHA-256 of its public key's octets.

    Raises:
        UsageError: There is no certificate in it.
    """
    from hashlib import sha256  # which loads OpenSSL: not for who has no certificate

    try:
        begin = pem.index(PEM)
        der = base64.b64decode(pem[begin + len(PEM) : pem.index(PEM_END, begin)])
        rest = _inside(_inside(der, _SEQUENCE), _SEQUENCE)
        fields = _BEFORE_KEY + (rest[0] == _VERSION)
        for _ in range(fields):
            rest = rest[sum(_extent(rest)) :]
        return sha256(rest[: sum(_extent(rest))]).digest()
    except (ValueError, IndexError, binascii.Error):
        raise UsageError("no certificate is in it, as PEM") from None


def _extent(der: bytes) -> tuple[int, int]:
    """How long the head of the first value is, and its content."""
    size = der[1]
    if size < _LONG:
        return 2, size
    count = size - _LONG
    if not 1 <= count <= 4:
        raise ValueError("the size of a value")
    return 2 + count, int.from_bytes(der[2 : 2 + count], "big")


def _inside(der: bytes, tag: int) -> bytes:
    """Return the content of a value that has to be of a kind."""
    if der[0] != tag:
        raise ValueError("the kind of a value")
    head, size = _extent(der)
    if head + size > len(der):
        raise ValueError("the size of a value")
    return der[head : head + size]
