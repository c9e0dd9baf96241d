"""Changes who may come in: the file or the folder that `allow=` of a server takes.

Not here: how it is read (_security/allow_files.py). Law: a file is replaced whole, with its
comments, order and mode; what is wrong already, and what would be wrong afterwards, changes
nothing.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshmsg._binding.errors import UsageError
from meshmsg._security.allow_files import keys_in, parse_list, read_allowed, read_list
from meshmsg._security.allow_list import check_user_id
from meshmsg._security.certificates.pins import PEM, pin_of
from meshmsg._security.files.believed import check_believed
from meshmsg._security.files.key_files import read_keys, write_public
from meshmsg._security.files.places import place_of
from meshmsg._security.files.safe import replace_file, sync_folder
from meshmsg._security.keys import key_text
from meshmsg._security.public_keys import is_key, public_key


def allow(place: str, given: str, user: str | None) -> str:
    """Let somebody in; return what was done, in words.

    Args:
        place: The file or the folder.
        given: A key in Z85, a pin, or the path of a `.key` file or of a certificate.
        user: What it is known by; None is the name of that file, or the key itself.

    Raises:
        UsageError: The list, the key or the user id is wrong, or the key is another's name.
        OSError: A file cannot be read or written.
    """
    key = _key_given(given)
    if user is None:
        user = "" if is_key(given) else Path(given).stem
    if user != check_user_id(user).strip() or user.startswith("#"):
        raise UsageError(f"USER is {user!r}: it has no spaces around it, and no # in front")
    with _alone(place):
        known = read_allowed(place)
        if known.get(key) == (user or key):
            return f"{place}: {_named(key, user)} is there already"
        if os.path.isdir(place):
            return _allow_in_folder(place, known, key, user)
        return _allow_in_file(place, key, user, known.get(key))


def remove(place: str, given: str) -> str:
    """Let somebody in no more; return what was done, in words.

    Args:
        place: The file or the folder.
        given: A key in Z85, a pin, or the path of a `.key` file or of a certificate.

    Raises:
        UsageError: The list or the key is wrong, or the key is not there.
        OSError: A file cannot be read or written.
    """
    key = _key_given(given)
    with _alone(place):
        known = read_allowed(place)
        if key not in known:
            raise UsageError(f"{place}: the key {key} is not there")
        if os.path.isdir(place):
            for file in keys_in(place):
                if read_keys(file).public == key:
                    file.unlink()
            sync_folder(Path(place))
        else:
            lines = [line for line in _lines(place) if _key_of(line) != key]
            _write(place, lines)
    return f"{place}: {_named(key, known[key])} may not come in any more"


def _key_given(given: str) -> str:
    if is_key(given) or not os.path.isfile(given):
        return public_key(given, "KEY")
    content = read_list(given)
    return key_text(pin_of(content)) if PEM in content else public_key(given, "KEY")


def _named(key: str, user: str) -> str:
    return key if user in ("", key) else f"{user} ({key})"


def _allow_in_folder(place: str, known: dict[str, str], key: str, user: str) -> str:
    if not user:
        raise UsageError(f"{place} is a folder, whose keys have names: say USER as well")
    if "/" in user or user.startswith("."):
        raise UsageError(f"USER is {user!r}: in a folder it is the name of a file")
    if key in known:
        raise UsageError(f"{place}: the key is there as {known[key]}: remove it first")
    if user in known.values():
        raise UsageError(f"{place}: {user} is there with another key: remove that first")
    write_public(Path(place, f"{user}.key"), key)
    return f"{place}: {_named(key, user)} may come in"


def _allow_in_file(place: str, key: str, user: str, before: str | None) -> str:
    line = f"{key} {user}".rstrip() + "\n"
    lines = _lines(place)
    if before is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        _write(place, [*lines, line])
        return f"{place}: {_named(key, user)} may come in"
    _write(place, [line if _key_of(old) == key else old for old in lines])
    return f"{place}: {_named(key, user)}, which was {before}; known so from the next connection on"


def _lines(place: str) -> list[str]:
    text = read_list(place).decode("utf-8", "surrogateescape")
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _key_of(line: str) -> str:
    word = (line.split(maxsplit=1) or [""])[0]
    return "" if word == "" or word.startswith("#") else public_key(word, "a key")


def _write(place: str, lines: list[str]) -> None:
    content = "".join(lines).encode("utf-8", "surrogateescape")
    parse_list(place, content)
    replace_file(Path(place), content)


@contextmanager
def _alone(place: str) -> Iterator[None]:
    """Only one command changes a list at a time; others wait."""
    if not os.path.exists(place_of(place, "LIST")):
        raise UsageError(f"{place} is not there; make it first: `touch {place}`, or a folder")
    folder = place if os.path.isdir(place) else os.path.dirname(os.path.realpath(place))
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        check_believed(place, "who may come in")
        yield
    finally:
        os.close(opened)
