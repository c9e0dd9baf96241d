"""A public key of somebody, in any form it is given: Z85, a pair, a pin, the path of a file.

A pin is the hash of the public key of a certificate. It has as many octets as a key of CURVE, so
that lists have both, and Z85 is the form of both. `sha256//` and base64, which other programs
write, is taken as well.

Not here: secret keys, which are read from files or come as a pair (curve.py). Law: a secret key
that stands where a public one belongs is refused, and not quoted.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import TypeGuard

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._security.certificates.pins import PEM, pin_of
from meshmsg._security.files.believed import not_believed
from meshmsg._security.files.key_files import read_keys
from meshmsg._security.files.places import has_content, like_key, place_of
from meshmsg._security.files.safe import read_file
from meshmsg._security.keys import KeyPair, SecretKey, key_text, wrong_key

PublicKey = str | os.PathLike[str] | KeyPair
TEXT_SIZE = lib.MM_KEY_TEXT_SIZE - 1
"""Characters of a key in Z85."""
PIN = "sha256//"
"""What a pin begins with that is not in Z85."""


def pin_key(text: str) -> str:
    """Return in Z85 what begins with PIN; "" if it is no pin."""
    try:
        octets = base64.b64decode(text.removeprefix(PIN), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return key_text(octets) if len(octets) == lib.MM_KEY_SIZE else ""


def pin_text(octets: bytes) -> str:
    """Write a pin as other programs do."""
    return PIN + base64.b64encode(octets).decode("ascii")


def wrong_text(text: str) -> str:
    """Say what is wrong with a key or a pin, "" if nothing is; the text is not quoted."""
    if not text.startswith(PIN):
        return wrong_key(text.encode("utf-8", "surrogatepass"))
    return (
        "" if pin_key(text) else f"is no pin, which is {PIN} and base64 of {lib.MM_KEY_SIZE} octets"
    )


def is_key(given: object) -> bool:
    """Whether it is a key in Z85, or a pin, rather than a path."""
    if isinstance(given, str) and given.startswith(PIN):
        return True
    return (
        isinstance(given, str)
        and len(given) == TEXT_SIZE
        and given.isascii()
        and not wrong_key(given.encode())
    )


def public_key(given: object, what: str) -> str:
    """Return a public key in Z85.

    Raises:
        UsageError: It is none, or the file has none.
        OSError: The file cannot be read.
    """
    if isinstance(given, SecretKey):
        raise UsageError(f"{what} is a secret key: give the public one (KeyPair.public)")
    if isinstance(given, KeyPair):
        return given.public
    if isinstance(given, str) and is_key(given):
        wrong = wrong_text(given)
        if not wrong and os.path.lexists(given):
            wrong = "is a key and the name of a file: give pathlib.Path(...) for the file"
        if wrong:
            raise UsageError(f"{what} {wrong}")
        return pin_key(given) if given.startswith(PIN) else given
    if isinstance(given, str) and not has_content(given) and not os.path.exists(given):
        shown = "text" if like_key(given) else repr(given)  # it may be a secret one, but for a typo
        raise UsageError(
            f"{what} is {shown}, which is no file, and no key in Z85: it "
            f"{wrong_key(given.encode('utf-8', 'surrogatepass'))}"
        )
    path = place_of(given, what) if isinstance(given, (str, os.PathLike)) else ""
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(
            f"{what} is {type(given).__name__}; it is a key in Z85 (a str of {TEXT_SIZE}), a "
            "KeyPair, or the path of a .key file or a certificate"
        )
    says = "whose key is believed"
    content = read_file(path)
    if isinstance(content, str) or PEM not in content[0]:
        found = read_keys(path, says)
        if found.secret is not None:
            beside = path.removesuffix("_secret")
            public = f" ({beside})" if beside != path and os.path.exists(beside) else ""
            raise UsageError(
                f"{what} is {path}, a file with a secret key: give the public one{public}"
            )
        return found.public
    if why := not_believed(path, content[1]):
        raise UsageError(f"{path} says {says}, and {why}")
    return key_text(_pin_in(path, content[0]))


def _pin_in(path: str, pem: bytes) -> bytes:
    try:
        return pin_of(pem)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def of_certificates(given: object) -> str:
    """Say what it is, if it is of a certificate, and so no key of CURVE; "" if not."""
    if isinstance(given, str) and given.startswith(PIN):
        return "a pin"
    return (
        f"{os.fspath(given)}, a certificate" if _is_file(given) and has_certificate(given) else ""
    )


def of_curve(given: object) -> str:
    """Say what it is, if it is a key of CURVE, and so none of a certificate; "" if not."""
    if isinstance(given, KeyPair):
        return "a KeyPair"
    return f"{os.fspath(given)}, a key" if _is_file(given) and not has_certificate(given) else ""


def _is_file(given: object) -> TypeGuard[str | os.PathLike[str]]:
    if not isinstance(given, (str, os.PathLike)) or is_key(given):
        return False
    return os.path.isfile(given)


def has_certificate(path: str | os.PathLike[str]) -> bool:
    """Whether a certificate is in a file, rather than a key.

    Raises:
        OSError: It cannot be read.
    """
    content = read_file(os.fspath(path))
    return not isinstance(content, str) and PEM in content[0]
