"""Who may come in, as a file or a folder says: read again when it has changed.

A file has a line for each: a key in Z85 or a pin, then what it is known by. A folder has a `.key`
file for each, which is known by the file's name; `NAME~2.key` has a second key of NAME. Not here:
who looks each second (_socket/door.py). Law: a file that is wrong in any place, or gone, changes
nothing.
"""

from __future__ import annotations

import os
import re
import stat
from threading import Lock
from typing import TYPE_CHECKING

from meshmsg._binding.errors import UsageError
from meshmsg._security.allow_list import AllowList, check_user_id
from meshmsg._security.certificates.pins import PEM
from meshmsg._security.files.believed import check_believed, not_believed
from meshmsg._security.files.key_files import read_keys
from meshmsg._security.files.places import file_of
from meshmsg._security.files.told import Told
from meshmsg._security.public_keys import PIN, pin_key, wrong_text

if TYPE_CHECKING:
    from pathlib import Path

FILE_MAX = 16 * 1024 * 1024
"""Octets of a file of who may come in."""
_SECOND = r"(?<=.)~[0-9]{1,5}$"
"""Behind a user's name in that of a file: it has another key of the user's."""
KEYS_MAX = 65_536
"""Files of a folder of keys."""
LIST_MADE = "`touch` a file of keys, or `mkdir` a folder; then `meshmsg keys allow` adds a key"
STAYS = "who may come in stays as it was"
GONE = ", and nobody is disconnected; to remove everybody, have it there and empty"
"""What holds while a file is wrong, and what more is said of one that is gone."""
SAYS = "who may come in"
"""What such a file says."""
Stamp = tuple[object, ...]
_looks = Lock()
"""Two engines may have the same list; a forked child makes it anew."""


def looking() -> Lock:
    """Return what is held from the look at a file until what it says is what counts."""
    return _looks


class AllowFile:
    """A list that follows a file or a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = file_of(path, "allow", LIST_MADE)
        _check_list(self.path)
        self._stamp = self._seen = stamp_of(self.path)
        self._told = Told(STAYS, GONE)
        self._wrong: tuple[Stamp, str] = ((), "")
        """What the file was when it was read and found wrong, and how: it is not read again before
        it has changed."""
        self.list = AllowList()
        self.list.replace(self._read())

    def _read(self) -> dict[str, str]:
        check_believed(self.path, SAYS)
        if self._wrong[0] == self._seen:
            raise UsageError(self._wrong[1])
        try:
            return read_allowed(self.path, SAYS)
        except UsageError as error:
            self._wrong = self._seen, str(error)
            raise

    def look(self) -> str:
        """Read it again if it has changed; return what is wrong with it, seldom: "" is nothing."""
        with looking():
            return self._look()

    def _look(self) -> str:
        try:
            self._seen = stamp = stamp_of(self.path)
            if stamp == self._stamp and not self._told:
                return ""
            users = self._read()
            self._stamp = stamp  # of before it was read: what changed meanwhile is read again
            self.list.replace(users)
        except (UsageError, OSError) as error:
            return self._told.wrong(error)
        return self._told.right()


def _check_list(path: str) -> None:
    """Refuse what is itself a key, or a certificate, where a list of them belongs."""
    if not os.path.isfile(path):
        return
    content = read_list(path)
    what = (
        "certificate" if PEM in content else "file of one key" if b"public-key" in content else ""
    )
    if what:
        raise UsageError(f"allow is {path}, a {what}, and no list of those: say allow=[{path!r}]")


def is_list(path: str) -> bool:
    """Whether it is a folder, or a file that has keys as a list has them."""
    if not os.path.isfile(path):
        return os.path.isdir(path)
    try:
        return bool(parse_list(path, read_list(path)))
    except (UsageError, OSError):
        return False


def stamp_of(path: str) -> Stamp:
    """Return what changes whenever the file, or a file of the folder, does."""
    state = os.stat(path)
    own: Stamp = (state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)
    if not stat.S_ISDIR(state.st_mode):
        return own
    return (own, *((str(one), stamp_of(str(one))) for one in keys_in(path)))


def keys_in(path: str) -> list[Path]:
    """Return the files of keys of a folder, by name."""
    from pathlib import Path  # costs more than all of this room

    found = sorted(one for one in Path(path).iterdir() if one.name.endswith(".key"))
    if len(found) > KEYS_MAX:
        raise UsageError(f"{path}: {len(found)} keys; a folder has at most {KEYS_MAX}")
    return found


def read_allowed(path: str, says: str = "") -> dict[str, str]:
    """Return the keys of a file or a folder, each with what it is known by.

    says: As of `read_keys`.

    Raises:
        UsageError: It is wrong in some place; where.
        OSError: It cannot be read.
    """
    if os.path.isdir(path):
        return _read_folder(path, says)
    return parse_list(path, read_list(path, says))


def _read_folder(path: str, says: str) -> dict[str, str]:
    users: dict[str, str] = {}
    files: dict[str, str] = {}
    for one in keys_in(path):
        key = read_keys(one, says).public
        if key in users:
            raise UsageError(f"{one}: its key is that of {files[key]}, too")
        files[key] = one.name
        users[key] = check_user_id(re.sub(_SECOND, "", one.name.removesuffix(".key")))
    return users


def is_second(name: str) -> bool:
    """Whether the file of that name has another key of a user, whose own name is a shorter one."""
    return re.search(_SECOND, name) is not None


def file_of_user(folder: str, user: str) -> Path:
    """Return the path for one more key of a user."""
    from pathlib import Path  # costs more than all of this room

    names = (f"{user}.key", *(f"{user}~{number}.key" for number in range(2, KEYS_MAX)))
    return next(Path(folder, name) for name in names if not os.path.lexists(Path(folder, name)))


def read_list(path: str, says: str = "") -> bytes:
    """Return what a file has; says: as of `read_keys`.

    Raises:
        UsageError: It is no file, or too large, or others can change it.
        OSError: It cannot be read.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(file, "rb") as stream:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UsageError(f"{path} is neither a file nor a folder")
        if says and (why := not_believed(path, os.fstat(file))):
            raise UsageError(f"{path} says {says}, and {why}")
        content = stream.read(FILE_MAX + 1)
    _check_size(path, content)
    return content


def _check_size(path: str, content: bytes) -> None:
    if len(content) > FILE_MAX:
        raise UsageError(f"{path} has more than {FILE_MAX} octets, the limit of such a file")


def parse_list(path: str, content: bytes) -> dict[str, str]:
    """Return what a file says; path: for what is said of it.

    Raises:
        UsageError: It is wrong in some place; where.
    """
    _check_size(path, content)
    users: dict[str, str] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n"), 1):
        key, user_id = (*line.split(maxsplit=1), "", "")[:2]
        if key == "" or key.startswith("#"):
            continue  # as no key does: five characters that begin so are no octets in Z85
        wrong = wrong_text(key)
        if wrong:
            raise UsageError(f"{path}, line {number}: its first word is no key: it {wrong}")
        key = pin_key(key) if key.startswith(PIN) else key
        if key in users:
            raise UsageError(f"{path}, line {number}: the key is there twice")
        try:
            users[key] = check_user_id(user_id.strip())
        except UsageError as error:
            raise UsageError(f"{path}, line {number}: {error}") from None
    return users


def _after_fork_in_child() -> None:
    global _looks
    _looks = Lock()


os.register_at_fork(after_in_child=_after_fork_in_child)
