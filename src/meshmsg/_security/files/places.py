"""Paths of files with a secret in them, told from what such a file has in it.

Not here: how the files are read (safe.py). Law: a secret that stands where its file's path belongs
is refused, and not quoted: errors end in logs.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._security.keys import wrong_key

CUT_MAX = 8
"""Characters that a key may have too few or too many."""
SIGNS, SIGNS_MIN = frozenset(":+=^!*?&<>()[]{}@%$#"), 3
"""Characters of Z85 that paths seldom have; one key of 1000 has fewer different ones."""


def place_of(given: str | os.PathLike[str], what: str) -> str:
    """Return the path of a file with a secret, whether it is there or not.

    what: the argument, for the error.

    Raises:
        UsageError: It is what such a file has in it, and no file has that name; or it is empty.
    """
    path = os.fspath(given)
    if not path:
        raise UsageError(f'{what} is "", and it is a path: that of a file')
    if (has_content(path) or like_key(path)) and not os.path.lexists(path):
        raise UsageError(f"{what} is no path, but what a file has in it: give the path of the file")
    return path


def file_of(given: str | os.PathLike[str], what: str, makes: str) -> str:
    """Return the path of a file that is there.

    what: the argument; makes: what to do if nothing is there; both for the error.

    Raises:
        UsageError: It is empty, or what such a file has in it.
        FileNotFoundError: Nothing is there.
        OSError: It cannot be looked at.
    """
    if os.fspath(given) == "":
        raise UsageError(f'{what} is "", and it is a path: {makes}')
    path = place_of(given, what)
    try:
        os.stat(path)
    except FileNotFoundError:
        words = f"{what}= names what is not there: {makes}"
        raise FileNotFoundError(errno.ENOENT, words, path) from None
    return path


def like_key(text: str) -> bool:
    """Whether it may be a key that was cut, or has a character too many: no path looks so."""
    near = abs(len(text) - (lib.MM_KEY_TEXT_SIZE - 1)) <= CUT_MAX
    return near and len(SIGNS.intersection(text)) >= SIGNS_MIN


def has_content(text: str) -> bool:
    """Whether it is what a file with a secret has in it."""
    word = text.strip()
    if "\n" in text or "-----BEGIN" in text:
        return True
    if len(word) == lib.MM_KEY_TEXT_SIZE - 1 and word.isascii():
        return not wrong_key(word.encode())
    try:
        return len(base64.b64decode(word, validate=True)) == int(lib.MM_KEY_SIZE)
    except (binascii.Error, ValueError):
        return False
