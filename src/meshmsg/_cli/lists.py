"""Changes who may come in: the file or the folder that `allow=` of a server takes.

Not here: how it is read (_security/allow_files.py). Law: a file is replaced whole, with its
comments, order and mode; what is wrong already, and what would be wrong afterwards, changes
nothing.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from meshmsg._binding.errors import UsageError
from meshmsg._security.allow_files import (
    file_of_user,
    is_second,
    keys_in,
    parse_list,
    read_allowed,
    read_list,
)
from meshmsg._security.allow_list import check_user_id
from meshmsg._security.certificates.pins import PEM, pin_of
from meshmsg._security.files.believed import check_believed
from meshmsg._security.files.key_files import read_keys, write_public
from meshmsg._security.files.places import place_of
from meshmsg._security.files.safe import replace_file, sync_folder
from meshmsg._security.keys import key_text
from meshmsg._security.public_keys import is_key, of_certificates, public_key


def allow(place: str, given: str, user: str | None) -> str:
    """Let somebody in; return what was done, in words.

    Args:
        place: The file or the folder.
        given: A key in Z85, a pin, or the path of a `.key` file or of a certificate.
        user: What it is known by, which may have other keys; None is the name of that file, or the
            key itself, which has none.

    Raises:
        UsageError: The list, the key or the user id is wrong, or the key is another's name; it is a
            certificate, and the list a folder.
        OSError: A file cannot be read or written.
    """
    key, named = _key_given(given), user is not None
    if user is None:
        user = "" if is_key(given) else Path(given).stem
    if user != check_user_id(user).strip() or user.startswith("#"):
        raise UsageError(f"USER is {user!r}: it has no spaces around it, and no # in front")
    with _alone(place):
        known = read_allowed(place)
        if known.get(key) == (user or key):
            return f"{place}: {_named(key, user)} is there already"
        more = [one for one, other in known.items() if other == user]
        if more and not named:
            raise UsageError(
                f"{place}: {user} is there with another key; say USER, {user}, if this is a second "
                "key of the same one, or another USER"
            )
        if os.path.isdir(place):
            if what := of_certificates(given):
                raise UsageError(
                    f"{place} is a folder, whose keys are of CURVE, and KEY is {what}: use a "
                    "file, which has both (`touch allowed.txt`), or mm.Tls(allow=[...])"
                )
            return _allow_in_folder(place, known, key, user)
        return _allow_in_file(place, known, key, user)


def remove(place: str, given: str) -> str:
    """Let somebody in no more; return what was done, in words.

    Args:
        place: The file or the folder.
        given: A key in Z85, a pin, the path of a `.key` file or of a certificate, or a user id,
            all of whose keys are meant.

    Raises:
        UsageError: The list or the key is wrong, or the key is not there.
        OSError: A file cannot be read or written.
    """
    with _alone(place):
        known = read_allowed(place)
        keys = _keys_meant(place, known, given)
        if os.path.isdir(place):
            for file in keys_in(place):
                if read_keys(file).public in keys:
                    file.unlink()
            sync_folder(Path(place))
        else:
            lines = [line for line in _lines(place) if _key_of(line) not in keys]
            _write(place, lines)
    user = known[keys[0]]
    left = sum(other == user for other in known.values()) - len(keys)
    if left:
        return f"{place}: {user} may not come in by {keys[0]} any more, but by {_others(left)}"
    return f"{place}: {_named(', '.join(keys), user)} may not come in any more"


def _keys_meant(place: str, known: dict[str, str], given: str) -> Sequence[str]:
    """Return the keys of a list that are to be removed, one at least."""
    if not is_key(given) and not os.path.isfile(given):
        keys = [key for key, user in known.items() if user == given]
        if keys:
            return keys
        place_of(given, "KEY")  # refuses what is a secret, and does not quote it
        raise UsageError(
            f"{place}: {given!r} is nobody's user id there, no key, and no file that has one"
        )
    key = _key_given(given)
    if key not in known:
        raise UsageError(f"{place}: the key {key} is not there")
    return [key]


def _others(count: int) -> str:
    return "another key" if count == 1 else f"{count} other keys"


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
    if "/" in user or user.startswith(".") or is_second(user):
        raise UsageError(
            f"USER is {user!r}: in a folder it is the name of a file, without a / in it, a dot in "
            "front, or ~ and a number behind"
        )
    if key in known:
        raise UsageError(f"{place}: the key is there as {known[key]}: remove it first")
    write_public(file_of_user(place, user), key)
    return _may_come_in(place, known, key, user)


def _may_come_in(place: str, known: dict[str, str], key: str, user: str) -> str:
    others = sum(other == user for other in known.values())
    more = f", and by {_others(others)} as before" if others else ""
    return f"{place}: {_named(key, user)} may come in{more}"


def _allow_in_file(place: str, known: dict[str, str], key: str, user: str) -> str:
    line = f"{key} {user}".rstrip() + "\n"
    lines = _lines(place)
    if key not in known:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        _write(place, [*lines, line])
        return _may_come_in(place, known, key, user)
    _write(place, [line if _key_of(old) == key else old for old in lines])
    was = f"{_named(key, user)}, which was {known[key]}"
    return f"{place}: {was}; known so from the next connection on"


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
