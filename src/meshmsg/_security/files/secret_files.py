"""Files of shared secrets: a line for each, the first of which is the one that is used to connect.

Not here: what a socket does with them (tls_files.py). Law: as in safe.py; no error quotes a secret.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import TYPE_CHECKING

from meshmsg._binding.errors import UsageError
from meshmsg._security.files.safe import SECRET_MODE, read_file, unsafe, write_new

if TYPE_CHECKING:
    from pathlib import Path

SECRET_SIZE = 32
"""Octets of a secret."""
SECRETS_MAX = 3
"""Lines of a file: while a new secret takes the place of an old."""
_SAYS = """\
#   meshmsg shared secret: whoever has it is let in. Nobody else may read this file.
#   To change it: add a line behind this one everywhere, then put that first everywhere, then take
#   the old one away. The first is used to connect, all are believed.
"""


def write_secret(path: str | os.PathLike[str]) -> Path:
    """Write a new random secret to a file: mode 0600, there whole or not at all.

    Raises:
        FileExistsError: It is there already.
        OSError: It could not be written.
    """
    from pathlib import Path  # costs more than all of this room

    file = Path(path)
    if os.path.lexists(file):
        raise FileExistsError(f"{file} is there already: remove it, or take another name")
    write_new(file, _content, SECRET_MODE)
    return file


def _content() -> str:
    return f"{_SAYS}{base64.b64encode(os.urandom(SECRET_SIZE)).decode('ascii')}\n"


def read_secrets(path: str | os.PathLike[str]) -> tuple[bytes, ...]:
    """Read the secrets of a file, 1 to 3 of 32 octets, in the order of its lines: the first
    is the one that is used to connect.

    Raises:
        UsageError: It has none, or too many; a line is no secret; others can read it, or it is
            another user's: what and where, and the chmod.
        OSError: It cannot be read.
    """
    found = _read(os.fspath(path))
    if isinstance(found, str):
        raise UsageError(f"{os.fspath(path)}{found}")
    return found


def _read(path: str) -> tuple[bytes, ...] | str:
    """Return the secrets, or what is wrong, as text: whoever raises has no secret at hand."""
    found = read_file(path)
    if isinstance(found, str):
        return found
    content, state = found
    secrets: list[bytes] = []
    for number, line in enumerate(content.splitlines(), 1):
        word = line.strip()
        if word == b"" or word.startswith(b"#"):
            continue
        secret = _decode(word)
        if len(secret) != SECRET_SIZE:
            return (
                f", line {number}: no secret, which is base64 of {SECRET_SIZE} octets "
                "(`meshmsg keygen NAME --secret` makes one)"
            )
        if secret in secrets:
            return f", line {number}: the secret is there twice"
        secrets.append(secret)
    if not 1 <= len(secrets) <= SECRETS_MAX:
        return f" has {len(secrets)} secrets; it has 1 to {SECRETS_MAX}, a line for each"
    return unsafe(path, state, "a secret") or tuple(secrets)


def _decode(word: bytes) -> bytes:
    """Return the octets; none if it is no base64."""
    try:
        return base64.b64decode(word, validate=True)
    except binascii.Error:
        return b""
