"""Users and their passwords: who of them may come in.

A file has a line `user=password` for each, as those of czmq. Not here: who looks at it each second
(_socket/door.py), functions (allow.py). Law: no text made of it has a password; whose password is
no longer right is disconnected; a file that is wrong in any place changes nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from meshmsg._binding.core import lib
from meshmsg._binding.errors import UsageError
from meshmsg._hints.plural import counted
from meshmsg._security.allow import Allow, Applicant, Deny
from meshmsg._security.allow_files import GONE, STAYS, Stamp, looking, stamp_of
from meshmsg._security.allow_list import check_user_id
from meshmsg._security.files.believed import replaced_by
from meshmsg._security.files.places import file_of, place_of
from meshmsg._security.files.safe import read_file, unsafe
from meshmsg._security.files.told import Told

NAME_MAX = 255
"""Octets of a user, and of a password, in PLAIN."""
_lock = threading.RLock()
"""Of all of them: they change seldom, and a forked child makes it anew."""


USERS_MADE = "it is a file of mode 0600 that has a line user=password for each"
QUOTED_MAX = 60
"""Octets of a user that are quoted: the reason behind it has to find room."""


def _quoted(user: str) -> str:
    quoted = repr(user).encode(errors="replace")
    if len(quoted) <= QUOTED_MAX:
        return quoted.decode()
    return f"{quoted[:QUOTED_MAX].decode(errors='ignore')}...'"


class Passwords:
    """Whom their passwords let in: of a mapping, or of a file that may change."""

    def __init__(self, source: Mapping[str, str] | str | os.PathLike[str]) -> None:
        self.path = "" if isinstance(source, Mapping) else _place(source)
        self._stamp: Stamp = stamp_of(self.path) if self.path else ()
        self._sockets: set[int] = set()
        self._told = Told(STAYS, GONE)
        if isinstance(source, Mapping):
            found = _checked(dict(source), "allow=")
        else:
            found = _read(self.path)
        if isinstance(found, str):
            raise UsageError(found)
        self._users = found

    def __enter__(self) -> None:
        """Nobody is let in by another thread, nor does who may come in change, until the exit."""
        _lock.acquire()

    def __exit__(self, *error: object) -> None:
        _lock.release()

    def __repr__(self) -> str:
        return (
            repr(self.path) if self.path else f"<passwords of {counted(len(self._users), 'user')}>"
        )

    def __call__(self, who: Applicant) -> Allow | Deny:
        """Let in who has the password of its user."""
        from hmac import compare_digest  # costs more than the rest; it is here once somebody came

        said = _octets(who.password)
        users = self._users
        right = users.get(who.user, "")
        if not compare_digest(_octets(right), said) or who.user not in users:
            known = "has another password" if who.user in users else "is not in allow="
            return Deny(f"the user {_quoted(who.user)} {known}")
        return Allow(who.user)

    def look(self) -> str:
        """Read the file again if it has changed; return what is wrong with it, seldom."""
        with looking():
            return self._look()

    def _look(self) -> str:
        stamp: Stamp = ()
        try:
            stamp = stamp_of(self.path)
            if stamp == self._stamp and not self._told:
                return ""
            found: dict[str, str] | str = _read(self.path)
        except OSError as error:
            return self._told.wrong(error)
        if isinstance(found, str):
            return self._told.wrong(found)
        self._stamp = stamp
        self._become(found)
        return self._told.right()

    def _become(self, users: dict[str, str]) -> None:
        with self:
            before, self._users = self._users, users
            for user, password in before.items():
                if users.get(user) != password:
                    self._revoke(user)

    def _revoke(self, user: str) -> None:
        """Disconnect whom the old password let in."""
        for handle in list(self._sockets):
            rc = lib.mm_socket_revoke(handle, _octets(user))
            if rc in (lib.MM_ECLOSED, lib.MM_EFORKED):
                self._sockets.discard(handle)

    def serve(self, handle: int) -> None:
        """Be asked by this socket, from now on."""
        with self:
            self._sockets.add(handle)


def _place(source: str | os.PathLike[str]) -> str:
    path = place_of(source, "allow")
    if "=" in path and not os.path.lexists(path):
        raise UsageError(
            "allow is text with a =, and no file has that name: it is the path of a file of "
            "user=password, or a mapping"
        )
    return file_of(path, "allow", USERS_MADE)


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def wrong_name(name: str) -> str:
    """Say why PLAIN has no room for a user or a password, "" if it has; it is not quoted."""
    try:
        return f"has over {NAME_MAX} octets, PLAIN's limit" if len(_octets(name)) > NAME_MAX else ""
    except UnicodeEncodeError:  # which has the text
        return "has half of a surrogate pair, which is no text"


def _checked(users: dict[str, str], where: str) -> dict[str, str] | str:
    """Return them, or what is wrong: who raises has no password at hand."""
    for user, password in users.items():
        if not isinstance(user, str) or not isinstance(password, str):
            return f"{where}: users and their passwords are str"
        try:
            check_user_id(user)
        except UsageError as error:
            return f"{where}: {error}"
        if not user or not password:
            return f"{where}: {f'the password of {user!r}' if user else 'a user'} is empty"
        if wrong := wrong_name(password):
            return f"{where}: the password of {user!r} {wrong}"
    return users


def _read(path: str) -> dict[str, str] | str:
    """Return the users of a file, or what is wrong; no password is quoted.

    Raises:
        OSError: It cannot be read.
    """
    found = read_file(path)
    if isinstance(found, str):
        return f"{path}{found}"
    content, state = found
    users: dict[str, str] = {}
    for number, ended in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1):
        line = ended.removesuffix("\r")
        if not line.strip() or line.startswith("#"):
            continue
        user, equals, password = line.partition("=")
        where = f"{path}, line {number}"
        if not equals:
            return f"{where}: it is no user=password"
        if user != user.strip() or password != password.strip():
            return f"{where}: there are blanks at an end of the user or the password"
        if user in users:
            return f"{where}: the user {user!r} is there twice"
        wrong = _checked({user: password}, where)
        if isinstance(wrong, str):
            return wrong
        users[user] = password
    why = unsafe(path, state, "passwords")
    if not why and (how := replaced_by(path)):
        why = f" has passwords, and {how}"
    return f"{path}{why}" if why else users


def _after_fork_in_child() -> None:
    """The lock may have been held by a thread that is not here."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)
