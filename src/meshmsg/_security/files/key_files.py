"""Files of keys, as pyzmq and czmq have them: NAME.key has the public one, NAME.key_secret both.

Not here: what a key is (keys.py), how such files are written and read (safe.py). Law: as there;
no error quotes a secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from meshmsg._binding.errors import UsageError
from meshmsg._security.files.believed import not_believed
from meshmsg._security.files.safe import PUBLIC_MODE, SECRET_MODE, read_file, unsafe, write_new
from meshmsg._security.keys import KeyPair, SecretKey, new_pair, public_of, wrong_key

if TYPE_CHECKING:
    from pathlib import Path

_PUBLIC_SAYS = "CURVE public key: for everybody; make sure that it comes from who it says."
_SECRET_SAYS = "CURVE secret key: nobody else may have this file, nor read it."
_NAME = r"[A-Za-z0-9._-]+"
_KEYS = ("public-key", "secret-key")
_LINE = r"""^\s*([^#=\s][^=]*?)\s*=\s*(?:"([^"]*)"|'([^']*)'|(.*?))\s*$"""


class KeyFile:
    """What a file of keys says; `secret` is None in one for everybody."""

    def __init__(self, public: str, secret: SecretKey | None, metadata: dict[str, str]) -> None:
        self.public = public
        self.secret = secret
        self.metadata = metadata


def keygen(
    name: str | os.PathLike[str] | None = None, *, metadata: Mapping[str, str] | None = None
) -> KeyPair:
    """Make a pair of keys for CURVE, and write it to files if it gets a name.

    NAME.key is for others. NAME.key_secret has both keys and is for nobody else: mode 0600, there
    whole or not at all. pyzmq and czmq read both. What is there already is not replaced.

    Thread-safe: yes. It blocks for as long as the disk takes.

    Args:
        name: Path of the files without ".key"; None writes nothing.
        metadata: What the secret file says beside the keys, of printable text.

    Returns:
        The pair, with `public`, `secret`, `public_file` and `secret_file`.

    Raises:
        ResourceError: There is no libsodium; it says what to install.
        UsageError: A name or value of the metadata cannot be written.
        FileExistsError: One of the files is there.
        OSError: They could not be written.
    """
    said = dict(metadata or {})
    for key, value in said.items():
        if not re.fullmatch(_NAME, key) or key.startswith(_KEYS):
            raise UsageError(f"metadata {key!r}: a name is made of A-Z a-z 0-9 . _ -, and no key's")
        if not value.isprintable() or '"' in value or value != value.strip():
            raise UsageError(f"metadata {key!r}: printable text, without quotes and spaces around")
    pair = new_pair()
    if name is None:
        return pair
    from pathlib import Path  # costs more than all of this room

    base = os.fspath(name)
    pair.public_file, pair.secret_file = Path(base + ".key"), Path(base + ".key_secret")
    for path in (pair.secret_file, pair.public_file):
        if os.path.lexists(path):
            raise FileExistsError(f"{path} is there already: remove it, or take another name")
    write_new(
        pair.secret_file,
        lambda: _content(_SECRET_SAYS, pair.public, said, pair.secret),
        SECRET_MODE,
    )
    try:
        write_new(pair.public_file, lambda: _content(_PUBLIC_SAYS, pair.public, said), PUBLIC_MODE)
    except BaseException:
        pair.secret_file.unlink(missing_ok=True)
        raise
    return pair


def write_public(path: Path, public: str) -> None:
    """Write a file with somebody's public key.

    Raises:
        FileExistsError: It is there.
        OSError: It could not be written.
    """
    write_new(path, lambda: _content(_PUBLIC_SAYS, public, {}), PUBLIC_MODE)


def read_keys(path: str | os.PathLike[str], says: str = "") -> KeyFile:
    """Read a file of keys, of ours, pyzmq's or czmq's.

    says: what it says to us, if it is one that others may not be able to change.

    Raises:
        UsageError: It is no file of keys, or a secret one that others can read or another user
            owns, or one that others can change; what and where, and the chmod.
        OSError: It cannot be read.
    """
    found = _read(os.fspath(path), says)
    if isinstance(found, str):
        raise UsageError(f"{os.fspath(path)}{found}")
    return found


def _content(says: str, public: str, said: dict[str, str], secret: str = "") -> str:
    lines = [f"#   {says}", "#   Written by meshmsg.", "", "metadata"]
    lines += [f'    {key} = "{value}"' for key, value in said.items()]
    lines += ["curve", f'    public-key = "{public}"']
    lines += [f'    secret-key = "{secret}"'] if secret else []
    return "\n".join((*lines, ""))


def _read(path: str, says: str) -> KeyFile | str:
    """Return what a file says, or what is wrong, as text: whoever raises has no secret at hand."""
    content = read_file(path)
    if isinstance(content, str):
        return content
    octets, state = content
    if says and (why := not_believed(path, state)):
        return f" says {says}, and {why}"
    found = _parse(octets.decode("utf-8", "replace").splitlines())
    if isinstance(found, str) or found.secret is None:
        return found
    return unsafe(path, state, "a secret key") or found


def _parse(lines: list[str]) -> KeyFile | str:
    keys: dict[str, str] = {}
    metadata: dict[str, str] = {}
    section = ""
    for number, line in enumerate(lines, 1):
        entry = re.match(_LINE, line)
        if entry is None:
            section = section if line.strip() == "" or line.startswith("#") else line.strip()
            continue
        key, value = entry[1], next(text for text in (*entry.groups()[1:], "") if text is not None)
        if key in _KEYS and section != "metadata":
            wrong = wrong_key(value.encode())
            if wrong or key in keys:
                return f", line {number}: {key} {wrong or 'is there twice'}"
            keys[key] = value
        elif section == "metadata":
            metadata[key] = value
    if "public-key" not in keys:
        return ": no public-key is in it, so it is no file of keys for CURVE"
    secret = SecretKey(keys["secret-key"]) if "secret-key" in keys else None
    if secret is not None and public_of(secret) not in ("", keys["public-key"]):
        return ": its secret-key and its public-key are no pair"
    return KeyFile(keys["public-key"], secret, metadata)
