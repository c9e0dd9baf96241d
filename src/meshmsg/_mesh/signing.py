"""Who signs: Ed25519, by the library `cryptography` (the extra `mesh`).

Not here: what is signed (octets.py). Law: a key never leaves its signer, and none of it is shown.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

SEED = 32
"""Octets of a private key."""


class Ed25519Signer:
    """Signs with a key of its own."""

    def __init__(self, seed: bytes) -> None:
        """Take the private key.

        Args:
            seed: 32 octets, random and secret.

        Raises:
            ValueError: They are not 32.
        """
        if len(seed) != SEED:
            raise ValueError(f"a private key of {len(seed)} octets, not {SEED}")
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self._public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def key(self) -> bytes:
        """32 octets that others check with."""
        return self._public

    def sign(self, data: bytes) -> bytes:
        """Return 64 octets."""
        return self._key.sign(data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._public.hex()[:16]}>"


def ed25519_verify(key: bytes, data: bytes, signature: bytes) -> bool:
    """Say whether that key signed these octets; octets that are no key or signature did not."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True
