"""A pair of keys for CURVE, and how one is made.

Not here: files (files/). Law: no text that is made of a pair, and no local variable of a
function that raises, has the secret in it: logs, tracebacks and pickles are read by others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

from meshmsg._binding.core import ffi, lib
from meshmsg._binding.data import buffer_of
from meshmsg._binding.errors import ResourceError, UsageError
from meshmsg._security.libraries import missing

if TYPE_CHECKING:
    from pathlib import Path


class SecretKey(str):
    """A secret key in Z85: a `str` that shows itself only to who asks for the text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a secret key>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise _unpickled()

    __reduce__ = __reduce_ex__  # type: ignore[assignment]


class KeyPair:
    """The two keys of somebody, for CURVE.

    `repr` and `str` show the public one only. It is neither pickled nor copied: hand on the path of
    its file.

    Attributes:
        public: What others may know, 40 characters of Z85.
        secret: What nobody else may: a `str` as well, that `repr` does not show.
        public_file: Where `keygen` wrote the public key, if it did.
        secret_file: Where it wrote both.
    """

    __slots__ = ("public", "public_file", "secret", "secret_file")

    def __init__(
        self,
        public: str,
        secret: SecretKey,
        *,
        public_file: Path | None = None,
        secret_file: Path | None = None,
    ) -> None:
        self.public: str = public
        self.secret: SecretKey = secret
        self.public_file: Path | None = public_file
        self.secret_file: Path | None = secret_file

    def __repr__(self) -> str:
        where = f", secret_file={str(self.secret_file)!r}" if self.secret_file else ""
        return f"<KeyPair public={self.public!r}{where}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise _unpickled()


def new_pair() -> KeyPair:
    """Return a pair that nobody had before."""
    why = missing("curve")
    if why:
        raise ResourceError(f"no keys for CURVE can be made: {why}", code=lib.MM_ENOTSUP)
    raw, known = ffi.new("uint8_t[32]"), ffi.new("uint8_t[32]")
    ffi.buffer(raw)[:] = os.urandom(lib.MM_KEY_SIZE)
    lib.mm_key_public(raw, known)
    pair = KeyPair(str(_text(known)), _text(raw))
    lib.mm_key_wipe(raw)
    return pair


def public_of(secret: SecretKey) -> str:
    """Return the public key of a right secret one; "" where there is no libsodium to ask."""
    if missing("curve"):
        return ""
    raw, known = ffi.new("uint8_t[32]"), ffi.new("uint8_t[32]")
    lib.mm_key_parse(*buffer_of(secret.encode()), raw, ffi.new("size_t *"))
    lib.mm_key_public(raw, known)
    lib.mm_key_wipe(raw)
    return str(_text(known))


def wrong_key(text: bytes) -> str:
    """Say what is wrong with a key in Z85, "" if nothing is; the text is not quoted."""
    at = ffi.new("size_t *")
    raw = ffi.new("uint8_t[32]")
    fault = lib.mm_key_parse(*buffer_of(text), raw, at)
    lib.mm_key_wipe(raw)
    if fault == lib.MM_KEY_WRONG_SIZE:
        return f"has {len(text)} characters; a key in Z85 has {lib.MM_KEY_TEXT_SIZE - 1}"
    if fault == lib.MM_KEY_WRONG_CHARACTER:
        return f"has at {at[0] + 1} a character that Z85 has not"
    if fault == lib.MM_KEY_OVERFLOW:
        return f"has at {at[0] + 1} to {at[0] + 5} five that are no octets in Z85"
    return ""


def key_octets(text: str) -> bytes:
    """Return the 32 octets of a right key in Z85."""
    raw = ffi.new("uint8_t[32]")
    lib.mm_key_parse(text.encode(), len(text), raw, ffi.new("size_t *"))
    octets = bytes(ffi.buffer(raw))
    lib.mm_key_wipe(raw)
    return octets


def key_text(octets: bytes) -> str:
    """Write the 32 octets of a public key in Z85."""
    raw = ffi.new("uint8_t[32]")
    ffi.buffer(raw)[:] = octets
    return str(_text(raw))


def _text(raw: object) -> SecretKey:
    text = ffi.new("char[41]")
    lib.mm_key_text(raw, text)
    return SecretKey(ffi.string(text).decode("ascii"))


def _unpickled() -> UsageError:
    return UsageError("keys are not pickled or copied: hand on the path of their file")
