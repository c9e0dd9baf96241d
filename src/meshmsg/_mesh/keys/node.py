"""The key of a node as its sockets prove it: that of its signature, as X25519 has it.

Not here: signing (../signing.py), what is proved in a handshake (csrc/wire/tls/node.c). Law:
whoever has the private key of one has that of the other, and nobody else.
"""

from __future__ import annotations

import hashlib

PRIME = 2**255 - 19
"""Of the field of both."""
SIGN_BIT = 1 << 255
SIZE = 32
SHOWN = 16
"""Octets of it in what a node is known by."""


def private_key(seed: bytes) -> bytes:
    """Return the private key of X25519 that goes with a seed of Ed25519."""
    return hashlib.sha512(seed).digest()[:SIZE]


def public_key(sign_key: bytes) -> bytes:
    """Return the public key of X25519 that goes with one of Ed25519.

    Of octets that are none it is one that nobody can prove.
    """
    y = (int.from_bytes(sign_key, "little") & ~SIGN_BIT) % PRIME
    u = (1 + y) * pow((1 - y) % PRIME, PRIME - 2, PRIME) % PRIME
    return u.to_bytes(SIZE, "little")


def user_id(name: str, sign_key: bytes) -> str:
    """Return what a node is known by to the sockets that it proves itself to."""
    return f"{name}#{public_key(sign_key)[:SHOWN].hex()}"
